#include "store/rm_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

int rm_tree_open(int parent, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags);

	if (fd >= 0 || errno != EACCES)
		return fd;
	/* fchmodat(2) would follow a link that was put in the folder's place, so the
	 * mode is set by descriptor.  fchmod(2) refuses an O_PATH descriptor; its
	 * name in /proc can be used. */
	AUTO_CLOSE int path =
		openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char self[40];
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", path);
	if (path < 0 || chmod(self, 0700) < 0)
		return -1;
	return openat(parent, name, flags);
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Unlinks every entry of the folder that can be unlinked.  Returns the name of a
 * folder that is not empty, or NULL when there is none. */
static char *clear_files(int folder, bool *ret_progress)
{
	char *full = NULL;
	struct dirent *entry;

	/* Opening "." and unlinking need these permissions; where they cannot be set, the
	 * calls below fail. */
	(void)fchmod(folder, 0700);
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	if (!dir)
		return NULL;
	while (!full && (entry = readdir(dir))) {
		if (is_dots(entry->d_name))
			continue;
		if (unlinkat(folder, entry->d_name, 0) == 0 ||
		    unlinkat(folder, entry->d_name, AT_REMOVEDIR) == 0)
			*ret_progress = true;
		else if (errno == ENOTEMPTY)
			full = text_copy(entry->d_name);
	}
	(void)closedir(dir); /* close cannot lose data: the folder was only read */
	return full;
}

/* The folders from the start to the current folder. */
struct folder_stack {
	struct entry_path {
		dev_t dev;
		ino_t ino;
	} *places;
	size_t count, room;
};

static bool is_at(int folder, const struct entry_path *p)
{
	struct stat st;

	return fstat(folder, &st) == 0 && st.st_dev == p->dev && st.st_ino == p->ino;
}

static int go_down(struct folder_stack *s, int at, const char *name)
{
	struct stat st;

	if (fstat(at, &st) < 0)
		return -1;
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 16;
		s->places = mem_resize(s->places, s->room, sizeof(*s->places));
	}
	s->places[s->count++] = (struct entry_path){ st.st_dev, st.st_ino };
	return rm_tree_open(at, name);
}

/* If the current folder was moved meanwhile, ".." is not the folder that the walk
 * came from, and removing there would delete files outside of the tree. */
static int go_up(struct folder_stack *s, int at)
{
	AUTO_CLOSE int up = -1;

	if (s->count > 0) /* opened here, not by rm_tree_open(), which may change the
			   * folder's mode */
		up = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (up < 0 || !is_at(up, &s->places[--s->count]))
		return -1;
	return fd_take(&up);
}

/* Empties the tree below `top`, with a handful of descriptors however deep it is:
 * goes down into a folder that is not empty, and up again when it is.  Coming back to
 * the same non-empty folder without having removed anything means that something in
 * it cannot be removed. */
static void empty_tree(int top)
{
	AUTO_CLOSE int at = fcntl(top, F_DUPFD_CLOEXEC, 0);
	struct folder_stack stack = { 0 };
	bool came_up = false;

	while (at >= 0) {
		bool progress = false;
		AUTO_FREE char *full = clear_files(at, &progress);
		if (full && came_up && !progress)
			break;
		came_up = !full;
		int next = full ? go_down(&stack, at, full) : go_up(&stack, at);
		own_close(&at);
		at = next;
	}
	free(stack.places);
}

void rm_tree_remove(int base, const char *name)
{
	AUTO_CLOSE int folder = rm_tree_open(base, name);

	if (folder >= 0)
		empty_tree(folder);
	(void)unlinkat(base, name, AT_REMOVEDIR); /* on failure, the next launch tries
						   * again to remove the folder */
}
