/* glob -- patterns that stand for paths.
 *
 * A path is taken part by part.  In a part, `*` is any text, `?` any character, `[a-z]`
 * one of these, `[!a-z]` or `[^a-z]` one that is none of these, `\` takes the next
 * character as it is.  `**` as a part of its own is any number of folders, none too.
 * `{a,b}` is one or the other, slashes in them too, one in another too.  A dot that a
 * name begins with is matched by a dot alone; so `*` and `**` pass hidden names by.
 *
 * Bytes that are no UTF-8 are a character each.  Ranges and classes are of code points.
 *
 * The pattern and the paths are hostile.  A match takes a time of at most their lengths
 * multiplied, and there are at most GLOB_BRANCHES alternatives. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define GLOB_BRANCHES 256

struct glob;

/* NULL: it is none, and *why is a sentence that says so. */
struct glob *glob_new(const char *pattern, const char **ret_why);
void glob_free(struct glob *g);

/* `path` has no slash at either end. */
bool glob_matches(const struct glob *g, const char *path);

/* Whether a path below the folder `path` can match. */
bool glob_leads_to(const struct glob *g, const char *path);
