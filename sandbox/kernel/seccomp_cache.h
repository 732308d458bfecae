/* seccomp_cache -- finished filters, kept by content.
 *
 * An entry's name is a hash of its key, and the entry holds the key itself, which is
 * compared in full: two keys of one hash cost a compilation, never a wrong filter.
 * An entry that is cut, altered, another user's or writable by others does not
 * count, and is written anew.  The whole folder may be deleted at any time. */
#pragma once
#include <stddef.h>

struct sock_filter;

/* Everything that a program depends on, as bytes. */
struct seccomp_key {
	char *bytes;
	size_t len;
};

/* Opens the cache's folder, made if missing (0700, with its parents).  Returns -1 if
 * the folder can't be had or is not to be trusted: a link, another owner, group or
 * world writable. */
int seccomp_cache_open(const char *path);

/* Returns the program that is kept for `key`, to be freed by the caller, or NULL. */
struct sock_filter *seccomp_cache_get(int dir, const struct seccomp_key *key,
				      size_t *ret_count);

/* Keeps a program; returns -1 with errno set on failure, which does no harm. */
int seccomp_cache_put(int dir, const struct seccomp_key *key,
		      const struct sock_filter *insns, size_t count);
