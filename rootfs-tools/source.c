#include "rootfs-tools/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/entries.h"
#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/layers/blobs.h"

#define PIECE	  (256u << 10)
#define FILES_MAX 20000
#define PATHS_MAX (8u << 20) /* limit of the bytes of all paths together */

struct file {
	char *path, *link; /* owned; `link` is a link's target, and NULL for a file */
	uint64_t at, size;
};

struct source {
	int folder, tar; /* owned; one of the two is the source, the other one is -1 */
	struct file *files; /* owned; the files in the tar */
	size_t count, paths;
};

struct source *source_of_folder(int folder)
{
	struct source *s = mem_zeroed(1, sizeof(*s));

	s->folder = folder;
	s->tar = -1;
	return s;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		free(s->files[i].path);
		free(s->files[i].link);
	}
	free(s->files);
	own_close(&s->folder);
	own_close(&s->tar);
	free(s);
}

/* --- a tar's headers ----------------------------------------------------------- */

static const char *without_dot(const char *path)
{
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	return path;
}

static int add_file(struct source *s, const struct entries *t, const char *path,
		    struct err *e)
{
	s->paths += strlen(path) + strlen(t->now.link ? t->now.link : "");
	if (s->count == FILES_MAX || s->paths > PATHS_MAX)
		return err_set(e, ERR_LIMIT,
			       "the archive has more than %d files, or too long "
			       "names",
			       FILES_MAX);
	if (s->count % 64 == 0)
		s->files = mem_resize(s->files, s->count + 64, sizeof(*s->files));
	s->files[s->count++] = (struct file){
		.path = text_copy(path),
		.link = t->now.type == TAR_FILE ? NULL : text_copy(t->now.link),
		.at = entries_offset(t), .size = t->now.size,
	};
	return 0;
}

/* Lists the files of a tar.  Returns 1 if all paths were accepted by is_ours(). */
static int index_tar(struct source *s, bool (*is_ours)(const char *path), struct err *e)
{
	struct entries t;
	int more;

	entries_init(&t, s->tar);
	while ((more = entries_next(&t, e)) > 0) {
		const char *path = without_dot(t.now.path);
		enum tar_type type = t.now.type;
		if (!is_ours(path))
			break;
		if ((type == TAR_FILE || type == TAR_LINK || type == TAR_HARD_LINK) &&
		    add_file(s, &t, path, e) < 0) {
			more = -1;
			break;
		}
	}
	entries_done(&t);
	return more < 0 ? -1 : more == 0;
}

int source_of_tar(int fd, bool (*is_ours)(const char *path), struct source **ret,
		  struct err *e)
{
	struct source *s = source_of_folder(-1);

	s->tar = fd;
	int rc = lseek(fd, 0, SEEK_SET) < 0
			 ? err_sys(e, "read the archive from its begin")
			 : index_tar(s, is_ours, e);
	if (rc <= 0) {
		s->tar = -1;
		source_free(s);
	}
	if (rc >= 0)
		*ret = rc > 0 ? s : NULL;
	return rc < 0 ? -1 : 0;
}

/* --- a file -------------------------------------------------------------------- */

static const struct file *find(const struct source *s, const char *path)
{
	for (size_t i = s->count; i > 0; i--)
		if (!strcmp(s->files[i - 1].path, path))
			return &s->files[i - 1];
	return NULL;
}

/* For a layer that is there twice, docker save had a symbolic link
 * "../HEX/layer.tar", relative to the link's folder.  A hard link names its
 * target from the archive's root. */
static const struct file *find_content(const struct source *s, const char *path)
{
	const struct file *f = find(s, path);

	if (!f || !f->link)
		return f;
	bool is_beside = !strncmp(f->link, "../", 3) && strchr(path, '/');
	f = find(s, without_dot(is_beside ? f->link + 3 : f->link));
	return f && !f->link ? f : NULL;
}

static int no_file(const char *path, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, "%.200s is not in it", path);
}

/* Finds the offset and the size of a file's content. */
static int open_file(const struct source *s, const char *path, struct file *ret,
		     int *ret_fd, struct err *e)
{
	struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	const struct file *f = s->folder < 0 ? find_content(s, path) : NULL;
	struct stat st;

	if (s->folder < 0 && !f)
		return no_file(path, e);
	AUTO_CLOSE int fd = s->folder < 0 ? fcntl(s->tar, F_DUPFD_CLOEXEC, 0) :
					    sys_openat2(s->folder, path, &how);
	if (fd < 0 && errno == ENOENT)
		return no_file(path, e);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open %.200s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_REFUSED, "%.200s is no regular file", path);
	*ret = f ? *f : (struct file){ .size = (uint64_t)st.st_size };
	*ret_fd = fd_take(&fd);
	return 0;
}

bool source_has(const struct source *s, const char *path)
{
	struct file f;
	AUTO_CLOSE int fd = -1;

	return open_file(s, path, &f, &fd, NULL) == 0;
}

/* Reads at most `len` bytes; 0 at the end. */
static ssize_t read_at(int fd, void *to, size_t len, uint64_t at)
{
	ssize_t n;

	do
		n = pread(fd, to, len, (off_t)at);
	while (n < 0 && errno == EINTR);
	return n;
}

int source_read(const struct source *s, const char *path, size_t max, char **ret,
		size_t *ret_len, struct err *e)
{
	struct file f;
	size_t len = 0;
	ssize_t n = 1;
	AUTO_CLOSE int fd = -1;

	if (open_file(s, path, &f, &fd, e) < 0)
		return -1;
	if (f.size > max)
		return err_set(e, ERR_LIMIT, "%.200s has more than %zu bytes", path, max);
	AUTO_FREE char *data = mem_new((size_t)f.size + 1);
	while (len < f.size && n > 0) {
		n = read_at(fd, data + len, (size_t)f.size - len, f.at + len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return err_sys(e, "read %.200s", path);
	data[len] = '\0';
	*ret = data;
	data = NULL;
	*ret_len = len;
	return 0;
}

int source_copy(const struct source *s, const char *path, uint64_t max, struct blob *to,
		struct err *e)
{
	struct file f;
	AUTO_CLOSE int fd = -1;

	if (open_file(s, path, &f, &fd, e) < 0)
		return -1;
	if (f.size > max)
		f.size = max;
	AUTO_FREE char *piece = mem_new(PIECE);
	while (blob_at(to) < f.size) {
		uint64_t left = f.size - blob_at(to);
		ssize_t n = read_at(fd, piece, left < PIECE ? (size_t)left : PIECE,
				    f.at + blob_at(to));
		if (n < 0)
			return err_sys(e, "read %.200s", path);
		if (n == 0)
			break; /* the file became shorter; the digest will not match */
		if (blob_add(to, piece, (size_t)n, e) < 0)
			return -1;
	}
	return 0;
}
