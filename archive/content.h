/* content -- writes the content of a tar's file to a file.
 *
 * A run of zeros becomes a hole, which reads the same (lseek(2)). */
#pragma once

struct entries;
struct err;

/* Writes the whole content of the entry where `tar` is to the empty file `fd`; `path`
 * is for messages. */
int content_write(struct entries *tar, int fd, const char *path, struct err *e);
