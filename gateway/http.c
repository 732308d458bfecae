#include "gateway/http.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/list.h"
#include "base/own.h"
#include "gateway/loop.h"

#define POOL_BYTES (32u << 10) /* for the head of a request, each connection */
#define IDLE_S	   60	       /* a connection on which nothing moves is closed */
#define FORM_BYTES (64u << 10) /* of a form, held at once */
#define PIECE	   (32u << 10)
#define LEFT_MAX   1000 /* requests without a client whose answers are outstanding */
#define RETRY_S	   "2"	       /* behind which a client may try again */
#define STREAM_MAX (16u << 20) /* bytes of a stream that its client has not taken */

enum body { BODY_REFUSED, BODY_WHOLE, BODY_PARTS, BODY_BYTES };

struct http {
	struct MHD_Daemon *daemon; /* owned */
	struct loop *loop;
	struct watch watch;
	struct timer timer;
	struct http_events events;
	unsigned count;
	/* Requests whose clients have gone while a handler was to answer later, which has a
	 * pointer to each; and those of them that have been answered. */
	struct http_request *left, *answered;
	unsigned left_count;
	bool must_run; /* a connection was resumed or broken off since the last run began */
};

struct http_request {
	struct http *http;
	struct http_request *next;	   /* of those whose clients have gone */
	struct MHD_Connection *connection; /* NULL: the client has gone */
	struct watch client;		   /* its descriptor is libmicrohttpd's */
	char *method, *path; /* owned */
	void *user;
	enum body takes;
	uint64_t room; /* bytes of the body that may still come */
	uint64_t came; /* bytes of BODY_BYTES */
	uint64_t counted; /* bytes of this request in the memory of all bodies */
	struct buffer body;
	struct MHD_PostProcessor *form; /* owned */
	struct list fields;		/* of the answer: name and value in turn */
	struct MHD_Response *reply;	/* owned: the answer, until it is queued */
	unsigned status;
	bool is_held, is_repeated, is_suspended, is_queued, is_in_callback, is_complete;
	bool is_gone, is_stream, is_watched, is_ended, is_aborted, was_full;
	struct buffer out;
	void (*drained)(void *context, struct http_request *r);
};

static void free_request(struct http_request *r)
{
	struct http *h = r->http;

	h->events.closed(h->events.context, r);
	if (r->form)
		(void)MHD_destroy_post_processor(r->form); /* the rest is not wanted */
	if (r->reply)
		MHD_destroy_response(r->reply);
	if (h->events.bodies)
		h->events.bodies->used -= r->counted;
	buffer_done(&r->body);
	buffer_done(&r->out);
	list_done(&r->fields);
	free(r->method);
	free(r->path);
	free(r);
}

static void free_answered(struct http *h)
{
	while (h->answered) {
		struct http_request *r = h->answered;

		h->answered = r->next;
		free_request(r);
	}
}

/* --- the loop ---------------------------------------------------------------- */

static void run(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG left;

	h->must_run = false;
	(void)MHD_run(h->daemon); /* fails only for a daemon of another mode */
	free_answered(h);
	/* The run itself may have resumed another connection, or broken one off, which the
	 * next run takes up; MHD_get_timeout() does not know of it. */
	if (h->must_run)
		loop_start(h->loop, &h->timer, 0);
	else if (MHD_get_timeout(h->daemon, &left) == MHD_YES)
		loop_start(h->loop, &h->timer,
			   (int64_t)(left < INT32_MAX ? left : INT32_MAX));
	else
		loop_stop(h->loop, &h->timer);
}

static void on_ready(void *context, uint32_t events)
{
	(void)events;
	run(context);
}

static void on_timer(void *context)
{
	run(context);
}

/* Continues a connection that was suspended.  libmicrohttpd does so in its next run. */
static void resume(struct http_request *r)
{
	if (!r->is_suspended)
		return;
	r->is_suspended = false;
	MHD_resume_connection(r->connection);
	r->http->must_run = true;
	loop_start(r->http->loop, &r->http->timer, 0);
}

static void suspend(struct http_request *r)
{
	r->is_suspended = true;
	MHD_suspend_connection(r->connection);
}

/* --- the client of a stream -------------------------------------------------- */

static void unwatch_client(struct http_request *r)
{
	if (r->is_watched)
		loop_unwatch(r->http->loop, &r->client);
	r->is_watched = false;
}

static void on_gone(void *context, uint32_t events)
{
	struct http_request *r = context;

	(void)events;
	unwatch_client(r);
	if (r->is_stream) {
		http_abort(r);
	} else if (r->http->left_count < LEFT_MAX) {
		r->is_gone = true;
		resume(r); /* on_request() closes the connection */
	}
}

/* A stream with nothing to send, and a request that is answered later, are suspended, and
 * libmicrohttpd does not look at a suspended connection: a client that has gone would keep the
 * connection. */
static void watch_client(struct http_request *r)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	r->client = (struct watch){ info->connect_fd, r, on_gone };
	r->is_watched = loop_watch(r->http->loop, &r->client, EPOLLRDHUP, NULL) == 0;
}

/* --- a request comes --------------------------------------------------------- */

struct head {
	unsigned lengths, hosts;
	bool is_odd;
};

static enum MHD_Result on_field(void *context, enum MHD_ValueKind kind, const char *name,
				const char *value)
{
	struct head *h = context;
	const bool is_coding = strcasecmp(name, "transfer-encoding") == 0;

	(void)kind;
	h->hosts += strcasecmp(name, "host") == 0;
	h->lengths += is_coding || strcasecmp(name, "content-length") == 0;
	/* "Transfer-Encoding :" is a field of another name for libmicrohttpd. */
	h->is_odd |= strpbrk(name, " \t") ||
		     (is_coding && (!value || strcasecmp(value, "chunked") != 0));
	return MHD_YES;
}

/* Two programs that read an ambiguous head differently would see different requests. */
static bool is_ambiguous(struct http_request *r)
{
	struct head h = { 0 };

	(void)MHD_get_connection_values(r->connection, MHD_HEADER_KIND, on_field, &h);
	return h.lengths > 1 || h.hosts > 1 || h.is_odd;
}

/* Decodes a path, or a part of a query, in place.  "%00" stays: the text would end there. */
static size_t unescape(void *context, struct MHD_Connection *c, char *text)
{
	char *to = text;

	(void)context, (void)c;
	for (const char *at = text; *at; at++) {
		const int high = *at == '%' ? hex_value(at[1]) : -1;
		const int low = high >= 0 ? hex_value(at[2]) : -1;
		const bool is_code = low >= 0 && high + low > 0;

		*to++ = is_code ? (char)(high * 16 + low) : *at;
		at += is_code ? 2 : 0;
	}
	*to = '\0';
	return (size_t)(to - text);
}

static struct http_request *request_new(struct http *h, struct MHD_Connection *c,
					const char *path, const char *method)
{
	struct http_request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->http = h;
	r->connection = c;
	r->method = text_copy(method);
	r->path = text_copy(path);
	h->count++;
	return r;
}

static enum MHD_Result queue(struct http_request *r)
{
	const enum MHD_Result result =
		MHD_queue_response(r->connection, r->status, r->reply);

	r->is_queued = true;
	MHD_destroy_response(r->reply); /* gives up this reference */
	r->reply = NULL;
	return result;
}

/* Called at the end of each callback of libmicrohttpd's, which must queue an answer, take
 * bytes, or suspend. */
static enum MHD_Result settle(struct http_request *r)
{
	r->is_in_callback = false;
	/* Until http_go_on() a handler has the request in its hands, also an answered one. */
	if (r->reply && !r->is_held)
		return queue(r);
	if (!r->is_held && r->is_complete && !r->is_watched)
		watch_client(r);
	if (r->is_held || r->is_complete)
		suspend(r);
	return MHD_YES;
}

static enum MHD_Result on_form(void *context, enum MHD_ValueKind kind, const char *name,
			       const char *filename, const char *type,
			       const char *encoding, const char *bytes, uint64_t at,
			       size_t len)
{
	struct http_request *r = context;
	const struct http_part part = { name ? name : "", filename, bytes, len, at };

	(void)kind;
	(void)type;
	(void)encoding;
	if (r->reply)
		return MHD_NO;
	r->http->events.part(r->http->events.context, r, &part);
	return MHD_YES;
}

static void refuse(struct http_request *r, unsigned status, const char *detail)
{
	AUTO_FREE char *json = text_format("{\"detail\":\"%s\"}", detail);

	http_reply_json(r, status, json);
}

static void give_bytes(struct http_request *r, const char *bytes, size_t len)
{
	const struct http_part part = { "", NULL, bytes, len, r->came };

	r->came += len;
	r->http->events.part(r->http->events.context, r, &part);
}

/* Takes room in the memory of all bodies, or answers that there is none. */
static bool take_room(struct http_request *r, uint64_t len)
{
	struct http_bodies *all = r->http->events.bodies;

	if (!all)
		return true;
	if (len > all->max - all->used) {
		refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE,
		       "The server has no memory for this body now");
		return false;
	}
	all->used += len;
	r->counted += len;
	return true;
}

static void take(struct http_request *r, const char *bytes, size_t len)
{
	if (r->reply)
		return;
	if (len > r->room) {
		refuse(r, MHD_HTTP_CONTENT_TOO_LARGE, "The body is too large");
		return;
	}
	r->room -= len;
	if (r->takes == BODY_WHOLE && !take_room(r, len))
		return;
	if (r->takes == BODY_WHOLE && !buffer_append(&r->body, bytes, len))
		refuse(r, MHD_HTTP_CONTENT_TOO_LARGE, "The body is too large");
	else if (r->takes == BODY_PARTS &&
		 MHD_post_process(r->form, bytes, len) != MHD_YES && !r->reply)
		refuse(r, MHD_HTTP_BAD_REQUEST, "The form cannot be read");
	else if (r->takes == BODY_BYTES)
		give_bytes(r, bytes, len);
}

static void begin_form(struct http_request *r)
{
	if (!take_room(r, FORM_BYTES))
		return;
	r->form = MHD_create_post_processor(r->connection, FORM_BYTES, on_form, r);
	if (!r->form && !r->reply)
		refuse(r, MHD_HTTP_UNPROCESSABLE_CONTENT, "The body is no form");
}

static void begin(struct http_request *r)
{
	if (is_ambiguous(r))
		refuse(r, MHD_HTTP_BAD_REQUEST, "The head of the request is ambiguous");
	else
		r->http->events.head(r->http->events.context, r);
	if (r->takes == BODY_PARTS)
		begin_form(r);
}

static void complete(struct http_request *r)
{
	r->is_complete = true;
	if (r->form) {
		/* The post processor reports the last bytes when it is destroyed. */
		const bool is_whole = MHD_destroy_post_processor(r->form) == MHD_YES;

		r->form = NULL;
		if (!is_whole && !r->reply)
			refuse(r, MHD_HTTP_BAD_REQUEST, "The form is not complete");
	}
	if (!r->reply)
		r->http->events.complete(r->http->events.context, r);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *c,
				  const char *path, const char *method,
				  const char *version, const char *bytes, size_t *len,
				  void **ret)
{
	struct http_request *r = *ret;
	const bool is_new = !r;

	(void)version;
	if (is_new)
		*ret = r = request_new(context, c, path, method);
	if (!r || r->is_queued || r->is_gone)
		return MHD_NO;
	r->is_in_callback = true;
	if (is_new) {
		begin(r);
		/* libmicrohttpd reports a head again after a suspension. */
		r->is_repeated = r->is_held;
	} else if (r->is_repeated && *len == 0) {
		r->is_repeated = false;
	} else if (*len > 0) {
		take(r, bytes, *len);
		*len = 0;
		r->is_repeated = false;
		/* An answer can be queued before the body, or behind it. */
		r->is_in_callback = false;
		return MHD_YES;
	} else if (!r->is_complete && !r->reply) {
		complete(r);
	}
	return settle(r);
}

/* Keeps a request whose client has gone until its handler answers it. */
static void leave(struct http_request *r)
{
	struct http *h = r->http;

	r->connection = NULL;
	r->is_suspended = false;
	r->next = h->left;
	h->left = r;
	h->left_count++;
}

/* The handler may still have the request in its hands: it is freed by the next run. */
static void end_left(struct http_request *r)
{
	struct http *h = r->http;

	for (struct http_request **at = &h->left; *at; at = &(*at)->next) {
		if (*at != r)
			continue;
		*at = r->next;
		h->left_count--;
		r->next = h->answered;
		h->answered = r;
		h->must_run = true;
		loop_start(h->loop, &h->timer, 0);
		return;
	}
}

static void on_completed(void *context, struct MHD_Connection *c, void **ret,
			 enum MHD_RequestTerminationCode why)
{
	struct http *h = context;
	struct http_request *r = *ret;

	(void)c;
	if (!r)
		return;
	h->must_run |= why != MHD_REQUEST_TERMINATED_COMPLETED_OK;
	*ret = NULL;
	unwatch_client(r);
	h->count--;
	if (r->is_gone && !r->reply)
		leave(r);
	else
		free_request(r);
}

/* At the bound of connections libmicrohttpd does not watch its listening socket, and watches it
 * again in the run behind the one in which a connection was closed. */
static void on_connection(void *context, struct MHD_Connection *c, void **ret,
			  enum MHD_ConnectionNotificationCode what)
{
	struct http *h = context;

	(void)c;
	(void)ret;
	h->must_run |= what == MHD_CONNECTION_NOTIFY_CLOSED;
}

/* --- what a handler asks ----------------------------------------------------- */

const char *http_method(const struct http_request *r)
{
	return r->method;
}

const char *http_path(const struct http_request *r)
{
	return r->path;
}

const char *http_header(const struct http_request *r, const char *name)
{
	return r->connection
		       ? MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name)
		       : NULL;
}

const char *http_query(const struct http_request *r, const char *name)
{
	return r->connection ? MHD_lookup_connection_value(r->connection,
							   MHD_GET_ARGUMENT_KIND, name)
			     : NULL;
}

struct query {
	const char *name;
	void *context;
	void (*each)(void *context, const char *value);
};

static enum MHD_Result on_query(void *context, enum MHD_ValueKind kind, const char *name,
				const char *value)
{
	const struct query *q = context;

	(void)kind;
	if (value && !strcmp(name, q->name))
		q->each(q->context, value);
	return MHD_YES;
}

void http_query_each(const struct http_request *r, const char *name, void *context,
		     void (*each)(void *context, const char *value))
{
	struct query q = { name, context, each };

	if (!r->connection)
		return;
	(void)MHD_get_connection_values(r->connection, MHD_GET_ARGUMENT_KIND, on_query,
					&q);
}

void http_set_user(struct http_request *r, void *user)
{
	r->user = user;
}

void *http_user(const struct http_request *r)
{
	return r->user;
}

void http_take_body(struct http_request *r, size_t max)
{
	r->takes = BODY_WHOLE;
	r->room = max;
	buffer_init(&r->body, max + 1);
}

void http_take_parts(struct http_request *r, uint64_t max)
{
	r->takes = BODY_PARTS;
	r->room = max;
}

void http_take_bytes(struct http_request *r, uint64_t max)
{
	r->takes = BODY_BYTES;
	r->room = max;
}

const char *http_body(const struct http_request *r, size_t *ret_len)
{
	struct buffer *body = (struct buffer *)&r->body; /* the NUL is not part of it */
	uint8_t *end = buffer_reserve(body, 1);

	*ret_len = buffer_len(body);
	if (!end)
		return "";
	*end = '\0';
	return (const char *)buffer_data(body);
}

void http_hold(struct http_request *r)
{
	r->is_held = true;
}

void http_go_on(struct http_request *r)
{
	r->is_held = false;
	if (!r->is_in_callback)
		resume(r);
}

/* --- answers ----------------------------------------------------------------- */

void http_add(struct http_request *r, const char *name, const char *value)
{
	list_add(&r->fields, name);
	list_add(&r->fields, value);
}

static void answer(struct http_request *r, unsigned status, const char *type,
		   struct MHD_Response *reply)
{
	if (!r->connection) {
		MHD_destroy_response(reply); /* NULL is allowed */
		end_left(r);
		return;
	}
	if (!reply) /* no memory: the connection is closed without an answer */
		return;
	unwatch_client(r);
	(void)MHD_add_response_header(reply, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (size_t i = 0; i + 1 < r->fields.count; i += 2)
		/* A value with a line end is refused by libmicrohttpd, and left out. */
		(void)MHD_add_response_header(reply, r->fields.items[i],
					      r->fields.items[i + 1]);
	r->reply = reply;
	r->status = status;
	if (!r->is_in_callback && !r->is_held)
		resume(r);
}

bool http_is_answered(const struct http_request *r)
{
	return r->reply || r->is_queued;
}

unsigned http_status(const struct http_request *r)
{
	return r->is_queued ? r->status : 0;
}

void http_reply(struct http_request *r, unsigned status, const char *type,
		const void *bytes, size_t len)
{
	if (http_is_answered(r))
		return;
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		http_add(r, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_S);
	/* libmicrohttpd copies the bytes, and so does not write to them. */
	answer(r, status, type,
	       MHD_create_response_from_buffer(len, (void *)(uintptr_t)bytes,
					       MHD_RESPMEM_MUST_COPY));
}

void http_reply_json(struct http_request *r, unsigned status, const char *json)
{
	http_reply(r, status, "application/json", json, strlen(json));
}

static ssize_t on_piece(void *context, uint64_t at, char *to, size_t room)
{
	struct http_request *r = context;
	const size_t waiting = buffer_len(&r->out), len = waiting < room ? waiting : room;

	(void)at;
	if (r->is_aborted)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (len == 0 && r->is_ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (len == 0) {
		suspend(r);
		return 0;
	}
	memcpy(to, buffer_data(&r->out), len);
	buffer_consume(&r->out, len);
	if (r->was_full && buffer_len(&r->out) < HTTP_WAITING / 2) {
		r->was_full = false;
		if (r->drained)
			r->drained(r->http->events.context, r);
	}
	return (ssize_t)len;
}

void http_stream(struct http_request *r, unsigned status, const char *type,
		 void (*drained)(void *context, struct http_request *r))
{
	if (http_is_answered(r))
		return;
	if (!r->connection) {
		end_left(r);
		return;
	}
	unwatch_client(r);
	r->is_stream = true;
	r->drained = drained;
	buffer_init(&r->out, STREAM_MAX);
	answer(r, status, type,
	       MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, on_piece, r,
						 NULL));
	watch_client(r);
}

bool http_write(struct http_request *r, const void *bytes, size_t len)
{
	if (!r->is_stream || r->is_ended)
		return true;
	if (!buffer_append(&r->out, bytes, len))
		r->is_aborted =
			true; /* its client takes nothing, and the writer goes on */
	r->was_full |= buffer_len(&r->out) >= HTTP_WAITING;
	resume(r);
	return !r->was_full;
}

void http_end(struct http_request *r)
{
	r->is_ended = true;
	if (r->is_stream)
		resume(r);
}

void http_abort(struct http_request *r)
{
	if (!r->connection) {
		end_left(r);
		return;
	}
	r->is_aborted = true;
	http_end(r);
}

/* --- the server -------------------------------------------------------------- */

static void say_nothing(void *context, const char *format, va_list args)
{
	(void)context;
	(void)format;
	(void)args;
}

static struct MHD_Daemon *start(struct http *h, int fd, unsigned most,
				const struct http_tls *tls)
{
	const bool has_tls = tls && tls->certificate;
	struct MHD_OptionItem options[] = {
		{ MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)say_nothing, NULL },
		{ MHD_OPTION_LISTEN_SOCKET, fd, NULL },
		{ MHD_OPTION_CONNECTION_LIMIT, (intptr_t)most, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, POOL_BYTES, NULL },
		{ MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, h },
		{ MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, h },
		{ MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
		{ MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL },
		{ MHD_OPTION_END, 0, NULL },
		{ MHD_OPTION_END, 0, NULL },
		{ MHD_OPTION_END, 0, NULL },
	};

	const size_t end = ARRAY_LEN(options) - 3;
	if (has_tls) {
		options[end] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0,
							(void *)(uintptr_t)tls->key };
		options[end + 1] =
			(struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0,
						 (void *)(uintptr_t)tls->certificate };
	}
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO |
					MHD_USE_ERROR_LOG | (has_tls ? MHD_USE_TLS : 0),
				0, NULL, NULL, on_request, h, MHD_OPTION_ARRAY, options,
				MHD_OPTION_END);
}

bool http_has_tls(void)
{
	return MHD_is_feature_supported(MHD_FEATURE_SSL) == MHD_YES;
}

struct http *http_new(struct loop *l, int fd, unsigned most, const struct http_tls *tls,
		      const struct http_events *events, struct err *e)
{
	struct http *h = calloc(1, sizeof(*h));

	if (!h) {
		(void)err_sys(e, "serve HTTP");
		return NULL;
	}
	h->loop = l;
	h->events = *events;
	h->timer = (struct timer){ .context = h, .expired = on_timer };
	h->daemon = start(h, fd, most, tls);
	if (!h->daemon) {
		(void)err_set(
			e, ERR_SYSTEM, "serve HTTP: libmicrohttpd refuses to start%s",
			tls && tls->certificate
				? "; are the certificate and its key PEM files that "
				  "belong together?"
				: "");
		free(h);
		return NULL;
	}
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	h->watch = (struct watch){ info->epoll_fd, h, on_ready };
	if (loop_watch(l, &h->watch, EPOLLIN, e) < 0) {
		http_free(h);
		return NULL;
	}
	return h;
}

void http_quiesce(struct http *h)
{
	AUTO_CLOSE int fd = MHD_quiesce_daemon(h->daemon);

	run(h);
}

unsigned http_count(const struct http *h)
{
	return h->count;
}

void http_free(struct http *h)
{
	loop_unwatch(h->loop, &h->watch);
	loop_stop(h->loop, &h->timer);
	MHD_stop_daemon(h->daemon);
	while (h->left)
		end_left(h->left);
	free_answered(h);
	loop_stop(h->loop, &h->timer);
	free(h);
}
