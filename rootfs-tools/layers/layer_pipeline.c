/* Theory of operation.
 *
 *	caller		pipeline			in the jail
 *	fork ---------> its descriptors only
 *			clone3 ----------------> unpacks: has the folder, reads a pipe
 *			clone3 ----------------> decompresses: has an empty folder in which
 *						 it can write nothing, reads the blob
 *			passes on, hashes
 *			waits for both
 *	wait <--------- result
 *
 * An uncompressed tar is read by the unpacking process itself, from the same open file:
 * the pipeline hashes by pread(2), which leaves the file's offset alone.
 *
 * The pipeline is a worker (base/worker.h) for two reasons: jail_start() changes the ids and
 * the directory of the process that calls it, which must have one thread; and a worker
 * ignores SIGPIPE.  The pipeline dies with its caller, and both jailed processes die with
 * the pipeline: the caller waits for all three, so that no process can write to the folder
 * when the caller removes it. */
#include "rootfs-tools/layers/layer_pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/unpack.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/worker.h"
#include "rootfs-tools/layers/hash.h"
#include "rootfs-tools/layers/inflate.h"
#include "sandbox/root/jail.h"
#include "store/rm_tree.h"
#include "store/store.h"

#define PIPE_BYTES (1 << 20) /* largest pipe buffer for users without privileges
			      * (pipe-max-size, proc(5)) */
#define PIECE	   (256u << 10)

/* The result of a jailed process.  A compromised process may send any values. */
struct report {
	struct err error;
	uint64_t entries, bytes, left_out, hides_all;
	struct count there;
};

_Static_assert(sizeof(struct report) <= WORKER_RESULT_MAX, "a report is one write");

/* --- in the jail ------------------------------------------------------------------- */

static void work_inflate(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;

	(void)arg, (void)folder;
	(void)inflate_all(in, STDOUT_FILENO, &r->error);
}

static void work_unpack(const void *arg, int folder, int in, void *result)
{
	const struct layer_pipeline *s = arg;
	struct report *r = result;
	struct unpack_layer layer = { .remove = rm_tree_remove };
	struct unpack u = { .in = in,
			    .root = folder,
			    .entries_max = s->entries_max,
			    .bytes_max = s->bytes_max,
			    .layer = s->is_context ? NULL : &layer };

	if (unpack_all(&u, &r->error) == 0)
		(void)count_tree(folder, &r->there, &r->error);
	r->entries = u.entries;
	r->bytes = u.bytes;
	r->left_out = u.left_out;
	r->hides_all = layer.hides_all;
}

/* --- the pipeline --------------------------------------------------------------------- */

struct pipeline {
	const struct layer_pipeline *s;
	struct jail inflate, unpack;
	struct worker inflating, unpacking; /* a worker with pid 0 was not started */
	bool is_plain; /* the blob is an uncompressed tar */
	off_t start;   /* offset of the plain tar in the blob */
	int from, to;  /* owned; the tar is read from the pipe `from`, and written to
			* the pipe `to`; -1: is_plain, or closed */
	int leash; /* borrowed: the worker's leash (base/worker.h); both jailed processes
		    * hold it, too */
	struct hash *hash;
	struct digest digest; /* set at the tar's end */
	bool is_known;	      /* the layer is in the store; see layer_pipeline.h */
	uint64_t size; /* count of the tar's bytes so far */
	struct report unpacked;
};

/* Failure to enlarge the pipe is ignored: the larger buffer only saves time. */
static int make_pipe(int ends[2], struct err *e)
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

/* Checks a jailed process's result, whose bytes are not trusted. */
static int judge(struct report *r, struct err *e)
{
	if (r->error.kind == ERR_NONE)
		return 0;
	err_sanitize(&r->error);
	*e = r->error;
	return -1;
}

static int start_unpack(struct pipeline *p, struct err *e)
{
	int ends[2] = { -1, -1 };

	if (!p->is_plain && make_pipe(ends, e) < 0)
		return -1;
	AUTO_CLOSE int in = ends[0];
	p->to = ends[1];
	p->unpack = (struct jail){
		.folder = p->s->folder, .in = p->is_plain ? p->s->blob : in,
		.leash = p->leash,
		.uid = geteuid(), .gid = getegid(), .file_max = p->s->bytes_max,
		.work = work_unpack, .arg = p->s, .result_len = sizeof(struct report),
	};
	return jail_start(&p->unpack, &p->unpacking, e);
}

/* Returns whether the blob is an uncompressed tar.  POSIX and GNU tars have "ustar"
 * here, and compressed files begin with other bytes; nothing more is parsed outside of
 * the jail. */
static bool is_plain_tar(int blob)
{
	const off_t mark_at = 257;
	char first[INFLATE_MARK], mark[5];
	off_t at = lseek(blob, 0, SEEK_CUR);

	if (at < 0 || pread(blob, first, sizeof(first), at) != sizeof(first) ||
	    pread(blob, mark, sizeof(mark), at + mark_at) != sizeof(mark))
		return false;
	return !inflate_knows(first, sizeof(first)) &&
	       !memcmp(mark, "ustar", sizeof(mark));
}

/* Starts the decompressing process, which a plain tar does not need. */
static int start_inflate(struct pipeline *p, struct err *e)
{
	int ends[2];

	if (p->is_plain)
		return 0;
	if (inflate_begin(p->s->blob, e) < 0 || make_pipe(ends, e) < 0)
		return -1;
	AUTO_CLOSE int out = ends[1];
	p->from = ends[0];
	p->inflate = (struct jail){
		.folder = p->s->empty, .in = p->s->blob, .out = out, .leash = p->leash,
		.uid = geteuid(), .gid = getegid(), .file_max = 0,
		.work = work_inflate, .result_len = sizeof(struct report),
	};
	return jail_start(&p->inflate, &p->inflating, e);
}

/* Waits for the unpacking process, which has closed its end of the pipe, and returns
 * its result. */
static int wait_unpack(struct pipeline *p, struct err *e)
{
	own_close(&p->to);
	if (!p->unpacking.pid)
		return 0;
	int rc = jail_wait(&p->unpacking, &p->unpacked, e);
	return rc < 0 ? -1 : judge(&p->unpacked, e);
}

static int wait_inflate(struct pipeline *p, struct err *e)
{
	struct report r = { 0 };

	if (!p->inflating.pid)
		return 0;
	int rc = jail_wait(&p->inflating, &r, e);
	return rc < 0 ? -1 : judge(&r, e);
}

/* Hashes a piece of the tar and passes it on.  Bytes after the tar's end, which the
 * unpacking process no longer reads, are hashed as well, since the digest is that of
 * the whole tar. */
static int pass_piece(struct pipeline *p, const uint8_t *piece, size_t len, struct err *e)
{
	p->size += len;
	if (p->size > p->s->bytes_max)
		return err_set(e, ERR_LIMIT,
			       "the %s is more than %llu bytes when it is decompressed",
			       p->s->is_context ? "context" : "layer",
			       (unsigned long long)p->s->bytes_max);
	hash_add(p->hash, piece, len);
	if (p->to < 0 || io_write_all(p->to, piece, len) == 0)
		return 0;
	return errno == EPIPE ? wait_unpack(p, e) : err_sys(e, "pass on the tar");
}

static ssize_t next_piece(const struct pipeline *p, uint8_t *piece)
{
	return p->is_plain ? pread(p->s->blob, piece, PIECE, p->start + (off_t)p->size)
			   : read(p->from, piece, PIECE);
}

static int pass_all(struct pipeline *p, struct err *e)
{
	AUTO_FREE uint8_t *piece = mem_new(PIECE);
	ssize_t len;

	while ((len = next_piece(p, piece)) != 0) {
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return err_sys(e, p->is_plain ? "read the tar"
						      : "read the decompressed data");
		if (pass_piece(p, piece, (size_t)len, e) < 0)
			return -1;
	}
	own_close(&p->to);
	hash_end(p->hash, &p->digest);
	return 0;
}

static bool is_known(const struct pipeline *p)
{
	char about[sizeof(p->digest.hex) + sizeof("/" STORE_ABOUT)];

	if (!p->is_plain || !p->s->known)
		return false;
	(void)snprintf(about, sizeof(about), "%s/" STORE_ABOUT, p->digest.hex);
	return faccessat(p->s->known, about, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* If decompression fails, the tar stops in the middle and unpacking fails, too:
 * the decompressing process's error is the one that is returned. */
static int run(struct pipeline *p, struct err *e)
{
	p->is_plain = is_plain_tar(p->s->blob);
	p->start = p->is_plain ? lseek(p->s->blob, 0, SEEK_CUR) : 0;
	if (!p->is_plain && p->s->is_plain_only)
		return err_set(e, ERR_REFUSED, "the tar is compressed");
	if (start_unpack(p, e) < 0 || start_inflate(p, e) < 0 || pass_all(p, e) < 0 ||
	    wait_inflate(p, e) < 0)
		return -1;
	p->is_known = is_known(p);
	return p->is_known ? 0 : wait_unpack(p, e);
}

struct order {
	const struct layer_pipeline *s;
	int leash;
};

static int port(void *arg, void *result, struct err *e)
{
	const struct order *order = arg;
	struct pipeline p = { .s = order->s, .leash = order->leash, .from = -1, .to = -1,
			    .hash = hash_new() };
	struct layer_pipeline_result *ret = result;
	const struct report *r = &p.unpacked;

	(void)umask(0); /* files get exactly the modes that the layer has */
	int rc = run(&p, e);
	worker_end(&p.unpacking);
	worker_end(&p.inflating);
	*ret = (struct layer_pipeline_result){ .digest = p.digest,
					       .is_known = p.is_known,
					       .entries = r->entries,
					       .bytes = r->bytes,
					       .left_out = r->left_out,
					       .hides_all = r->hides_all != 0,
					       .there = r->there };
	hash_free(p.hash);
	return rc;
}

/* --- the caller --------------------------------------------------------------------- */

static int check(const struct layer_pipeline *s, const struct layer_pipeline_result *r,
		 struct err *e)
{
	if (r->entries > s->entries_max || r->bytes > s->bytes_max ||
	    r->left_out > s->entries_max + s->bytes_max)
		return err_set(e, ERR_PROTOCOL,
			       "the process that unpacked the tar "
			       "sent impossible counts");
	return 0;
}

int layer_pipeline_run(const struct layer_pipeline *s, struct layer_pipeline_result *ret,
		       struct err *e)
{
	struct order order = { .s = s };
	const struct worker_task task = { .name = "the process that unpacks the tar",
					  .work = port,
					  .arg = &order,
					  .result_len = sizeof(*ret),
					  .fds = { s->blob, s->folder, s->empty,
						   s->known },
					  .fd_count = s->known ? 4 : 3,
					  .leash = &order.leash };
	struct layer_pipeline_result result;

	if (worker_run(&task, &result, e) < 0 || check(s, &result, e) < 0)
		return -1;
	*ret = result;
	return 0;
}
