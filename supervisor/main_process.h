/* main_process -- the process of `hutch create --main`, whose end is the sandbox's end.
 *
 * It is a detached job that no client has started: its output is in the log.  The
 * sandbox is ready when the process has begun, and ends with the process's exit code. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct job;
struct supervisor;

struct main_process {
	bool is_wanted;
	uint32_t job; /* its id (jobs.h); 0: it has not been asked for */
	int failed;   /* the exit code for the process that waits for the start, if the
		       * main process could not be started; 0: it could */
};

/* Asks the executor to start it; to be called once, when the executor is ready. */
void main_process_start(struct supervisor *s);
/* Returns whether the job is the main process. */
bool main_process_is(const struct supervisor *s, const struct job *j);
/* Returns whether it runs, or is being started. */
bool main_process_is_alive(const struct supervisor *s);
/* Ends the sandbox, since the main process could not be started: `exit_code` and *e say
 * why. */
void main_process_failed(struct supervisor *s, int exit_code, const struct err *e);
/* Ends the sandbox with the exit code of the main process, which has ended. */
void main_process_ended(struct supervisor *s, int exit_code);
/* Sends SIGTERM to it alone.  False: the executor has no such process, since it was not
 * asked for, or has ended. */
bool main_process_stop(struct supervisor *s);
