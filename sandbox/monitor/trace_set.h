/* trace_set -- the paths and addresses that a sandbox has used, each once, within
 * bounds.
 *
 * Processes inside decide what is added: any bytes, any number of times.  A path
 * is kept once, with all uses that it was ever put to; there are TRACE_SET_PATHS
 * at most, of TRACE_SET_BYTES together, and later ones are only counted.  The
 * same holds for addresses.  A zeroed struct is empty. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_SET_PATHS	 65536
#define TRACE_SET_BYTES	 (8u << 20)
#define TRACE_SET_ADDRESSES 256
#define TRACE_SET_PATH_MAX	 4096 /* the longest path with its final 0, as the
				       * kernel's PATH_MAX */

/* The uses of a path, done or tried: any of these bits. */
enum trace_set_use {
	TRACE_SET_LOOK = 1,   /* the path was looked up, as by stat(2), or entered */
	TRACE_SET_READ = 2,   /* the path was opened for reading; a folder: listed */
	TRACE_SET_WRITE = 4,  /* the path was opened for writing or truncated, or its
			       * mode or times were set */
	TRACE_SET_CREATE = 8, /* the path was to be made, unless it existed */
	TRACE_SET_PLACE =
		16, /* a rename or link was to put another file at the path, in place
		     * of any file that was there */
	TRACE_SET_REMOVE = 32, /* the path was to be removed */
	TRACE_SET_EXECUTE =
		64 /* the path was executed (used together with TRACE_SET_READ); if it
		    * is a script, its first line names another program */
};

struct trace_set_path {
	uint32_t at; /* the offset of the path in `bytes` */
	uint32_t use;
};

struct trace_set {
	char *bytes; /* owned: the paths, each with its final 0 */
	size_t len, room;
	struct trace_set_path *paths; /* owned */
	size_t count;
	uint32_t *slots; /* owned: a hash table; a slot has the number of a path, from
			  * 1, or 0 */
	uint64_t seed;
	uint64_t lost; /* how often there was no room for a path */
	char (*addresses)[128]; /* owned: "192.0.2.1:443", "unix:/run/x" */
	size_t address_count;
	uint64_t lost_addresses;
};

void trace_set_done(struct trace_set *t);

/* Add a use of `path`, or an address.  `path` is absolute, and ends in a 0. */
void trace_set_add(struct trace_set *t, const char *path, unsigned use);
void trace_set_add_address(struct trace_set *t, const char *text);

static inline const char *trace_set_text(const struct trace_set *t, size_t number)
{
	return t->bytes + t->paths[number].at;
}

/* Writes `path` below `base`, or `path` itself where it is absolute, without
 * "//", "." and "..", into TRACE_SET_PATH_MAX bytes.  ".." removes the name before
 * it, whatever that is: no file is looked at.  False: `base` is not absolute,
 * or the result is too long. */
bool trace_set_join(const char *base, const char *path, char *ret);
