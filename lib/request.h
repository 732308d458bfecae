/* request -- the params of calls that are made elsewhere too. */
#pragma once

struct draft;
struct hutch_error;
struct hutch_exec;

/* Those of exec.start, whole; release the draft whatever comes of it. */
int request_exec(struct draft *d, const struct hutch_exec *x, struct hutch_error *e);
