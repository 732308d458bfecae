/* http -- one request at a time, by libcurl, which is used in http.c alone.
 *
 * The server is not trusted: the headers and the kept part of a body are bounded, and a
 * connection, and then more bytes, must come within `patience_s` (less than 100 bytes a
 * second over that time is a stall).  Certificates are checked.  A URL without TLS is
 * asked only where http_is_loopback() or http_is_insecure() says so.  Redirects are
 * followed 5 times at most, and never from TLS to no TLS; the Authorization header is
 * not sent to another host, port or scheme.  Proxies are those of the environment
 * (curl(1), "ENVIRONMENT"), and SSL_CERT_FILE is a file of certificates to trust.
 *
 * No error or other message holds a query, an Authorization header or a form,
 * since each may hold secrets. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;
struct http; /* opaque: connections that stay open */

#define HTTP_HEADERS_MAX 65536 /* limit of the bytes of all headers of one answer */
#define HTTP_ERROR_MAX	 8192  /* how many bytes are kept of the body of an answer that
			        * is no 2xx */
#define HTTP_HOST_MAX	 300

struct http_rules {
	const struct list *insecure; /* borrowed; hosts whose certificate is not
				      * checked: "HOST" or "HOST:PORT" */
	unsigned patience_s;
};

struct http_answer {
	int status;
	char type[128];		/* Content-Type without its parameters, or "" */
	char digest[128];	/* Docker-Content-Digest, or "" */
	struct list challenges; /* owned; the value of each WWW-Authenticate header */
	int64_t length;		/* length of the body to come; -1: the server did not
				 * say */
	uint64_t from;		/* with status 206: the offset of the body's first byte in
				 * the whole content */
	int64_t retry_after_s;	/* the Retry-After header; 0: the server sent none */
	char *body;		/* owned; the kept body, with a 0 byte after it */
	size_t len;
};

struct http_request {
	const char *url;
	const char *accept;	   /* value of the Accept header; NULL: any type */
	const char *authorization; /* value of the Authorization header, or NULL */
	const char *form;	   /* body of a POST, or NULL for a GET */
	uint64_t from;		   /* offset of the first byte that is wanted */
	size_t max;		   /* limit of the kept body; a longer body is
				    * ERR_LIMIT */
	/* If not NULL, this function gets the body of a 200 or 206, which is then not
	 * kept.  If it returns -1, with `e` set, the request ends. */
	int (*take)(void *context, const struct http_answer *a, const void *data,
		    size_t len, struct err *e);
	void *context;
};

enum http_result {
	HTTP_FAILED = -1, /* the request failed, and would fail again; `e` says why */
	HTTP_ANSWERED,	  /* the server answered, with any status */
	HTTP_BROKE,	  /* the connection broke off or stalled; `e` says how */
	HTTP_AWAY,	  /* no server listens at that address, or the server does not
			   * speak TLS */
};

/* Call once in a process, before the other functions. */
int http_begin(struct err *e);

/* Makes a handle for requests.  `rules` must live until http_free(). */
struct http *http_new(const struct http_rules *rules);
void http_free(struct http *h); /* `h` may be NULL */

/* Sends one request.  `ret` is filled in as far as the answer came, whatever the
 * result; the caller ends with http_answer_done(). */
enum http_result http_ask(struct http *h, const struct http_request *r,
			  struct http_answer *ret, struct err *e);
void http_answer_done(struct http_answer *a);

/* Returns whether the host, "HOST" or "HOST:PORT" or "[::1]:PORT", is this machine. */
bool http_is_loopback(const char *host);

/* Returns whether the host is among `insecure`: its certificate is not checked. */
bool http_is_insecure(const struct http_rules *rules, const char *host);

/* Gives the "HOST" or "HOST:PORT" of a URL.  ERR_USAGE: the text is no URL, has a user
 * or password in it, or is of another scheme. */
int http_host(const char *url, char ret[HTTP_HOST_MAX], struct err *e);

/* Returns `text` escaped for a query, allocated. */
char *http_escape(const char *text);
