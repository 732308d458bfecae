/* path -- absolute paths, or such below one folder, as texts: without "//", ".", "..", and
 * without a "/" at their ends. */
#pragma once

/* What of `path` is behind `folder`: "" when they are the same, "/rest" when it lies
 * below it, NULL when not.  Borrowed from `path`. */
const char *path_below(const char *path, const char *folder);
