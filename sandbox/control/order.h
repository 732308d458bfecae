/* order -- what `hutch create`, `fork` and `start` were told to make.
 *
 * Of start that is what was kept (sandbox/definition.h), but for what its flags say. */
#pragma once
#include "policy/policy.h"
#include "sandbox/cli/options.h"
#include "sandbox/definition.h"

struct err;

struct order {
	struct policy policy;
	struct run_options options;
	struct settings *said; /* owned: all that was said, for --keep */
	struct definition definition; /* VERB_START: what was kept; not locked */
	char *places;  /* owned; of what is made: where it leads, for --keep */
	char *profile; /* owned; the same: the text of --seccomp; NULL: none */
	char *from; /* owned; VERB_FORK: a sandbox, or an image */
	char *name; /* owned */
};

void order_init(struct order *o, enum verb verb);
void order_done(struct order *o);

/* `argv` starts behind the verb.  -1 with ERR_NONE in *e: another program has told why. */
int order_parse(struct order *o, char **argv, struct err *e);

/* "create", "fork", "start" */
const char *order_verb(const struct order *o);
