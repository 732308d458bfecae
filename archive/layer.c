#include "archive/layer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "archive/entry_path.h"
#include "archive/tar.h"
#include "base/err.h"

#define MARK	  ".wh."
#define MARK_LEN  4
#define META	  ".wh..wh."
#define META_LEN  8
#define OPAQUE	  ".wh..wh..opq"

#define ATTR_STAT     "user.hutch.stat"
#define ATTR_OPAQUE   "user.overlay.opaque"
#define ATTR_NAME_MAX 255

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* --- names ------------------------------------------------------------------------ */

/* Returns the kind that an entry has because of the folders in its path: an entry below
 * a folder of aufs is ignored, and an entry below a whiteout is invalid, since a
 * whiteout is no folder. */
static enum layer_kind kind_of_folder(const char *path)
{
	char part[NAME_MAX + 1];

	while (entry_path_next(&path, part)) {
		if (begins(part, META))
			return LAYER_NOTHING;
		if (begins(part, MARK))
			return LAYER_WHITEOUT;
	}
	return LAYER_THING;
}

static int no_whiteout(const char *path, const char *why, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "%.300s: in a layer this deletes %s", path, why);
}

/* Strips the prefix ".wh." from the last part of the path; the rest is the name of the
 * file that the whiteout deletes. */
static int read_whiteout(struct entry_path *p, enum layer_kind *ret, struct err *e)
{
	char *name = p->name;

	if (!entry_path_is_name(name + MARK_LEN))
		return no_whiteout(entry_path_whole(p), "something without a name", e);
	memmove(name, name + MARK_LEN, strlen(name + MARK_LEN) + 1);
	*ret = LAYER_WHITEOUT;
	return 0;
}

int layer_read(struct entry_path *p, enum layer_kind *ret, struct err *e)
{
	enum layer_kind folder = kind_of_folder(entry_path_folder(p));
	const char *name = p->name, *path = entry_path_whole(p);

	if (folder == LAYER_WHITEOUT)
		return err_set(e, ERR_PROTOCOL,
			       "%.300s lies in a whiteout, which can have no "
			       "content", path);
	*ret = LAYER_THING;
	if (folder == LAYER_NOTHING)
		*ret = LAYER_NOTHING;
	else if (!strcmp(name, OPAQUE))
		*ret = LAYER_OPAQUE;
	else if (begins(name, META))
		*ret = LAYER_NOTHING;
	else if (begins(name, MARK))
		return read_whiteout(p, ret, e);
	return 0;
}

/* --- what overlayfs reads ----------------------------------------------------------- */

/* Makes a whiteout without privileges.  mknod(2): "since Linux 5.8, whiteouts can be
 * created without CAP_MKNOD". */
int layer_hide(int folder, const char *name, const char *path, struct err *e)
{
	if (mknodat(folder, name, S_IFCHR, makedev(0, 0)) < 0)
		return err_sys(e, "make the whiteout %.300s", path);
	return 0;
}

static int cannot_keep(const char *path, struct err *e)
{
	(void)err_sys(e, "set an attribute of %.300s", path);
	if (errno == EOPNOTSUPP)
		(void)err_remedy(e, "images need a file system with user.* attributes: "
				    "XDG_DATA_HOME=FOLDER, on ext4, xfs, btrfs, or tmpfs "
				    "since Linux 6.6");
	return -1;
}

int layer_make_opaque(int fd, const char *path, struct err *e)
{
	return fsetxattr(fd, ATTR_OPAQUE, "y", 1, 0) < 0 ? cannot_keep(path, e) : 0;
}

/* --- what is kept as data ------------------------------------------------------ */

uint32_t layer_mode(const struct tar_entry *entry)
{
	return entry->mode & (entry->type == TAR_FOLDER ? 01777 : 0777);
}

/* Returns whether the entry has owners that can be set: chown(2) takes the last id for
 * "no change", so no user has that id. */
static bool has_ids(const struct tar_entry *entry)
{
	return entry->uid < UINT32_MAX && entry->gid < UINT32_MAX;
}

static bool has_stat(const struct tar_entry *entry)
{
	return (has_ids(entry) && (entry->uid || entry->gid)) ||
	       layer_mode(entry) != entry->mode;
}

static int give_stat(int fd, const struct tar_entry *entry, struct err *e)
{
	char text[48];
	int len = snprintf(text, sizeof(text), "%u %u %04o",
			   has_ids(entry) ? (unsigned)entry->uid : 0,
			   has_ids(entry) ? (unsigned)entry->gid : 0, entry->mode);

	return fsetxattr(fd, ATTR_STAT, text, (size_t)len, 0) < 0 ?
		       cannot_keep(entry->path, e) : 0;
}

/* Removes the user.hutch.stat that an earlier entry for the same folder set. */
static int take_stat(int fd, const struct tar_entry *entry, struct err *e)
{
	if (fremovexattr(fd, ATTR_STAT) < 0 && errno != ENODATA && errno != EOPNOTSUPP)
		return cannot_keep(entry->path, e);
	return 0;
}

/* Returns whether an attribute of a tar may be set.  Every user may set user.*
 * attributes, but those that overlayfs or hutch interprets are not taken from a tar:
 * they would change what the layer shows. */
static bool is_anybodys(const struct tar_xattr *x)
{
	return begins(x->name, "user.") && x->name[strlen("user.")] &&
	       strlen(x->name) <= ATTR_NAME_MAX && !begins(x->name, "user.overlay.") &&
	       !begins(x->name, "user.hutch.");
}

/* Returns whether an attribute that could not be set, with this errno, is simply left
 * out: the file system has no attributes, or no room for one so large. */
static bool is_left_out(int sys)
{
	return sys == E2BIG || sys == ENOSPC || sys == ERANGE || sys == EOPNOTSUPP;
}

static int give_xattr(int fd, const struct tar_entry *entry, const struct tar_xattr *x,
		      uint64_t *left_out, struct err *e)
{
	if (is_anybodys(x) && fsetxattr(fd, x->name, x->value, x->len, 0) == 0)
		return 0;
	if (is_anybodys(x) && !is_left_out(errno))
		return cannot_keep(entry->path, e);
	++*left_out;
	return 0;
}

/* Hutch's own attribute is set first, since the tar's attributes may fill the space
 * that the file system has for a file's attributes. */
int layer_give(int fd, const struct tar_entry *entry, const struct tar_pax *pax,
	       bool is_new, uint64_t *left_out, struct err *e)
{
	size_t count = pax->xattr_count < TAR_XATTRS_MAX ? pax->xattr_count
							 : TAR_XATTRS_MAX;

	if (has_stat(entry) ? give_stat(fd, entry, e) < 0 :
			      !is_new && take_stat(fd, entry, e) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (give_xattr(fd, entry, &pax->xattrs[i], left_out, e) < 0)
			return -1;
	*left_out += pax->xattr_count - count + !has_ids(entry);
	return 0;
}

bool layer_has_any(const struct tar_entry *entry, const struct tar_pax *pax)
{
	return pax->xattr_count > 0 || has_stat(entry) || !has_ids(entry);
}
