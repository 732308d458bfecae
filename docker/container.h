/* container -- finds a sandbox by the word that docker would take for a container: a
 * name, with or without "/" in front, an id, or the first digits of an id that no other
 * has. */
#pragma once
#include <stdbool.h>

#include "sandbox/state/registry.h"

struct err;

struct container {
	char name[REGISTRY_NAME_MAX + 1];
	char id[REGISTRY_ID_LEN + 1];
	bool is_ended;
};

/* Returns 0, or -1 with docker's words about a container that is not there
 * (ERR_NOT_FOUND) or digits that several have (ERR_USAGE). */
int container_find(const char *word, struct container *ret, struct err *e);

/* Returns the word by which hutch's verbs know it: the name of a live one, the id of one
 * that has ended, whose name another may have. */
const char *container_word(const struct container *c);
