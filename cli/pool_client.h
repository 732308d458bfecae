/* pool_client -- sends one request to a pool's keeper (docs/control.md, "Pools"). */
#pragma once
#include <stdint.h>

#include "base/buffer.h"
#include "cli/common/json_view.h"

struct client;
struct err;

struct pool_answer {
	struct buffer in; /* owned: `result` points into it */
	size_t taken;	  /* of `in`: the line that was read last */
	struct json_view result;
	int fd; /* owned: the descriptor in the answer, or -1 */
};

/* Waits for the answer; a live keeper says hello within 5 s.  `params` is a
 * JSON object, or NULL for none.  Release *ret with pool_answer_done(), after a
 * failure too. */
int pool_ask(const char *pool, const char *request, const char *params,
	     struct pool_answer *ret, struct err *e);
void pool_answer_done(struct pool_answer *a);

/* Takes a sandbox: *ret is a connection that holds the sandbox's lease, and on
 * which nothing was sent yet.  `timeout_ms` as in hutch pool take; it limits
 * the requests over that connection, too; -1: no limit.  A keeper that does not
 * answer has 2 s more. */
int pool_take(const char *pool, int64_t timeout_ms, struct client *ret, struct err *e);
