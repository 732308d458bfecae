/* request -- a client's request while its method handles it: the params and the
 * answer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/rpc.h"

struct client;
struct err;
struct job;
struct supervisor;
struct connection_fds;

struct request {
	struct supervisor *s;
	struct client *client;
	struct rpc_request *request;
	struct connection_fds *fds; /* descriptors of the request; a method removes
				     * those that it keeps */
	struct err *e;	      /* the error, filled in when a method fails */
};

/* Sends the answer.  Returns 0, so that a method can return the result of the call. */
int request_answer(const struct request *call, const char *result);
/* Returns the request's id, allocated, for a request that is answered later. */
char *request_take_id(const struct request *call);

/* Checks that the sandbox can take new work.  -1: it is paused or stopping. */
int request_busy(const struct request *call);

/* Sets the error that the sandbox has ended.  Returns RPC_FAILED. */
int request_gone(const struct request *call);

/* Read a param.  If it is absent *ret stays as it is.  -1: it has another type, or is
 * out of range. */
int request_text(const struct request *call, const char *key, const char **ret);
int request_bool(const struct request *call, const char *key, bool *ret);
int request_uint(const struct request *call, const char *key, uint64_t max,
		 uint64_t *ret);
/* Reads a number of seconds, with a fraction, as milliseconds; *ret_ms is 0 if the
 * param is absent. */
int request_seconds(const struct request *call, const char *key, uint64_t *ret_ms);
/* Finds the job that the param "process" names.  Returns 0, or an enum rpc_code. */
int request_process(const struct request *call, struct job **ret);
