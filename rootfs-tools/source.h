/* source -- the files to be imported, by their paths, in a folder or in a tar.
 *
 * Folder and tar are not trusted.  In a folder no link is followed, and nothing above
 * it is reached; for a tar only the headers are kept, in bounded memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blob;
struct err;
struct source; /* opaque */

/* Opens a folder as a source, which then owns `folder`. */
struct source *source_of_folder(int folder);

/* Reads through the tar `fd`, a regular file.  The source then owns `fd`, but not after
 * a failure.  `is_ours` is called for each path, without "./" in front.  Once it
 * returns false, reading stops and *ret is NULL.  If two files have the same path, the
 * later one counts.  Links to other files in the tar are followed once, as docker save
 * needs it. */
int source_of_tar(int fd, bool (*is_ours)(const char *path), struct source **ret,
		  struct err *e);
void source_free(struct source *s); /* `s` may be NULL */

bool source_has(const struct source *s, const char *path);

/* Returns the content of a small file, allocated, with a 0 byte after it. */
int source_read(const struct source *s, const char *path, size_t max, char **ret,
		size_t *ret_len, struct err *e);

/* Adds a file to a blob, which may already have the file's first bytes.  At most `max`
 * bytes of the file are read. */
int source_copy(const struct source *s, const char *path, uint64_t max, struct blob *to,
		struct err *e);
