/* requests -- the requests that the supervisor may make, and when.
 *
 * One table, with a row for each message: docs/protocol.md in code. */
#pragma once

struct err;
struct executor;
struct frame;

/* Answers one request.  Returns -1 if the request is unknown, malformed, or not permitted
 * now: then the sandbox must end. */
int request_answer(struct executor *x, const struct frame *f, struct err *e);
