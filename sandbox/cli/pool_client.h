/* pool_client -- one request to a pool's keeper (docs/control.md, "Pools"), and its
 * answer. */
#pragma once
#include <stdint.h>

#include "base/buffer.h"
#include "sandbox/cli/reply.h"

struct client;
struct err;

struct pool_answer {
	struct buffer in; /* owned: what `result` is a piece of */
	size_t taken;	  /* of `in`: the line that was read last */
	struct reply result;
	int fd; /* owned: what came with it, or -1 */
};

/* Waits for the answer; a keeper that lives says hello within 5 s.  `params` is a JSON
 * object, or NULL for none.  Release with pool_answer_done(), after a failure too. */
int pool_ask(const char *pool, const char *request, const char *params,
	     struct pool_answer *ret, struct err *e);
void pool_answer_done(struct pool_answer *a);

/* Takes a sandbox: a connection that holds its lease, in which nothing was said yet.
 * `timeout_ms` as hutch pool take has it, for what is asked over that connection too; -1:
 * for ever.  A keeper that does not answer has 2 s more. */
int pool_take(const char *pool, int64_t timeout_ms, struct client *ret, struct err *e);
