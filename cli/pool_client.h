/* pool_client -- sends one request to a pool's keeper (docs/control.md, "Pools"). */
#pragma once
#include <stdint.h>

#include "base/buffer.h"
#include "cli/common/json_view.h"

struct client;
struct err;

struct pool_answer {
	struct buffer in; /* owned: the bytes that came; `result` points into them */
	size_t taken;	  /* the length of the line in `in` that was read last */
	struct json_view result;
	int fd; /* owned: the descriptor in the answer, or -1 */
};

/* Sends a request to a keeper and waits for its answer; a live keeper says hello
 * within 5 s.  `params` is a JSON object, or NULL for none.  Release *ret with
 * pool_answer_done(), after a failure too. */
int pool_ask(const char *pool, const char *request, const char *params,
	     struct pool_answer *ret, struct err *e);
void pool_answer_done(struct pool_answer *a);

/* Takes a sandbox from a pool: *ret is a connection that holds the sandbox's lease,
 * and on which nothing was sent yet.  `timeout_ms` is that of `hutch pool take`, and
 * limits the requests over the connection, too; -1: no limit.  After the time-out a
 * keeper has 2 s more for its answer, which says why none was there. */
int pool_take(const char *pool, int64_t timeout_ms, struct client *ret, struct err *e);
