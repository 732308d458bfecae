/* create_options -- the sandbox that `hutch create`, `fork` or `start` is to make.
 *
 * For start it is the kept one (sandbox/state/saved_spec.h), changed by the options
 * that are given. */
#pragma once
#include "cli/common/options.h"
#include "policy/policy.h"
#include "sandbox/state/saved_spec.h"

struct err;

struct create_options {
	struct policy policy;
	struct run_options options;
	struct policy_file *said; /* owned: all settings of the command line, for
				   * --keep */
	struct saved_spec saved_spec; /* VERB_START: the saved spec; not locked */
	char *places;  /* owned; for --keep: where the shown paths lead */
	char *profile; /* owned; for --keep: the content of --seccomp's file; NULL:
			* none */
	char *from; /* owned; VERB_FORK: the sandbox or image to start from */
	char *name; /* owned; the name of the new sandbox */
};

void create_options_init(struct create_options *o, enum verb verb);
void create_options_done(struct create_options *o);

/* Parses the options; `argv` starts behind the verb.  -1 with ERR_NONE in *e: another
 * program has reported the error. */
int create_options_parse(struct create_options *o, char **argv, struct err *e);

/* Returns the verb as a word: "create", "fork" or "start". */
const char *create_options_verb(const struct create_options *o);
