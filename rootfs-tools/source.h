/* source -- the files of what is imported, by their paths: in a folder, or in a tar.
 *
 * Both were made by strangers.  In a folder no link is followed and nothing above it is
 * reached; of a tar only the headers are kept, in bounded memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blob;
struct err;
struct source; /* opaque */

/* `folder` is taken over. */
struct source *source_of_folder(int folder);

/* Reads through the tar `fd`, a regular file, which is taken over, on success alone.
 * `is_ours` is asked for each path, without "./" in front, until it says no: then *ret is
 * NULL.  Of two files with one path the later one counts; links to others are followed
 * once (docker save). */
int source_of_tar(int fd, bool (*is_ours)(const char *path), struct source **ret,
		  struct err *e);
void source_free(struct source *s); /* NULL is allowed */

bool source_has(const struct source *s, const char *path);

/* All of a small file, allocated, with a 0 behind it. */
int source_read(const struct source *s, const char *path, size_t max, char **ret,
		size_t *ret_len, struct err *e);

/* Adds a file to a blob, of which a part may be there already; more than `max` bytes of
 * it are never read. */
int source_copy(const struct source *s, const char *path, uint64_t max, struct blob *to,
		struct err *e);
