/* call -- a request while its method works at it: its params, and its answer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "sandbox/control/rpc.h"

struct client;
struct err;
struct job;
struct supervisor;
struct wire_fds;

struct call {
	struct supervisor *s;
	struct client *client;
	struct rpc_request *request;
	struct wire_fds *fds; /* what is kept of them is taken out */
	struct err *e;	      /* filled in when a method fails */
};

/* Answers it; 0, so that a method can end with it. */
int call_answer(const struct call *call, const char *result);
/* It is answered later, by whoever gets its id.  Allocated. */
char *call_take_id(const struct call *call);

/* -1 when the sandbox takes nothing new: it is paused or stopping. */
int call_busy(const struct call *call);

/* Params.  What is absent stays as it is; -1: another type, or out of range. */
int call_text(const struct call *call, const char *key, const char **ret);
int call_bool(const struct call *call, const char *key, bool *ret);
int call_uint(const struct call *call, const char *key, uint64_t max, uint64_t *ret);
/* Seconds, of which parts may be asked for; 0: none was given. */
int call_seconds(const struct call *call, const char *key, uint64_t *ret_ms);
/* "process": 0, or an enum rpc_code. */
int call_process(const struct call *call, struct job **ret);
