/* create_options -- the options of `hutch create`, `fork` and `start`.
 *
 * For start they are those of the kept sandbox (sandbox/state/saved_spec.h), changed by
 * the options of the command line. */
#pragma once
#include "cli/common/options.h"
#include "policy/policy.h"
#include "sandbox/state/saved_spec.h"

struct err;

struct create_options {
	struct policy policy;
	struct run_options options;
	struct policy_file *said; /* owned: all settings of the command line; they are
				   * saved with --keep */
	struct saved_spec saved_spec; /* for VERB_START: the saved spec, whose lock is
				       * not held */
	char *places;  /* owned; for --keep: the resolved paths of all shown folders
			* (restart_spec.h) */
	char *profile; /* owned; for --keep: the content of --seccomp's file; NULL:
			* none */
	struct list args; /* owned; while words are read: those of the main process */
	char *kept_args;  /* owned; for --keep: the words of the main process
			  * (restart_spec.h); NULL: there is none */
	char *from; /* owned; for VERB_FORK: the sandbox or image to copy */
	char *name; /* owned; the name of the new sandbox */
};

void create_options_init(struct create_options *o, enum verb verb);
void create_options_done(struct create_options *o);

/* Parses the options; `argv` begins after the verb.  -1 with ERR_NONE in *e: another
 * program has reported the error. */
int create_options_parse(struct create_options *o, char **argv, struct err *e);

/* Returns the verb as a word: "create", "fork" or "start". */
const char *create_options_verb(const struct create_options *o);
