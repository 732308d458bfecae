#include "tests/unit/actor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/list.h"
#include "base/own.h"

static void begin_with(struct actor *a, void (*start)(struct supervisor *))
{
	char home[] = "/tmp/hutch-actor-XXXXXX";

	*a = (struct actor){ .next = 1000, .file_session = 1 };
	assert_non_null(mkdtemp(home));
	a->home = text_copy(home);
	start(&a->s);
}

void actor_begin(struct actor *a)
{
	begin_with(a, supervisor_start);
}

static void open_first(struct actor *a)
{
	actor_open(a, 1, a->home, NULL);
	struct act x = actor_expect(a, 1);
	assert_int_equal(x.type, MSG_STARTED);
	act_done(&x);
}

void actor_start(struct actor *a)
{
	actor_begin(a);
	open_first(a);
}

void actor_start_init(struct actor *a)
{
	begin_with(a, supervisor_start_init);
	open_first(a);
}

void actor_start_seeing(struct actor *a)
{
	begin_with(a, supervisor_start_seeing);
	open_first(a);
}

static bool is_there(void *path)
{
	return access(path, F_OK) == 0;
}

void actor_await_file(const struct actor *a, const char *name)
{
	AUTO_FREE char *path = text_format("%s/%s", a->home, name);

	patience_wait(is_there, path);
}

void actor_make_fifo(const struct actor *a, const char *name)
{
	AUTO_FREE char *path = text_format("%s/%s", a->home, name);

	assert_int_equal(mkfifo(path, 0600), 0);
}

int actor_open_fifo(const struct actor *a, const char *name, int flags)
{
	AUTO_FREE char *path = text_format("%s/%s", a->home, name);

	/* Ends the test if the FIFO's other end is never opened. */
	(void)alarm(PATIENCE_S);
	int fd = open(path, flags | O_CLOEXEC);
	(void)alarm(0);
	assert_true(fd >= 0);
	return fd;
}

void actor_sync(struct actor *a)
{
	assert_true(actor_sync_alone(a));
}

void actor_end(struct actor *a)
{
	assert_int_equal(WEXITSTATUS(supervisor_end(&a->s)), 1);
	actor_clean(a);
}

void actor_clean(struct actor *a)
{
	char *remove = text_format("rm -rf '%s'", a->home);

	assert_int_equal(system(remove), 0);
	free(remove);
	free(a->home);
}

static void send_frame(struct actor *a, struct buffer *b)
{
	size_t len = buffer_len(b);

	/* A large request takes several writes. */
	while (len > 0) {
		ssize_t n = send(a->s.socket, buffer_data(b), len, MSG_NOSIGNAL);
		assert_true(n > 0);
		buffer_consume(b, (size_t)n);
		len -= (size_t)n;
	}
	buffer_done(b);
}

static void begin(struct buffer *b)
{
	buffer_init(b, FRAME_HEADER + FRAME_MAX_TO_EXECUTOR);
}

static void ask_open(struct actor *a, uint32_t id, const char *cwd, char *const *env,
		     uint32_t uid)
{
	char *home = text_format("HOME=%s", a->home);
	char *default_env[] = { TEXT("PATH=/usr/bin:/bin"), TEXT("TERM=xterm-256color"),
				home, NULL };
	struct exec x = { .flags = EXEC_PTY, .uid = uid,
			  .gid = uid == getuid() ? getgid() : uid,
			  .rows = 1000, .cols = 1000, .cwd = cwd,
			  .argv = ARGV(TEXT("bash")),
			  .env = env ? (char **)(uintptr_t)env : default_env };
	struct buffer b;
	struct err e;

	begin(&b);
	assert_int_equal(message_put_open(&b, id, &x, &e), 0);
	send_frame(a, &b);
	free(home);
}

void actor_open(struct actor *a, uint32_t id, const char *cwd, char *const *env)
{
	ask_open(a, id, cwd, env, getuid());
}

void actor_open_as(struct actor *a, uint32_t id, const char *cwd, uint32_t uid)
{
	ask_open(a, id, cwd, NULL, uid);
}

static struct list list_of(const char *one)
{
	struct list l = { 0 };

	if (one)
		list_add(&l, one);
	return l;
}

void actor_env(struct actor *a, const char *set, const char *unset)
{
	struct list sets = list_of(set), unsets = list_of(unset);
	struct buffer b;
	struct err e;

	begin(&b);
	assert_int_equal(message_put_env(&b, &sets, &unsets, &e), 0);
	send_frame(a, &b);
	list_done(&sets);
	list_done(&unsets);
}

uint32_t actor_send(struct actor *a, struct run_request r)
{
	struct buffer b;
	struct err e;

	begin(&b);
	assert_int_equal(action_put_run(&b, a->next, &r, &e), 0);
	send_frame(a, &b);
	(void)snprintf(a->last, sizeof(a->last), "%.*s",
		       (int)(r.text.len < 200 ? r.text.len : 200), r.text.data);
	return a->next++;
}

struct bytes bytes_of(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

uint32_t actor_send_run(struct actor *a, uint32_t session, uint32_t kind,
			const char *text)
{
	return actor_send(a, (struct run_request){ .session = session, .kind = kind,
						   .text = bytes_of(text) });
}

void actor_cancel(struct actor *a, uint32_t id)
{
	struct buffer b;
	struct err e;

	begin(&b);
	assert_int_equal(action_put_cancel(&b, id, &e), 0);
	send_frame(a, &b);
}

static bool read_more(struct actor *a)
{
	struct supervisor *s = &a->s;
	struct pollfd p = { .fd = s->socket, .events = POLLIN };

	if (poll(&p, 1, PATIENCE_MS) != 1)
		fail_msg("no answer in %d s to '%s'", PATIENCE_S, a->last);
	uint8_t *to = buffer_reserve(&s->in, 1);
	assert_non_null(to);
	ssize_t n = recv(s->socket, to, s->in.room - s->in.end, 0);
	if (n <= 0)
		return false;
	buffer_added(&s->in, (size_t)n);
	return true;
}

/* Returns a capacity that grows in large steps: a sanitizer copies a buffer whenever
 * it grows. */
static size_t room_of(size_t len)
{
	size_t room = 64;

	while (room < len + 1)
		room *= 2;
	return room;
}

static void append(char **to, size_t *len, struct bytes more)
{
	if (*len == 0 || room_of(*len + more.len) != room_of(*len))
		*to = realloc(*to, room_of(*len + more.len));
	assert_non_null(*to);
	memcpy(*to + *len, more.data, more.len);
	*len += more.len;
	(*to)[*len] = '\0';
}

static void keep(char to[4200], const char *text)
{
	(void)snprintf(to, 4200, "%s", text);
}

/* Copies the texts of the answer, since they point into the frame, which is freed. */
static void keep_returned(struct act *x)
{
	struct returned *r = &x->returned;

	keep(x->cwd, r->cwd);
	keep(x->path, r->path);
	keep(x->interpreter, r->stat.target);
	r->cwd = r->path = r->stat.target = NULL;
	x->outcome = r->outcome;
	x->sys = r->sys;
}

static void decode_end(const struct frame *f, struct act *x)
{
	struct done d = { 0 };
	struct err e = { .text = "?" };
	int got = -1;

	if (f->type == MSG_REPORT)
		got = action_get_report(f, &x->report, &e);
	else if (f->type == MSG_DONE)
		got = action_get_done(f, &d, &e);
	else if (f->type == MSG_EDITED)
		got = action_get_edited(f, &x->edited, &e);
	else if (f->type == MSG_RETURNED)
		got = action_get_returned(f, &x->returned, &e);
	else if (f->type == MSG_STARTED)
		got = message_get_started(f, &x->pid, &e);
	else if (f->type == MSG_FAILED)
		got = message_get_failed(f, &x->failed, &e);
	if (got < 0)
		fail_msg("type %u: %s", f->type, e.text);
	keep(x->cwd, f->type == MSG_REPORT ? x->report.cwd : d.cwd ? d.cwd : "");
	keep(x->interpreter, f->type == MSG_REPORT ? x->report.interpreter : "");
	keep(x->path, d.path ? d.path : "");
	x->outcome = d.outcome;
	x->sys = d.sys;
	if (f->type == MSG_RETURNED)
		keep_returned(x);
}

/* Adds a frame from the executor to the answer.  Returns true if it was the answer's
 * last frame. */
static bool take(const struct frame *f, struct act *x)
{
	struct bytes text;
	struct err e;

	if (x->id && x->id != f->id)
		fail_msg("'%s' about %u in the middle of %u", message_name(f->type),
			 f->id, x->id);
	x->id = f->id;
	if (f->type == MSG_OUTPUT || f->type == MSG_CONTENT) {
		assert_int_equal(action_get_text(f, &text, &e), 0);
		/* No piece of output begins within a character of UTF-8. */
		assert_int_not_equal(text.data[0] & 0xc0, 0x80);
		if (f->type == MSG_CONTENT) {
			append(&x->content, &x->len, text);
		} else {
			append(&x->output, &x->output_len, text);
			x->outputs++;
		}
		return false;
	}
	x->type = f->type;
	decode_end(f, x);
	return true;
}

struct act actor_next(struct actor *a)
{
	struct act x = { .content = text_copy(""), .output = text_copy("") };
	struct frame f;
	struct err e;

	for (bool is_end = false; !is_end;) {
		int whole = frame_next(&a->s.in, FRAME_MAX_FROM_EXECUTOR, &f, &e);
		assert_true(whole >= 0);
		if (whole == 0 && !read_more(a))
			return x;
		if (whole == 0)
			continue;
		is_end = !supervisor_pass_over(&a->s, &f) && take(&f, &x);
		buffer_consume(&a->s.in, FRAME_HEADER + f.len);
	}
	return x;
}

struct act actor_expect(struct actor *a, uint32_t id)
{
	struct act x = actor_next(a);

	if (x.id != id)
		fail_msg("'%s' about %u instead of %u", message_name(x.type), x.id, id);
	return x;
}

void act_done(struct act *x)
{
	free(x->content);
	free(x->output);
	x->content = x->output = NULL;
}

struct act actor_do(struct actor *a, struct run_request r, uint32_t state)
{
	struct act x = actor_expect(a, actor_send(a, r));

	assert_int_equal(x.type, MSG_REPORT);
	if (x.report.state != state)
		fail_msg("state %u instead of %u after '%.*s', exit %d: %s",
			 x.report.state, state,
			 (int)(r.text.len < 200 ? r.text.len : 200), r.text.data,
			 (int)x.report.exit_code, x.content);
	return x;
}

/* Appends new output.  It comes without its last newline, so a newline is put
 * between two pieces. */
static void add_shown(char *shown, size_t room, const char *content)
{
	size_t len = strlen(shown);

	if (*content)
		(void)snprintf(shown + len, room - len, "%s%s", len ? "\n" : "", content);
}

/* Soft time-out of each wait, in ms.  A wait that passes is followed by another. */
#define SHOW_MS 10

void actor_show(struct actor *a, struct run_request r, const char *content)
{
	char shown[4096] = "";

	r.soft_ms = SHOW_MS;
	r.hard_ms = 0;
	do {
		struct act x = actor_do(a, r, REPORT_NO_CHANGE);
		add_shown(shown, sizeof(shown), x.content);
		assert_int_equal(x.report.exit_code, ACTION_NO_CODE);
		act_done(&x);
		r.kind = RUN_WAIT;
		r.text = bytes_of("");
	} while (strlen(shown) < strlen(content));
	assert_string_equal(shown, content);
}

struct act actor_run(struct actor *a, const char *command)
{
	struct run_request r = { .session = 1, .kind = RUN_COMMAND,
				 .text = bytes_of(command) };

	return actor_do(a, r, REPORT_COMPLETED);
}

void actor_check(struct actor *a, const char *command, const char *content,
		 uint32_t exit_code)
{
	struct act x = actor_run(a, command);

	if (strcmp(x.content, content) != 0 || x.report.exit_code != exit_code)
		fail_msg("'%.200s' gave '%.300s', %u instead of '%.300s', %u", command,
			 x.content, x.report.exit_code, content, exit_code);
	act_done(&x);
}

static uint32_t send_read(struct actor *a, uint32_t form, const char *path,
			  uint64_t first, uint64_t end)
{
	struct read_request r = { .session = a->file_session,
				  .place = { getuid(), getgid(), "/" },
				  .form = form,
				  .first = first,
				  .end = end,
				  .path = path };
	struct buffer b;
	struct err e;

	begin(&b);
	assert_int_equal(action_put_read(&b, a->next, &r, &e), 0);
	send_frame(a, &b);
	return a->next++;
}

struct act actor_read(struct actor *a, uint32_t form, const char *path, uint64_t first,
		      uint64_t end)
{
	struct act x = actor_expect(a, send_read(a, form, path, first, end));

	assert_int_equal(x.type, MSG_DONE);
	return x;
}

bool actor_sync_alone(struct actor *a)
{
	uint32_t id = send_read(a, READ_TEXT, "/dev/null", 0, UINT64_MAX);
	struct act x = actor_next(a);
	bool is_alone = x.id == id;

	act_done(&x);
	return is_alone;
}

struct act actor_write(struct actor *a, const char *path, const char *content,
		       uint64_t first, uint64_t end)
{
	struct write_request r = { .session = a->file_session,
				   .place = { getuid(), getgid(), "/" },
				   .first = first, .end = end, .path = path,
				   .content = bytes_of(content) };
	struct buffer b;
	struct err e;

	begin(&b);
	assert_int_equal(action_put_write(&b, a->next, &r, &e), 0);
	send_frame(a, &b);
	struct act x = actor_expect(a, a->next++);
	assert_int_equal(x.type, MSG_DONE);
	return x;
}

uint32_t actor_send_edit(struct actor *a, struct edit_request r)
{
	struct buffer b;
	struct err e;

	r.session = a->file_session;
	r.place = (struct file_place){ getuid(), getgid(), a->home };
	r.line = r.line ? r.line : "";
	r.range = r.range ? r.range : "";
	begin(&b);
	assert_int_equal(action_put_edit(&b, a->next, &r, &e), 0);
	send_frame(a, &b);
	return a->next++;
}

struct act actor_edit(struct actor *a, struct edit_request r)
{
	struct act x = actor_expect(a, actor_send_edit(a, r));

	assert_int_equal(x.type, MSG_EDITED);
	assert_true(x.edited.text_len <= x.len);
	return x;
}

uint32_t actor_send_errand(struct actor *a, struct errand_request r)
{
	struct buffer b;
	struct err e;

	r.session = a->file_session;
	r.place = (struct file_place){ getuid(), getgid(), a->home };
	r.other = r.other ? r.other : "";
	r.include = r.include ? r.include : "";
	begin(&b);
	assert_int_equal(action_put_errand(&b, a->next, &r, &e), 0);
	send_frame(a, &b);
	return a->next++;
}

struct act actor_errand(struct actor *a, struct errand_request r)
{
	struct act x = actor_expect(a, actor_send_errand(a, r));

	assert_int_equal(x.type, MSG_RETURNED);
	return x;
}
