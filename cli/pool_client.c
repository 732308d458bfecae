#include "cli/pool_client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/wait_line.h"
#include "cli/common/client.h"
#include "sandbox/state/pools.h"

#define STEP	 4096
#define LINE_MAX (16u << 10) /* the longest line of a keeper's answer, in bytes */

/* How long, in ms, after the time-out of a take this waits for the keeper's answer,
 * which says why there was no sandbox. */
#define ANSWER_MS 2000

enum { HELLO = 1, REQUEST };

void pool_answer_done(struct pool_answer *a)
{
	own_close(&a->fd);
	buffer_done(&a->in);
	a->result = (struct json_view){ 0 };
}

/* --- lines --------------------------------------------------------------------- */

static int send_both(int fd, const char *request, const char *params, struct err *e)
{
	AUTO_FREE char *text = text_format(
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"hello\",\"params\":{\"protocol\":%d}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}\n",
		HELLO, CLIENT_PROTOCOL, REQUEST, request, params ? params : "{}");
	const ssize_t len = (ssize_t)strlen(text);

	/* The request fits into an empty socket, so one write sends all of it.  A
	 * keeper that refuses this client may have closed the socket already: EPIPE is
	 * then no error, since its message can still be read. */
	if (fd_pass_send(fd, text, (size_t)len, NULL, 0) == len || errno == EPIPE)
		return 0;
	return err_sys(e, "write to the pool");
}

/* Reads bytes of the answer.  Returns 1 if bytes came; 0 if the keeper has closed
 * the connection, or did not answer in time (errno says which). */
static int fill(struct pool_answer *a, int socket, int64_t due)
{
	uint8_t *room = buffer_reserve(&a->in, STEP);
	int fd = -1;

	errno = EMSGSIZE;
	if (!room)
		return 0;
	const int ready = await_ready(socket, POLLIN, due);
	errno = ETIMEDOUT;
	if (ready == 0)
		return 0;
	ssize_t got = fd_pass_receive(socket, room, STEP, &fd);
	if (fd >= 0) {
		own_close(&a->fd);
		a->fd = fd;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 1;
	errno = got < 0 ? errno : ECONNRESET;
	buffer_added(&a->in, got > 0 ? (size_t)got : 0);
	return got > 0;
}

static int no_line(const char *pool, struct err *e)
{
	if (errno != ETIMEDOUT) {
		(void)err_set(e, ERR_GONE, "the keeper of pool '%s' has ended", pool);
		return err_remedy(
			e, "hutch pool ls lists the pools; hutch pool create makes one");
	}
	(void)err_set(e, ERR_SYSTEM,
		      "the keeper of pool '%s' does not answer: it was stopped, or is "
		      "stuck",
		      pool);
	return err_remedy(
		e, "end it, a process called hutch-pool, and what waits in it ends, too");
}

/* Gets the next line of the answer, which is valid until the next call. */
static int next_line(struct pool_answer *a, const char *pool, int socket, int64_t due,
		     struct json_view *ret, struct err *e)
{
	const char *end;

	buffer_consume(&a->in, a->taken);
	a->taken = 0;
	for (;;) {
		const char *text = (const char *)buffer_data(&a->in);
		const size_t len = buffer_len(&a->in);
		end = len ? memchr(text, '\n', len) : NULL;
		if (end) {
			a->taken = (size_t)(end - text) + 1;
			if (json_view_scan(ret, text, a->taken - 1, NULL) == 0)
				return 0;
			return err_set(e, ERR_PROTOCOL, "pool '%s' sent an invalid reply",
				       pool);
		}
		if (!fill(a, socket, due))
			return no_line(pool, e);
	}
}

/* --- answers ------------------------------------------------------------------- */

static int refused(const char *pool, struct json_view error, struct err *e)
{
	struct client c = { 0 }; /* client_refused() needs a client to set fields of;
				  * nothing else uses this one */

	(void)client_refused(&c, error, e);
	AUTO_FREE char *message = json_view_string(json_view_get(error, "message"));
	AUTO_FREE char *remedy = json_view_string(json_view_get(error, "data.remedy"));
	enum err_kind kind = (enum err_kind)e->kind;
	(void)err_set(e, kind, "pool '%s': %.600s", pool, message ? message : "an error");
	return remedy ? err_remedy(e, "%.290s", remedy) : -1;
}

static int take_line(struct pool_answer *a, const char *pool, int socket, int64_t due,
		     struct err *e)
{
	struct json_view line;

	if (next_line(a, pool, socket, due, &line, e) < 0)
		return -1;
	const struct json_view error = json_view_get(line, "error");
	if (error.text)
		return refused(pool, error, e);
	a->result = json_view_get(line, "result");
	return 0;
}

/* Sends one request to a keeper and waits for its answer until `due`; 0: without a
 * time limit. */
static int ask(const char *pool, const char *request, const char *params, int64_t due,
	       struct pool_answer *ret, struct err *e)
{
	const int64_t now = clock_ms();

	*ret = (struct pool_answer){ .fd = -1 };
	buffer_init(&ret->in, LINE_MAX);
	const int64_t connect_due = clock_sooner(due, now + POOLS_CONNECT_MS);
	AUTO_CLOSE int socket = pools_connect(pool, clock_wait(connect_due, now), e);
	if (socket < 0 || send_both(socket, request, params, e) < 0 ||
	    take_line(ret, pool, socket, clock_sooner(due, now + CLIENT_PATIENCE_MS), e) <
		    0)
		return -1;
	return take_line(ret, pool, socket, due, e);
}

int pool_ask(const char *pool, const char *request, const char *params,
	     struct pool_answer *ret, struct err *e)
{
	return ask(pool, request, params, 0, ret, e);
}

/* Limits the requests that are sent to the sandbox by the time-out of the take, too. */
static void hasten(struct client *c, int64_t due, int64_t now)
{
	const int64_t left = due - now;

	if (!due)
		return;
	c->due_ms = due;
	if (left < c->patience_ms)
		c->patience_ms = left < 0 ? 0 : (int)left;
}

int pool_take(const char *pool, int64_t timeout_ms, struct client *ret, struct err *e)
{
	const int64_t due = timeout_ms < 0 ? 0 : clock_ms() + timeout_ms + ANSWER_MS;
	AUTO_FREE char *params = timeout_ms < 0 ? text_copy("{}")
						: text_format("{\"timeout\":%.3f}",
							      (double)timeout_ms / 1000);
	struct pool_answer a;
	AUTO_FREE char *text = text_format("waiting for a sandbox of pool '%s'", pool);
	struct wait_line w;
	wait_line_start(&w, text);
	int result = ask(pool, "take", params, due, &a, e);
	wait_line_stop(&w);

	AUTO_FREE char *name =
		result < 0 ? NULL : json_view_string(json_view_get(a.result, "sandbox"));
	if (result == 0 && (!name || !registry_is_name(name) || a.fd < 0))
		result =
			err_set(e, ERR_PROTOCOL, "pool '%s' handed out no sandbox", pool);
	if (result == 0) {
		client_over(ret, fd_take(&a.fd), name);
		hasten(ret, due, clock_ms());
	}
	pool_answer_done(&a);
	return result;
}
