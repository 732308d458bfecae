/* path -- absolute paths, or paths below one folder, as texts: without "//", ".",
 * "..", and without a "/" at their ends. */
#pragma once

/* Returns the part of `path` behind `folder`: "" if both are the same, "/rest" if
 * `path` lies below `folder`, else NULL.  Borrowed from `path`. */
const char *path_below(const char *path, const char *folder);
