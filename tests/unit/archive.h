/* archive -- makes tars entry by entry, and unpacks them below a folder of the
 * scene.  Include it behind cmocka.h. */
#pragma once
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/dir_stack.h"
#include "archive/pack.h"
#include "archive/tar.h"
#include "archive/unpack.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "store/rm_tree.h"
#include "tests/tar_sum.h"
#include "tests/unit/scene.h"

/* The unpacker's messages: entries that it left out, and links that lead out of the
 * folder. */
struct told {
	struct list left_out, links;
};

static inline void told_left_out(void *context, const char *path, const char *why)
{
	list_addf(&((struct told *)context)->left_out, "%s: %s", path, why);
}

static inline void told_link(void *context, const char *path, const char *to)
{
	list_addf(&((struct told *)context)->links, "%s -> %s", path, to);
}

static inline void told_done(struct told *t)
{
	list_done(&t->left_out);
	list_done(&t->links);
}

static inline void tar_start(struct buffer *tar)
{
	buffer_init(tar, 64 << 20);
}

static inline void tar_content(struct buffer *tar, const void *data, size_t len)
{
	static const char zeros[TAR_BLOCK];

	assert_true(buffer_append(tar, data, len));
	assert_true(buffer_append(tar, zeros, (size_t)(tar_padded(len) - len)));
}

static inline void tar_put(struct buffer *tar, enum tar_type type, const char *path,
			   const char *text)
{
	const struct tar_entry entry = {
		.type = type,
		.path = path,
		.link = type == TAR_FILE ? NULL : text,
		.mode = type == TAR_FOLDER ? 0755 : 0644,
		.size = type == TAR_FILE ? strlen(text) : 0,
		.mtime = 1000000000,
	};

	tar_encode(tar, &entry);
	if (type == TAR_FILE)
		tar_content(tar, text, strlen(text));
}

static inline void tar_file(struct buffer *tar, const char *path, const char *text)
{
	tar_put(tar, TAR_FILE, path, text);
}

static inline void tar_folder(struct buffer *tar, const char *path)
{
	tar_put(tar, TAR_FOLDER, path, NULL);
}

static inline void tar_link(struct buffer *tar, const char *path, const char *to)
{
	tar_put(tar, TAR_LINK, path, to);
}

static inline void tar_hard_link(struct buffer *tar, const char *path, const char *to)
{
	tar_put(tar, TAR_HARD_LINK, path, to);
}

/* Adds a header of any type, followed by its content. */
static inline void tar_raw(struct buffer *tar, char flag, const char *name,
			   const void *data, size_t len)
{
	const struct tar_entry entry = { .path = name, .mode = 0644, .size = len };
	size_t at = buffer_len(tar);

	tar_encode(tar, &entry);
	uint8_t *block = tar->bytes + tar->start + at;
	block[156] = (uint8_t)flag;
	tar_sum(block);
	tar_content(tar, data, len);
}

static inline void tar_finish(struct buffer *tar)
{
	static const char zeros[2 * TAR_BLOCK];

	assert_true(buffer_append(tar, zeros, sizeof(zeros)));
}

/* Returns a descriptor from which the bytes can be read. */
static inline int tar_open(const struct buffer *tar)
{
	int fd = memfd_create("tar", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, buffer_data(tar), buffer_len(tar)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Unpacks into the folder `name` of the scene, making it if necessary. */
static inline int tar_unpack(void **state, const char *name, const struct buffer *tar,
			     struct unpack *u, struct err *e)
{
	AUTO_FREE char *path = scene_path(state, name);

	(void)mkdir(path, 0755);
	AUTO_CLOSE int in = tar_open(tar);
	AUTO_CLOSE int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	unsigned before = scene_open_fds();
	u->in = in;
	u->root = root;
	int result = unpack_all(u, e);
	assert_int_equal(scene_open_fds(), before);
	return result;
}

/* A teardown that also removes paths that are too long for nftw(3). */
static inline int tree_teardown(void **state)
{
	rm_tree_remove(AT_FDCWD, *state);
	int result = access(*state, F_OK) < 0 && errno == ENOENT ? 0 : -1;

	free(*state);
	return result;
}

/* Returns the text of a file of the scene, allocated. */
static inline char *scene_text(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char *text = NULL;
	size_t len;
	struct err e;

	if (fd < 0)
		fail_msg("%s: %s", name, strerror(errno));
	assert_int_equal(io_read_file(fd, name, 64 << 20, &text, &len, &e), 0);
	return text;
}

static inline void scene_check_text(void **state, const char *name, const char *expected)
{
	AUTO_FREE char *text = scene_text(state, name);

	assert_string_equal(text, expected);
}

static inline struct stat scene_stat(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);
	struct stat st;

	if (lstat(path, &st) < 0)
		fail_msg("%s: %s", name, strerror(errno));
	return st;
}

static inline bool scene_has(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);
	struct stat st;

	return lstat(path, &st) == 0;
}
