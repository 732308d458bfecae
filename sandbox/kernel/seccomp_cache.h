/* seccomp_cache -- keeps compiled seccomp filters in files.
 *
 * An entry's name is a hash of its key.  The entry holds the key itself, which is
 * compared in full, so two keys with the same hash cost a compilation but never yield a
 * wrong filter.  An entry that is truncated, altered, owned by another user or writable
 * by others is ignored, and written anew.  The whole folder may be deleted at any
 * time. */
#pragma once
#include <stddef.h>

struct sock_filter;

/* The key of a cache entry: all inputs that a compiled filter depends on, as bytes. */
struct seccomp_key {
	char *bytes;
	size_t len;
};

/* Opens the cache's folder, made if missing (0700, with its parents).  Returns -1 if the
 * folder can't be opened or is not to be trusted: it is a link, has another owner, or is
 * group or world writable. */
int seccomp_cache_open(const char *path);

/* Returns the program that is kept for `key`, to be freed by the caller, or NULL. */
struct sock_filter *seccomp_cache_get(int dir, const struct seccomp_key *key,
				      size_t *ret_count);

/* Stores a program in the cache.  Returns -1 with errno set on failure; the program is
 * then only compiled again next time. */
int seccomp_cache_put(int dir, const struct seccomp_key *key,
		      const struct sock_filter *insns, size_t count);
