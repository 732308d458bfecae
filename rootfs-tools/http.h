/* http -- one request at a time, over libcurl, which is named in http.c alone.
 *
 * Who answers is a stranger: the headers and what is kept of a body are bounded, a
 * connection must come about and bytes must come within `patience_s` (below 100 bytes a
 * second over that time is a stall).  Certificates are checked.  A URL without TLS is
 * asked only where http_may_be_plain() says so, and redirects lead neither from TLS to
 * none nor to more than 5 places; on the way to another host, port or scheme the
 * Authorization is left behind.  Proxies are those of the environment (curl(1),
 * "ENVIRONMENT"), and SSL_CERT_FILE is a file of certificates to trust.
 *
 * No error and nothing else that is said holds a query, an Authorization or a form, since
 * there may be secrets in each. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;
struct http; /* opaque: connections that stay open */

#define HTTP_HEADERS_MAX 65536 /* bytes, all of one answer */
#define HTTP_ERROR_MAX	 8192  /* bytes kept of the body of an answer that is no 2xx */
#define HTTP_HOST_MAX	 300

struct http_rules {
	const struct list *insecure; /* borrowed; "HOST" or "HOST:PORT" */
	unsigned patience_s;
};

struct http_answer {
	int status;
	char type[128];		/* Content-Type without its parameters, or "" */
	char digest[128];	/* Docker-Content-Digest, or "" */
	struct list challenges; /* owned; each WWW-Authenticate */
	int64_t length;		/* of the body to come; -1: not said */
	uint64_t from;		/* 206: where it begins */
	int64_t retry_after_s;	/* 0: not said */
	char *body;		/* owned; with a 0 behind it */
	size_t len;
};

struct http_request {
	const char *url;
	const char *accept;	   /* NULL: anything */
	const char *authorization; /* the header's value, or NULL */
	const char *form;	   /* what is posted, or NULL: a GET */
	uint64_t from;		   /* from which byte on */
	size_t max;		   /* a longer body is ERR_LIMIT, where it is kept */
	/* Where set, gets the body of a 200 or 206 instead; -1, with `e`, ends it. */
	int (*take)(void *who, const struct http_answer *a, const void *data, size_t len,
		    struct err *e);
	void *who;
};

enum http_result {
	HTTP_FAILED = -1, /* it would fail again: what is wrong is said in `e` */
	HTTP_ANSWERED,	  /* any status */
	HTTP_BROKE,	  /* the connection broke off or stalled; `e` says how */
	HTTP_AWAY,	  /* nobody there, or no TLS is spoken there */
};

/* Once in a process, before anything else here. */
int http_begin(struct err *e);

/* `rules` is borrowed until http_free(). */
struct http *http_new(const struct http_rules *rules);
void http_free(struct http *h); /* NULL is allowed */

/* *ret is filled in as far as it came, whatever the result; http_answer_done() then. */
enum http_result http_ask(struct http *h, const struct http_request *r,
			  struct http_answer *ret, struct err *e);
void http_answer_done(struct http_answer *a);

/* Whether the host, "HOST" or "HOST:PORT" or "[::1]:PORT", is this machine. */
bool http_is_loopback(const char *host);

/* Whether it is among `insecure`: no certificate is asked of it. */
bool http_is_insecure(const struct http_rules *rules, const char *host);

/* "HOST" or "HOST:PORT" of a URL.  ERR_USAGE: it is none, has a user or password in it,
 * or is of another scheme. */
int http_host(const char *url, char ret[HTTP_HOST_MAX], struct err *e);

/* `text` as it stands in a query, allocated. */
char *http_escape(const char *text);
