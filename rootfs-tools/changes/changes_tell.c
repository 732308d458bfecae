#include "rootfs-tools/changes/changes_tell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/changes/changes_stream.h"
#include "rootfs-tools/changes/reader.h"
#include "rootfs-tools/changes/upper_scan.h"
#include "sandbox/root/jail.h"

#define PENDING (64u << 10)

struct teller {
	struct upper_scan scan;
	struct buffer out;
	uint8_t *piece; /* owned */
	uint32_t along; /* content of files of at most so many bytes is sent without a
			 * request */
	bool is_bare;	/* no content is sent, and no file is opened */
	bool is_closed; /* the reader has closed its end */
};

static void flush(struct teller *t)
{
	size_t len = buffer_len(&t->out);

	if (!t->is_closed && io_write_all(JAIL_OUT, buffer_data(&t->out), len) < 0)
		t->is_closed = true;
	buffer_consume(&t->out, len);
}

static void put(struct teller *t, const void *data, size_t len)
{
	if (buffer_len(&t->out) + len > PENDING)
		flush(t);
	memcpy(mem_or_abort(buffer_reserve(&t->out, len)), data, len);
	buffer_added(&t->out, len);
}

static void put_item(struct teller *t, struct changes_stream_head *h, const char *path,
		     const char *link)
{
	h->path_len = (uint32_t)strlen(path);
	h->link_len = (uint32_t)strlen(link);
	put(t, h, sizeof(*h));
	put(t, path, h->path_len);
	put(t, link, h->link_len);
}

static void on_left_out(void *context, const char *path, const char *why)
{
	struct changes_stream_head h = { .kind = CHANGES_STREAM_LEFT_OUT };

	put_item(context, &h, path, why);
}

static ssize_t read_piece(struct teller *t, int fd, uint64_t size)
{
	return size < CHANGES_PIECE ? io_read_sized(fd, t->piece, (size_t)size)
				    : io_read_full(fd, t->piece, CHANGES_PIECE);
}

/* Sends a file's content.  The file may be growing without end, so at most one piece
 * more than the announced size is sent. */
static void put_content(struct teller *t, int fd, uint64_t size)
{
	uint64_t sent = 0;
	uint32_t none = 0;
	ssize_t n = fd < 0 ? -1 : (ssize_t)CHANGES_PIECE;
	uint8_t verdict;

	while (n == CHANGES_PIECE && sent <= size && !t->is_closed &&
	       (n = read_piece(t, fd, size)) > 0) {
		uint32_t len = (uint32_t)n;
		put(t, &len, sizeof(len));
		put(t, t->piece, len);
		sent += len;
	}
	verdict = sent == size ? CHANGES_CONTENT_WHOLE : CHANGES_CONTENT_CHANGED;
	if (n < 0)
		verdict = CHANGES_CONTENT_UNREADABLE;
	put(t, &none, sizeof(none));
	put(t, &verdict, sizeof(verdict));
}

static struct changes_stream_head head_of(const struct upper_scan_item *d,
					  enum changes_stream_kind kind)
{
	return (struct changes_stream_head){ .kind = kind,
					     .mode = d->st.st_mode & 07777,
					     .mtime = d->st.st_mtim.tv_sec,
					     .mtime_ns = (uint32_t)d->st.st_mtim.tv_nsec,
					     .flags = d->is_covered
							      ? CHANGES_STREAM_COVERED
							      : 0 };
}

/* Waits for the reader's answer: whether the reader wants the content of the last
 * file. */
static bool is_asked(struct teller *t)
{
	uint8_t asked = CHANGES_ASK_NO;

	flush(t);
	if (io_read_full(0, &asked, 1) != 1)
		t->is_closed = true;
	return asked == CHANGES_ASK_CONTENT;
}

static void tell_file(struct teller *t, struct upper_scan_item *d)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat st;

	AUTO_CLOSE int fd = t->is_bare ? -1 : openat(d->at, d->name, flags);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		d->st = st;
	else
		own_close(&fd);
	if (fd < 0 && !t->is_bare &&
	    fstatat(d->at, d->name, &d->st, AT_SYMLINK_NOFOLLOW) < 0) {
		on_left_out(t, d->path, err_words(errno));
		return;
	}
	struct changes_stream_head h = head_of(d, CHANGES_STREAM_FILE);
	h.size = (uint64_t)d->st.st_size;
	bool is_along = t->along && h.size <= t->along;
	h.flags |= is_along ? CHANGES_STREAM_ALONG : 0;
	put_item(t, &h, d->path, "");
	if (!t->is_bare && (is_along || is_asked(t)))
		put_content(t, fd, h.size);
}

static void tell_link(struct teller *t, const struct upper_scan_item *d)
{
	struct changes_stream_head h = head_of(d, CHANGES_STREAM_LINK);
	char to[PATH_MAX];
	ssize_t len = readlinkat(d->at, d->name, to, sizeof(to) - 1);

	if (len < 0) {
		on_left_out(t, d->path, err_words(errno));
		return;
	}
	to[len] = '\0';
	put_item(t, &h, d->path, to);
}

static void tell_one(struct teller *t, struct upper_scan_item *d)
{
	static const enum changes_stream_kind kinds[] = {
		[UPPER_SCAN_FOLDER] = CHANGES_STREAM_FOLDER,
		[UPPER_SCAN_FOLDER_END] = CHANGES_STREAM_FOLDER_END,
		[UPPER_SCAN_FILE] = CHANGES_STREAM_FILE,
		[UPPER_SCAN_LINK] = CHANGES_STREAM_LINK,
		[UPPER_SCAN_FIFO] = CHANGES_STREAM_FIFO,
		[UPPER_SCAN_GONE] = CHANGES_STREAM_GONE,
	};

	if (d->kind == UPPER_SCAN_FILE) {
		tell_file(t, d);
	} else if (d->kind == UPPER_SCAN_LINK) {
		tell_link(t, d);
	} else {
		struct changes_stream_head h = head_of(d, kinds[d->kind]);
		put_item(t, &h, d->path, "");
	}
}

static void tell_all(const void *arg, int folder, int in, void *result)
{
	struct outcome *o = result;
	const struct changes_order *order = arg;
	struct teller t = { .along = order->along,
			    .is_bare = order->is_bare,
			    .piece = mem_new(CHANGES_PIECE) };
	struct upper_scan_item item;
	struct changes_stream_head end = { .kind = CHANGES_STREAM_ALL };
	int more = -1;

	(void)in;
	buffer_init(&t.out, PENDING + CHANGES_STREAM_PATH_MAX);
	t.scan = (struct upper_scan){ .context = &t,
				      .on_left_out = on_left_out,
				      .trusts_types = !order->is_bare };
	if (upper_scan_begin(&t.scan, folder, &o->error) == 0)
		while (!t.is_closed &&
		       (more = upper_scan_next(&t.scan, &item, &o->error)) > 0)
			tell_one(&t, &item);
	if (more == 0)
		put_item(&t, &end, "", "");
	flush(&t);
	upper_scan_done(&t.scan);
	buffer_done(&t.out);
	own_free(&t.piece);
}

int changes_tell(void *arg, void *result, struct err *e)
{
	const struct changes_order *order = arg;
	struct jail jail = { .folder = order->upper,
			     .in = order->fd,
			     .out = order->fd,
			     .leash = order->leash,
			     .ranges = order->ranges,
			     .work = tell_all,
			     .arg = order };

	(void)e; /* `e` is not used: the outcome has the error */
	reader_run(&jail, result);
	return 0;
}
