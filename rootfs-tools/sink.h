/* sink -- writes the files of an export into a folder or a tar.
 *
 *	sink_folder / sink_text / sink_blob	add a folder or file, in the tar's order
 *	sink_end				completes the tar
 *
 * Equal content gives equal bytes: files belong to root, are of 1970 and have mode
 * 0644. */
#pragma once
#include <stdint.h>

#include "store/digest.h"

struct err;

/* A place for the files: a folder or a tar.  Both descriptors are borrowed, and one of
 * the two is -1. */
struct sink {
	int folder, tar;
};

int sink_folder(const struct sink *s, const char *path, struct err *e);
int sink_text(const struct sink *s, const char *path, const char *text, struct err *e);

/* Adds `size` bytes of `from`, which must have the digest that is given. */
int sink_blob(const struct sink *s, const char *path, int from, uint64_t size,
	      const struct digest *d, struct err *e);
int sink_end(const struct sink *s, struct err *e);
