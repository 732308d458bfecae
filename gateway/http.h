/* http -- an HTTP/1.1 server for one event loop; libmicrohttpd is named in http.c alone.
 *
 *	head		a request's head is there: it may be answered at once, its body may
 *			be taken (http_take_body, http_take_parts), and its reading may be
 *			held until http_go_on()
 *	part		bytes of one part of a multipart/form-data body
 *	complete	the body is complete; the request is answered now, or later
 *	closed		the request has been answered, or its client is gone: the request
 *			does not exist after this callback
 *
 * A client that goes, or half-closes its connection, while the answer to its whole request is
 * outstanding gives the connection back at once.  The request lives on until its handler answers
 * it: the handler need not know, but has no head and query any more.
 *
 * A body that the request's handler has not taken is refused (413).  A request whose head is
 * ambiguous is refused (400): two lengths, a length beside chunks, two hosts, a coding that is
 * not "chunked", a blank in the name of a field.
 *
 * Sources: libmicrohttpd(3); RFC 9110, RFC 9112, RFC 7578. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct http;
struct http_request;
struct loop;

/* Bytes of one part of a form. */
struct http_part {
	const char *name, *filename; /* filename: NULL, the part is no file */
	const char *bytes;
	size_t len;
	uint64_t at; /* the offset of these bytes in the part */
};

/* Memory of the bodies that are collected, of several servers together.  A request whose body
 * has no room is answered 503. */
struct http_bodies {
	uint64_t max, used; /* bytes */
};

struct http_events {
	void *context;
	struct http_bodies *bodies; /* borrowed; NULL: they have no bound together */
	void (*head)(void *context, struct http_request *r);
	void (*part)(void *context, struct http_request *r, const struct http_part *p);
	void (*complete)(void *context, struct http_request *r);
	void (*closed)(void *context, struct http_request *r);
};

struct http_tls {
	const char *certificate, *key; /* PEM texts, borrowed; NULL: no TLS */
};

/* Whether libmicrohttpd has TLS: that of a release's packages has none. */
bool http_has_tls(void);

/* Serves the listening socket `fd`, which is taken over.  `most`: how many connections
 * there may be; further ones wait in the kernel's queue.  NULL, with an error. */
struct http *http_new(struct loop *l, int fd, unsigned most, const struct http_tls *tls,
		      const struct http_events *events, struct err *e);
/* http_quiesce() accepts no further connection.  http_count() tells how many requests are
 * being worked at. */
void http_quiesce(struct http *h);
unsigned http_count(const struct http *h);
void http_free(struct http *h);

/* --- a request --------------------------------------------------------------- */

const char *http_method(const struct http_request *r);
/* The path, decoded but for "%00", without the query. */
const char *http_path(const struct http_request *r);
/* A field of the head, or a value of the query; NULL: it is absent.  Borrowed. */
const char *http_header(const struct http_request *r, const char *name);
const char *http_query(const struct http_request *r, const char *name);
/* Calls `each` for all values of the query with this name. */
void http_query_each(const struct http_request *r, const char *name, void *context,
		     void (*each)(void *context, const char *value));

/* Keeps a pointer of the handler's with the request. */
void http_set_user(struct http_request *r, void *user);
void *http_user(const struct http_request *r);

/* Called in `head` alone: the whole body is collected, up to `max` bytes; or it is a form,
 * whose parts come by `part`, of `max` bytes together; or its bytes come by `part` as they
 * are, as those of one part without a name. */
void http_take_body(struct http_request *r, size_t max);
void http_take_parts(struct http_request *r, uint64_t max);
void http_take_bytes(struct http_request *r, uint64_t max);
/* The body that was collected, with a NUL behind it. */
const char *http_body(const struct http_request *r, size_t *ret_len);

/* http_hold(), in `head`: the body is not read before http_go_on(). */
void http_hold(struct http_request *r);
void http_go_on(struct http_request *r);

/* --- its answer -------------------------------------------------------------- */

/* Adds a field to the head of the answer. */
void http_add(struct http_request *r, const char *name, const char *value);
/* Answers with these bytes, which are copied.  Only the first answer counts.  503 gets a
 * Retry-After, by which clients know that they may try again. */
void http_reply(struct http_request *r, unsigned status, const char *type,
		const void *bytes, size_t len);
/* Answers with a JSON text. */
void http_reply_json(struct http_request *r, unsigned status, const char *json);
bool http_is_answered(const struct http_request *r);
/* The status of the answer that was sent; 0: none was. */
unsigned http_status(const struct http_request *r);

/* Answers with a stream, of an unknown length.  http_write() copies the bytes and returns
 * false once HTTP_WAITING or more of them wait: `drained` is called when fewer than half
 * do, NULL: it is not.  http_end() ends the stream; http_abort() breaks the connection, so
 * that the client can tell the stream from a whole one.  A stream whose client closes its
 * connection, or half of it, is closed also while nothing is written. */
#define HTTP_WAITING (256u << 10)
void http_stream(struct http_request *r, unsigned status, const char *type,
		 void (*drained)(void *context, struct http_request *r));
bool http_write(struct http_request *r, const void *bytes, size_t len);
void http_end(struct http_request *r);
void http_abort(struct http_request *r);
