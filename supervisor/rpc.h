/* rpc -- decodes a line of the control socket as a JSON-RPC request, and writes the
 * answers.
 *
 * The protocol is in docs/control.md.  Any process of the owner can send such a line,
 * so policy/json checks it strictly; an unknown key is an error that names the key. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "policy/json/json.h"

struct buffer;
struct err;

#define RPC_ID_MAX 64 /* the longest id of a request that is a string, in bytes */

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_FAILED = -32000, /* the method failed; the error's kind tells how */
};

struct rpc_request {
	struct json *doc;      /* owned; the parsed line */
	char *id;	       /* owned: the request's id as JSON text; "null" if it has
				* none */
	const char *method;    /* borrowed from `doc` */
	struct json_at params; /* the request's params: an object, or "no value" if
				* absent */
};

/* Decodes one line without its newline.  Returns 0, or an enum rpc_code and *e; in that
 * case *ret has the id if it could be read.  Call rpc_done() in either case. */
int rpc_decode(const char *line, size_t len, struct rpc_request *ret, struct err *e);
void rpc_done(struct rpc_request *r);

/* Append whole lines to `out`.  `result` is JSON text. */
void rpc_put_result(struct buffer *out, const char *id, const char *result);
void rpc_put_notification(struct buffer *out, const char *method, const char *params);
/* Begins a notification; the caller writes its `params`. */
void rpc_open_notification(struct buffer *out, const char *method);
void rpc_put_error(struct buffer *out, const char *id, enum rpc_code code,
		   const struct err *e);
/* Writes the error of a command that could not be started, with the exit code that a
 * shell would have in that case (126 or 127). */
void rpc_put_not_started(struct buffer *out, const char *id, int exit_code,
			 const struct err *e);

/* Returns the name of the error's kind, which clients get as `data.kind`. */
const char *rpc_kind(const struct err *e);
