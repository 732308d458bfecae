#include "rootfs-tools/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/tar.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/layers/hash.h"

#define PIECE (256u << 10)

static int write_to(int fd, const void *data, size_t len, struct err *e)
{
	return io_write_all(fd, data, len) < 0 ? err_sys(e, "write the image") : 0;
}

/* Writes the tar header of a file or folder. */
static int begin(const struct sink *s, enum tar_type type, const char *path,
		 uint64_t size, struct err *e)
{
	const struct tar_entry entry = { .type = type,
					 .path = path,
					 .link = "",
					 .mode = type == TAR_FOLDER ? 0755 : 0644,
					 .size = size };
	struct buffer b;

	buffer_init(&b, 16384);
	tar_encode(&b, &entry);
	int rc = write_to(s->tar, buffer_data(&b), buffer_len(&b), e);
	buffer_done(&b);
	return rc;
}

static int pad(const struct sink *s, uint64_t size, struct err *e)
{
	static const char zeros[TAR_BLOCK];

	return write_to(s->tar, zeros, (size_t)(tar_padded(size) - size), e);
}

int sink_folder(const struct sink *s, const char *path, struct err *e)
{
	if (s->folder < 0)
		return begin(s, TAR_FOLDER, path, 0, e);
	if (mkdirat(s->folder, path, 0755) < 0)
		return err_sys(e, "make %s", path);
	return 0;
}

/* Opens a descriptor to write the file's content to: a new file, or a copy of
 * the tar's descriptor. */
static int open_file(const struct sink *s, const char *path, uint64_t size, struct err *e)
{
	int fd;

	if (s->folder < 0 && begin(s, TAR_FILE, path, size, e) < 0)
		return -1;
	if (s->folder < 0)
		fd = fcntl(s->tar, F_DUPFD_CLOEXEC, 0);
	else
		fd = openat(s->folder, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			    0644);
	return fd < 0 ? err_sys(e, "make %s", path) : fd;
}

int sink_text(const struct sink *s, const char *path, const char *text, struct err *e)
{
	size_t len = strlen(text);
	AUTO_CLOSE int fd = open_file(s, path, len, e);

	if (fd < 0 || write_to(fd, text, len, e) < 0)
		return -1;
	return s->folder < 0 ? pad(s, len, e) : 0;
}

static int copy(int to, int from, uint64_t size, struct digest *ret, struct err *e)
{
	AUTO_FREE char *piece = mem_new(PIECE);
	struct hash *h = hash_new();
	ssize_t n = 1;
	int rc = 0;

	while (size > 0 && n > 0 && rc == 0) {
		n = io_read_full(from, piece, size < PIECE ? (size_t)size : PIECE);
		if (n > 0)
			rc = write_to(to, piece, (size_t)n, e);
		if (n > 0)
			hash_add(h, piece, (size_t)n);
		size -= n > 0 ? (uint64_t)n : 0;
	}
	hash_end(h, ret);
	hash_free(h);
	return n < 0 ? err_sys(e, "read a blob") : rc;
}

int sink_blob(const struct sink *s, const char *path, int from, uint64_t size,
	      const struct digest *d, struct err *e)
{
	struct digest is;
	AUTO_CLOSE int fd = open_file(s, path, size, e);

	if (fd < 0 || copy(fd, from, size, &is, e) < 0)
		return -1;
	if (!digest_equal(&is, d)) {
		(void)err_set(e, ERR_REFUSED, "blob %.12s in the store is damaged",
			      d->hex);
		return err_remedy(
			e, "hutch image verify --repair removes it; then get the image "
			   "again");
	}
	return s->folder < 0 ? pad(s, size, e) : 0;
}

int sink_end(const struct sink *s, struct err *e)
{
	static const char zeros[2 * TAR_BLOCK];

	return s->folder < 0 ? write_to(s->tar, zeros, sizeof(zeros), e) : 0;
}
