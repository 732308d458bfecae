/* learn_later -- finds the paths that a policy shows writable although programs outside
 * of the sandbox later run them or read them as configuration: a shell's .bashrc, a hook
 * of git, a program on PATH.
 *
 * The names are those that the policy `agent` protects, and others in a home. */
#pragma once
#include <stdbool.h>

struct protect;

/* Returns the names of files that are run, or read as configuration, outside of the
 * sandbox later; the caller frees them with protect_free(). */
struct protect *learn_later_names(void);

/* Returns the path that is run or read outside later, if `path` is shown writable:
 * `path` itself, or a path in that folder; allocated.  NULL: no such path is known. */
char *learn_later(const struct protect *names, const char *path, bool is_folder);
