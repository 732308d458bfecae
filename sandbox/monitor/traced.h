/* traced -- the paths and addresses that a sandbox has used, each once, within
 * bounds.
 *
 * The inside says what is put in: any bytes, as often as it likes.  A path is
 * kept once, with all uses that it was ever put to; there are TRACED_PATHS at
 * most, of TRACED_BYTES together, and later ones are only counted.  The same
 * holds for addresses.  A zeroed struct is empty. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACED_PATHS	 65536
#define TRACED_BYTES	 (8u << 20)
#define TRACED_ADDRESSES 256
#define TRACED_PATH_MAX	 4096 /* with its 0, as the kernel's PATH_MAX */

/* The uses of a path, done or tried: any of these bits. */
enum traced_use {
	TRACED_LOOK = 1,   /* the path was asked about, or entered */
	TRACED_READ = 2,   /* opened for reading; a folder: listed */
	TRACED_WRITE = 4,  /* opened for writing, truncated, its mode or times set */
	TRACED_CREATE = 8, /* made, unless it existed */
	TRACED_PLACE = 16, /* to be given to another file, by rename or link, whatever had
			    * the name */
	TRACED_REMOVE = 32, /* to be removed */
	TRACED_EXECUTE = 64 /* with TRACED_READ: run; a script's first line names another
			     * program */
};

struct traced_path {
	uint32_t at; /* offset in `bytes` */
	uint32_t use;
};

struct traced {
	char *bytes; /* owned; each path with its 0 */
	size_t len, room;
	struct traced_path *paths; /* owned */
	size_t count;
	uint32_t *slots; /* owned: a hash table of numbers of paths, from 1 */
	uint64_t seed;
	uint64_t lost; /* paths for which there was no room, each time */
	char (*addresses)[128]; /* owned: "192.0.2.1:443", "unix:/run/x" */
	size_t address_count;
	uint64_t lost_addresses;
};

void traced_done(struct traced *t);

/* `path` is absolute, and ends in a 0. */
void traced_add(struct traced *t, const char *path, unsigned use);
void traced_add_address(struct traced *t, const char *text);

static inline const char *traced_text(const struct traced *t, size_t number)
{
	return t->bytes + t->paths[number].at;
}

/* Writes `path` below `base`, or `path` itself where it is absolute, without
 * "//", "." and "..", into TRACED_PATH_MAX bytes.  ".." removes the name before
 * it, whatever that is: no file is looked at.  False: `base` is not absolute,
 * or the result is too long. */
bool traced_join(const char *base, const char *path, char *ret);
