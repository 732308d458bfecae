/* gateway -- the front of hutch-serve: which request goes to which handler.
 *
 * A request whose head is there becomes a `struct visit`, which lives until the request has
 * been answered.  The checks come first, for every path: the Host and Origin (guard.h), the
 * path, then the key that the route needs.  A handler answers by http_reply() and others, at
 * once or later. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/box.h"
#include "gateway/free_memory.h"
#include "gateway/http.h"
#include "gateway/image_build.h"
#include "gateway/loop.h"
#include "gateway/request_log.h"
#include "gateway/serve.h"
#include "gateway/spawn_link.h"

struct err;
struct native_stream;
struct visit;

#define GATEWAY_BODY_MAX (40u << 20) /* of a JSON body: an action may have 32 MiB */

enum access {
	ACCESS_OPEN,	 /* no key */
	ACCESS_OPERATOR, /* the server's key */
	ACCESS_BOX,	 /* the key of the sandbox in the path, or the server's */
	ACCESS_TABLE	 /* as the table's may_pass() says, or the server's key */
};

struct route {
	const char *method,
		*path; /* the path, in which each "*" stands for one component; the
				    * first one of ACCESS_BOX is a sandbox's id */
	enum access access;
	void (*handle)(struct visit *v);
	size_t body_max;   /* of its body; 0: none is taken, unless it is a form */
	uint64_t form_max; /* of its body, which is a form; 0: it is none */
	void (*begin)(
		struct visit *v); /* the head is there; NULL: nothing is done then */
	void (*part)(struct visit *v, const struct http_part *p);
	void (*closed)(struct visit *v); /* releases v->state */
};

struct routes {
	const struct route *list;
	size_t count;
	/* Whether the request is one for this table, and then v->box is the sandbox that its
	 * head names, or NULL; absent: each request may be. */
	bool (*claims)(struct visit *v);
	bool (*may_pass)(const struct visit *v); /* of ACCESS_TABLE */
	/* Answers a request that was refused; absent: {"detail":TEXT}. */
	void (*fail)(struct visit *v, unsigned status, const char *detail);
};

#define VISIT_WORDS 4

struct visit {
	struct gateway *gateway;
	struct http_request *request;
	const struct route *route;
	const struct routes *table;
	struct box *box; /* the one that the path or, for claims(), the head names */
	char *words[VISIT_WORDS]; /* owned: the components for each "*" */
	size_t word_count;
	void *state; /* the handler's */
	int64_t began_ms;
};

struct gateway {
	const struct serve *serve;
	struct loop loop;
	struct spawn_link link;
	struct boxes boxes;
	struct http *servers[2]; /* NULL: there is none */
	struct native_stream *streams; /* owned, each by its visit */
	struct image_builds builds;
	struct http_bodies bodies;
	struct request_log log;
	struct timer patience;	 /* how long a stop waits for requests */
	int64_t started_ms;
	struct free_memory memory; /* descriptors are borrowed */
	bool is_stopping, is_over;
	uint64_t requests, refused; /* counters, for /metrics */
};

/* Serves the listening sockets `fds` (-1: none) until it is told to stop. */
int gateway_run(const struct serve *s, int link, const int fds[2],
		const struct http_tls *tls, const struct free_memory *memory,
		struct err *e);

/* The tables of all routes, in the order in which they are looked through. */
const struct routes *const *gateway_tables(size_t *ret_count);

/* --- for handlers --------------------------------------------------------------- */

/* Answers as the table's fail() does; without one {"detail":TEXT}, as the servers of OpenHands
 * do. */
void visit_fail(struct visit *v, unsigned status, const char *detail);
/* Whether the client has sent the server's key. */
bool visit_is_operators(const struct visit *v);
/* The same for a failure of a sandbox: 404 where it has ended, 503, 504, 500. */
void visit_fail_box(struct visit *v, const struct hutch_error *why);
/* Answers 200 with the JSON in a buffer of json_write_begin(), which is freed. */
void visit_reply(struct visit *v, struct buffer *json);
