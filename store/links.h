/* links -- symbolic links of the host's on the way to a path. */
#pragma once

struct list;

/* The path with all links resolved and no "." or ".." in it, also where its last parts are
 * not there.  Absolute; allocated. */
char *links_resolve(const char *path);

/* Adds where each link on the way to `path` lies, the one that it may be included, as
 * canonical paths.  Returns where they end, there or not; allocated. */
char *links_follow(const char *path, struct list *ret);
