/* order -- the sandbox that `hutch create`, `fork` or `start` is to make.
 *
 * For start it is the kept one (sandbox/state/definition.h), changed by the options
 * that are given. */
#pragma once
#include "cli/common/options.h"
#include "policy/policy.h"
#include "sandbox/state/definition.h"

struct err;

struct order {
	struct policy policy;
	struct run_options options;
	struct settings *said; /* owned: all settings, for --keep */
	struct definition definition; /* VERB_START: the kept definition; not locked */
	char *places;  /* owned; for --keep: where the shown paths lead */
	char *profile; /* owned; for --keep: the content of --seccomp's file; NULL:
			* none */
	char *from; /* owned; VERB_FORK: a sandbox, or an image */
	char *name; /* owned */
};

void order_init(struct order *o, enum verb verb);
void order_done(struct order *o);

/* `argv` starts behind the verb. -1 with ERR_NONE in *e: another program has
 * reported the error. */
int order_parse(struct order *o, char **argv, struct err *e);

/* "create", "fork", "start" */
const char *order_verb(const struct order *o);
