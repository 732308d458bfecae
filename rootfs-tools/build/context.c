#include "rootfs-tools/build/context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/tar.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/build/dockerfile.h"
#include "rootfs-tools/layers/inflate.h"
#include "rootfs-tools/layers/layer_pipeline.h"
#include "rootfs-tools/layers/quota.h"
#include "store/rm_tree.h"
#include "store/store.h"

#define ENTRIES_MAX (4u << 20)
#define BYTES_MAX   (64ull << 30)
#define RATIO_MAX   200 /* the same limits as those of a layer (layers.h) */
#define RATIO_FREE  (1ull << 30)
#define PIECE	    (256u << 10)
#define FILES	    "files" /* names in the stage */
#define EMPTY	    "empty"
#define SPOOL	    "spool"

void context_init(struct context *c)
{
	*c = (struct context){ .folder = -1, .stage = -1 };
}

void context_done(struct context *c, const struct store *s)
{
	AUTO_CLOSE int tmp = c->name ? store_folder(s, STORE_TMP, NULL) : -1;

	own_close(&c->folder);
	if (tmp >= 0)
		rm_tree_remove(tmp, c->name);
	own_close(&c->stage);
	free(c->name);
	free(c->text);
	context_init(c);
}

/* --- the bytes ------------------------------------------------------------------ */

static uint64_t room_of(const struct store *s)
{
	const uint64_t room = quota_room(s);

	return room < BYTES_MAX ? room : BYTES_MAX;
}

static int copy_all(const struct store *s, int in, int out, struct err *e)
{
	AUTO_FREE char *piece = mem_new(PIECE);
	const uint64_t max = room_of(s);
	uint64_t size = 0;
	ssize_t len;

	while ((len = io_read_full(in, piece, PIECE)) > 0) {
		size += (uint64_t)len;
		if (size > max)
			return max < BYTES_MAX ? quota_is_full(s, e)
					       : err_set(e, ERR_LIMIT,
							 "it has more than %llu bytes",
							 (unsigned long long)max);
		if (io_write_all(out, piece, (size_t)len) < 0)
			return err_sys(e, "write it to tmp of the store");
	}
	return len < 0 ? err_sys(e, "read it") : 0;
}

/* Copies a pipe into a file without a name, since its first bytes are looked at twice. */
static int copy_pipe(const struct context *c, const struct store *s, int in,
		     struct err *e)
{
	AUTO_CLOSE int fd =
		openat(c->stage, SPOOL, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || unlinkat(c->stage, SPOOL, 0) < 0)
		return err_sys(e, "make a file in tmp of the store");
	if (copy_all(s, in, fd, e) < 0)
		return -1;
	return lseek(fd, 0, SEEK_SET) < 0 ? err_sys(e, "read it again") : fd_take(&fd);
}

static int open_bytes(const struct context *c, const struct store *s, int in,
		      struct stat *ret, struct err *e)
{
	struct stat st;

	if (fstat(in, &st) < 0)
		return err_sys(e, "read it");
	AUTO_CLOSE int fd = S_ISREG(st.st_mode) ? fcntl(in, F_DUPFD_CLOEXEC, 0)
						: copy_pipe(c, s, in, e);
	if (fd < 0)
		return S_ISREG(st.st_mode) ? err_sys(e, "read it") : -1;
	return fstat(fd, ret) < 0 ? err_sys(e, "read it") : fd_take(&fd);
}

/* --- a Dockerfile alone --------------------------------------------------------- */

/* Docker decides by the same bytes: a compressed file, or the header of a tar. */
static bool is_tar(int fd)
{
	uint8_t first[TAR_BLOCK];
	const off_t at = lseek(fd, 0, SEEK_CUR);
	const ssize_t len = at < 0 ? -1 : pread(fd, first, sizeof(first), at);
	struct tar_entry entry;
	struct tar_text text;

	if (len >= INFLATE_MARK && inflate_knows(first, (size_t)len))
		return true;
	if (len < (ssize_t)sizeof(first))
		return false;
	return tar_is_end(first) || tar_decode(first, &entry, &text, NULL) == 0;
}

/* A Dockerfile is a text; all archives have a NUL, and most of them in their first
 * bytes. */
static int read_text(struct context *c, int fd, struct err *e)
{
	size_t len;

	if (io_read_file(fd, "Dockerfile", DOCKERFILE_MAX, &c->text, &len, e) < 0)
		return -1;
	if (strlen(c->text) == len)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "it is no Dockerfile, and no tar of a known kind");
	return err_remedy(e, "a tar may be compressed by gzip, zstd or xz");
}

/* --- a tar ---------------------------------------------------------------------- */

static int make_folder(int at, const char *name, struct err *e)
{
	if (mkdirat(at, name, 0700) < 0)
		return err_sys(e, "make a folder in tmp of the store");
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(e, "open a folder in tmp of the store") : fd;
}

static int unpack(struct context *c, const struct store *s, int fd, uint64_t size,
		  struct err *e)
{
	AUTO_CLOSE int empty = make_folder(c->stage, EMPTY, e);
	const uint64_t room = room_of(s);
	const uint64_t most = size < BYTES_MAX ? size * RATIO_MAX + RATIO_FREE
					       : BYTES_MAX;
	/* 0 would mean no limit. */
	const struct layer_pipeline p = { .blob = fd,
					  .folder = c->folder,
					  .empty = empty,
					  .is_context = true,
					  .entries_max = ENTRIES_MAX,
					  .bytes_max = most < room ? most
								   : room + !room };
	struct layer_pipeline_result result;

	if (empty < 0)
		return -1;
	if (layer_pipeline_run(&p, &result, e) < 0)
		return e && e->kind == ERR_LIMIT && room < most ? quota_is_full(s, e)
								: -1;
	c->left_out = result.left_out;
	return 0;
}

int context_read(struct context *c, const struct store *s, int in, struct err *e)
{
	struct stat st;

	context_init(c);
	c->stage = store_stage(s, &c->name, e);
	if (c->stage < 0)
		return -1;
	c->folder = make_folder(c->stage, FILES, e);
	AUTO_CLOSE int fd = c->folder < 0 ? -1 : open_bytes(c, s, in, &st, e);
	if (fd < 0)
		return -1;
	return is_tar(fd) ? unpack(c, s, fd, (uint64_t)st.st_size, e)
			  : read_text(c, fd, e);
}
