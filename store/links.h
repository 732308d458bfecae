/* links -- follows the host's symbolic links in a path. */
#pragma once

struct list;

/* Returns the path, which is absolute, with its links followed and without "." and
 * "..", even if its last parts do not exist; allocated.  Adds to `ret`, which may be
 * NULL, the canonical path of each link that was followed; `path` itself may be one. */
char *links_follow(const char *path, struct list *ret);
