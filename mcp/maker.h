/* maker -- makes the default sandbox, once, for all calls that wait for it. */
#pragma once

struct maker;
struct server;

/* Begins to make it, unless that is under way.  job_go_on() is called for the calls that
 * wait, when it is ready or could not be made. */
void maker_start(struct server *s);
void maker_free(struct maker *m);
