#include "rootfs-tools/build/source_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/dir_names.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"
#include "rootfs-tools/layers/hash.h"

#define DEPTH_MAX 256
#define NAMES_MAX (64u << 20)
#define PIECE	  (256u << 10)

/* A folder on the path from the top to the current folder.  A link to one of these
 * folders is a loop. */
struct level {
	const struct level *above;
	struct stat st;
	unsigned depth;
	const char *path;
};

/* The bytes of an entry that are hashed: "data:HASH", a 0 byte, "name:NAME". */
struct entry {
	char *kind_and_hash, *name; /* owned */
};

struct entries_of {
	struct entry *all; /* owned */
	size_t count, room;
};

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), has = strlen(end);

	return len >= has && !strcmp(name + len - has, end);
}

static bool is_left_out(const char *name)
{
	return *name == '.' || !strcmp(name, "__pycache__");
}

static int hash_file(int fd, const char *path, char ret[SOURCE_HASH_TEXT], struct err *e)
{
	AUTO_FREE char *piece = mem_new(PIECE);
	struct hash *h = hash_new_md5();
	ssize_t len;

	while ((len = read(fd, piece, PIECE)) > 0)
		hash_add(h, piece, (size_t)len);
	if (len == 0)
		hash_end_md5(h, ret);
	hash_free(h);
	return len < 0 ? err_sys(e, "read %.300s", path) : 0;
}

/* --- descriptors ---------------------------------------------------------------- */

static void add_entry(struct entries_of *l, const char *kind, const char *hash,
		      const char *name)
{
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 32;
		l->all = mem_resize(l->all, l->room, sizeof(*l->all));
	}
	l->all[l->count++] = (struct entry){ text_format("%s:%s", kind, hash),
					     text_format("name:%s", name) };
}

static void entries_free(struct entries_of *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->all[i].kind_and_hash);
		free(l->all[i].name);
	}
	free(l->all);
}

static int by_text(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int first = strcmp(x->kind_and_hash, y->kind_and_hash);

	return first ? first : strcmp(x->name, y->name);
}

static void hash_entries(struct entries_of *l, char ret[SOURCE_HASH_TEXT])
{
	struct hash *h = hash_new_md5();

	if (l->count > 0)
		qsort(l->all, l->count, sizeof(*l->all), by_text);
	for (size_t i = 0; i < l->count; i++) {
		hash_add(h, "\0\0", i ? 2 : 0);
		hash_add(h, l->all[i].kind_and_hash, strlen(l->all[i].kind_and_hash) + 1);
		hash_add(h, l->all[i].name, strlen(l->all[i].name));
	}
	hash_end_md5(h, ret);
	hash_free(h);
}

/* --- folders -------------------------------------------------------------------- */

static int hash_folder(int fd, struct level *here, bool *ret_has_any,
		       char ret[SOURCE_HASH_TEXT], struct err *e);

static int check_level(const struct level *here, struct err *e)
{
	if (here->depth > DEPTH_MAX)
		return err_set(e, ERR_LIMIT, "%.300s: deeper than %u folders", here->path,
			       DEPTH_MAX);
	for (const struct level *l = here->above; l; l = l->above)
		if (l->st.st_dev == here->st.st_dev && l->st.st_ino == here->st.st_ino)
			return err_set(e, ERR_USAGE,
				       "%.300s leads to a folder that it is in",
				       here->path);
	return 0;
}

static int hash_child(int at, const char *name, const struct level *above,
		      struct entries_of *to, struct err *e)
{
	AUTO_FREE char *path = text_format("%s/%s", above->path, name);
	AUTO_CLOSE int fd = openat(at, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct level here = { .above = above, .depth = above->depth + 1, .path = path };
	char hash[SOURCE_HASH_TEXT];
	bool has_any = true;

	if (ends_with(name, ".pyc"))
		return 0;
	if (fd < 0 || fstat(fd, &here.st) < 0)
		return err_sys(e, "open %.300s", path);
	bool is_folder = S_ISDIR(here.st.st_mode);
	if (is_folder && is_left_out(name))
		return 0;
	if (!utf8_is_valid((const uint8_t *)name, strlen(name), false))
		return err_set(e, ERR_USAGE, "%.300s: its name is no UTF-8", path);
	if (!is_folder && !S_ISREG(here.st.st_mode))
		return err_set(e, ERR_USAGE, "%.300s is neither a file nor a folder",
			       path);
	int rc = is_folder ? hash_folder(fd, &here, &has_any, hash, e) :
			     hash_file(fd, path, hash, e);
	if (rc == 0 && has_any)
		add_entry(to, is_folder ? "dirhash" : "data", hash, name);
	return rc;
}

static int hash_folder(int fd, struct level *here, bool *ret_has_any,
		       char ret[SOURCE_HASH_TEXT], struct err *e)
{
	struct entries_of entries = { 0 };
	struct dir_names names = { 0 };
	const char *name;
	int rc = check_level(here, e);

	if (rc == 0 && dir_names_read(fd, NAMES_MAX, &names) < 0)
		rc = err_sys(e, "list %.300s", here->path);
	while (rc == 0 && (name = dir_names_next(&names)))
		rc = hash_child(fd, name, here, &entries, e);
	if (rc == 0) {
		*ret_has_any = entries.count > 0;
		hash_entries(&entries, ret);
	}
	dir_names_done(&names);
	entries_free(&entries);
	return rc;
}

int source_hash(const char *folder, char ret[SOURCE_HASH_TEXT], struct err *e)
{
	AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct level root = { .path = folder };
	bool has_any;

	if (fd < 0 || fstat(fd, &root.st) < 0)
		return err_sys(e, "open %.300s", folder);
	if (hash_folder(fd, &root, &has_any, ret, e) < 0)
		return -1;
	return has_any ? 0 : err_set(e, ERR_USAGE, "%.300s has nothing in it", folder);
}
