/* trial -- what the cases of libhutch's tests share.
 *
 *	build/tests/lib/cases NAME
 *
 * runs one case, against a real hutch (HUTCH, or the one on PATH) and in a process of its
 * own.  Before and after it, descriptors, children and signal dispositions are looked at:
 * a case leaves none of them other than it found them.  tests/run/library.bats names
 * them. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hutch.h"
#include "tests/patience.h"

#define check(claim)                                                            \
	do {                                                                    \
		if (!(claim)) {                                                 \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim); \
			_exit(1);                                               \
		}                                                               \
	} while (0)

/* ... and says what the library said. */
#define works(e, claim)                                                         \
	do {                                                                    \
		if (!(claim)) {                                                 \
			fprintf(stderr, "%s:%d: not so: %s\n(%s: %s)\n", __FILE__, __LINE__, \
				#claim, hutch_kind_name((e)->kind), (e)->message); \
			_exit(1);                                               \
		}                                                               \
	} while (0)

/* What a case may begin with: one that is there, and one that is made. */
struct hutch *trial_attach(const char *name);
struct hutch *trial_create(const char *name);
/* One of that pool. */
struct hutch *trial_take(const char *pool);
/* Ends it, and closes the handle. */
void trial_end(struct hutch *h);

/* hutch_run() of a shell's line: its exit code; what it printed is in `out`. */
int trial_sh(struct hutch *h, const char *line, char *out, size_t size);

/* The answer to a call that was made with HUTCH_WAIT, its JSON; to be freed. */
struct hutch_message *trial_answer(struct hutch *h, int64_t call);

/* The next message of that type, and of that call if it is not 0; others are dropped. */
struct hutch_message *trial_next(struct hutch *h, int type, int64_t call);

/* How many descriptors an execve(2) would leave open. */
int trial_lasting(void);

/* There is no descriptor to be had until the limit is set to that again. */
struct rlimit trial_use_up_descriptors(void);

/* The n-th allocation of this thread from now on fails, until it is asked whether one
 * did. */
void trial_fail_memory(long n);
bool trial_has_failed(void);
bool trial_can_fail_memory(void);

/* The hutch that this program runs. */
const char *trial_program(void);

/* The cases of each file. */
struct trial {
	const char *name;
	void (*run)(void);
};
extern const struct trial trials_use[], trials_trouble[], trials_hostile[], trials_memory[],
	trials_pool[];

/* As `hutch connect` or `hutch create`, for trials_hostile. */
int trial_impostor(char **argv);
