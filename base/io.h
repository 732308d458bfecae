/* io -- whole reads and writes.
 *
 * read(2) and write(2) may do less than was asked, and may be interrupted;
 * these do all of it or fail.  For blocking descriptors. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct err;

/* Writes all `len` bytes.  0, or -1 with errno set. */
int io_write_all(int fd, const void *data, size_t len);

/* Reads until `len` bytes are there or the end is reached.  The number of
 * bytes read, or -1 with errno set. */
ssize_t io_read_full(int fd, void *data, size_t len);

/* Reads a regular file or a pipe to its end into fresh memory with a 0 byte
 * behind it, at most `max` bytes: a larger file is ERR_LIMIT.  `name` is for
 * messages.  The caller frees *ret_data. */
int io_read_file(int fd, const char *name, size_t max, char **ret_data,
		 size_t *ret_len, struct err *e);

/* Writes `text` to the existing file `path` below `dir` in one write(2), as
 * the files of procfs want it. */
int io_write_proc(int dir, const char *path, const char *text, struct err *e);

/* Makes sure that 0, 1 and 2 are open.  With one of them closed, the next file that
 * is opened would become it, and be handed to a command or written to as if it
 * were.  -1 with errno set. */
int io_fill_standard(void);
