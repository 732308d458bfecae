/* call -- a request while its method handles it: its params, and its answer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/rpc.h"

struct client;
struct err;
struct job;
struct supervisor;
struct wire_fds;

struct call {
	struct supervisor *s;
	struct client *client;
	struct rpc_request *request;
	struct wire_fds *fds; /* a method takes out those that it keeps */
	struct err *e;	      /* filled in when a method fails */
};

/* Answers the request.  Returns 0, so that a method can end with it. */
int call_answer(const struct call *call, const char *result);
/* For a request that is answered later: returns its id, with which the caller
 * answers.  Allocated. */
char *call_take_id(const struct call *call);

/* -1 when the sandbox takes nothing new: it is paused or stopping. */
int call_busy(const struct call *call);

/* Read a param.  An absent one leaves *ret as it is; -1: it has another type,
 * or is out of range. */
int call_text(const struct call *call, const char *key, const char **ret);
int call_bool(const struct call *call, const char *key, bool *ret);
int call_uint(const struct call *call, const char *key, uint64_t max, uint64_t *ret);
/* Reads seconds, with fractions, as milliseconds; 0: none were given. */
int call_seconds(const struct call *call, const char *key, uint64_t *ret_ms);
/* Reads "process".  Returns 0, or an enum rpc_code. */
int call_process(const struct call *call, struct job **ret);
