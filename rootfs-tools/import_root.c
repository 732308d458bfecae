/* Imports root file systems: a tar or a folder becomes an image of one layer. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/entries.h"
#include "archive/outcome.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/worker.h"
#include "rootfs-tools/changes/changes.h"
#include "rootfs-tools/import.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/layers/inflate.h"
#include "rootfs-tools/layers/layers.h"
#include "sandbox/root/jail.h"
#include "store/reference.h"
#include "store/rm_tree.h"
#include "store/store.h"

#define PIECE	   (256u << 10)
#define RATIO_MAX  200
#define RATIO_FREE (1ull << 30)

/* --- what comes out of a pipe or a file ---------------------------------------- */

static int add_all(struct blob *b, int from, uint64_t max, struct err *e)
{
	AUTO_FREE char *piece = mem_new(PIECE);
	ssize_t n;

	while ((n = read(from, piece, PIECE)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "read the imported file");
		if (blob_at(b) + (uint64_t)n > max)
			return err_set(e, ERR_LIMIT,
				       "it has more than %llu bytes when it is "
				       "decompressed",
				       (unsigned long long)max);
		if (blob_add(b, piece, (size_t)n, e) < 0)
			return -1;
	}
	return 0;
}

/* Unpacks a blob as a layer, and makes an image of this one layer. */
static int finish(const struct import *i, const struct digest *blob, struct err *e)
{
	struct list blobs = { 0 }, diff_ids = { 0 };
	struct digest diff_id;
	AUTO_CLOSE int fd = blobs_open(i->store, blob, e);

	if (fd < 0 || layers_unpack(i->store, fd, NULL, NULL, &diff_id, NULL, e) < 0)
		return -1;
	list_add(&blobs, blob->hex);
	list_add(&diff_ids, diff_id.hex);
	int rc = images_make(i->store, NULL, &blobs, &diff_ids, i->called, NULL, e);
	list_done(&blobs);
	list_done(&diff_ids);
	return rc;
}

/* The source of a blob's bytes: the file `in`, or a child process that runs `work`. */
struct origin {
	int (*work)(void *origin, void *result, struct err *e);
	const struct store *store;
	int in, out;  /* borrowed */
	uint64_t max; /* limit of the output's bytes */
	void *said;   /* borrowed: room for the child's result */
	size_t said_len;
};

/* The child closes all other descriptors.  If it kept the pipe's reading end, it would
 * get no EPIPE when this process stops reading. */
static int start(struct origin *o, struct worker *ret, struct err *e)
{
	const struct worker_task task = {
		.name = "the process that reads the imported file",
		.work = o->work,
		.arg = o,
		.result_len = o->said_len,
		.fds = { o->in, o->out, o->store->root },
		.fd_count = 3
	};

	return worker_start(&task, ret, e);
}

/* If both fail, the child's error is returned: it says more than the reader's. */
static int collect(struct origin *o, struct blob *b, struct err *e)
{
	struct worker w;
	struct err theirs;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = ends[0];
	AUTO_CLOSE int to = ends[1];
	o->out = to;
	if (start(o, &w, e) < 0)
		return -1;
	own_close(&to);
	int rc = add_all(b, from, o->max, e);
	own_close(&from);
	if (worker_wait(&w, o->said, &theirs) < 0 && rc == 0) {
		*e = theirs;
		rc = -1;
	}
	return rc;
}

static int collect_blob(const struct import *i, struct origin *o, struct err *e)
{
	struct blob *b = NULL;
	struct digest d;

	if (blob_begin(i->store, NULL, &b, e) < 0)
		return -1;
	int rc = o->work ? collect(o, b, e) : add_all(b, o->in, o->max, e);
	if (rc == 0)
		rc = blob_commit(b, UINT64_MAX, &d, e);
	blob_done(b);
	return rc < 0 ? -1 : finish(i, &d, e);
}

/* --- a tar --------------------------------------------------------------------- */

static void work_in_jail(const void *arg, int folder, int in, void *result)
{
	(void)arg, (void)folder;
	(void)inflate_all(in, STDOUT_FILENO, result);
}

/* Returns how large the file may become when it is decompressed; the same limit as for
 * a layer (rootfs-tools/layers/layers.h). */
static uint64_t inflated_max(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_size * RATIO_MAX + RATIO_FREE;
}

/* Decompresses in a jail.  The jail's folder belongs to the caller, and the jailed
 * process can write nothing there. */
static int inflate_in(int folder, int in, int out, struct err *e)
{
	struct err theirs = { 0 };

	if (inflate_begin(in, e) < 0)
		return -1;
	const struct jail j = { .folder = folder,
				.in = in,
				.out = out,
				.uid = geteuid(),
				.gid = getegid(),
				.file_max = inflated_max(in),
				.work = work_in_jail,
				.result_len = sizeof(theirs) };
	if (jail_run(&j, &theirs, e) < 0)
		return -1;
	if (theirs.kind == ERR_NONE)
		return 0;
	err_sanitize(&theirs);
	*e = theirs;
	return -1;
}

static int work_inflate(void *arg, void *result, struct err *e)
{
	const struct origin *o = arg;
	AUTO_FREE char *name = NULL;
	AUTO_CLOSE int tmp = store_folder(o->store, STORE_TMP, e);
	AUTO_CLOSE int stage = tmp < 0 ? -1 : store_stage(o->store, &name, e);

	(void)result;
	if (stage < 0)
		return -1;
	int rc = inflate_in(stage, o->in, o->out, e);
	(void)unlinkat(tmp, name, AT_REMOVEDIR); /* if this fails, a later sweep removes
						  * the folder */
	return rc;
}

int import_inflate(const struct store *s, int in, int out, struct err *e)
{
	struct origin o = { .work = work_inflate, .store = s, .in = in, .out = out };
	struct worker w;

	return start(&o, &w, e) < 0 ? -1 : worker_wait(&w, NULL, e);
}

static bool reads_parts(int from)
{
	struct entries t;
	int more;

	entries_init(&t, from);
	while ((more = entries_next(&t, NULL)) > 0)
		if (!import_is_part(t.now.path))
			break;
	entries_done(&t);
	return more == 0;
}

bool import_has_parts(const struct store *s, int in)
{
	struct origin o = { .work = work_inflate, .store = s, .in = in };
	struct worker w;
	int ends[2];

	if (lseek(in, 0, SEEK_SET) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return false;
	AUTO_CLOSE int from = ends[0];
	AUTO_CLOSE int to = ends[1];
	o.out = to;
	if (start(&o, &w, NULL) < 0)
		return false;
	own_close(&to);
	bool has_parts = reads_parts(from);
	own_close(&from);
	(void)worker_wait(&w, NULL, NULL); /* its error does not matter: this process may
					    * have stopped to read early */
	return has_parts;
}

/* Returns whether the file is compressed by xz.  OCI images have no media type for
 * layers in xz, so such a file is stored decompressed. */
static bool is_xz(int fd)
{
	unsigned char begin[6];

	return pread(fd, begin, sizeof(begin), 0) == sizeof(begin) &&
	       !memcmp(begin, "\xfd" "7zXZ", sizeof(begin));
}

int import_tar(const struct import *i, int fd, struct err *e)
{
	struct origin o = { .work = is_xz(fd) ? work_inflate : NULL, .store = i->store,
			    .in = fd, .max = is_xz(fd) ? inflated_max(fd) : UINT64_MAX };

	if (import_name(i, NULL, e) < 0)
		return -1;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(e, "read the archive from its begin");
	return collect_blob(i, &o, e);
}

/* --- a folder ------------------------------------------------------------------ */

struct left_out {
	uint64_t count;
	char first[160];
};

static int work_pack(void *arg, void *result, struct err *e)
{
	const struct origin *o = arg;
	const struct changes c = { .upper = o->in, .out = o->out };
	struct left_out *left = result;
	struct outcome outcome = { 0 };

	if (changes_tar(&c, &outcome, e) < 0)
		return -1;
	left->count = outcome.left_out;
	memcpy(left->first, outcome.first, sizeof(left->first));
	return 0;
}

int import_tree(const struct import *i, int folder, struct err *e)
{
	struct left_out left = { 0 };
	struct origin o = { .work = work_pack, .store = i->store, .in = folder,
			    .max = UINT64_MAX, .said = &left, .said_len = sizeof(left) };

	if (import_name(i, NULL, e) < 0 || collect_blob(i, &o, e) < 0)
		return -1;
	if (left.count && i->on_left_out)
		i->on_left_out(i->context, left.count, left.first);
	return 0;
}
