/* known_names -- the names that were looked up because of a wildcard's rule.
 *
 * Such a name has labels that the guest chose, so each new one that is looked up carries
 * some bytes out.  name_rate.h bounds how many new names there are a minute; a name that
 * is known here counts no more.
 *
 * At most KNOWN_NAMES_MAX names are kept; then all are forgotten, and count again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define KNOWN_NAMES_MAX	    4096
#define KNOWN_NAMES_BUCKETS 1024

struct known_name;

struct known_names {
	struct known_name *buckets[KNOWN_NAMES_BUCKETS]; /* owned: lists */
	size_t count;
};

bool known_names_has(const struct known_names *k, const char *name);
/* Adds a name that is not known yet. */
void known_names_add(struct known_names *k, const char *name);
void known_names_done(struct known_names *k);
