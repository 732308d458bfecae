/* links -- the host's symbolic links on the way to a path. */
#pragma once

struct list;

/* The path with all links resolved and without "." and "..", even if its last parts
 * do not exist.  Absolute; allocated. */
char *links_resolve(const char *path);

/* Adds to `ret` the canonical path of each link on the way to `path`, `path` itself
 * included if it is a link.  Returns the path where they lead, which need not exist;
 * allocated. */
char *links_follow(const char *path, struct list *ret);
