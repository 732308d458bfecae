/* rpc -- reads a line of the control socket as a request, and writes the lines
 * that answer it.
 *
 * docs/control.md is the contract.  Any process of the owner's can send the
 * line: policy/json scans, parses and checks it; an unknown key is refused by
 * name. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "policy/json/json.h"

struct buffer;
struct err;

#define RPC_ID_MAX 64 /* the most bytes of a text that is a request's id */

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_FAILED = -32000, /* the error's kind says what failed */
};

struct rpc_request {
	struct json *doc;      /* owned; the parsed line */
	char *id;	       /* owned: the request's id, as JSON; "null" if the
			        * request has none */
	const char *method;    /* borrowed from `doc` */
	struct json_at params; /* the request's params: an object, or no value */
};

/* Decodes one line without its newline.  Returns 0, or an enum rpc_code and
 * *e; *ret then still has the id if the line had one.  Call rpc_done() in
 * any case. */
int rpc_decode(const char *line, size_t len, struct rpc_request *ret, struct err *e);
void rpc_done(struct rpc_request *r);

/* These append whole lines to `out`.  `result`, the answer, is JSON. */
void rpc_put_result(struct buffer *out, const char *id, const char *result);
void rpc_put_notification(struct buffer *out, const char *method, const char *params);
/* Begins a notification whose `params` are still to be written. */
void rpc_open_notification(struct buffer *out, const char *method);
void rpc_put_error(struct buffer *out, const char *id, enum rpc_code code,
		   const struct err *e);
/* Writes the error of a command that could not be started, with the exit code that a
 * shell would give. */
void rpc_put_not_started(struct buffer *out, const char *id, int exit_code,
			 const struct err *e);

/* Returns the name of an error's kind for `data.kind`. */
const char *rpc_kind(const struct err *e);
