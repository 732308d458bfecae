/* source -- the files to be imported, by their paths, in a folder or in a tar.
 *
 * Strangers made both.  In a folder no link is followed, and nothing above it
 * is reached; for a tar only the headers are kept, in bounded memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blob;
struct err;
struct source; /* opaque */

/* Opens a folder as a source; `folder` is taken over. */
struct source *source_of_folder(int folder);

/* Reads through the tar `fd`, a regular file, which is taken over only on
 * success.  `is_ours` is called for each path, without "./" in front; once it
 * returns false, reading stops and *ret is NULL.  If two files have the same
 * path the later one counts; links to other files are followed once (docker
 * save). */
int source_of_tar(int fd, bool (*is_ours)(const char *path), struct source **ret,
		  struct err *e);
void source_free(struct source *s); /* the source may be NULL */

bool source_has(const struct source *s, const char *path);

/* Returns the content of a small file, allocated, with a 0 byte behind it. */
int source_read(const struct source *s, const char *path, size_t max, char **ret,
		size_t *ret_len, struct err *e);

/* Adds a file to a blob, of which a part may be there already; at most `max`
 * bytes of the file are read. */
int source_copy(const struct source *s, const char *path, uint64_t max, struct blob *to,
		struct err *e);
