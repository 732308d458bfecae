#include "sandbox/plan/overlay_lowers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"

#define OPAQUE "user.overlay.opaque"

static int open_inside(int layer, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	do
		fd = sys_openat2(layer, path, &how);
	while (fd < 0 && errno == EAGAIN); /* EAGAIN: a rename raced with the look-up of
					    * ".." (openat2(2)), so the call is
					    * repeated */
	return fd;
}

/* Returns whether a folder on the way to `path` is marked as opaque in this layer:
 * overlayfs then ignores that folder in all layers below. */
static bool is_opaque(int layer, const char *path)
{
	AUTO_FREE char *at = text_copy(path);
	char value;

	for (char *slash = strchr(at, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		AUTO_CLOSE int dir = open_inside(layer, at, O_RDONLY | O_DIRECTORY);
		*slash = '/';
		if (dir >= 0 && fgetxattr(dir, OPAQUE, &value, 1) == 1 && value == 'y')
			return true;
	}
	return false;
}

/* Returns whether the file is a whiteout, by which overlayfs marks a deleted
 * name: a character device 0:0. */
static bool is_deleted(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0);
}

/* Opens a path in one layer.  Returns a descriptor; -1 with ENOENT: the path may be in
 * the layers below; -1 with another errno: this layer hides the path, so the search
 * ends. */
static int open_in_layer(int layer, const char *path, int flags)
{
	AUTO_CLOSE int fd = open_inside(layer, path, flags);

	if (fd < 0 && errno == ENOENT) {
		errno = is_opaque(layer, path) ? ENOTDIR : ENOENT;
		return -1;
	}
	int error = errno;
	/* A whiteout may have a mode with which even its owner cannot open it, so it is
	 * opened with O_PATH. */
	AUTO_CLOSE int name = fd < 0 ? open_inside(layer, path, O_PATH | O_NOFOLLOW) : -1;
	bool is_whiteout = is_deleted(fd < 0 ? name : fd);
	errno = is_whiteout ? ENXIO : error;
	return is_whiteout ? -1 : fd_take(&fd);
}

static int open_layer(const char *lower)
{
	return open(lower, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Turns the errno of open_in_layer() into the errno for the caller.  ENXIO and ENOTDIR
 * mean that a layer has deleted the name or a folder on the way to it: so the image does
 * not have the path (ENOENT). */
static int final_error(int error)
{
	return error == ENXIO || error == ENOTDIR ? ENOENT : error;
}

int overlay_lowers_open(const struct list *lowers, const char *path, int flags)
{
	for (size_t i = lowers->count; i-- > 0;) {
		AUTO_CLOSE int layer = open_layer(lowers->items[i]);
		int fd = layer < 0 ? -1 : open_in_layer(layer, path, flags);
		if (layer >= 0 && fd < 0 && errno == ENOENT)
			continue;
		errno = final_error(errno);
		return fd;
	}
	errno = ENOENT;
	return -1;
}

/* One layer in which many paths are looked up, and a name that its root is known to
 * lack. */
struct view {
	int fd;
	/* the first component of a path, which the layer's root does not have; NULL:
	 * none is known */
	const char *missing;
	size_t len;
};

/* Returns whether the layer's root has the first component of `path`.  A missing name is
 * remembered, so that the next path that begins with it costs no system call: most
 * layers have none of the folders that are looked up. */
static bool has_first(struct view *v, const char *path)
{
	size_t len = strcspn(path, "/");
	struct stat st;

	if (v->missing && v->len == len && !strncmp(v->missing, path, len))
		return false;
	AUTO_FREE char *first = text_format("%.*s", (int)len, path);
	if (fstatat(v->fd, first, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
		return true;
	v->missing = path;
	v->len = len;
	return false;
}

/* Looks a path up in one layer.  Returns true if this layer decides the answer, false if
 * the layers below have to be searched. */
static bool look_at(struct view *v, struct overlay_lowers_entry *entry)
{
	if (!has_first(v, entry->path))
		return false;
	const int flags = O_PATH | (entry->follows ? 0 : O_NOFOLLOW);
	AUTO_CLOSE int fd = open_in_layer(v->fd, entry->path, flags);
	if (fd < 0 && errno == ENOENT)
		return false;
	entry->error = fd >= 0 && fstat(fd, &entry->st) == 0 ? 0 : final_error(errno);
	return true;
}

/* A layer that cannot be opened is skipped here: the error is reported later, when the
 * layer is mounted. */
void overlay_lowers_look(const struct list *lowers, struct overlay_lowers_entry *entries,
			 size_t count)
{
	uint64_t open_questions = (1ull << count) - 1;

	for (size_t k = 0; k < count; k++)
		entries[k].error = ENOENT;
	for (size_t i = lowers->count; open_questions && i-- > 0;) {
		AUTO_CLOSE int layer = open_layer(lowers->items[i]);
		struct view v = { .fd = layer };
		for (size_t k = 0; layer >= 0 && k < count; k++)
			if ((open_questions & 1ull << k) && look_at(&v, &entries[k]))
				open_questions &= ~(1ull << k);
	}
}
