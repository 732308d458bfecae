/* learn_later -- paths that a policy shows to be written to, and that run or are obeyed outside
 * of the sandbox later: a shell's .bashrc, a hook of git, a program on PATH.
 *
 * Names are those that the policy `agent` protects, and others that are in a home. */
#pragma once
#include <stdbool.h>

struct protect;

/* The names; protect_free() is for the caller. */
struct protect *learn_later_names(void);

/* The path that runs later, of `path`, which is shown to be written to: itself, or one in that
 * folder; allocated.  NULL: none that is known. */
char *learn_later(const struct protect *names, const char *path, bool is_folder);
