#include "cli/common/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/own.h"
#include "cli/common/report.h"
#include "sandbox/launch/result.h"
#include "sandbox/root/cow.h"
#include "sandbox/state/pools.h"

#define STEP  (16u << 10)
#define HELLO 1

/* --- open ------------------------------------------------------------------ */

/* Fills in the error for an ended sandbox of which nothing but its changes is kept.
 * Returns false: that is not so. */
static bool explain_changes(const char *name, struct err *e)
{
	struct cow c;

	if (cow_find(name, &c, NULL) < 0)
		return false;
	bool is_ended = !c.is_live;
	if (is_ended) {
		(void)err_set(e, ERR_NOT_FOUND,
			      "sandbox '%s' has ended, and only its changes are kept",
			      name);
		(void)err_remedy(
			e, "hutch diff %s shows them, hutch discard %s removes them",
			name, name);
	}
	cow_done(&c);
	return is_ended;
}

int client_absent(const char *name, struct err *e)
{
	struct registry_list all = { 0 };
	struct registry_item item;
	struct nearest n;

	if (registry_find_ended(name, &item, NULL) == 0) {
		registry_item_done(&item);
		return -1;
	}
	nearest_init(&n, name, strlen(name));
	if (registry_list(true, &all, NULL) == 0)
		for (size_t i = 0; i < all.count; i++)
			nearest_try(&n, all.items[i].name);
	registry_list_done(&all);
	if (nearest_name(&n) && !strcmp(nearest_name(&n), name))
		return -1; /* it has come meanwhile */
	if (explain_changes(name, e))
		return -1;
	(void)err_set(e, ERR_NOT_FOUND, "no sandbox named '%s' exists", name);
	(void)nearest_suggest(&n, "", e);
	return err_remedy(e, "hutch ps -a lists those that run and those that have ended");
}

/* Fills in the error that no live sandbox has the name; the error tells whether an
 * ended sandbox had the name, or a pool has it. */
static int explain_absent(const char *name, struct err *e)
{
	struct registry_item item;
	struct json_view record;

	if (pools_has(name))
		return err_remedy(
			e,
			"'%s' is a pool: hutch pool exec %s runs a command in one of "
			"its sandboxes, hutch pool take %s hands one out",
			name, name, name);
	if (registry_find_ended(name, &item, NULL) < 0)
		return client_absent(name, e);
	(void)err_remedy(e, "hutch ps -a lists those that run and those that have ended");
	if (item.record &&
	    json_view_scan(&record, item.record, strlen(item.record), NULL) == 0) {
		AUTO_FREE char *reason =
			json_view_string(json_view_get(record, "reason"));
		(void)err_set(e, ERR_NOT_FOUND, "sandbox '%s' has ended (%.60s)", name,
			      reason ? reason : "unknown");
		(void)err_remedy(
			e, "hutch inspect %s tells more; hutch create %s makes a new one",
			name, name);
	}
	registry_item_done(&item);
	return -1;
}

int client_open(struct client *c, const char *name, struct err *e)
{
	int fd = registry_connect(name, e);

	if (fd < 0)
		return e && e->kind == ERR_NOT_FOUND ? explain_absent(name, e) : -1;
	client_over(c, fd, name);
	return 0;
}

void client_over(struct client *c, int fd, const char *name)
{
	*c = (struct client){ .fd = fd,
			      .last_id = HELLO,
			      .patience_ms = CLIENT_PATIENCE_MS,
			      .exit_code = EXIT_HUTCH };
	(void)snprintf(c->name, sizeof(c->name), "%s", name);
	buffer_init(&c->in, CLIENT_LINE_MAX + STEP);
}

void client_done(struct client *c)
{
	if (!c)
		return;
	/* A zeroed client, known by its buffer's bound of 0, must not close
	 * descriptor 0. */
	if (c->in.max)
		own_close(&c->fd);
	buffer_done(&c->in);
	c->fd = -1;
}

/* --- out ------------------------------------------------------------------- */

static int stuck(struct client *c, struct err *e)
{
	c->is_stuck = true;
	(void)err_set(e, ERR_SYSTEM,
		      "sandbox '%s' does not answer: its supervisor was stopped or "
		      "is stuck",
		      c->name);
	return err_remedy(e, "hutch rm -f %s ends it", c->name);
}

/* Writes the request; the descriptors are sent with its first byte. */
static int write_all(struct client *c, const char *text, size_t len,
		     const struct client_fds *fds, struct err *e)
{
	size_t passing = fds ? fds->count : 0;

	while (len > 0) {
		ssize_t n =
			fd_pass_send(c->fd, text, len, fds ? fds->fds : NULL, passing);
		if (n > 0) {
			text += n;
			len -= (size_t)n;
			passing = 0;
		} else if (errno == EAGAIN) {
			if (await_ready(c->fd, POLLOUT, clock_ms() + c->patience_ms) <= 0)
				return stuck(c, e);
		} else if (errno == EPIPE || errno == ECONNRESET) {
			return 0; /* EPIPE is no failure here: the supervisor's last
				   * message, which is read next, explains why it
				   * closed the connection */
		} else if (errno != EINTR) {
			return err_sys(e, "write to sandbox '%s'", c->name);
		}
	}
	return 0;
}

#define QUOTE(text) #text
#define DIGITS(number) QUOTE(number)
static const char greeting[] = "{\"jsonrpc\":\"2.0\",\"id\":" DIGITS(HELLO)
			       ",\"method\":\"hello\",\"params\":{\"protocol\":"
			       DIGITS(CLIENT_PROTOCOL) "}}\n";

static int say_hello(struct client *c, struct err *e)
{
	if (c->has_said_hello)
		return 0;
	c->has_said_hello = true;
	return write_all(c, greeting, strlen(greeting), NULL, e);
}

int client_send_fds(struct client *c, const char *method, const char *params,
		    const struct client_fds *fds, struct err *e)
{
	/* Hello and request are sent in one piece, so the server reads both at
	 * once. */
	AUTO_FREE char *text =
		text_format("%s{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\","
			    "\"params\":%s}\n",
			    c->has_said_hello ? "" : greeting, c->last_id + 1, method,
			    params ? params : "{}");
	const size_t len = strlen(text);

	if (len > CLIENT_LINE_MAX)
		return err_set(e, ERR_LIMIT, "the request is larger than 32 MiB");
	c->has_said_hello = true;
	if (write_all(c, text, len, fds, e) < 0)
		return -1;
	return (int)++c->last_id;
}

int client_send(struct client *c, const char *method, const char *params, struct err *e)
{
	return client_send_fds(c, method, params, NULL, e);
}

/* --- in -------------------------------------------------------------------- */

/* Drops the line that the last message was read from; the message is not valid any
 * longer. */
static void drop_taken(struct client *c)
{
	buffer_consume(&c->in, c->taken);
	c->taken = 0;
}

int client_fill(struct client *c, struct err *e)
{
	drop_taken(c);
	if (c->is_closed)
		return 0;
	uint8_t *to = buffer_reserve(&c->in, STEP);
	if (!to)
		return err_set(e, ERR_PROTOCOL,
			       "sandbox '%s' sent a line of more than 32 MiB", c->name);
	ssize_t n = recv(c->fd, to, STEP, MSG_DONTWAIT);
	if (n > 0) {
		buffer_added(&c->in, (size_t)n);
		return 1;
	}
	if (n == 0 || errno == ECONNRESET)
		c->is_closed = true;
	else if (errno != EAGAIN && errno != EINTR)
		return err_sys(e, "read from sandbox '%s'", c->name);
	return 0;
}

static int broken(const struct client *c, struct err *e)
{
	(void)err_set(e, ERR_PROTOCOL, "sandbox '%s' sent an invalid message (control "
				       "protocol, version %d)",
		      c->name, CLIENT_PROTOCOL);
	return err_remedy(
		e,
		"was hutch updated since it was created?  hutch rm -f %s and create "
		"it again",
		c->name);
}

static int read_message(const struct client *c, struct json_view line,
			struct message *ret, struct err *e)
{
	enum { ID, ERROR, RESULT, METHOD, PARAMS };
	struct json_view_member m[] = { [ID] = { .key = "id" },
					[ERROR] = { .key = "error" },
					[RESULT] = { .key = "result" },
					[METHOD] = { .key = "method" },
					[PARAMS] = { .key = "params" } };
	int64_t number = 0;

	json_view_members(line, m, ARRAY_LEN(m));
	const struct json_view id = m[ID].value;
	*ret = (struct message){ .error = m[ERROR].value,
				 .result = m[RESULT].value,
				 .method = m[METHOD].value,
				 .params = m[PARAMS].value };
	if (json_view_integer(id, &number) && number > 0 && number <= c->last_id &&
	    !ret->error.text != !ret->result.text) {
		ret->id = (unsigned)number;
		return 1;
	}
	/* An error without an id answers a line that the server could not
	 * parse, or refuses a connection beyond its limit. */
	if (json_view_type(id) == JSON_NULL && ret->error.text) {
		ret->id = c->is_greeted ? c->last_id : HELLO;
		return 1;
	}
	if (!id.text && json_view_type(ret->method) == JSON_STRING)
		return 1;
	return broken(c, e);
}

int client_next(struct client *c, struct message *ret, struct err *e)
{
	struct json_view line;
	struct err why;

	drop_taken(c);
	const char *text = (const char *)buffer_data(&c->in);
	const size_t len = buffer_len(&c->in);
	const char *end = len > c->searched
				  ? memchr(text + c->searched, '\n', len - c->searched)
				  : NULL;
	c->searched = end ? 0 : len;
	if (!end)
		return 0;
	c->taken = (size_t)(end - text) + 1;
	if (json_view_scan(&line, text, c->taken - 1, &why) < 0)
		return broken(c, e);
	return read_message(c, line, ret, e);
}

/* --- answers --------------------------------------------------------------- */

/* The names of the error kinds, as the supervisor writes them in data.kind. */
static const struct {
	const char *name;
	enum err_kind kind;
} kinds[] = {
	{ "not_found", ERR_NOT_FOUND },	    { "exists", ERR_EXISTS },
	{ "busy", ERR_BUSY },		    { "invalid", ERR_USAGE },
	{ "refused", ERR_REFUSED },	    { "unsupported", ERR_UNSUPPORTED },
	{ "timeout", ERR_LIMIT },	    { "disconnected", ERR_GONE },
	{ "limit", ERR_LIMIT },		    { "no_space", ERR_LIMIT },
	{ "internal", ERR_INTERNAL },
};

int client_refused(struct client *c, struct json_view error, struct err *e)
{
	AUTO_FREE char *message = json_view_string(json_view_get(error, "message"));
	AUTO_FREE char *remedy = json_view_string(json_view_get(error, "data.remedy"));
	const struct json_view word = json_view_get(error, "data.kind");
	enum err_kind kind = ERR_INTERNAL;
	int64_t code = EXIT_HUTCH;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (json_view_is(word, kinds[i].name))
			kind = kinds[i].kind;
	if (json_view_integer(json_view_get(error, "data.exit_code"), &code) &&
	    code > 0 && code < 256)
		c->exit_code = (int)code;
	(void)err_set(e, kind, "sandbox '%s': %.600s", c->name,
		      message ? message : "an error");
	return remedy ? err_remedy(e, "%.290s", remedy) : -1;
}

/* Returns the record of the sandbox's end.  If the supervisor was killed, its
 * janitor writes the record a moment later, so this waits. */
static char *record_of(const struct client *c)
{
	struct registry_item item;
	char *record = NULL;

	if (registry_find_ended(c->id[0] ? c->id : c->name, &item, NULL) == 0) {
		record = item.record ? text_copy(item.record) : NULL;
		registry_item_done(&item);
	} else if (c->is_bound) {
		(void)registry_wait(c->name, &record, NULL); /* on failure there is no
							      * record, and NULL is
							      * returned */
	}
	return record;
}

/* Returns whether a sandbox that ended so has the exit code of its main process, which no
 * other command has. */
static bool is_of_main(const char *reason)
{
	return reason && (!strcmp(reason, "exited") || !strcmp(reason, "stopped"));
}

int client_ended(struct client *c, struct err *e)
{
	struct json_view record = { 0 };
	int64_t code = 0;

	c->is_closed = true;
	AUTO_FREE char *text = record_of(c);
	if (!text || json_view_scan(&record, text, strlen(text), NULL) < 0) {
		(void)err_set(e, ERR_GONE,
			      "sandbox '%s' closed the connection: it has ended, or "
			      "is ending",
			      c->name);
		return err_remedy(e, "hutch ps -a tells what became of it");
	}
	AUTO_FREE char *reason = json_view_string(json_view_get(record, "reason"));
	AUTO_FREE char *message = json_view_string(json_view_get(record, "message"));
	if (!is_of_main(reason) &&
	    json_view_integer(json_view_get(record, "exit_code"), &code) && code > 0 &&
	    code < 256)
		c->exit_code = (int)code;
	return err_set(e, ERR_GONE, "sandbox '%s' has ended (%.60s)%s%.400s", c->name,
		       reason ? reason : "unknown", message ? ": " : "",
		       message ? message : "");
}

/* Waits for bytes, or until no process reads stdout any more. */
static int wait_while_read(const struct client *c, struct err *e)
{
	struct pollfd w[] = { { .fd = c->fd, .events = POLLIN },
			      { .fd = STDOUT_FILENO } };

	if (poll(w, ARRAY_LEN(w), -1) < 0)
		return errno == EINTR ? 0 : err_sys(e, "poll");
	return w[1].revents ? report_unread(e) : 0;
}

static int wait_for_more(struct client *c, int64_t due, struct err *e)
{
	/* All complete lines that came before the end of the connection have been
	 * handed out, so the end is reported now. */
	if (c->is_closed)
		return client_ended(c, e);
	if (c->prints && !due) {
		if (wait_while_read(c, e) < 0)
			return -1;
	} else if (await_ready(c->fd, POLLIN, due) <= 0) {
		return stuck(c, e);
	}
	return client_fill(c, e) < 0 ? -1 : 0;
}

/* Waits once for more bytes.  Returns 1 when a complete answer is there. */
static int next_answer(struct client *c, int64_t due, struct message *ret, struct err *e)
{
	int got = client_next(c, ret, e);

	if (got == 0)
		return wait_for_more(c, due, e);
	if (got > 0 && ret->id == 0) {
		if (c->take)
			c->take(c->context, ret);
		return 0;
	}
	return got;
}

static int await(struct client *c, unsigned id, int64_t due, struct message *ret,
		 struct err *e)
{
	int got;

	do {
		got = next_answer(c, due, ret, e);
	} while (got == 0 || (got > 0 && ret->id != id));
	return got < 0 ? -1 : 0;
}

static int wrong_version(const struct client *c, struct json_view hello, struct err *e)
{
	AUTO_FREE char *version = json_view_string(json_view_get(hello, "version"));

	(void)err_set(e, ERR_UNSUPPORTED,
		      "sandbox '%s' was created by hutch %.40s, whose control "
		      "protocol is not version %d",
		      c->name, version ? version : "of another version", CLIENT_PROTOCOL);
	return err_remedy(e,
			  "use that hutch for it, or hutch rm -f %s and create it again",
			  c->name);
}

int client_greet(struct client *c, struct err *e)
{
	struct message m;
	int64_t protocol = 0;

	if (c->is_greeted)
		return 0;
	if (say_hello(c, e) < 0)
		return -1;
	if (await(c, HELLO, clock_ms() + c->patience_ms, &m, e) < 0)
		return -1;
	if (json_view_is(json_view_get(m.error, "data.kind"), "unsupported"))
		return wrong_version(c, m.error, e);
	if (m.error.text)
		return client_refused(c, m.error, e);
	if (!json_view_integer(json_view_get(m.result, "protocol"), &protocol) ||
	    protocol != CLIENT_PROTOCOL)
		return wrong_version(c, m.result, e);
	AUTO_FREE char *id = json_view_string(json_view_get(m.result, "id"));
	(void)snprintf(c->id, sizeof(c->id), "%s", id ? id : "");
	c->is_greeted = true;
	return 0;
}

int client_await(struct client *c, int id, struct json_view *ret, struct err *e)
{
	struct message m;

	if (client_greet(c, e) < 0 || await(c, (unsigned)id, c->due_ms, &m, e) < 0)
		return -1;
	if (m.error.text)
		return client_refused(c, m.error, e);
	*ret = m.result;
	return 0;
}

int client_call(struct client *c, const char *method, const char *params,
		struct json_view *ret, struct err *e)
{
	int id = client_send(c, method, params, e);

	return id < 0 ? -1 : client_await(c, id, ret, e);
}
