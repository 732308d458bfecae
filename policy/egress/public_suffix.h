/* public_suffix -- domains below which anyone can register a name, as co.uk, by the list of
 * https://publicsuffix.org/ that the host has (Debian: package publicsuffix).  The part of
 * the list about private domains, as github.io, is left out: such a domain has one owner,
 * and a rule may well mean all that is below it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define PUBLIC_SUFFIX_LIST "/usr/share/publicsuffix/public_suffix_list.dat"

/* Returns whether the normalised name is in the host's list; false if it has none. */
bool public_suffix_has(const char *name);

/* The same for the text of a list. */
bool public_suffix_find(const char *list, size_t len, const char *name);
