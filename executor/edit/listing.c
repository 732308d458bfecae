#include "executor/edit/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"
#include "executor/edit/edit.h"
#include "executor/files/files_parts.h"

struct item {
	char *path; /* owned */
	bool is_folder;
};

struct listing {
	struct item *items; /* owned */
	size_t count, names; /* how many items there are, and how many names were read,
			      * including hidden ones */
};

static void add(struct listing *l, char *path, bool is_folder)
{
	if ((l->count & (l->count - 1)) == 0)
		l->items = mem_resize(l->items, l->count ? 2 * l->count : 1,
				      sizeof(*l->items));
	l->items[l->count++] = (struct item){ path, is_folder };
}

static bool is_folder(int at, const struct dirent *d)
{
	struct stat st;

	if (d->d_type == DT_DIR)
		return true;
	if (d->d_type != DT_LNK && d->d_type != DT_UNKNOWN)
		return false;
	return fstatat(at, d->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static bool is_itself(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Adds all entries of a folder that are not hidden; returns the number of hidden ones.
 * Takes over the descriptor. */
static size_t read_folder(struct listing *l, int fd, const char *path)
{
	DIR *dir = fdopendir(fd);
	size_t hidden = 0;
	struct dirent *d;

	if (!dir) {
		own_close(&fd);
		return 0;
	}
	const char *parent = !strcmp(path, "/") ? "" : path;
	while (l->names < LISTING_NAMES && (d = readdir(dir))) {
		if (is_itself(d->d_name))
			continue;
		l->names++;
		if (d->d_name[0] == '.')
			hidden++;
		else
			add(l, text_format("%s/%s", parent, d->d_name), is_folder(fd,
										  d));
	}
	(void)closedir(dir);
	return hidden;
}

/* Reads each folder found so far, and adds its entries. Each is opened below the listed
 * folder, by the last component of its path. */
static void read_folders(struct listing *l, int folder)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC;
	size_t count = l->count; /* only these items are read, not the subfolders that
				  * the loop adds: the list has two levels */

	for (size_t i = 0; i < count; i++) {
		if (!l->items[i].is_folder)
			continue;
		/* a copy, since read_folder() may move the items in memory */
		char *path = text_copy(l->items[i].path);
		AUTO_CLOSE int fd = files_at(folder, strrchr(path, '/') + 1, flags);
		if (fd >= 0 && !files_is_of_process(fd))
			(void)read_folder(l, fd_take(&fd), path);
		free(path);
	}
}

static int compare(const void *one, const void *other)
{
	const struct item *x = one, *y = other;

	return strcmp(x->path, y->path);
}

/* Appends one line, at most `left` characters of it; returns how many characters may
 * follow. The slash behind a folder does not count: OpenHands' editor appends it after
 * clipping. */
static size_t put_item(struct buffer *to, const struct item *x, size_t left, size_t *cut)
{
	AUTO_FREE char *line = text_format("%s%s", buffer_len(to) ? "\n" : "",
					   x->path);
	const uint8_t *at = (const uint8_t *)line;
	size_t len = strlen(line), chars = utf8_count(at, len);

	if (chars > left) {
		(void)buffer_append(to, at, utf8_skip(at, len, left));
		*cut += chars - left;
		return 0;
	}
	(void)buffer_append(to, at, len);
	if (x->is_folder && line[len - 1] != '/')
		(void)buffer_append(to, "/", 1);
	return left - chars;
}

static void put_items(struct buffer *to, const struct listing *l, size_t *ret_cut)
{
	struct buffer lines;
	size_t left = EDIT_CLIP;

	*ret_cut = 0;
	buffer_init(&lines, 8 * EDIT_CLIP);
	for (size_t i = 0; i < l->count; i++)
		left = put_item(&lines, &l->items[i], left, ret_cut);
	(void)buffer_append(to, buffer_data(&lines), buffer_len(&lines));
	buffer_done(&lines);
	if (*ret_cut > 0 || l->names == LISTING_NAMES)
		(void)buffer_append(to, EDIT_CLIPPED_FOLDER,
				    strlen(EDIT_CLIPPED_FOLDER));
}

void listing_put(struct buffer *to, int folder, const char *path, size_t *ret_hidden,
		 size_t *ret_cut)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	struct listing l = { 0 };

	add(&l, text_copy(path), true);
	*ret_hidden = read_folder(&l, files_at(folder, ".", flags), path);
	l.items[0].is_folder = false; /* read_folders() must skip the listed folder
				       * itself, which was read above */
	read_folders(&l, folder);
	l.items[0].is_folder = true;
	qsort(l.items, l.count, sizeof(*l.items), compare);
	put_items(to, &l, ret_cut);
	for (size_t i = 0; i < l.count; i++)
		free(l.items[i].path);
	free(l.items);
}
