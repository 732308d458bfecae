/* glob -- wildcard patterns for paths.
 *
 * A path is matched component by component. In a component, `*` is any text, `?` any
 * character, `[a-z]` one of these, `[!a-z]` or `[^a-z]` one that is none of these, and
 * `\` takes the next character as it is. `**` as a component of its own is any number
 * of folders, also none. `{a,b}` is one or the other; both may have slashes and further
 * braces. A dot at the beginning of a name is matched by a dot alone, so `*` and `**`
 * match no hidden names.
 *
 * The language is that of bash with globstar, which agents write. This tree has two
 * other wildcard languages: policy/wildcard.h has no classes, braces or quotes, and
 * rootfs-tools/build/ignore.h has docker's rules. One matcher for all three would need
 * a case distinction at each character.
 *
 * Each byte of invalid UTF-8 is a character. Ranges and classes are of code points.
 *
 * The pattern and the paths are hostile. A match takes time of at most the product of
 * their lengths, and a pattern has at most GLOB_BRANCHES alternatives. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define GLOB_BRANCHES 256

struct glob;

/* Reads a pattern. NULL: the pattern is invalid, and *ret_why is a sentence that says
 * why. */
struct glob *glob_new(const char *pattern, const char **ret_why);
void glob_free(struct glob *g);

/* Returns whether the whole path matches; `path` has no slash at either end. */
bool glob_matches(const struct glob *g, const char *path);

/* Returns whether a path below the folder `path` can match; if none can, a walk need not
 * go into the folder. */
bool glob_leads_to(const struct glob *g, const char *path);
