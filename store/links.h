/* links -- the host's symbolic links on the way to a path. */
#pragma once

struct list;

/* Returns the path, which is absolute, with its links followed and without "." and
 * "..", even if its last parts do not exist; allocated.  Adds to `ret`, which may be
 * NULL, the canonical path of each link on the way, `path` itself included if it is a
 * link. */
char *links_follow(const char *path, struct list *ret);
