/* request -- the params of calls that several files make. */
#pragma once

struct json_build;
struct hutch_error;
struct hutch_exec;

/* Writes all params of exec.start into the draft; the caller releases the draft even
 * after a failure. */
int request_exec(struct json_build *d, const struct hutch_exec *x, struct hutch_error *e);
