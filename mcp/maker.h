/* maker -- makes the default sandbox, once, for all calls that wait for it.
 *
 * If its name exists, another server of the same command line has made it, or is making it;
 * or changes of one that has ended wait under that name, and the next name is taken
 * (server_rename). */
#pragma once

struct maker;
struct server;

/* Begins to make it, unless that is under way.  job_go_on() is called for the calls that
 * wait, when it is ready or could not be made. */
void maker_start(struct server *s);
void maker_free(struct maker *m);
