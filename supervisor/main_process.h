/* main_process -- the main process of a sandbox (`hutch create --main`), whose end is the
 * sandbox's end.
 *
 * 	state		is left when
 * 	MAIN_NEW	the executor listens			-> MAIN_STARTING
 * 	MAIN_STARTING	its execve(2) has succeeded		-> MAIN_RUNNING
 * 			it has failed: the sandbox ends
 * 	MAIN_RUNNING	it has ended, and is started again	-> MAIN_DELAYED
 * 			it has ended: the sandbox ends		-> MAIN_OVER
 * 	MAIN_DELAYED	the delay is over (restarts.h)		-> MAIN_STARTING
 *
 * It is a detached job (jobs.h) that no client has started, with pipes for its output.
 * Each restart is another job.  Before a restart all other processes inside are killed; not
 * while the sandbox is paused, since the processes that hold a pause would die too. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/restarts.h"

struct buffer;
struct err;
struct failed;
struct job;
struct supervisor;

enum main_state {
	MAIN_NONE, /* the sandbox has no main process */
	MAIN_NEW,
	MAIN_STARTING,
	MAIN_RUNNING,
	MAIN_DELAYED,
	MAIN_OVER
};

#define MAIN_STOP_MS 10000

struct main_process {
	enum main_state state;
	uint32_t process; /* the number of its last job; 0: there was none */
	bool has_exited;  /* it has ended at least once, with `exit_code` */
	bool owes_kill;	  /* the processes that it has left behind must be killed */
	int exit_code;
	int stop_signal; /* the signal by which it is asked to end */
	uint64_t stop_ms; /* how long it has for that, if the client does not say */
	struct restarts restarts;
};

bool main_process_is(const struct supervisor *s, const struct job *j);
/* Returns whether the number of live jobs has the main process in it. */
bool main_process_is_alive(const struct supervisor *s);

/* To be called in each turn of the loop: starts it when the sandbox is ready for that, and
 * kills what it has left behind. */
void main_process_look(struct supervisor *s);
/* To be called when the delay of a restart is over. */
void main_process_again(struct supervisor *s);

/* To be called for its job: when that was started, could not be, or has ended. */
void main_process_started(struct supervisor *s);
void main_process_failed(struct supervisor *s, int exit_code, struct err *e);
void main_process_ended(struct supervisor *s, const struct job *j);

/* Asks it to end, and ends the sandbox after `grace_ms`, or when it has ended;
 * with almost no time at once, without asking. */
void main_process_stop(struct supervisor *s, uint64_t grace_ms);

/* Returns the exit code of a sandbox that is stopped: that of its main process, as if it
 * was killed if it still lives; 0 without one. */
int main_process_code(const struct supervisor *s);

/* Writes the member "main" of the sandbox's info (docs/control.md). */
void main_process_put(const struct supervisor *s, struct buffer *b);
