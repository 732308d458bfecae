/* path -- absolute paths, or paths below one folder, as texts: without "//", ".",
 * "..", and without a "/" at their ends. */
#pragma once
#include <stdbool.h>

/* Tells whether the path is absolute and such a text. */
bool path_is_plain(const char *path);

/* Tells whether the path can stand unquoted in a command line that a user copies into a
 * shell, which may be root's: no character of it means anything to a shell. */
bool path_is_unquoted(const char *path);

/* Returns the part of `path` behind `folder`: "" if both are the same, "/rest" if
 * `path` lies below `folder`, else NULL.  Borrowed from `path`. */
const char *path_below(const char *path, const char *folder);
