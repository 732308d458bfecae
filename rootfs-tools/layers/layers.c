#include "rootfs-tools/layers/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "rootfs-tools/layers/layer_pipeline.h"
#include "rootfs-tools/layers/quota.h"
#include "store/lock.h"
#include "store/rm_tree.h"
#include "store/store.h"

#define ENTRIES_MAX (4u << 20)
#define BYTES_MAX   (64ull << 30)
#define RATIO_MAX   200
#define RATIO_FREE  (1ull << 30) /* bytes that any blob may unpack to, even if RATIO_MAX
				  * would forbid them */
#define ABOUT_MAX   4096
#define EMPTY	    "empty" /* name of the decompressing process's folder in the stage */

/* --- about -------------------------------------------------------------------------- */

struct about_row {
	const char *key;
	uint64_t value;
};

enum { ENTRIES, BYTES, LEFT_OUT, HIDES_ALL, THERE, THERE_BYTES, THERE_SUM, ABOUT_ROWS };

static const char *const keys[ABOUT_ROWS] = {
	[ENTRIES] = "entries", [BYTES] = "bytes", [LEFT_OUT] = "left_out",
	[HIDES_ALL] = "hides_all", [THERE] = "there", [THERE_BYTES] = "there_bytes",
	[THERE_SUM] = "there_sum",
};

int layers_write_about(int folder, const struct layer_about *about, struct err *e)
{
	const uint64_t values[ABOUT_ROWS] = { about->entries,	    about->bytes,
					      about->left_out,	    about->hides_all,
					      about->there.entries, about->there.bytes,
					      about->there.sum };
	AUTO_CLOSE int fd = openat(folder, STORE_ABOUT,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				   0600);

	if (fd < 0)
		return err_sys(e, "make a layer's %s", STORE_ABOUT);
	for (size_t i = 0; i < ABOUT_ROWS; i++)
		if (dprintf(fd, "%s %" PRIu64 "\n", keys[i], values[i]) < 0)
			return err_sys(e, "write a layer's %s", STORE_ABOUT);
	return 0;
}

/* Returns the number after the key at the beginning of a line, or 0 if no line has the
 * key. */
static uint64_t value_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}

bool layers_read_about(int folder, struct layer_about *ret)
{
	AUTO_CLOSE int fd = openat(folder, STORE_ABOUT,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len;

	if (fd < 0 || io_read_file(fd, STORE_ABOUT, ABOUT_MAX, &text, &len, NULL) < 0)
		return false;
	if (ret)
		*ret = (struct layer_about){
			.entries = value_of(text, keys[ENTRIES]),
			.bytes = value_of(text, keys[BYTES]),
			.left_out = value_of(text, keys[LEFT_OUT]),
			.hides_all = value_of(text, keys[HIDES_ALL]) != 0,
			.there = { value_of(text, keys[THERE]),
				   value_of(text, keys[THERE_BYTES]),
				   value_of(text, keys[THERE_SUM]) },
		};
	return true;
}

bool layers_has(const struct store *s, const struct digest *diff_id,
		struct layer_about *ret)
{
	AUTO_FREE char *path = text_format(STORE_LAYERS "/%s", diff_id->hex);
	AUTO_CLOSE int folder = openat(s->root, path,
				       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return folder >= 0 && layers_read_about(folder, ret);
}

/* --- the stage ----------------------------------------------------------------- */

struct work {
	const struct store *s;
	int blob;
	const struct digest *expected; /* the expected diff_id, or NULL */
	const struct layer_limits *limits;
	int tmp, layers; /* owned */
	struct digest digest;
	struct layer_about about;
	bool is_known; /* the layer was in the store already */
};

static int make_folder(int at, const char *name, struct err *e)
{
	if (mkdirat(at, name, 0700) < 0)
		return err_sys(e, "make a folder in tmp of the store");
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(e, "open a folder in tmp of the store") : fd;
}

static int bounds(const struct work *w, struct layer_pipeline *to, bool *ret_is_quota,
		  struct err *e)
{
	struct stat st;

	if (fstat(w->blob, &st) < 0)
		return err_sys(e, "stat the blob of a layer");
	uint64_t most = (uint64_t)st.st_size * RATIO_MAX + RATIO_FREE;
	to->is_plain_only = w->limits && w->limits->is_plain;
	to->entries_max = ENTRIES_MAX;
	to->bytes_max = most < BYTES_MAX ? most : BYTES_MAX;
	if (w->limits && w->limits->entries_max)
		to->entries_max = w->limits->entries_max;
	if (w->limits && w->limits->bytes_max)
		to->bytes_max = w->limits->bytes_max;
	uint64_t room = quota_room(w->s);
	*ret_is_quota = room < to->bytes_max;
	if (*ret_is_quota)
		to->bytes_max = room + !room; /* if there is no room, the limit is 1 byte,
					       * since 0 would mean no limit */
	return 0;
}

/* Opens the blob anew: another process may read through the same open file, and
 * would share its offset. */
static int open_again(int blob, struct err *e)
{
	AUTO_FREE char *path = text_format("/proc/self/fd/%d", blob);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open the blob of a layer") : fd;
}

static int pour(struct work *w, int stage, struct err *e)
{
	struct layer_pipeline_result r;
	AUTO_CLOSE int folder = make_folder(stage, STORE_FS, e);
	AUTO_CLOSE int empty = folder < 0 ? -1 : make_folder(stage, EMPTY, e);
	AUTO_CLOSE int blob = empty < 0 ? -1 : open_again(w->blob, e);
	/* Whether an expected layer is in the store was looked up before. */
	struct layer_pipeline s = { .blob = blob,
				    .folder = folder,
				    .empty = empty,
				    .known = w->expected ? 0 : w->layers };

	bool is_quota = false;
	if (blob < 0 || bounds(w, &s, &is_quota, e) < 0)
		return -1;
	if (layer_pipeline_run(&s, &r, e) < 0)
		return e && e->kind == ERR_LIMIT && is_quota ? quota_is_full(w->s, e)
							     : -1;
	w->is_known = r.is_known;
	rm_tree_remove(stage, EMPTY);
	w->digest = r.digest;
	w->about = (struct layer_about){ .entries = r.entries, .bytes = r.bytes,
					 .left_out = r.left_out, .hides_all = r.hides_all,
					 .there = r.there };
	return 0;
}

static int check_digest(const struct work *w, struct err *e)
{
	if (!w->expected || digest_equal(w->expected, &w->digest))
		return 0;
	return err_set(e, ERR_REFUSED,
		       "the layer is not the image's: its digest (diff_id) must be "
		       "sha256:%s, and is sha256:%s", w->expected->hex, w->digest.hex);
}

/* Renames the stage to the layer's name.  If no digest was expected, the name was not
 * locked, so another process may have made the same layer meanwhile. */
static int name_it(const struct work *w, const char *name, struct err *e)
{
	if (renameat(w->tmp, name, w->layers, w->digest.hex) == 0)
		return 0;
	if ((errno == EEXIST || errno == ENOTEMPTY) &&
	    layers_has(w->s, &w->digest, NULL)) {
		rm_tree_remove(w->tmp, name);
		return 0;
	}
	return err_sys(e, "put layer %.12s into the store", w->digest.hex);
}

static int finish(struct work *w, int stage, const char *name, struct err *e)
{
	if (!w->is_known)
		return check_digest(w, e) < 0 ||
				       layers_write_about(stage, &w->about, e) < 0 ||
				       name_it(w, name, e) < 0
			       ? -1
			       : 0;
	rm_tree_remove(w->tmp, name);
	if (layers_has(w->s, &w->digest, &w->about))
		return 0;
	(void)err_set(e, ERR_REFUSED, "layer %.12s in the store is damaged",
		      w->digest.hex);
	return err_remedy(e, "hutch image verify --repair removes it; then try again");
}

static int unpack_staged(struct work *w, struct err *e)
{
	AUTO_FREE char *name = NULL;
	AUTO_CLOSE int stage = store_stage(w->s, &name, e); /* store_stage() locks the
							     * stage, too */

	if (stage < 0)
		return -1;
	if (pour(w, stage, e) == 0 && finish(w, stage, name, e) == 0)
		return 0;
	if (quota_no_room(e)) {
		(void)err_in(e, "unpack a layer into the store");
		(void)err_remedy(e, QUOTA_REMEDY);
	}
	rm_tree_remove(w->tmp, name);
	return -1;
}

/* --- one at a time ------------------------------------------------------------- */

/* Locks the expected layer's name in tmp, so that only one process unpacks the layer.
 * If the locked file was removed meanwhile, the process tries again. */
static int lock_name(const struct work *w, const char *name, struct err *e)
{
	for (;;) {
		AUTO_CLOSE int fd = openat(
			w->tmp, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 || lock_take(fd, LOCK_EX) < 0)
			return err_sys(e, "lock layer %.12s", w->expected->hex);
		if (lock_is_at(w->tmp, name, fd))
			return fd_take(&fd);
	}
}

static bool is_there(struct work *w)
{
	if (!w->expected || !layers_has(w->s, w->expected, &w->about))
		return false;
	w->digest = *w->expected;
	return true;
}

static int unpack_expected(struct work *w, struct err *e)
{
	AUTO_FREE char *name = text_format("layer-%s", w->expected->hex);
	AUTO_CLOSE int lock = lock_name(w, name, e);

	if (lock < 0)
		return -1;
	int rc = is_there(w) ? 0 : unpack_staged(w, e);
	(void)unlinkat(w->tmp, name, 0);
	return rc;
}

int layers_unpack(const struct store *s, int blob, const struct digest *diff_id,
		  const struct layer_limits *limits, struct digest *ret_diff_id,
		  struct layer_about *ret, struct err *e)
{
	struct work w = { .s = s, .blob = blob, .expected = diff_id, .limits = limits };

	if (!is_there(&w)) {
		AUTO_CLOSE int tmp = w.tmp = store_folder(s, STORE_TMP, e);
		AUTO_CLOSE int layers = w.layers =
			tmp < 0 ? -1 : store_folder(s, STORE_LAYERS, e);
		if (layers < 0)
			return -1;
		if ((diff_id ? unpack_expected(&w, e) : unpack_staged(&w, e)) < 0)
			return -1;
	}
	if (ret_diff_id)
		*ret_diff_id = w.digest;
	if (ret)
		*ret = w.about;
	return 0;
}
