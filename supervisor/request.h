/* request -- a request while its method handles it: its params, and its answer. */
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
	struct connection_fds *fds; /* descriptors of the request; a method takes out
				     * those that it keeps */
	struct err *e;	      /* the error, filled in when a method fails */
};

/* Answers the request.  Returns 0, so that a method can end with it. */
int request_answer(const struct request *call, const char *result);
/* For a request that is answered later: returns its id, with which the caller
 * answers.  Allocated. */
char *request_take_id(const struct request *call);

/* Checks that the sandbox takes a new request.  -1: it is paused or stopping. */
int request_busy(const struct request *call);

/* These read a param.  An absent param leaves *ret as it is; -1: it has another type,
 * or is out of range. */
int request_text(const struct request *call, const char *key, const char **ret);
int request_bool(const struct request *call, const char *key, bool *ret);
int request_uint(const struct request *call, const char *key, uint64_t max,
		 uint64_t *ret);
/* Reads seconds, with fractions, as milliseconds; 0: none were given. */
int request_seconds(const struct request *call, const char *key, uint64_t *ret_ms);
/* Reads the param "process" and finds its job.  Returns 0, or an enum rpc_code. */
int request_process(const struct request *call, struct job **ret);
