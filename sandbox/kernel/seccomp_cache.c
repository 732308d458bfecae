#include "sandbox/kernel/seccomp_cache.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/fnv1a.h"
#include "base/mem.h"
#include "base/own.h"

/* The header of a cache entry; the key and the instructions follow it in the file. */
struct header {
	char magic[8];
	uint64_t sum; /* hash of the key and the instructions */
	uint32_t key_len, count;
};

static const char magic[8] = "hutchBPF";

#define NAME_LEN  17

static void put_name(char name[NAME_LEN], const struct seccomp_key *key)
{
	const unsigned long long hash = fnv1a(FNV1A_START, key->bytes, key->len);

	(void)snprintf(name, NAME_LEN, "%016llx", hash); /* the 16 digits of a hash
							  * always fit */
}

/* Tells whether only the user (and root) can have written the file. */
static bool is_own(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Makes the folder and its parents.  Failures are ignored: if a folder is missing
 * afterwards, the next open(2) fails. */
static void make_folders(const char *path)
{
	char part[PATH_MAX];
	const size_t len = strlen(path);

	if (len >= sizeof(part))
		return;
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		const char c = part[i];

		if (c != '/' && c != '\0')
			continue;
		part[i] = '\0';
		(void)mkdir(part, 0700); /* most folders exist already */
		part[i] = c;
	}
}

int seccomp_cache_open(const char *path)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;
	AUTO_CLOSE int dir = open(path, flags);

	if (dir < 0 && errno == ENOENT) {
		make_folders(path);
		dir = open(path, flags);
	}
	if (dir < 0 || fstat(dir, &st) || !is_own(&st))
		return -1;
	return fd_take(&dir);
}

static bool read_full(int fd, void *to, size_t len)
{
	size_t got = 0;

	while (got < len) {
		const ssize_t n = read(fd, (char *)to + got, len - got);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

/* Tells whether `body`, a key followed by instructions, is undamaged and has the key
 * that is looked for. */
static bool is_right(const struct header *h, const char *body,
		     const struct seccomp_key *key)
{
	const size_t len = key->len + h->count * sizeof(struct sock_filter);

	return h->sum == fnv1a(FNV1A_START, body, len) &&
	       memcmp(body, key->bytes, key->len) == 0;
}

struct sock_filter *seccomp_cache_get(int dir, const struct seccomp_key *key,
				      size_t *ret_count)
{
	char name[NAME_LEN];
	struct header h;
	struct stat st;

	put_name(name, key);
	AUTO_CLOSE int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !is_own(&st))
		return NULL;
	if (!read_full(fd, &h, sizeof(h)) || memcmp(h.magic, magic, sizeof(magic)) != 0 ||
	    h.key_len != key->len || h.count == 0 || h.count > BPF_MAXINSNS)
		return NULL;

	const size_t size = h.count * sizeof(struct sock_filter);
	AUTO_FREE char *body = mem_new(key->len + size);
	struct sock_filter *insns = mem_new(size);
	if ((size_t)st.st_size != sizeof(h) + key->len + size ||
	    !read_full(fd, body, key->len + size) || !is_right(&h, body, key)) {
		free(insns);
		return NULL;
	}
	memcpy(insns, body + key->len, size);
	*ret_count = h.count;
	return insns;
}

/* Creates a temporary file.  Two launches that write the same entry at once may remove
 * each other's file; if an incomplete entry becomes visible, its checksum does not
 * match, and the entry is not used. */
static int create(int dir, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	const int fd = openat(dir, name, flags, 0600);

	if (fd >= 0 || errno != EEXIST)
		return fd;
	/* the older file was left by a launch that was killed, or is being written by
	 * another launch */
	(void)unlinkat(dir, name, 0);
	return openat(dir, name, flags, 0600);
}

int seccomp_cache_put(int dir, const struct seccomp_key *key,
		      const struct sock_filter *insns, size_t count)
{
	char name[NAME_LEN], temp[NAME_LEN + 4];
	const size_t size = count * sizeof(*insns);
	struct header h = { .key_len = (uint32_t)key->len, .count = (uint32_t)count };
	struct iovec parts[] = { { &h, sizeof(h) },
				 { key->bytes, key->len },
				 { (void *)insns, size } };

	memcpy(h.magic, magic, sizeof(magic));
	h.sum = fnv1a(fnv1a(FNV1A_START, key->bytes, key->len), insns, size);
	put_name(name, key);
	(void)snprintf(temp, sizeof(temp), "%s.tmp", name); /* `temp` has room for
							     * NAME_LEN and ".tmp" */

	AUTO_CLOSE int fd = create(dir, temp);
	if (fd < 0)
		return -1;
	if (writev(fd, parts, ARRAY_LEN(parts)) !=
		    (ssize_t)(sizeof(h) + key->len + size) ||
	    renameat(dir, temp, dir, name)) {
		(void)unlinkat(dir, temp, 0); /* removes the incomplete file after a
					       * failure, such as a full disk */
		return -1;
	}
	return 0;
}
