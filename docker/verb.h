/* verb -- starts a verb of hutch, in this process's place or as its child. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct err;

enum verb_output {
	VERB_SHOW, /* stdout stays the caller's */
	VERB_DROP, /* stdout is /dev/null */
	VERB_KEEP  /* stdout is read, up to a bound */
};

/* Becomes hutch with these words.  Returns only if that failed: -1. */
int verb_become(const struct list *words, bool drops_output, struct err *e);

/* Runs hutch and waits for it.  Returns its exit code, or -1.  With VERB_KEEP *ret_text,
 * which may be NULL else, gets the output, allocated. */
int verb_run(const struct list *words, enum verb_output output, char **ret_text,
	     struct err *e);
