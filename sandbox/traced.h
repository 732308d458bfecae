/* traced -- the paths and addresses that a sandbox has used, each once, within bounds.
 *
 * What is put in was said by the inside: any bytes, as often as it likes.  A path is kept
 * once, with all that was ever done with it; there are TRACED_PATHS at most, of
 * TRACED_BYTES together, and what comes after that is only counted.  The same holds for
 * addresses.  A zeroed struct is empty. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACED_PATHS	 65536
#define TRACED_BYTES	 (8u << 20)
#define TRACED_ADDRESSES 256
#define TRACED_PATH_MAX	 4096 /* with its 0, as the kernel's PATH_MAX */

/* What was done, or tried: any of these bits. */
enum traced_use {
	TRACED_LOOK = 1,   /* it was asked about, or entered */
	TRACED_READ = 2,   /* opened for reading: of a folder, listed */
	TRACED_WRITE = 4,  /* opened for writing, truncated, its mode or times set */
	TRACED_CREATE = 8, /* made, unless it was there */
	TRACED_PLACE = 16, /* a name was to be given, whatever had it: rename, link */
	TRACED_REMOVE = 32, /* the name was to be taken away */
	TRACED_EXECUTE = 64 /* with TRACED_READ: a script's first line names another */
};

struct traced_path {
	uint32_t at; /* in `bytes` */
	uint32_t use;
};

struct traced {
	char *bytes; /* owned; each path with its 0 */
	size_t len, room;
	struct traced_path *paths; /* owned */
	size_t count;
	uint32_t *slots; /* owned: a hash table of numbers of paths, from 1 */
	uint64_t seed;
	uint64_t lost; /* paths that there was no room for, each time */
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

/* `path` below `base`, or itself where it is absolute, without "//", "." and "..", into
 * TRACED_PATH_MAX bytes.  ".." takes the name before it away, whatever that is: nobody
 * looks at a file.  False: `base` is not absolute, or it is too long. */
bool traced_join(const char *base, const char *path, char *ret);
