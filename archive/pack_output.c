#include "archive/pack_output.h"

#include <errno.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/pack.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"

/* Pending bytes are written once this many have gathered. */
#define PENDING (256u << 10)

/* A file up to this size goes through `pending`, together with others; a larger one
 * is copied to `out` directly. */
#define SMALL (64u << 10)

/* The limit for reading a file whose stat says 0 bytes, as in procfs. */
#define UNTOLD_MAX (1u << 20)

int pack_flush(struct pack *p, struct err *e)
{
	size_t len = buffer_len(&p->pending);

	if (len > 0 && io_write_all(p->out, buffer_data(&p->pending), len) < 0)
		return err_sys(e, "write the tar");
	buffer_consume(&p->pending, len);
	return 0;
}

int pack_flush_much(struct pack *p, struct err *e)
{
	return buffer_len(&p->pending) >= PENDING ? pack_flush(p, e) : 0;
}

void pack_tell(struct pack *p, const char *path, const char *why)
{
	p->left_out++;
	if (p->on_left_out)
		p->on_left_out(p->context, path, why);
}

/* Reports that the file is left out; errno has the reason. */
int pack_leave_out(struct pack *p, const struct pack_item *i, struct err *e)
{
	if (i->is_given)
		return err_sys(e, "%.300s", i->name);
	pack_tell(p, i->as, err_words(errno));
	return 0;
}

int pack_leave_out_kind(struct pack *p, const struct pack_item *i, const char *why,
			  struct err *e)
{
	if (i->is_given)
		return err_set(e, ERR_UNSUPPORTED, "%.300s is %s", i->name, why);
	pack_tell(p, i->as, why);
	return 0;
}

void pack_header(struct pack *p, enum tar_type type, const struct pack_item *i,
		       const struct stat *st, const char *link)
{
	struct tar_entry entry = {
		.type = type,
		.flag = '6', /* the header's type flag for a FIFO, used if `type` is
			      * TAR_OTHER */
		.path = i->as,
		.link = link,
		.mode = st->st_mode & 07777,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = type == TAR_FILE ? (uint64_t)st->st_size : 0,
		.mtime = st->st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
		.xattrs = i->xattrs,
		.xattr_count = i->xattr_count,
	};

	if (!p->pending.max)
		buffer_init(&p->pending, 2 * TAR_HEADER_MAX + PENDING + UNTOLD_MAX);
	if (p->newest && entry.mtime >= p->newest) {
		entry.mtime = p->newest;
		entry.mtime_ns = 0;
	}
	tar_encode(&p->pending, &entry);
	p->entries++;
	p->bytes += entry.size;
}

/* Returns room for `len` bytes after the pending ones. */
static uint8_t *room_for(struct pack *p, size_t len)
{
	return mem_or_abort(buffer_reserve(&p->pending, len));
}

/* --- the content of files ---------------------------------------------------- */

static const char IS_SHORTER[] = "became shorter while it was read; zeros stand for "
				 "the missing bytes",
		  IS_LONGER[] = "became longer while it was read, and was cut";

/* Adds zeros from the offset `from` to the offset `to`, to pad the last block of a
 * file, or in place of bytes that the file no longer has.  Adds nothing if `to` is not
 * beyond `from`. */
int pack_zeros(struct pack *p, uint64_t from, uint64_t to, struct err *e)
{
	while (from < to) {
		size_t len = to - from < SMALL ? (size_t)(to - from) : SMALL;
		memset(room_for(p, len), 0, len);
		buffer_added(&p->pending, len);
		from += len;
		if (pack_flush_much(p, e) < 0)
			return -1;
	}
	return 0;
}

/* Adds a small file from memory.  Asks for one byte more than the stat says, to notice
 * that the file became longer. */
static int put_small(struct pack *p, int fd, const struct pack_item *i, uint64_t size,
		     struct err *e)
{
	uint8_t *to = room_for(p, (size_t)size + 1);
	ssize_t got = io_read_sized(fd, to, (size_t)size);

	if (got < 0)
		pack_tell(p, i->as, err_words(errno));
	else if ((uint64_t)got < size)
		pack_tell(p, i->as, IS_SHORTER);
	else if ((uint64_t)got > size)
		pack_tell(p, i->as, IS_LONGER);
	uint64_t used = got < 0 ? 0 : (uint64_t)got > size ? size : (uint64_t)got;
	buffer_added(&p->pending, (size_t)used);
	return pack_zeros(p, used, tar_padded(size), e);
}

/* Copies from file to `out` within the kernel, by sendfile(2), as far as the kernel
 * gets; returns how many bytes were copied. */
static uint64_t send_file(int out, int fd, uint64_t size)
{
	uint64_t sent = 0;

	while (sent < size) {
		size_t step = size - sent < 1u << 30 ? (size_t)(size - sent) : 1u << 30;
		ssize_t n = sendfile(out, fd, NULL, step);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		sent += (uint64_t)n;
	}
	return sent;
}

/* Copies the rest of a file by read and write, since sendfile(2) does not say which
 * side failed, and does not work for every file and every `out`.  *ret_sent already
 * counts the bytes that sendfile(2) has sent. */
static int copy_rest(struct pack *p, int fd, uint64_t size, uint64_t *ret_sent,
		     struct err *e)
{
	while (*ret_sent < size) {
		uint64_t left = size - *ret_sent;
		size_t step = left < PENDING ? (size_t)left : PENDING;
		ssize_t n = read(fd, room_for(p, step), step);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? 1 : 0;
		buffer_added(&p->pending, (size_t)n);
		*ret_sent += (uint64_t)n;
		if (pack_flush(p, e) < 0)
			return -1;
	}
	return 0;
}

static int put_large(struct pack *p, int fd, const struct pack_item *i, uint64_t size,
		     struct err *e)
{
	struct stat now;

	if (pack_flush(p, e) < 0)
		return -1;
	uint64_t sent = send_file(p->out, fd, size);
	int result = copy_rest(p, fd, size, &sent, e);
	if (result < 0)
		return -1;
	if (result > 0)
		pack_tell(p, i->as, err_words(errno));
	else if (sent < size)
		pack_tell(p, i->as, IS_SHORTER);
	else if (fstat(fd, &now) == 0 && (uint64_t)now.st_size > size)
		pack_tell(p, i->as, IS_LONGER);
	return pack_zeros(p, sent, tar_padded(size), e);
}

/* Adds a file whose stat says 0 bytes.  Most such files are empty; those of procfs are
 * not, so the file is read. */
static int put_untold(struct pack *p, int fd, const struct pack_item *i, struct stat *st,
		      struct err *e)
{
	AUTO_FREE uint8_t *data = NULL;
	uint8_t first;
	ssize_t len = read(fd, &first, 1);

	if (len > 0) {
		data = mem_new(UNTOLD_MAX + 1);
		data[0] = first;
		len = io_read_full(fd, data + 1, UNTOLD_MAX);
	}
	if (len < 0)
		return pack_leave_out(p, i, e);
	st->st_size = data ? len + 1 : 0;
	if (st->st_size > UNTOLD_MAX) {
		pack_tell(p, i->as, "has more than 1 MiB and did not say so; it was cut");
		st->st_size = UNTOLD_MAX;
	}
	size_t size = (size_t)st->st_size;
	pack_header(p, TAR_FILE, i, st, NULL);
	if (data)
		memcpy(room_for(p, size), data, size);
	buffer_added(&p->pending, size);
	return pack_zeros(p, size, tar_padded(size), e);
}

int pack_content(struct pack *p, int fd, const struct pack_item *i, struct stat *st,
		       struct err *e)
{
	uint64_t size = (uint64_t)st->st_size;

	if (size == 0)
		return put_untold(p, fd, i, st, e);
	pack_header(p, TAR_FILE, i, st, NULL);
	if (size <= SMALL)
		return put_small(p, fd, i, size, e);
	return put_large(p, fd, i, size, e);
}
