/* content -- what a file of a tar has in it becomes what a file has in it.
 *
 * A run of zeros becomes a hole, which reads the same (lseek(2)). */
#pragma once

struct entries;
struct err;

/* All of the entry where `tar` is, to the empty file `fd`; `path` is for messages. */
int content_write(struct entries *tar, int fd, const char *path, struct err *e);
