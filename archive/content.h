/* content -- writes the content of a tar's file to a file.
 *
 * A run of zeros becomes a hole, which reads the same (lseek(2)). */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct entries;
struct err;

/* Writes the whole content of the entry where `tar` is to the empty file `fd`; `path`
 * is for messages. */
int content_write(struct entries *tar, int fd, const char *path, struct err *e);

/* Writes the next bytes of a file.  Returns 1 if they became a hole: the file's offset
 * is then at the hole's end, and a hole at the end of the file exists only once
 * ftruncate(2) has set the file's length.  Returns 0 if the bytes were written, -1
 * with errno on an error. */
int content_write_piece(int fd, const uint8_t *data, size_t len);
