/* request -- the functions of hutch.h that make calls, and the params that each of
 * them sends. */
#include "lib/request.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "lib/call.h"
#include "lib/error.h"
#include "lib/handle.h"
#include "lib/json_build.h"

/* Copies a caller's struct into one of the present size: a caller that was built with
 * an older version of hutch.h has fewer members. */
#define WHOLE(to, from) \
	memcpy((to), (from), (from)->size < sizeof(*(to)) ? (from)->size : sizeof(*(to)))

/* --- sending --------------------------------------------------------------- */

static int64_t begin(struct hutch *h, const struct request *r, void *tag,
		     struct hutch_error *e)
{
	if (handle_enter(h, e) < 0)
		return -1;
	const struct packet *p = call_begin(h, r, tag, e);
	const int64_t id = p ? p->m.call : -1;
	(void)handle_leave(h, 0);
	return id;
}

static int check(const struct json_build *d, const char *method, struct hutch_error *e)
{
	if (d->is_short)
		return error_memory(e);
	(void)error_set(e, HUTCH_INVALID,
		    "%s: a text is not UTF-8, which is all that the control socket "
		    "carries",
		    method);
	return -1;
}

/* Sends a request with the params that the draft holds, and releases the draft. */
static int64_t send_request(struct hutch *h, struct request *r, struct json_build *d,
			    void *tag, struct hutch_error *e)
{
	int64_t id = -1;

	if (json_build_end(d)) {
		r->params = d->bytes;
		id = begin(h, r, tag, e);
	} else {
		(void)check(d, r->method, e);
	}
	json_build_done(d);
	return id;
}

static int64_t plain(struct hutch *h, const char *method, void *tag,
		     struct hutch_error *e)
{
	return begin(h, &(struct request){ .method = method, .params = "{}" }, tag, e);
}

__attribute__((format(printf, 5, 6))) static int64_t
formatted(struct hutch *h, const char *method, void *tag, struct hutch_error *e,
	  const char *fmt, ...)
{
	char params[128];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(params, sizeof(params), fmt,
			ap); /* the text fits: it has only numbers and short words of
			      * the library */
	va_end(ap);
	return begin(h, &(struct request){ .method = method, .params = params }, tag, e);
}

/* Adds the caller's text to the draft, on one line; the text must be one JSON value. */
static int put_json(struct json_build *d, const char *json, const char *method,
		    struct hutch_error *e)
{
	struct json_view value;
	struct err why;
	const size_t from = d->len;

	if (json_view_scan(&value, json, strlen(json), &why) < 0) {
		(void)error_set(e, HUTCH_INVALID, "%s: %.300s", method, why.text);
		return -1;
	}
	json_build_add(d, json, strlen(json));
	/* Line ends are replaced by blanks; valid JSON has line ends only outside of
	 * strings. */
	for (size_t i = from; i < d->len; i++)
		if (d->bytes[i] == '\n' || d->bytes[i] == '\r')
			d->bytes[i] = ' ';
	return 0;
}

static bool is_word(const char *method)
{
	const size_t len = strspn(method, "abcdefghijklmnopqrstuvwxyz._-");

	return len && !method[len] && len < 64;
}

static int check_request(const struct hutch_request *r, struct hutch_error *e)
{
	if (!r->method || !is_word(r->method))
		return error_set(e, HUTCH_INVALID,
			     "a request without a method that could be one");
	if (r->fd_count > FD_PASS_MAX)
		return error_set(e, HUTCH_INVALID,
			     "%s: at most %d descriptors go with a request", r->method,
			     FD_PASS_MAX);
	return 0;
}

int64_t hutch_call(struct hutch *h, const struct hutch_request *r, void *tag,
		   struct hutch_error *e)
{
	struct hutch_request all = { 0 };
	struct json_build d = { 0 };

	WHOLE(&all, r);
	if (check_request(&all, e) < 0 ||
	    put_json(&d, all.params ? all.params : "{}", all.method, e) < 0)
		return -1;
	struct request out = { .method = all.method,
			       .fds = all.fds,
			       .fd_count = all.fd_count };
	return send_request(h, &out, &d, tag, e);
}

/* --- commands -------------------------------------------------------------- */

static void put_list(struct json_build *d, const char *key, const char *const *texts)
{
	json_build_putf(d, "\"%s\":[", key);
	for (size_t i = 0; texts[i]; i++) {
		json_build_put(d, i ? "," : "");
		json_build_quote(d, texts[i]);
	}
	json_build_put(d, "]");
}

static void put_text(struct json_build *d, const char *key, const char *text)
{
	if (!text)
		return;
	json_build_putf(d, ",\"%s\":", key);
	json_build_quote(d, text);
}

static int put_env(struct json_build *d, const char *const *env, struct hutch_error *e)
{
	json_build_put(d, ",\"env\":{");
	for (size_t i = 0; env[i]; i++) {
		const char *equals = strchr(env[i], '=');
		AUTO_FREE char *name =
			equals ? strndup(env[i], (size_t)(equals - env[i])) : NULL;
		if (!equals)
			return error_set(e, HUTCH_INVALID,
				     "exec.start: '%.60s' in env is no NAME=VALUE",
				     env[i]);
		d->is_short |= !name;
		json_build_put(d, i ? "," : "");
		json_build_quote(d, name ? name : "");
		json_build_put(d, ":");
		json_build_quote(d, equals + 1);
	}
	json_build_put(d, "}");
	return 0;
}

static void put_flags(struct json_build *d, const struct hutch_exec *x)
{
	if (x->flags & HUTCH_TTY)
		json_build_put(d, ",\"tty\":true");
	if ((x->flags & HUTCH_TTY) && x->rows && x->cols)
		json_build_putf(d, ",\"rows\":%u,\"cols\":%u", x->rows, x->cols);
	if (x->flags & HUTCH_STDIN)
		json_build_put(d, ",\"stdin\":true");
	if (x->flags & HUTCH_DETACH)
		json_build_put(d, ",\"detach\":true");
	if (x->timeout_ms)
		json_build_putf(d, ",\"timeout\":%llu.%03llu",
			   (unsigned long long)x->timeout_ms / 1000,
			   (unsigned long long)x->timeout_ms % 1000);
}

static int put_exec(struct json_build *d, const struct hutch_exec *x,
		    struct hutch_error *e)
{
	if (!x->argv || !x->argv[0])
		return error_set(e, HUTCH_INVALID, "exec.start: no command was given");
	json_build_put(d, "{");
	put_list(d, "argv", x->argv);
	if (x->env && put_env(d, x->env, e) < 0)
		return -1;
	if (x->secret) {
		json_build_put(d, ",");
		put_list(d, "secret", x->secret);
	}
	put_text(d, "cwd", x->cwd);
	put_text(d, "user", x->user);
	put_flags(d, x);
	json_build_put(d, "}");
	return 0;
}

int request_exec(struct json_build *d, const struct hutch_exec *x, struct hutch_error *e)
{
	if (put_exec(d, x, e) < 0)
		return -1;
	return json_build_end(d) ? 0 : check(d, "exec.start", e);
}

int64_t hutch_exec(struct hutch *h, const struct hutch_exec *x, void *tag,
		   struct hutch_error *e)
{
	struct hutch_exec all = { 0 };
	struct request r = { .method = "exec.start", .fds = all.fds };
	struct json_build d = { 0 };

	WHOLE(&all, x);
	r.fd_count = all.flags & HUTCH_FDS ? 3 : 0;
	if (put_exec(&d, &all, e) < 0) {
		json_build_done(&d);
		return -1;
	}
	return send_request(h, &r, &d, tag, e);
}

int64_t hutch_exec_wait(struct hutch *h, int64_t process, void *tag,
			struct hutch_error *e)
{
	return formatted(h, "exec.wait", tag, e, "{\"process\":%lld}",
			 (long long)process);
}

int64_t hutch_exec_attach(struct hutch *h, int64_t process, void *tag,
			  struct hutch_error *e)
{
	return formatted(h, "exec.attach", tag, e, "{\"process\":%lld}",
			 (long long)process);
}

int64_t hutch_exec_write(struct hutch *h, int64_t process,
			 const struct hutch_input *input, void *tag,
			 struct hutch_error *e)
{
	struct request r = { .method = "exec.write" };
	struct hutch_input all = { 0 };
	struct json_build d = { 0 };

	WHOLE(&all, input);
	json_build_putf(&d, "{\"process\":%lld,\"base64\":\"", (long long)process);
	json_build_base64(&d, all.data, all.len);
	json_build_put(&d, all.flags & HUTCH_EOF ? "\",\"eof\":true}" : "\"}");
	return send_request(h, &r, &d, tag, e);
}

int64_t hutch_exec_signal(struct hutch *h, int64_t process, int signo, void *tag,
			  struct hutch_error *e)
{
	return formatted(h, "exec.signal", tag, e, "{\"process\":%lld,\"signal\":%d}",
			 (long long)process, signo);
}

int64_t hutch_exec_resize(struct hutch *h, int64_t process, struct hutch_window size,
			  void *tag, struct hutch_error *e)
{
	return formatted(h, "exec.resize", tag, e,
			 "{\"process\":%lld,\"rows\":%u,\"cols\":%u}", (long long)process,
			 size.rows, size.cols);
}

int64_t hutch_exec_list(struct hutch *h, void *tag, struct hutch_error *e)
{
	return plain(h, "exec.list", tag, e);
}

/* --- files ----------------------------------------------------------------- */

static int64_t copy(struct hutch *h, bool packs, const struct hutch_copy *c, void *tag,
		    struct hutch_error *e)
{
	struct request r = { .method = packs ? "copy.out" : "copy.in" };
	struct json_build d = { 0 };
	/* /dev/null takes the place of each stream that the copy does not use. */
	AUTO_CLOSE int null =
		c->flags & HUTCH_FDS ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
	const int fds[] = { packs ? null : c->tar, packs ? c->tar : null,
			    c->sentences < 0 ? null : c->sentences };

	if (!c->path)
		return error_set(e, HUTCH_INVALID, "%s: no path was given", r.method);
	if ((c->flags & HUTCH_FDS) && null < 0)
		return error_sys(e, "%s: open /dev/null", r.method);
	r.fds = fds;
	r.fd_count = c->flags & HUTCH_FDS ? 3 : 0;
	json_build_put(&d, "{\"path\":");
	json_build_quote(&d, c->path);
	if (packs && (c->flags & HUTCH_FOLLOW))
		json_build_put(&d, ",\"follow\":true");
	if (!packs)
		put_text(&d, "name", c->name);
	json_build_put(&d, "}");
	return send_request(h, &r, &d, tag, e);
}

int64_t hutch_copy_out(struct hutch *h, const struct hutch_copy *c, void *tag,
		       struct hutch_error *e)
{
	struct hutch_copy all = { 0 };

	WHOLE(&all, c);
	return copy(h, true, &all, tag, e);
}

int64_t hutch_copy_in(struct hutch *h, const struct hutch_copy *c, void *tag,
		      struct hutch_error *e)
{
	struct hutch_copy all = { 0 };

	WHOLE(&all, c);
	return copy(h, false, &all, tag, e);
}

/* --- actions --------------------------------------------------------------- */

static const char *streams(unsigned flags)
{
	static const char *const words[] = {
		"\"stream\":false,\"confirm\":false",
		"\"stream\":true,\"confirm\":false",
		"\"stream\":false,\"confirm\":true",
		"\"stream\":true,\"confirm\":true",
	};

	return words[(flags & HUTCH_STREAM ? 1 : 0) + (flags & HUTCH_CONFIRM ? 2 : 0)];
}

int64_t hutch_act(struct hutch *h, const char *action, unsigned flags, void *tag,
		  struct hutch_error *e)
{
	struct request r = { .method = "act" };
	struct json_build d = { 0 };

	json_build_put(&d, "{\"action\":");
	if (put_json(&d, action ? action : "", "act", e) < 0) {
		json_build_done(&d);
		return -1;
	}
	json_build_put(&d, ",");
	json_build_put(&d, streams(flags));
	json_build_put(&d, "}");
	return send_request(h, &r, &d, tag, e);
}

int64_t hutch_cancel(struct hutch *h, int64_t id, void *tag, struct hutch_error *e)
{
	return formatted(h, "cancel", tag, e, "{\"id\":%lld}", (long long)id);
}

/* Gives the caller the connection, and ends the handle, whose later errors say that it
 * has become `what`. */
static int give_socket(struct hutch *h, const char *what, struct hutch_error *e)
{
	if (h->stage == OVER) {
		if (e)
			*e = h->why;
		return -1;
	}
	/* From now on the caller reads the socket itself, so no bytes after this
	 * answer may be in the library's buffer. */
	const bool is_clean = !h->calls && h->in.end == h->in.start;
	AUTO_CLOSE int fd = is_clean ? fcntl(h->socket, F_DUPFD_CLOEXEC, 3) : -1;
	if (fd < 0 && is_clean)
		(void)error_sys(e, "copy the connection to sandbox '%s'", h->name);
	else if (!is_clean || fcntl(fd, F_SETFL, 0) < 0)
		(void)error_set(
			e, HUTCH_BUSY,
			"something else is under way at the handle of sandbox '%s'",
			h->name);
	(void)error_set(&h->why, HUTCH_INVALID,
			"the handle of sandbox '%s' has become %s", h->name, what);
	handle_end(h);
	return is_clean ? fd_take(&fd) : -1;
}

int hutch_act_stream(struct hutch *h, unsigned flags, struct hutch_error *e)
{
	if (handle_enter(h, e) < 0)
		return -1;
	const bool is_busy = h->calls != NULL;
	(void)handle_leave(h, 0);
	if (is_busy)
		return error_set(e, HUTCH_BUSY,
			     "act.stream: something else is under way at this handle");
	const int64_t call =
		formatted(h, "act.stream", HUTCH_WAIT, e, "{%s}", streams(flags));
	if (hutch_wait(h, call, -1, NULL, e) < 0 || handle_enter(h, e) < 0)
		return -1;
	return handle_leave(h,
			    give_socket(h, "a stream of actions (hutch_act_stream)", e));
}

int hutch_detach(struct hutch *h, struct hutch_error *e)
{
	int fd = -1;

	if (handle_enter(h, e) < 0)
		return -1;
	if (h->stage < OPEN || h->calls)
		(void)error_set(e, HUTCH_BUSY, "the handle of sandbox '%s' %s", h->name,
				h->calls ? "has a call under way" : "is not open yet");
	else
		fd = give_socket(h, "a descriptor (hutch_detach)", e);
	return handle_leave(h, fd);
}

/* --- the sandbox ----------------------------------------------------------- */

int64_t hutch_events(struct hutch *h, uint64_t since, void *tag, struct hutch_error *e)
{
	return formatted(h, "events.subscribe", tag, e, "{\"since\":%llu}",
			 (unsigned long long)since);
}

int64_t hutch_info(struct hutch *h, void *tag, struct hutch_error *e)
{
	return plain(h, "info", tag, e);
}

int64_t hutch_stats(struct hutch *h, void *tag, struct hutch_error *e)
{
	return plain(h, "stats", tag, e);
}

int64_t hutch_pause(struct hutch *h, void *tag, struct hutch_error *e)
{
	return plain(h, "pause", tag, e);
}

int64_t hutch_unpause(struct hutch *h, unsigned flags, void *tag, struct hutch_error *e)
{
	return formatted(h, "unpause", tag, e, "{\"force\":%s}",
			 flags & HUTCH_FORCE ? "true" : "false");
}

int64_t hutch_stop(struct hutch *h, unsigned grace_s, void *tag, struct hutch_error *e)
{
	return formatted(h, "stop", tag, e, "{\"grace\":%u}", grace_s);
}

int64_t hutch_kill(struct hutch *h, void *tag, struct hutch_error *e)
{
	return plain(h, "kill", tag, e);
}

int64_t hutch_release(struct hutch *h, const char *name, void *tag, struct hutch_error *e)
{
	struct request r = { .method = "release" };
	struct json_build d = { 0 };

	json_build_put(&d, name ? "{\"name\":" : "{");
	if (name)
		json_build_quote(&d, name);
	json_build_put(&d, "}");
	return send_request(h, &r, &d, tag, e);
}
