/* Theory of operation.
 *
 * An expected blob is collected in the locked file tmp/blob-HEX.  Bytes that
 * are in the file when it is opened come from a process that was killed or
 * failed: they are hashed again, and new bytes are appended.  Whether the old
 * bytes were right is checked only at the end: if not, the complete blob has
 * another digest and is removed.
 *
 * A process that waits for the lock wakes up when the holder has ended, with or
 * without success.  The holder may have renamed or removed the file, so the
 * waiter looks up the name again. */
#include "rootfs-tools/layers/blobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/layers/hash.h"
#include "rootfs-tools/layers/quota.h"
#include "store/lock.h"
#include "store/store.h"

#define PIECE (256u << 10)

struct blob {
	int blobs, tmp, fd; /* owned: the store's folders, and the blob's file */
	char *name;	    /* owned; the file's name in tmp; NULL: the file has its
			     * final name, or is removed */
	const struct store *store; /* borrowed */
	uint64_t room;		   /* bytes that may be added before the quota is
				    * checked again */
	struct digest expected; /* zeroed: any digest is accepted */
	uint64_t at;
	bool is_broken; /* the file's bytes differ from those that were hashed */
	struct hash *hash; /* owned */
};

/* --- those that are there ------------------------------------------------------ */

bool blobs_has(const struct store *s, const struct digest *d, uint64_t *ret_size)
{
	AUTO_CLOSE int blobs = store_folder(s, STORE_BLOBS, NULL);
	struct stat st;

	if (blobs < 0 || fstatat(blobs, d->hex, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	if (ret_size)
		*ret_size = (uint64_t)st.st_size;
	return true;
}

int blobs_open(const struct store *s, const struct digest *d, struct err *e)
{
	AUTO_CLOSE int blobs = store_folder(s, STORE_BLOBS, e);

	if (blobs < 0)
		return -1;
	int fd = openat(blobs, d->hex, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "blob %.12s is not in the store",
			       d->hex);
	return fd < 0 ? err_sys(e, "open blob %.12s", d->hex) : fd;
}

int blobs_read(const struct store *s, const struct digest *d, size_t max, char **ret,
	       size_t *ret_len, struct err *e)
{
	AUTO_CLOSE int fd = blobs_open(s, d, e);
	AUTO_FREE char *data = NULL;
	AUTO_FREE char *name = text_format("blob %.12s", d->hex);
	struct digest is;
	size_t len;

	if (fd < 0 || io_read_file(fd, name, max, &data, &len, e) < 0)
		return -1;
	hash_bytes(data, len, &is);
	if (!digest_equal(&is, d)) {
		(void)err_set(e, ERR_REFUSED, "blob %.12s in the store is damaged",
			      d->hex);
		return err_remedy(
			e, "hutch image verify --repair removes it; then get the image "
			   "again");
	}
	*ret = data;
	data = NULL;
	*ret_len = len;
	return 0;
}

/* --- begin --------------------------------------------------------------------- */

/* Hashes the bytes that are in the file already. */
static int catch_up(struct blob *b, struct err *e)
{
	AUTO_FREE char *piece = mem_new(PIECE);
	ssize_t len;

	while ((len = io_read_full(b->fd, piece, PIECE)) > 0) {
		hash_add(b->hash, piece, (size_t)len);
		b->at += (uint64_t)len;
	}
	return len < 0 ? err_sys(e, "read the part of a blob that is in the store") : 0;
}

/* Opens the blob's file.  A process that was killed between the last chmod(2) and the
 * rename has left a file without write permission; that permission is given back. */
static int open_name(const struct blob *b, int flags)
{
	const int all = flags | O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(b->tmp, b->name, all, 0600);

	if (fd >= 0 || errno != EACCES || fchmodat(b->tmp, b->name, 0600, 0) < 0)
		return fd;
	return openat(b->tmp, b->name, all, 0600);
}

/* Opens and locks b->name.  Returns 1 if the file is ours, 0 if it was renamed or
 * removed meanwhile. */
static int try_name(struct blob *b, int flags, struct err *e)
{
	own_close(&b->fd);
	AUTO_CLOSE int fd = open_name(b, flags);
	if (fd < 0 && (errno == EEXIST || errno == ENOENT))
		return 0;
	if (fd < 0)
		return err_sys(e, "make %s in tmp of the store", b->name);
	if (lock_take(fd, LOCK_EX) < 0)
		return err_sys(e, "lock %s in tmp of the store", b->name);
	if (!lock_is_at(b->tmp, b->name, fd))
		return 0;
	b->fd = fd_take(&fd);
	return 1;
}

/* Begins a blob of an expected digest.  Returns 1 if its file is locked, 0 if the
 * whole blob is in the store by now. */
static int begin_expected(const struct store *s, struct blob *b, struct err *e)
{
	int rc = 0;

	b->name = text_format(STORE_PARTIAL "%s", b->expected.hex);
	while (rc == 0) {
		if (blobs_has(s, &b->expected, NULL))
			return 0;
		rc = try_name(b, 0, e);
	}
	return rc < 0 || catch_up(b, e) < 0 ? -1 : 1;
}

static int begin_any(struct blob *b, struct err *e)
{
	unsigned long long random;
	int rc = 0;

	while (rc == 0) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return err_sys(e, "getrandom");
		own_free(&b->name);
		b->name = text_format("new-%016llx", random);
		rc = try_name(b, O_EXCL, e);
	}
	return rc;
}

static int begin(const struct store *s, struct blob *b, struct err *e)
{
	b->blobs = store_folder(s, STORE_BLOBS, e);
	b->tmp = b->blobs < 0 ? -1 : store_folder(s, STORE_TMP, e);
	if (b->tmp < 0)
		return -1;
	return b->expected.hex[0] ? begin_expected(s, b, e) : begin_any(b, e);
}

int blob_begin(const struct store *s, const struct digest *expected, struct blob **ret,
	       struct err *e)
{
	struct blob *b = mem_new(sizeof(*b));

	*b = (struct blob){
		.blobs = -1, .tmp = -1, .fd = -1, .hash = hash_new(), .store = s
	};
	if (expected)
		b->expected = *expected;
	int rc = begin(s, b, e);
	if (rc <= 0)
		blob_done(b);
	if (rc >= 0)
		*ret = rc > 0 ? b : NULL;
	return rc < 0 ? -1 : 0;
}

/* --- add ----------------------------------------------------------------------- */

uint64_t blob_at(const struct blob *b)
{
	return b->at;
}

static int take_room(struct blob *b, uint64_t len, struct err *e)
{
	if (b->room < len) {
		uint64_t room = quota_room(b->store);
		if (room < len)
			return quota_is_full(b->store, e);
		b->room = room < QUOTA_STEPS ? room : QUOTA_STEPS;
		b->room = b->room < len ? len : b->room;
	}
	b->room -= len;
	return 0;
}

int blob_file(const struct blob *b)
{
	return b->fd;
}

/* Bytes that another process wrote into the file are counted only here, so the store
 * may already exceed its quota. */
static int check_quota(struct blob *b, struct err *e)
{
	const uint64_t max = quota_get(b->store);

	return max != QUOTA_NONE && quota_used(b->store) > max
		       ? quota_is_full(b->store, e)
		       : 0;
}

int blob_add(struct blob *b, const void *data, size_t len, struct err *e)
{
	if (take_room(b, len, e) < 0)
		return -1;
	if (io_write_all(b->fd, data, len) < 0) {
		(void)err_sys(
			e, "write a blob into the store, %llu bytes of which are there",
			(unsigned long long)b->at);
		if (quota_no_room(e))
			(void)err_remedy(e, QUOTA_REMEDY_GOES_ON);
		/* After a failed write, the file is cut to the bytes that were hashed. */
		if (ftruncate(b->fd, (off_t)b->at) < 0 ||
		    lseek(b->fd, (off_t)b->at, SEEK_SET) < 0)
			b->is_broken = true;
		return -1;
	}
	hash_add(b->hash, data, len);
	b->at += len;
	return 0;
}

int blob_restart(struct blob *b, struct err *e)
{
	if (ftruncate(b->fd, 0) < 0 || lseek(b->fd, 0, SEEK_SET) < 0)
		return err_sys(e, "empty the part of a blob that is in the store");
	hash_restart(b->hash);
	b->is_broken = false;
	b->at = 0;
	return 0;
}

/* --- end ----------------------------------------------------------------------- */

static void forget(struct blob *b)
{
	(void)unlinkat(b->tmp, b->name, 0); /* if this fails, the next gc removes the
					     * file */
	own_free(&b->name);
}

static int wrong(struct blob *b, uint64_t size, const struct digest *is, struct err *e)
{
	forget(b);
	if (size != UINT64_MAX && size != b->at)
		(void)err_set(e, ERR_REFUSED, "blob %.12s has %llu bytes, but %llu were "
					      "announced", b->expected.hex,
			      (unsigned long long)b->at, (unsigned long long)size);
	else
		(void)err_set(e, ERR_REFUSED, "the bytes received as blob %.12s have the "
					      "digest sha256:%s",
			      b->expected.hex, is->hex);
	return err_remedy(e, "it was damaged on its way, or is another blob: try again, "
			     "or get it from elsewhere");
}

static int name_it(struct blob *b, const struct digest *is, struct err *e)
{
	if (fsync(b->fd) < 0 || fchmod(b->fd, 0400) < 0)
		return err_sys(e, "write blob %.12s into the store", is->hex);
	if (renameat(b->tmp, b->name, b->blobs, is->hex) < 0)
		return err_sys(e, "name blob %.12s", is->hex);
	own_free(&b->name);
	return 0;
}

int blob_commit_as(struct blob *b, const struct digest *is, struct err *e)
{
	return check_quota(b, e) < 0 ? -1 : name_it(b, is, e);
}

int blob_commit(struct blob *b, uint64_t size, struct digest *ret, struct err *e)
{
	struct digest is;

	if (b->is_broken)
		return err_set(e, ERR_SYSTEM, "not all of a blob could be written");
	hash_end(b->hash, &is);
	if ((size != UINT64_MAX && size != b->at) ||
	    (b->expected.hex[0] && !digest_equal(&is, &b->expected)))
		return wrong(b, size, &is, e);
	if (name_it(b, &is, e) < 0)
		return -1;
	if (ret)
		*ret = is;
	return 0;
}

void blob_done(struct blob *b)
{
	if (!b)
		return;
	/* A partial blob can be continued only if its digest is known, and an empty
	 * file is not worth keeping. */
	if (b->name && b->fd >= 0 && (!b->expected.hex[0] || b->at == 0))
		forget(b);
	own_free(&b->name);
	own_close(&b->fd);
	own_close(&b->tmp);
	own_close(&b->blobs);
	hash_free(b->hash);
	free(b);
}

int blobs_put(const struct store *s, const void *data, size_t len, struct digest *ret,
	      struct err *e)
{
	struct blob *b = NULL;

	if (blob_begin(s, NULL, &b, e) < 0)
		return -1;
	int rc = blob_add(b, data, len, e);
	if (rc == 0)
		rc = blob_commit(b, len, ret, e);
	blob_done(b);
	return rc;
}
