/* trial -- what the cases of libhutch's tests share.
 *
 *	build/tests/lib/cases NAME
 *
 * runs one case against a real hutch (HUTCH, or the one on PATH), in a process
 * of its own.  A case must leave descriptors, children and signal dispositions
 * as it found them, which is checked after it. tests/run/library.bats names the
 * cases. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hutch.h"
#include "tests/patience.h"

#define check(claim)                                                               \
	do {                                                                       \
		if (!(claim)) {                                                    \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, \
				#claim);                                           \
			_exit(1);                                                  \
		}                                                                  \
	} while (0)

/* Like check(), and prints the library's error. */
#define works(e, claim)                                                            \
	do {                                                                       \
		if (!(claim)) {                                                    \
			fprintf(stderr, "%s:%d: not so: %s\n(%s: %s)\n", __FILE__, \
				__LINE__, #claim, hutch_kind_name((e)->kind),      \
				(e)->message);                                     \
			_exit(1);                                                  \
		}                                                                  \
	} while (0)

/* Returns a handle of a sandbox: of a running one, or of a new one. */
struct hutch *trial_attach(const char *name);
struct hutch *trial_create(const char *name);
/* Takes a sandbox from that pool, and returns its handle. */
struct hutch *trial_take(const char *pool);
/* Ends the sandbox, and closes the handle. */
void trial_end(struct hutch *h);

/* hutch_run() of a shell command.  Returns its exit code; `out` receives its
 * output. */
int trial_sh(struct hutch *h, const char *line, char *out, size_t size);

/* Waits for the answer to a call that was made with HUTCH_WAIT.  The caller
 * frees it. */
struct hutch_message *trial_answer(struct hutch *h, int64_t call);

/* Returns the next message of that type, and of that call if it is not 0; drops
 * all messages before it. */
struct hutch_message *trial_next(struct hutch *h, int type, int64_t call);

/* The number of descriptors that would survive an execve(2). */
int trial_lasting(void);

/* Lowers RLIMIT_NOFILE so that no descriptor can be made.  Returns the old
 * limit, which the caller restores. */
struct rlimit trial_use_up_descriptors(void);

/* Makes the n-th allocation of this thread from now on fail. trial_has_failed()
 * ends that, and tells whether one failed. */
void trial_fail_memory(long n);
bool trial_has_failed(void);
bool trial_can_fail_memory(void);

/* Path of the hutch that this program runs. */
const char *trial_program(void);

/* The cases of each file, ended by an empty row. */
struct trial {
	const char *name;
	void (*run)(void);
};
extern const struct trial trials_use[], trials_trouble[], trials_hostile[],
	trials_memory[], trials_pool[];

/* Plays `hutch connect` or `hutch create` for trials_hostile. */
int trial_impostor(char **argv);
