#include "cli/copy_dest.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/list.h"
#include "base/own.h"
#include "store/rm_tree.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

void copy_dest_init(struct copy_dest *l)
{
	*l = (struct copy_dest){ .folder = -1, .above = -1, .stage_fd = -1,
			       .uid = geteuid(), .gid = getegid() };
}

/* --- whose ---------------------------------------------------------------------- */

/* As root every permission check on the path would pass, and the folder's owner
 * could put links there.  So from here on root accesses files with the owner's
 * fsuid and fsgid; its rights over processes stay. */
static int become_owner(struct copy_dest *l, int folder, struct err *e)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	if (fstat(folder, &st) < 0)
		return err_sys(e, "look at the folder");
	l->uid = st.st_uid;
	l->gid = st.st_gid;
	if (st.st_uid == 0)
		return 0;
	if (setgroups(0, NULL) < 0)
		return err_sys(e, "drop supplementary groups");
	(void)setfsgid(st.st_gid); /* setfsgid(2) and setfsuid(2) report no error, so the
				    * calls below read the ids back */
	(void)setfsuid(st.st_uid);
	if (setfsgid((gid_t)-1) != (int)st.st_gid ||
	    setfsuid((uid_t)-1) != (int)st.st_uid) {
		errno = EPERM;
		return err_sys(e, "make files as user %u, to whom the folder belongs",
			       st.st_uid);
	}
	return 0;
}

/* --- where ------------------------------------------------------------------------ */

static bool is_folder_at(int at, const char *name, int flags)
{
	struct stat st;

	return fstatat(at, name, &st, flags) == 0 && S_ISDIR(st.st_mode);
}

/* Returns `path` without the slashes at its end, allocated.  "a/b/" then names b in
 * a, and "/", "." and ".." have no name that a copy could get. */
static char *without_slashes(const char *path)
{
	char *copy = text_copy(path);
	size_t len = strlen(copy);

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	return copy;
}

/* Opens the parent folder of `path`, and keeps the last name. */
static int open_above(struct copy_dest *l, const char *path, struct err *e)
{
	AUTO_FREE char *above = without_slashes(path);
	char *slash = strrchr(above, '/');
	const char *folder = slash == above ? "/" : slash ? above : ".";

	l->name = text_copy(slash ? slash + 1 : above);
	if (slash)
		*slash = '\0';
	l->above = open(folder, FOLDER);
	if (l->above < 0)
		return err_sys(e, "open the folder %.200s", *folder ? folder : "/");
	return 0;
}

static int open_as_folder(struct copy_dest *l, const char *path, const char *name,
			  struct err *e)
{
	l->above = open(path, FOLDER);
	l->name = text_copy(name);
	return l->above < 0 ? err_sys(e, "open the folder %.200s", path) : 0;
}

/* Lets the files of the copy go directly into the existing `folder`: nothing is
 * renamed at the end, so the parent folder is closed. */
static int merge(struct copy_dest *l, int folder, struct err *e)
{
	l->folder = folder;
	l->wants_content = true;
	own_close(&l->above);
	return folder < 0 ? err_sys(e, "open the folder %.200s", l->name) : 0;
}

static int make_stage(struct copy_dest *l, struct err *e)
{
	char random[17];

	if (hex_random(random, sizeof(random) - 1, e) < 0)
		return -1;
	(void)snprintf(l->stage, sizeof(l->stage), ".hutch-cp-%s", random);
	if (mkdirat(l->above, l->stage, 0700) < 0) {
		(void)err_sys(e,
			      "make a folder beside %.200s, where the copy comes first",
			      l->name);
		l->stage[0] = '\0';
		return -1;
	}
	l->stage_fd = openat(l->above, l->stage, FOLDER | O_NOFOLLOW);
	return l->stage_fd < 0 ? err_sys(e, "open a folder that was just made") : 0;
}

/* Makes the fresh folder that the copy is unpacked into.  A copy without a name of
 * its own goes into a subfolder, which gets the name when the copy is complete. */
static int stage(struct copy_dest *l, bool has_name, struct err *e)
{
	if (make_stage(l, e) < 0)
		return -1;
	l->rename = has_name ? l->name : NULL;
	if (!has_name && mkdirat(l->stage_fd, l->name, 0777) < 0)
		return err_sys(e, "make a folder");
	l->folder = openat(l->stage_fd, has_name ? "." : l->name, FOLDER | O_NOFOLLOW);
	return l->folder < 0 ? err_sys(e, "open a folder that was just made") : 0;
}

static bool has_slash(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] == '/';
}

/* Opens the destination of a named file or folder: `path` is the folder to put it
 * in, or its new name. */
static int open_named(struct copy_dest *l, const char *path, const char *name,
		      bool is_folder, struct err *e)
{
	bool is_below = is_folder || has_slash(path) || is_folder_at(AT_FDCWD, path, 0);

	if ((is_below ? open_as_folder(l, path, name, e) : open_above(l, path, e)) < 0 ||
	    become_owner(l, l->above, e) < 0)
		return -1;
	if (is_folder_at(l->above, l->name, AT_SYMLINK_NOFOLLOW))
		return merge(l, openat(l->above, l->name, FOLDER | O_NOFOLLOW), e);
	return stage(l, true, e);
}

/* Opens the destination of files without a common name: `path` is the folder to put
 * them in. */
static int open_content(struct copy_dest *l, const char *path, struct err *e)
{
	int folder = open(path, FOLDER);

	if (folder >= 0 && become_owner(l, folder, e) == 0)
		return merge(l, folder, e);
	if (folder >= 0) {
		own_close(&folder);
		return -1;
	}
	if (errno != ENOENT)
		return err_sys(e, "open the folder %.200s", path);
	if (open_above(l, path, e) < 0 || become_owner(l, l->above, e) < 0)
		return -1;
	return stage(l, false, e);
}

int copy_dest_open(struct copy_dest *l, const char *path, const char *name,
		   bool is_folder, struct err *e)
{
	if (!*path)
		return err_set(e, ERR_USAGE, "an empty path");
	return name ? open_named(l, path, name, is_folder, e) : open_content(l, path, e);
}

/* --- end -------------------------------------------------------------------------- */

static int rename_staged(const struct copy_dest *l)
{
	return renameat(l->stage_fd, l->name, l->above, l->name);
}

/* Renames a copied folder that its owner may not write to.  rename(2) of a folder
 * changes its "..", so the owner needs the write permission while rename(2) runs. */
static int rename_closed(const struct copy_dest *l)
{
	struct stat st;

	if (fstatat(l->stage_fd, l->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	AUTO_CLOSE int folder = rm_tree_open(l->stage_fd, l->name);
	if (folder < 0 || fchmod(folder, 0700) < 0 || rename_staged(l) < 0)
		return -1;
	return fchmod(folder, st.st_mode & 0777);
}

int copy_dest_settle(struct copy_dest *l, struct err *e)
{
	if (!l->stage[0] || rename_staged(l) == 0)
		return 0;
	if (errno == EACCES && rename_closed(l) == 0)
		return 0;
	int sys = errno;
	(void)err_sys(e, "give the copy its name, %.200s", l->name);
	if (sys == ENOTDIR || sys == EISDIR)
		return err_remedy(
			e, "a folder does not take the place of a file or link, nor "
			   "the other way round");
	return -1;
}

void copy_dest_done(struct copy_dest *l)
{
	own_close(&l->folder);
	own_close(&l->stage_fd);
	if (l->stage[0])
		rm_tree_remove(l->above, l->stage);
	own_close(&l->above);
	own_free(&l->name);
	l->stage[0] = '\0';
}
