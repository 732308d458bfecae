/* run -- hutch_run(): runs a command from its start to its end.
 *
 * The command's streams are pipes of this library, so that its output makes no
 * messages, and the event about its end goes to this thread alone (struct waiter).
 * The library keeps a reading end of the command's stdin and never reads from that
 * end: so a command that does not read its input causes no SIGPIPE in the host
 * program. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/own.h"
#include "lib/call.h"
#include "lib/error.h"
#include "lib/handle.h"
#include "lib/json_build.h"
#include "lib/request.h"
#include "lib/wait.h"

#define KEPT_MAX (16u << 20)
#define STEP	 (16u << 10)

struct stream {
	int fd; /* owned: the library's end of the pipe */
	struct json_build text;
};

struct visit {
	struct hutch *h;
	/* Owned: the command's ends of the pipes.  The reading end of stdin is kept
	 * open, but never read, so that writing causes no SIGPIPE. */
	int inside[3];
	int input; /* owned: the library's end of the command's stdin */
	const char *data;
	size_t left;
	struct stream streams[2];
	uint64_t lost;
	struct packet *call;
	struct waiter waiter;
};

/* --- begin ----------------------------------------------------------------- */

/* Makes a pipe.  `inside` says which end is the command's: 0 the reading end, 1 the
 * writing end.  Only the library's end is non-blocking, since a command expects a
 * blocking one. */
static int open_pipe(int *ret_ours, int *ret_inside, int inside, struct hutch_error *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys(e, "make a pipe for a command");
	*ret_ours = ends[!inside];
	*ret_inside = ends[inside];
	if (fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
		return error_sys(e, "make a pipe for a command");
	return 0;
}

static int open_streams(struct visit *v, struct hutch_error *e)
{
	if (v->left && open_pipe(&v->input, &v->inside[0], 0, e) < 0)
		return -1;
	if (!v->left && (v->inside[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		return error_sys(e, "open /dev/null");
	for (int i = 0; i < 2; i++)
		if (open_pipe(&v->streams[i].fd, &v->inside[1 + i], 1, e) < 0)
			return -1;
	return 0;
}

/* Begins the call, and adds the waiter without releasing the lock in between, so that
 * the event about the command's end is not put into the queue for other threads. */
static int begin(struct visit *v, const char *params, struct hutch_error *e)
{
	const struct request r = {
		.method = "exec.start", .params = params, .fds = v->inside, .fd_count = 3
	};

	if (handle_enter(v->h, e) < 0)
		return -1;
	v->call = call_begin(v->h, &r, HUTCH_WAIT, e);
	if (v->call)
		v->call->wants_end = v->call->is_waited = true;
	const int rc = v->call ? wait_join(v->h, &v->waiter, v->call, e) : -1;
	/* The call has copies of the command's ends, so these are closed: the library
	 * then sees the end of file when the command has closed its ends. */
	own_close(&v->inside[1]);
	own_close(&v->inside[2]);
	return handle_leave(v->h, rc);
}

/* --- streams --------------------------------------------------------------- */

static void feed(struct visit *v)
{
	const ssize_t n = write(v->input, v->data, v->left < STEP ? v->left : STEP);

	if (n > 0) {
		v->data += n;
		v->left -= (size_t)n;
	}
	if (v->left && (n >= 0 || errno == EAGAIN || errno == EINTR))
		return;
	own_close(&v->input);
	own_close(&v->inside[0]);
}

/* Reads at most `most` bytes and returns how many; 0: none are there. */
static size_t collect(struct visit *v, struct stream *s, size_t most)
{
	char step[STEP];
	const ssize_t n = read(s->fd, step, most < sizeof(step) ? most : sizeof(step));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		own_close(&s->fd);
		return 0;
	}
	const size_t room = KEPT_MAX - s->text.len,
		     kept = (size_t)n < room ? (size_t)n : room;
	json_build_add(&s->text, step, kept);
	v->lost += (size_t)n - kept;
	return (size_t)n;
}

/* Waits once for the pipes and the handle. */
static int wait_streams(struct visit *v, struct hutch_error *e)
{
	struct pollfd w[WAIT_OWN + 3];

	w[WAIT_OWN] = (struct pollfd){ .fd = v->input, .events = POLLOUT };
	for (int i = 0; i < 2; i++)
		w[WAIT_OWN + 1 + i] =
			(struct pollfd){ .fd = v->streams[i].fd, .events = POLLIN };
	if (wait_wait(v->h, &v->waiter, w, 3, -1) < 0)
		return error_sys(e, "wait for a command in sandbox '%s'", v->h->name);
	if (w[WAIT_OWN].revents)
		feed(v);
	for (int i = 0; i < 2; i++)
		if (w[WAIT_OWN + 1 + i].revents)
			(void)collect(v, &v->streams[i], STEP);
	return 0;
}

static void drain_one(struct visit *v, struct stream *s)
{
	int left = 0;
	size_t n;

	if (s->fd < 0 || ioctl(s->fd, FIONREAD, &left) < 0)
		return;
	while (left > 0 && (n = collect(v, s, (size_t)left)) > 0)
		left -= (int)n;
}

/* Collects the output that is in the pipes when the command has ended, and no more:
 * background processes may hold the pipes open, and write as fast as the library
 * reads. */
static int drain(struct visit *v, struct hutch_error *e)
{
	for (int i = 0; i < 2; i++)
		drain_one(v, &v->streams[i]);
	for (int i = 0; i < 2; i++)
		if (!json_build_end(&v->streams[i].text))
			return error_memory(e);
	return 0;
}

/* --- end ------------------------------------------------------------------- */

/* Called with the handle's lock.  Returns whether the command could not be started,
 * the command has ended, or the handle has ended. */
static bool is_over(const struct visit *v)
{
	return v->waiter.end || (v->call->is_done && v->call->m.error.kind != HUTCH_OK) ||
	       v->h->stage == OVER;
}

static int judge(const struct visit *v, struct hutch_error *e)
{
	if (v->waiter.end)
		return 0;
	if (e)
		*e = v->call->m.error.kind != HUTCH_OK ? v->call->m.error : v->h->why;
	return -1;
}

static int play(struct visit *v, struct hutch_error *e)
{
	int rc = 0;

	if (handle_enter(v->h, e) < 0)
		return -1;
	while (!is_over(v) && rc == 0) {
		const int got = turn(v->h, e);
		if (got < 0)
			rc = -1;
		else if (got == 0)
			rc = wait_streams(v, e);
	}
	return handle_leave(v->h, rc < 0 ? -1 : judge(v, e));
}

static void fill(struct visit *v, struct hutch_result *ret)
{
	const char *end = v->waiter.end->m.json;
	int64_t code = 0;
	int timed_out = 0;

	*ret = (struct hutch_result){ .out_len = v->streams[0].text.len,
				      .err_len = v->streams[1].text.len,
				      .lost = v->lost };
	ret->out = v->streams[0].text.bytes;
	ret->err = v->streams[1].text.bytes;
	v->streams[0].text = v->streams[1].text = (struct json_build){ 0 };
	(void)hutch_json_integer(end, "exit_code", &code);
	(void)hutch_json_bool(end, "timed_out", &timed_out);
	ret->exit_code = (int)code;
	ret->timed_out = timed_out;
}

static void visit_done(struct visit *v)
{
	if (v->call) { /* NULL if the call was not begun, for example in a child of
			* fork(2) */
		(void)handle_enter(v->h, NULL);
		wait_leave(v->h, &v->waiter);
		call_forget(v->h, v->call);
		(void)handle_leave(v->h, 0);
	}
	packet_free(v->waiter.end);
	own_close(&v->input);
	for (int i = 0; i < 3; i++)
		own_close(&v->inside[i]);
	for (int i = 0; i < 2; i++) {
		own_close(&v->streams[i].fd);
		json_build_done(&v->streams[i].text);
	}
}

static int run(struct hutch *h, const char *params, const struct hutch_input *input,
	       struct hutch_result *ret, struct hutch_error *e)
{
	struct visit v = { .h = h,
			   .inside = { -1, -1, -1 },
			   .input = -1,
			   .data = input->data,
			   .left = input->len,
			   .streams = { { .fd = -1 }, { .fd = -1 } },
			   .waiter = { .wake = -1 } };
	int rc = -1;

	if (open_streams(&v, e) == 0 && begin(&v, params, e) == 0 && play(&v, e) == 0 &&
	    drain(&v, e) == 0) {
		fill(&v, ret);
		rc = 0;
	}
	visit_done(&v);
	return rc;
}

int hutch_run(struct hutch *h, const struct hutch_exec *x,
	      const struct hutch_input *input, struct hutch_result *ret,
	      struct hutch_error *e)
{
	struct hutch_exec all = { 0 };
	struct hutch_input given = { 0 };
	struct json_build d = { 0 };

	memcpy(&all, x, x->size < sizeof(all) ? x->size : sizeof(all));
	if (input)
		memcpy(&given, input,
		       input->size < sizeof(given) ? input->size : sizeof(given));
	all.flags = 0;
	const int rc = request_exec(&d, &all, e) < 0 ? -1 :
						       run(h, d.bytes, &given, ret, e);
	json_build_done(&d);
	return rc;
}

void hutch_result_done(struct hutch_result *r)
{
	if (!r)
		return;
	free(r->out);
	free(r->err);
	*r = (struct hutch_result){ 0 };
}
