/* learn_later -- what is shown with a policy, can be written to, and runs or is obeyed outside
 * of the sandbox later: a shell's .bashrc, a hook of git, a program on PATH.
 *
 * Names are those that the policy `agent` protects, and others that are in a home. */
#pragma once
#include <stdbool.h>

struct protect;

/* The names; protect_free() is for the caller. */
struct protect *learn_later_names(void);

/* What of `path`, which is shown to be written to, runs later: itself, or of a folder one
 * that is in it; allocated.  NULL: nothing that is known. */
char *learn_later(const struct protect *names, const char *path, bool is_folder);
