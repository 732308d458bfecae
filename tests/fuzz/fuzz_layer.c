/* A layer is a tar from an untrusted source.  Whatever it contains, nothing is
 * made or changed outside of the folder, and no more than the limits permit;
 * there is no device except whiteouts, no attribute that overlayfs or hutch
 * interprets unless hutch wrote it, and no setuid bit.  Blocks that are marked
 * as headers get a correct checksum. */
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "archive/unpack.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "tests/fuzz/tar_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- what was made ------------------------------------------------------------------ */

/* "UID GID MODE" */
static void check_stat(const char *path)
{
	char text[64];
	unsigned uid, gid, mode;
	int used = 0;
	ssize_t len = lgetxattr(path, "user.hutch.stat", text, sizeof(text) - 1);

	if (len < 0)
		return;
	text[len] = '\0';
	must(sscanf(text, "%u %u %o%n", &uid, &gid, &mode, &used) == 3 && used == len);
	must(uid < UINT32_MAX && gid < UINT32_MAX && mode <= 07777);
}

static void check_attributes(const char *path)
{
	char names[65536], text[8];
	ssize_t len = llistxattr(path, names, sizeof(names));

	for (char *name = names; len > 0 && name < names + len; name += strlen(name) + 1) {
		if (!strncmp(name, "user.overlay.", 13))
			must(!strcmp(name, "user.overlay.opaque") &&
			     lgetxattr(path, name, text, sizeof(text)) == 1 && *text == 'y');
		else if (!strncmp(name, "user.hutch.", 11))
			must(!strcmp(name, "user.hutch.stat"));
		else
			must(!strncmp(name, "user.", 5) || !strncmp(name, "security.selinux", 16));
	}
	check_stat(path);
}

static void check_kind(const struct stat *st)
{
	must(!S_ISBLK(st->st_mode) && !S_ISSOCK(st->st_mode));
	must(!S_ISCHR(st->st_mode) || st->st_rdev == 0);
	must(!(st->st_mode & (S_ISUID | S_ISGID)));
	must(!(st->st_mode & S_ISVTX) || S_ISDIR(st->st_mode));
	must(st->st_uid == geteuid());
}

static unsigned check_below(const char *path);

static unsigned check_one(const char *folder, const char *name)
{
	AUTO_FREE char *path = mem_new(strlen(folder) + strlen(name) + 2);
	struct stat st;

	(void)sprintf(path, "%s/%s", folder, name);
	if (lstat(path, &st) < 0)
		return 0; /* beyond PATH_MAX; the folders above it were checked */
	check_kind(&st);
	/* Reading attributes of the kind "user" takes the right to read (xattr(7)). */
	if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))
		must(chmod(path, 0700) == 0);
	check_attributes(path);
	return 1 + (S_ISDIR(st.st_mode) ? check_below(path) : 0);
}

static unsigned check_below(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	unsigned count = 0;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			count += check_one(path, entry->d_name);
	if (dir)
		(void)closedir(dir);
	return count;
}

/* --- unpacking ----------------------------------------------------------------- */

static void check_outside(int top)
{
	struct stat beside;
	unsigned count = 0;
	AUTO_CLOSE int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(again);

	must(dir);
	again = -1;
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	must(count == 3); /* ".", ".." and "beside" */
	must(fstatat(top, "beside", &beside, AT_SYMLINK_NOFOLLOW) == 0 &&
	     beside.st_nlink == 2 && beside.st_mode == (S_IFDIR | 0755));
	must(unlinkat(top, "beside", AT_REMOVEDIR) == 0 && mkdirat(top, "beside", 0755) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_CLOSE int in = make_input(data, size);
	struct unpack_layer layer = { .remove = rm_tree_remove };
	struct unpack u = { .in = in, .entries_max = ENTRIES_MAX, .bytes_max = BYTES_MAX,
			    .layer = &layer };
	struct err e = { 0 };
	int top = open_top();
	char path[sizeof(top_path) + 4];

	(void)umask(0);
	must(mkdirat(top, "in", 0700) == 0);
	AUTO_CLOSE int root = openat(top, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(root >= 0);
	u.root = root;
	must(unpack_all(&u, &e) == 0 || e.text[0]);
	must(u.entries <= ENTRIES_MAX && u.bytes <= BYTES_MAX);
	(void)snprintf(path, sizeof(path), "%s/in", top_path);
	check_attributes(path);
	must(fchmod(root, 0700) == 0);
	must(check_below(path) <= ENTRIES_MAX);
	rm_tree_remove(top, "in");
	check_outside(top);
	return 0;
}
