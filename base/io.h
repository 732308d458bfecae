/* io -- whole reads and writes.
 *
 * read(2) and write(2) may transfer fewer bytes than asked for, and may be
 * interrupted; these functions transfer all bytes or fail.  They are for blocking
 * descriptors. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct err;

/* Writes all `len` bytes.  Returns 0, or -1 with errno set. */
int io_write_all(int fd, const void *data, size_t len);

/* Reads until `len` bytes are there or the file ends.  Returns the number of bytes
 * read, or -1 with errno set. */
ssize_t io_read_full(int fd, void *data, size_t len);

/* Reads a regular file that should have `size` bytes left, into room for one byte more.
 * Returns the number of bytes read, `size` + 1 if there are more, or -1 with errno set.
 * One read(2) is enough if the file has `size` bytes: it asked for one more. */
ssize_t io_read_sized(int fd, void *data, size_t size);

/* Reads a regular file or a pipe to its end into new memory, with a NUL behind the
 * content.  A file of more than `max` bytes is ERR_LIMIT.  `name` is for messages.
 * The caller frees *ret_data. */
int io_read_file(int fd, const char *name, size_t max, char **ret_data,
		 size_t *ret_len, struct err *e);

/* Writes `text` to the existing file `path` below `dir` in one write(2), as the files
 * of procfs require. */
int io_write_proc(int dir, const char *path, const char *text, struct err *e);

/* Makes sure that descriptors 0, 1 and 2 are open.  If one of them were closed, the
 * next file to be opened would get its number, and would be handed to a command or
 * written to as if the file were a standard stream.  Returns -1 with errno set on
 * failure. */
int io_fill_standard(void);
