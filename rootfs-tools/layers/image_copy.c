#include "rootfs-tools/layers/image_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/layers/merged.h"
#include "sandbox/root/jail.h"

#define PIECE	   (256u << 10)
#define AT_ONCE	   (1u << 30) /* bytes that the kernel copies in one call */
#define NAMES_MAX  65536      /* limit of the attributes' names, the kernel's
			       * XATTR_LIST_MAX */
#define VALUE_MAX  65536      /* limit of an attribute's value, the kernel's
			       * XATTR_SIZE_MAX */
#define DEPTH_MAX  1024
#define USER	   "user."
#define OVERLAYS   "user.overlay."
#define OPAQUE	   "user.overlay.opaque"
#define OURS	   "user.hutch."
#define NOBODY	   65534      /* an id that is not mapped: /proc/sys/kernel/overflowuid */
#define IDS_INSIDE 65536      /* count of ids in a sandbox: 0 to 65535 */
#define BY_FD	   (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)

/* A file that has several names in its layer. */
struct twin {
	dev_t dev;
	ino_t ino;
	char *path; /* owned: the name under which the file was copied first */
};

struct work {
	const struct image_copy *r;
	struct merged image;
	int to;
	dev_t dev;   /* device of the image's folder; mounts in a folder are other
		      * devices, and are left out */
	void *twins; /* owned; a tree (tsearch(3)) */
	char *piece; /* owned */
	unsigned depth;
	struct image_copy_sum sum;
};

/* The jailed process's result. */
struct outcome {
	struct err error;
	struct image_copy_sum sum;
};

/* --- content -------------------------------------------------------------------- */

/* Returns whether the error means that copy_file_range(2) cannot copy between these
 * two files, but read(2) and write(2) can. */
static bool has_to_be_read(int sys)
{
	return sys == EXDEV || sys == EINVAL || sys == EOPNOTSUPP || sys == ENOSYS;
}

/* Copies some bytes.  Returns how many, 0 at the end of the file, or -1. */
static ssize_t copy_some(const struct work *w, int from, int to, off_t at, size_t len)
{
	loff_t in = at, out = at;
	ssize_t n =
		copy_file_range(from, &in, to, &out, len < AT_ONCE ? len : AT_ONCE, 0);

	if (n >= 0 || !has_to_be_read(errno))
		return n;
	n = pread(from, w->piece, len < PIECE ? len : PIECE, at);
	return n <= 0 ? n : pwrite(to, w->piece, (size_t)n, at);
}

/* Copies the data between two holes. */
static int copy_data(const struct work *w, int from, int to, off_t at, off_t end)
{
	while (at < end) {
		ssize_t n = copy_some(w, from, to, at, (size_t)(end - at));
		if (n < 0)
			return -1;
		if (n == 0)
			return 0; /* the file was cut meanwhile */
		at += n;
	}
	return 0;
}

/* Finds the next data, not a hole, from `at` on; returns false if only a hole follows. */
static bool find_data(int from, off_t at, off_t size, off_t *ret_at, off_t *ret_end)
{
	off_t data = lseek(from, at, SEEK_DATA);

	if (data < 0 && errno == ENXIO)
		return false;
	off_t end = data < 0 ? size : lseek(from, data, SEEK_HOLE);
	*ret_at = data < 0 ? at : data;
	*ret_end = end > *ret_at && end < size ? end : size;
	return *ret_at < size;
}

static int copy_content(struct work *w, int from, int to, off_t size)
{
	off_t at = 0, end = 0;

	while (find_data(from, end, size, &at, &end))
		if (copy_data(w, from, to, at, end) < 0)
			return -1;
	w->sum.bytes += (uint64_t)size;
	return ftruncate(to, size);
}

/* --- looks ---------------------------------------------------------------------- */

static bool begins(const char *text, const char *front)
{
	return !strncmp(text, front, strlen(front));
}

/* Returns whether an attribute is copied.  Attributes for overlayfs are kept only in a
 * layer's copy; hutch's own have been applied to the owners and modes of such a copy,
 * and are dropped there. */
static bool is_wanted(const struct work *w, const char *attribute)
{
	if (begins(attribute, OVERLAYS))
		return w->r->ranges && !strcmp(attribute, OPAQUE);
	return begins(attribute, USER) && !(w->r->ranges && begins(attribute, OURS));
}

/* Copies an attribute.  tmpfs before Linux 6.6 has no user.* attributes; a copy on
 * such a tmpfs does without them, but a layer's copy needs them. */
static int copy_attribute(struct work *w, int from, int to, const char *name)
{
	ssize_t len = fgetxattr(from, name, w->piece, VALUE_MAX);

	if (len < 0 || fsetxattr(to, name, w->piece, (size_t)len, 0) == 0)
		return 0; /* the attribute has vanished, or is copied */
	return errno == EOPNOTSUPP && !w->r->ranges ? 0 : -1;
}

static int copy_attributes(struct work *w, int from, int to)
{
	AUTO_FREE char *names = NULL;
	ssize_t len = flistxattr(from, NULL, 0);

	if (len <= 0)
		return 0;
	names = mem_new(NAMES_MAX);
	len = flistxattr(from, names, NAMES_MAX);
	for (const char *at = names; at < names + len; at += strlen(at) + 1)
		if (is_wanted(w, at) && copy_attribute(w, from, to, at) < 0)
			return -1;
	return 0;
}

static void times_of(const struct stat *st, struct timespec ret[2])
{
	ret[0] = st->st_atim;
	ret[1] = st->st_mtim;
}

static uint32_t id_inside(uint32_t id)
{
	return id < IDS_INSIDE ? id : NOBODY;
}

/* Sets the owner.  Call it before fchmod(2), since chown(2) clears the setuid
 * and setgid bits. */
static int give(const struct work *w, int folder, const char *name, const struct stat *st)
{
	if (!w->r->ranges)
		return 0;
	return fchownat(folder, name, id_inside(st->st_uid), id_inside(st->st_gid),
			BY_FD);
}

/* Sets mode and times of a copy.  Without ranges no file gets setuid and setgid bits:
 * layers have none, and the bits would give the caller's own ids. */
static int copy_looks(const struct work *w, int to, const struct stat *st)
{
	const mode_t kept = S_ISDIR(st->st_mode) || w->r->ranges ? 07777 : 01777;
	struct timespec times[2];

	times_of(st, times);
	if (give(w, to, "", st) < 0 || fchmod(to, st->st_mode & kept) < 0)
		return -1;
	return futimens(to, times);
}

/* --- entries -------------------------------------------------------------------- */

static int cannot_copy(const struct merged_at *at, struct err *e)
{
	(void)err_sys(e, "copy /%.300s", at->path);
	if (e->sys == ENOSPC || e->sys == EDQUOT)
		return err_remedy(
			e, "the copy is made in hutch's data folder: XDG_DATA_HOME may "
			   "name another place");
	return -1;
}

static void leave_out(struct work *w, const struct merged_at *at)
{
	if (w->sum.left_out++ == 0) /* a long path may be cut, which is enough for a
				     * message */
		(void)snprintf(w->sum.first, sizeof(w->sum.first), "/%s", at->path);
}

static int by_file(const void *a, const void *b)
{
	const struct twin *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->dev == y->dev ? 0 : x->dev < y->dev ? -1 : 1;
}

static void twin_free(void *twin)
{
	free(((struct twin *)twin)->path);
	free(twin);
}

/* Links a file that was copied before under another name.  Returns 1 if the link was
 * made; returns 0 if the file is only noted now, and must be copied. */
static int link_twin(struct work *w, const struct merged_at *at, int folder,
		     const char *name)
{
	struct twin *mine = mem_zeroed(1, sizeof(*mine));

	*mine = (struct twin){ at->st.st_dev, at->st.st_ino, text_copy(at->path) };
	const struct twin *known =
		*(struct twin **)mem_or_abort(tsearch(mine, &w->twins, by_file));
	if (known == mine)
		return 0;
	twin_free(mine);
	if (linkat(w->to, known->path, folder, name, 0) == 0)
		return 1;
	return errno == EMLINK ? 0 : -1;
}

/* Returns the owner, mode and times for a copy: with ranges those that user.hutch.stat
 * of the layer has, without ranges the source file's own. */
static const struct stat *looks_of(const struct work *w, const struct merged_at *at,
				   const struct stat *is)
{
	return w->r->ranges ? &at->st : is;
}

static int copy_file(struct work *w, const struct merged_at *at, int folder,
		     const char *name, struct err *e)
{
	AUTO_CLOSE int from = merged_open(&w->image, at, e);
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0)
		return -1;
	AUTO_CLOSE int to = openat(
		folder, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0 || copy_content(w, from, to, st.st_size) < 0 ||
	    copy_attributes(w, from, to) < 0 ||
	    copy_looks(w, to, looks_of(w, at, &st)) < 0)
		return cannot_copy(at, e);
	return 0;
}

static int copy_link(struct work *w, const struct merged_at *at, int folder,
		     const char *name, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct timespec times[2];

	if (merged_read_link(&w->image, at, &text, e) < 0)
		return -1;
	times_of(&at->st, times);
	if (symlinkat(text, folder, name) < 0 || give(w, folder, name, &at->st) < 0 ||
	    utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return cannot_copy(at, e);
	return 0;
}

static int make_fifo(const struct work *w, const struct merged_at *at, int folder,
		     const char *name, struct err *e)
{
	if (mknodat(folder, name, S_IFIFO | 0600, 0) < 0)
		return cannot_copy(at, e);
	AUTO_CLOSE int to =
		openat(folder, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	return to < 0 || copy_looks(w, to, &at->st) < 0 ? cannot_copy(at, e) : 0;
}

/* Makes an empty folder.  Its entries are copied later, so that only one folder is open
 * at a time. */
static int make_folder(struct work *w, const struct merged_at *at, int folder,
		       const char *name, struct err *e)
{
	AUTO_CLOSE int from = merged_open(&w->image, at, e);

	if (from < 0)
		return -1;
	return mkdirat(folder, name, 0700) < 0 ? cannot_copy(at, e) : 0;
}

/* Returns whether the entry is a whiteout of overlayfs; a whiteout's owner does not
 * matter. */
static bool is_whiteout(const struct work *w, const struct merged_at *at)
{
	return w->r->ranges && S_ISCHR(at->st.st_mode) && at->st.st_rdev == 0;
}

static int copy_kind(struct work *w, const struct merged_at *at, int folder,
		     const char *name, struct err *e)
{
	if (S_ISDIR(at->st.st_mode))
		return make_folder(w, at, folder, name, e);
	int is_there = at->st.st_nlink > 1 ? link_twin(w, at, folder, name) : 0;
	if (is_there)
		return is_there < 0 ? cannot_copy(at, e) : 0;
	if (S_ISREG(at->st.st_mode))
		return copy_file(w, at, folder, name, e);
	if (S_ISLNK(at->st.st_mode))
		return copy_link(w, at, folder, name, e);
	if (S_ISFIFO(at->st.st_mode))
		return make_fifo(w, at, folder, name, e);
	if (is_whiteout(w, at))
		return mknodat(folder, name, S_IFCHR, 0) < 0 ? cannot_copy(at, e) : 0;
	leave_out(w, at);
	return 0;
}

/* Copies one entry.  In a folder that was not written by hutch, files whose mode keeps
 * their owner from reading are left out. */
static int copy_entry(struct work *w, const struct merged_at *at, int folder,
		      const char *name, struct err *e)
{
	int rc = copy_kind(w, at, folder, name, e);

	w->sum.entries++;
	if (rc == 0 || w->r->hexes || w->r->ranges || e->sys != EACCES)
		return rc;
	leave_out(w, at);
	return 0;
}

/* --- folders -------------------------------------------------------------------- */

static int copy_folder(struct work *w, const struct merged_at *at, struct err *e);

static int open_copy(const struct work *w, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return sys_openat2(w->to, *path ? path : ".", &how);
}

/* Copies a folder's entries, without the content of its subfolders. */
static int copy_entries(struct work *w, const struct merged_at *at,
			const struct list *names, struct err *e)
{
	AUTO_CLOSE int to = open_copy(w, at->path);
	int rc = to < 0 ? cannot_copy(at, e) : 0;

	for (size_t i = 0; i < names->count && rc == 0; i++) {
		struct merged_at entry = { 0 };
		rc = merged_look(&w->image, at, names->items[i], &entry, e);
		if (rc > 0)
			rc = copy_entry(w, &entry, to, names->items[i], e);
		merged_at_done(&entry);
	}
	return rc;
}

/* Copies the content of a subfolder.  A subfolder that was left out has no copy, and is
 * skipped. */
static int copy_below(struct work *w, const struct merged_at *at, const char *name,
		      struct err *e)
{
	struct merged_at entry = { 0 };
	int rc = merged_look(&w->image, at, name, &entry, e);

	if (rc > 0 && S_ISDIR(entry.st.st_mode))
		rc = copy_folder(w, &entry, e);
	merged_at_done(&entry);
	return rc < 0 ? -1 : 0;
}

/* Sets a folder's metadata after its content: creating files in the folder changes its
 * times, and its mode may forbid that. */
static int finish_folder(struct work *w, const struct merged_at *at, struct err *e)
{
	struct stat st;

	AUTO_CLOSE int from = merged_open(&w->image, at, e);
	AUTO_CLOSE int to = from < 0 ? -1 : open_copy(w, at->path);
	if (from < 0)
		return -1;
	if (to < 0 || fstat(from, &st) < 0 || copy_attributes(w, from, to) < 0 ||
	    copy_looks(w, to, looks_of(w, at, &st)) < 0)
		return cannot_copy(at, e);
	return 0;
}

static int fill_folder(struct work *w, const struct merged_at *at, struct err *e)
{
	struct list names = { 0 };
	int rc = merged_names(&w->image, at, &names, e);

	if (rc == 0)
		rc = copy_entries(w, at, &names, e);
	for (size_t i = 0; i < names.count && rc == 0; i++)
		rc = copy_below(w, at, names.items[i], e);
	list_done(&names);
	return rc;
}

static int copy_folder(struct work *w, const struct merged_at *at, struct err *e)
{
	AUTO_CLOSE int is_copied = open_copy(w, at->path);
	bool is_ours = at->st.st_dev == w->dev;

	if (is_copied < 0)
		return errno == ENOENT ? 0 : cannot_copy(at, e);
	own_close(&is_copied);
	if (++w->depth > DEPTH_MAX)
		return err_set(e, ERR_LIMIT,
			       "the image has more than %d folders in each other",
			       DEPTH_MAX);
	if (is_ours && fill_folder(w, at, e) < 0)
		return -1;
	w->depth--;
	return *at->path || w->r->ranges ? finish_folder(w, at, e) : 0;
}

/* --- the jail ------------------------------------------------------------------- */

static int open_image(struct work *w, struct err *e)
{
	if (w->r->hexes)
		return merged_open_layers(&w->image, JAIL_BESIDE, w->r->hexes, e);
	int folder = openat(JAIL_BESIDE, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return err_sys(e, "open the image");
	if (w->r->ranges)
		merged_open_layer(&w->image, folder);
	else
		merged_open_folder(&w->image, folder);
	return 0;
}

static int copy_all(struct work *w, struct err *e)
{
	struct merged_at root;

	if (open_image(w, e) < 0 || merged_root(&w->image, &root, e) < 0)
		return -1;
	w->dev = root.st.st_dev;
	int rc = copy_folder(w, &root, e);
	merged_at_done(&root);
	return rc == 0 && w->r->ranges ? count_tree(w->to, &w->sum.there, e) : rc;
}

static void work(const void *arg, int folder, int in, void *result)
{
	struct work w = { .r = arg, .to = folder, .piece = mem_new(PIECE) };
	struct outcome *outcome = result;

	(void)in;
	outcome->error.kind = ERR_NONE;
	/* A file that was left out may have set this error, which is no error of the
	 * copy. */
	if (copy_all(&w, &outcome->error) == 0)
		outcome->error.kind = ERR_NONE;
	outcome->sum = w.sum;
	tdestroy(w.twins, twin_free);
	merged_done(&w.image);
	free(w.piece);
}

int image_copy_make(const struct image_copy *r, struct image_copy_sum *ret, struct err *e)
{
	struct outcome outcome;
	const struct jail j = { .folder = r->to,
				.in = -1,
				.leash = r->leash,
				.beside = r->from,
				.reads_all = true,
				.ranges = r->ranges,
				.role = r->ranges ? JAIL_GIVES : JAIL_READS,
				.uid = geteuid(),
				.gid = getegid(),
				.file_max = UINT64_MAX,
				.work = work,
				.arg = r,
				.result_len = sizeof(outcome) };
	if (jail_run(&j, &outcome, e) < 0)
		return -1;
	outcome.sum.first[sizeof(outcome.sum.first) - 1] = '\0';
	*ret = outcome.sum;
	if (outcome.error.kind == ERR_NONE)
		return 0;
	err_sanitize(&outcome.error);
	*e = outcome.error;
	return -1;
}
