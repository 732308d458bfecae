#include "supervisor/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "supervisor/rpc.h"

#define DEAF_MS 100
/* The time in ms that one client may use in a turn of the loop; then the others are
 * served. */
#define SHARE_MS 2
/* The time in ms that clients get after the sandbox's end to read what was sent to
 * them. */
#define GOODBYE_MS 2000

/* --- coming and going ------------------------------------------------------- */

/* Sends the client the reason of the refusal without blocking, and closes the
 * connection. */
static void refuse(struct supervisor *s, int fd, const struct err *e)
{
	struct buffer line;

	supervisor_log_add_err(&s->supervisor_log, LOG_LEVEL_WARN, "supervisor", e);
	buffer_init(&line, 8192);
	rpc_put_error(&line, "null", RPC_FAILED, e);
	(void)send(fd, buffer_data(&line), buffer_len(&line),
		   MSG_DONTWAIT | MSG_NOSIGNAL);
	buffer_done(&line);
	(void)close(fd);
}

static void tell_count(struct supervisor *s)
{
	AUTO_FREE char *more = text_format("\"clients\":%zu", s->client_count);

	supervisor_event(s, "client", more);
}

void clients_add(struct supervisor *s, int fd)
{
	struct client *c = mem_zeroed(1, sizeof(*c));

	connection_init(&c->conn, fd, ACTION_LINE_MAX, DISPATCHER_OUT_MAX);
	(void)snprintf(c->name, sizeof(c->name), "#%llu",
		       (unsigned long long)++s->client_number);
	c->dispatcher = (struct dispatcher_client){ .out = &c->conn.out,
						    .name = c->name,
						    .is_rpc = true };
	s->clients[s->client_count++] = c;
	tell_count(s);
}

static void be_deaf(struct supervisor *s)
{
	struct err e;

	(void)err_sys(&e, "take a connection");
	supervisor_log_add_err(&s->supervisor_log, LOG_LEVEL_WARN, "supervisor", &e);
	s->deaf_ms = s->now_ms + DEAF_MS;
}

void clients_accept(struct supervisor *s)
{
	struct err e;
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	/* Either the connection was closed again already, or the supervisor has no free
	 * descriptor.  In the latter case poll(2) would report the connection in an
	 * endless loop, so none is accepted for a while. */
	if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED)
		be_deaf(s);
	if (fd < 0)
		return;
	if (peer_check(&s->self, fd, &e) < 0)
		return refuse(s, fd, &e);
	if (s->client_count == CLIENTS_MAX) {
		(void)err_set(&e, ERR_LIMIT, "%d clients are connected already",
			      CLIENTS_MAX);
		return refuse(s, fd, &e);
	}
	clients_add(s, fd);
	/* The first request usually has arrived already, so read it now.  If the
	 * connection is broken, a later read fails too. */
	(void)connection_read(&s->clients[s->client_count - 1]->conn);
}

static void drop_mourner(struct supervisor *s, const struct client *c)
{
	for (struct mourner **at = &s->mourners; *at;) {
		struct mourner *m = *at;
		if (m->client != c) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		free(m->request);
		free(m);
	}
}

static void remove_client(struct supervisor *s, size_t i)
{
	struct client *c = s->clients[i];

	(void)lease_leave(s, c);
	s->lease.holder = s->lease.holder == c ? NULL : s->lease.holder;
	s->clients[i] = s->clients[--s->client_count];
	pause_leave(s, c);
	net_leave(s, c);
	dispatcher_leave(&s->dispatcher, &c->dispatcher);
	outputs_leave(s, c);
	jobs_leave(&s->jobs, c, s->now_ms);
	drop_mourner(s, c);
	connection_fds_done(&c->early);
	connection_done(&c->conn);
	free(c);
	tell_count(s);
}

void clients_done(struct supervisor *s)
{
	while (s->client_count > 0)
		remove_client(s, s->client_count - 1);
}

/* --- answers -------------------------------------------------------------- */

void client_result(struct client *c, const char *id, const char *result)
{
	rpc_put_result(&c->conn.out, id, result);
}

void client_error(struct client *c, const char *id, int code, const struct err *e)
{
	rpc_put_error(&c->conn.out, id, (enum rpc_code)code, e);
}

/* Sends events.  It is called after outputs_tell(), which leaves output unsent only if
 * the client reads too slowly; then its events wait too.  So a client gets the event of
 * a process's end after all output of that process. */
static bool tell_events(struct supervisor *s, struct client *c)
{
	bool has_some = false;

	while (c->has_events && c->next_event < s->events.next &&
	       buffer_len(&c->conn.out) <= CLIENT_HIGH) {
		const char *text = events_get(&s->events, c->next_event);
		if (text) {
			rpc_put_notification(&c->conn.out, "event", text);
			c->next_event++;
		} else {
			uint64_t first = s->events.next - EVENTS_KEPT;
			AUTO_FREE char *dropped =
				text_format("{\"event\":\"dropped\",\"count\":%llu}",
					    (unsigned long long)(first - c->next_event));
			rpc_put_notification(&c->conn.out, "event", dropped);
			c->next_event = first;
		}
		has_some = true;
	}
	return has_some;
}

void clients_tell(struct supervisor *s, const char *params)
{
	for (size_t i = 0; i < s->client_count; i++) {
		struct client *c = s->clients[i];
		if (c->has_events && buffer_len(&c->conn.out) <= CLIENT_HIGH)
			rpc_put_notification(&c->conn.out, "event", params);
	}
}

/* Sends the event of a process's end to the client that started the process, even if
 * the client has not subscribed to events. */
void client_exited(struct supervisor *s, struct client *c, struct job *j)
{
	const char *text = events_get(&s->events, j->exit_event);

	j->owes_event = false;
	if (c->has_events && c->next_event <= j->exit_event)
		return; /* a subscriber gets this event from tell_events() */
	rpc_put_notification(&c->conn.out, "event",
			     text ? text : "{\"event\":\"dropped\",\"count\":1}");
}

static bool tell_exits(struct supervisor *s, struct client *c)
{
	bool has_some = false;

	for (struct job *j = s->jobs.owed ? s->jobs.busy : NULL; j; j = j->next_busy) {
		if (j->owner != c || !j->owes_event || outputs_is_behind(c, j))
			continue;
		client_exited(s, c, j);
		s->jobs.owed--;
		has_some = true;
	}
	return has_some;
}

/* --- lines ---------------------------------------------------------------- */

/* Descriptors that came with the hello belong to the request after it: adds them to
 * that request's descriptors. */
static void add_early(struct client *c, struct connection_fds *fds)
{
	if (c->early.count == 0)
		return;
	if (fds->count) {
		fds->is_wrong = true;
		connection_fds_done(&c->early);
	} else if (!fds->is_wrong) {
		*fds = c->early;
		c->early = (struct connection_fds){ 0 };
	}
}

static void take_request(struct supervisor *s, struct client *c, const char *line,
			 size_t len, struct connection_fds *fds)
{
	struct rpc_request r;
	struct err e;
	int code = rpc_decode(line, len, &r, &e);

	add_early(c, fds);
	if (code == 0 && fds->is_wrong) {
		(void)err_set(&e, ERR_USAGE,
			      "descriptors come beside the first byte of their "
			      "line, %d at most",
			      CONNECTION_FDS);
		code = RPC_PARAMS;
	}
	if (code == 0)
		code = methods_call(s, c, &r, fds, &e);
	if (code != 0) {
		redact_err(&s->dispatcher.secrets,
			   &e); /* the text may quote the request, which may contain a
				 * secret */
		client_error(c, r.id, code, &e);
	}
	rpc_done(&r);
}

static void take_line(struct supervisor *s, struct client *c, enum line_kind kind,
		      const char *line, size_t len, struct connection_fds *fds)
{
	struct err e;

	if (kind == LINE_TOO_LONG && c->is_stream) {
		dispatcher_long_line(&s->dispatcher, &c->dispatcher);
	} else if (kind == LINE_TOO_LONG) {
		(void)err_set(&e, ERR_LIMIT, "a line of more than %u bytes",
			      ACTION_LINE_MAX);
		client_error(c, "null", RPC_REQUEST, &e);
	} else if (c->is_stream && len > 0) {
		dispatcher_line(&s->dispatcher, &c->dispatcher, line, len);
	} else if (len > 0) {
		take_request(s, c, line, len, fds);
	}
}

/* Returns whether another request of the client is read now.  A stream of actions stops
 * while the dispatcher is full.  Other clients may go on, since they can make other
 * requests: methods.c refuses a single action while the dispatcher is full. */
static bool may_ask(const struct supervisor *s, const struct client *c)
{
	return !c->is_closing && !dispatcher_is_behind(&c->dispatcher) &&
	       !(c->is_stream && dispatcher_is_full(&s->dispatcher)) &&
	       c->under_way + c->dispatcher.outstanding < CLIENT_REQUESTS;
}

/* Handles the client's lines, but stops after SHARE_MS, so that other clients get their
 * turn.  The clock is read after each line, since one line can take longer than that. */
static bool take_lines(struct supervisor *s, struct client *c)
{
	enum line_kind kind;
	const char *line;
	size_t len;
	struct connection_fds fds;
	bool has_some = false;
	const int64_t until = s->now_ms + SHARE_MS;

	while (may_ask(s, c) &&
	       (kind = connection_next(&c->conn, &line, &len, &fds)) != LINE_NONE) {
		take_line(s, c, kind, line, len, &fds);
		connection_fds_done(&fds);
		connection_took(&c->conn);
		has_some = true;
		supervisor_look_at_clock(s);
		if (clock_is_due(until, s->now_ms)) {
			s->has_left = true;
			break;
		}
	}
	return has_some;
}

/* --- the loop ------------------------------------------------------------- */

void clients_watch(const struct supervisor *s, struct pollfd *w)
{
	for (size_t i = 0; i < s->client_count; i++) {
		const struct client *c = s->clients[i];
		bool reads = may_ask(s, c) && connection_may_read(&c->conn);
		w[i] = (struct pollfd){
			.fd = c->conn.fd,
			.events = (short)((reads ? POLLIN : 0) |
					  (buffer_len(&c->conn.out) ? POLLOUT : 0)),
		};
	}
}

static bool flush(struct client *c, int64_t now)
{
	size_t before = buffer_len(&c->conn.out);
	bool is_well = connection_write(&c->conn);
	size_t left = buffer_len(&c->conn.out);

	if (left == 0)
		c->stuck_ms = 0;
	else if (left < before || !c->stuck_ms)
		c->stuck_ms = now;
	return is_well;
}

/* poll(2) reports a broken connection whatever events are asked for.  A client that has
 * closed only its writing end still gets its answers. */
void clients_serve(struct supervisor *s, const struct pollfd *w)
{
	for (size_t i = s->client_count; i-- > 0;) {
		struct client *c = s->clients[i];
		bool is_well = !(w[i].revents & (POLLERR | POLLNVAL));
		if (is_well && (w[i].revents & POLLOUT))
			is_well = flush(c, s->now_ms);
		if (is_well && (w[i].revents & (POLLIN | POLLHUP)) &&
		    connection_may_read(&c->conn))
			is_well = connection_read(&c->conn);
		/* The client has disconnected; poll(2) would report that again at
		 * once. */
		if (!is_well ||
		    ((w[i].revents & POLLHUP) && !connection_may_read(&c->conn)))
			remove_client(s, i);
	}
}

static bool is_finished(const struct client *c)
{
	bool has_all = buffer_len(&c->conn.out) == 0 &&
		       dispatcher_is_idle(&c->dispatcher);

	if (c->conn.out.is_cut || c->dispatcher.replies.bytes > CLIENT_WAITING)
		return true;
	return has_all && (c->is_closing ||
			   (lines_is_over(&c->conn.lines) && c->under_way == 0));
}

/* Returns whether the client holds the sandbox's lease and has closed its writing end,
 * which ends the sandbox.  The connection stays open until the sandbox has ended, so
 * that the client can wait for that. */
static bool is_holder(struct supervisor *s, const struct client *c)
{
	return !s->has_ended && lease_leave(s, c);
}

/* The dispatcher may have asked the client whether actions may be done.  Answers these
 * questions with no if no answer can be read any more: the client has closed its
 * writing end, or has so many requests in progress that no more of its lines are read. */
static bool look_at_asked(struct supervisor *s, struct client *c)
{
	bool is_over = lines_is_over(&c->conn.lines);

	c->dispatcher.confirms &= !is_over;
	if (!is_over && c->under_way + c->dispatcher.outstanding < CLIENT_REQUESTS)
		return false;
	return dispatcher_unask(&s->dispatcher, &c->dispatcher);
}

bool clients_work(struct supervisor *s)
{
	bool has_some = false;

	for (size_t i = s->client_count; i-- > 0;) {
		struct client *c = s->clients[i];
		has_some = take_lines(s, c) || has_some;
		has_some = look_at_asked(s, c) || has_some;
		has_some = outputs_tell(c) || has_some;
		has_some = jobs_tell(&s->jobs, c) || has_some;
		has_some = tell_exits(s, c) || has_some;
		has_some = tell_events(s, c) || has_some;
		dispatcher_deliver(&c->dispatcher);
		bool was_behind = dispatcher_is_behind(&c->dispatcher),
		     is_well = flush(c, s->now_ms);
		/* There is room in `out` again for answers that waited for it; nothing
		 * else would make the loop continue for them. */
		has_some = has_some || (was_behind &&
					buffer_len(&c->conn.out) <= DISPATCHER_OUT_HIGH);
		if (!is_well || (is_finished(c) && !is_holder(s, c)))
			remove_client(s, i);
	}
	return has_some;
}

/* Reads requests that were sent before the connection closes; they are answered too. */
static void read_rest(struct supervisor *s)
{
	for (size_t i = s->client_count; i-- > 0;) {
		struct client *c = s->clients[i];
		if (may_ask(s, c) && connection_may_read(&c->conn) &&
		    !connection_read(&c->conn))
			remove_client(s, i);
	}
}

/* Closes the connection of each client that has read all its data; and when it is late,
 * of all others but those that the main process has waited for. */
static void part_with(struct supervisor *s, bool is_late)
{
	for (size_t i = s->client_count; i-- > 0;) {
		const struct client *c = s->clients[i];
		bool has_all = buffer_len(&c->conn.out) == 0 &&
			       (!c->holds_main || !c->log_readers);
		if (has_all || (is_late && !c->holds_main))
			remove_client(s, i);
	}
}

void clients_part(struct supervisor *s)
{
	struct pollfd w[CLIENTS_MAX];

	supervisor_look_at_clock(s);
	const int64_t due = s->now_ms + GOODBYE_MS;
	for (bool is_late = false;; is_late = clock_is_due(due, s->now_ms)) {
		do { /* clients whose buffers were full may have room for more data now */
			supervisor_look_at_clock(s);
			if (!is_late)
				read_rest(s);
		} while (clients_work(s) && (is_late || !clock_is_due(due, s->now_ms)));
		part_with(s, is_late);
		supervisor_look_at_clock(s);
		if (s->client_count == 0)
			break;
		for (size_t i = 0; i < s->client_count; i++)
			w[i] = (struct pollfd){ .fd = s->clients[i]->conn.fd,
						.events = POLLOUT };
		/* EINTR is no error here: the loop calls poll(2) again */
		(void)poll(w, s->client_count, is_late ? -1 : clock_wait(due, s->now_ms));
	}
	clients_done(s);
}
