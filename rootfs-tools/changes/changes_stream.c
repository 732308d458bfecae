#include "rootfs-tools/changes/changes_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/changes/reader.h"
#include "rootfs-tools/changes/upper_scan.h"
#include "sandbox/root/jail.h"

#define PIECE	(64u << 10)
#define PENDING (64u << 10)
#define HEARD	(128u << 10) /* size of the receive buffer; more than one piece of
			      * content */

enum { ASK_NO = 'n', ASK_CONTENT = 'c' };
enum { CONTENT_WHOLE, CONTENT_CHANGED, CONTENT_UNREADABLE };

/* --- in the jail --------------------------------------------------------- */

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
	return size < PIECE ? io_read_sized(fd, t->piece, (size_t)size)
			    : io_read_full(fd, t->piece, PIECE);
}

/* Sends a file's content.  The file may be growing without end, so at most one piece
 * more than the announced size is sent. */
static void put_content(struct teller *t, int fd, uint64_t size)
{
	uint64_t sent = 0;
	uint32_t none = 0;
	ssize_t n = fd < 0 ? -1 : (ssize_t)PIECE;
	uint8_t verdict;

	while (n == PIECE && sent <= size && !t->is_closed &&
	       (n = read_piece(t, fd, size)) > 0) {
		uint32_t len = (uint32_t)n;
		put(t, &len, sizeof(len));
		put(t, t->piece, len);
		sent += len;
	}
	verdict = sent == size ? CONTENT_WHOLE : CONTENT_CHANGED;
	if (n < 0)
		verdict = CONTENT_UNREADABLE;
	put(t, &none, sizeof(none));
	put(t, &verdict, sizeof(verdict));
}

static struct changes_stream_head head_of(const struct upper_scan_item *d,
					  enum changes_stream_kind kind)
{
	return (struct changes_stream_head){ .kind = kind, .mode = d->st.st_mode & 07777,
			      .mtime = d->st.st_mtim.tv_sec,
			      .mtime_ns = (uint32_t)d->st.st_mtim.tv_nsec,
			      .flags = d->is_covered ? CHANGES_STREAM_COVERED : 0 };
}

/* Waits for the reader's answer: whether the reader wants the content of the last
 * file. */
static bool is_asked(struct teller *t)
{
	uint8_t asked = ASK_NO;

	flush(t);
	if (io_read_full(0, &asked, 1) != 1)
		t->is_closed = true;
	return asked == ASK_CONTENT;
}

static void changes_stream_file(struct teller *t, struct upper_scan_item *d)
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

static void changes_stream_link(struct teller *t, const struct upper_scan_item *d)
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

static void changes_stream_one(struct teller *t, struct upper_scan_item *d)
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
		changes_stream_file(t, d);
	} else if (d->kind == UPPER_SCAN_LINK) {
		changes_stream_link(t, d);
	} else {
		struct changes_stream_head h = head_of(d, kinds[d->kind]);
		put_item(t, &h, d->path, "");
	}
}

struct order {
	int upper, fd, leash;
	uint32_t along;
	bool is_bare;
	const struct idmaps *ranges;
};

static void changes_stream_all(const void *arg, int folder, int in, void *result)
{
	struct outcome *o = result;
	const struct order *order = arg;
	struct teller t = { .along = order->along,
			    .is_bare = order->is_bare,
			    .piece = mem_new(PIECE) };
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
			changes_stream_one(&t, &item);
	if (more == 0)
		put_item(&t, &end, "", "");
	flush(&t);
	upper_scan_done(&t.scan);
	buffer_done(&t.out);
	own_free(&t.piece);
}

static int in_jail(void *arg, void *result, struct err *e)
{
	const struct order *order = arg;
	struct jail jail = { .folder = order->upper, .in = order->fd, .out = order->fd,
			     .leash = order->leash, .ranges = order->ranges,
			     .work = changes_stream_all, .arg = order };

	(void)e; /* `e` is not used: the outcome has the error */
	reader_run(&jail, result);
	return 0;
}

/* --- the reading end ----------------------------------------------------- */

void changes_stream_listen(struct changes_stream *t, int fd)
{
	*t = (struct changes_stream){ .fd = fd, .here = text_copy("") };
	buffer_init(&t->in, HEARD);
}

/* Starts the jailed process, and sets `order->fd`. */
static int begin(struct changes_stream *t, struct order *order, struct err *e)
{
	int ends[2];

	changes_stream_listen(t, -1);
	/* A socket and no pipes, since send(2) with MSG_NOSIGNAL raises no SIGPIPE when
	 * the other end is closed. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(e, "make a socketpair");
	AUTO_CLOSE int theirs = ends[1];
	t->fd = ends[0];
	t->is_bare = order->is_bare;
	order->fd = theirs;
	const struct worker_task task = { .name = "the process that reads the changes",
					  .work = in_jail, .arg = order,
					  .result_len = sizeof(struct outcome),
					  .fds = { order->upper, theirs }, .fd_count = 2,
					  .leash = &order->leash };
	return worker_start(&task, &t->worker, e);
}

int changes_stream_begin(struct changes_stream *t, int upper, struct err *e)
{
	return changes_stream_begin_ranges(t, upper, NULL, e);
}

int changes_stream_begin_ranges(struct changes_stream *t, int upper,
				const struct idmaps *ranges, struct err *e)
{
	return begin(t, &(struct order){ .upper = upper, .ranges = ranges }, e);
}

int changes_stream_begin_with_content(struct changes_stream *t, int upper, uint32_t along,
				      struct err *e)
{
	return begin(t, &(struct order){ .upper = upper, .along = along }, e);
}

int changes_stream_begin_bare(struct changes_stream *t, int upper, struct err *e)
{
	return begin(t, &(struct order){ .upper = upper, .is_bare = true }, e);
}

void changes_stream_done(struct changes_stream *t)
{
	own_close(&t->fd);
	worker_end(&t->worker);
	own_free(&t->text);
	own_free(&t->here);
	buffer_done(&t->in);
}

/* Reports a broken stream.  The process in the jail may have failed with an error of
 * its own, which says more than that its socket was closed. */
static int broken(struct changes_stream *t, struct err *e)
{
	t->is_broken = true;
	own_close(&t->fd);
	buffer_consume(&t->in, buffer_len(&t->in));
	if (t->worker.pid > 0)
		outcome_wait(&t->worker, &t->outcome);
	if (t->outcome.error.kind != ERR_NONE) {
		if (e)
			*e = t->outcome.error;
		return err_in(e, "read the changes");
	}
	return err_set(e, ERR_PROTOCOL, "the process that reads the changes sent an "
					"invalid report");
}

/* Reads from the socket until the buffer has at least `len` bytes; it holds at most
 * HEARD. */
static int hear(struct changes_stream *t, size_t len, struct err *e)
{
	while (buffer_len(&t->in) < len) {
		size_t room = HEARD - buffer_len(&t->in);
		uint8_t *to = mem_or_abort(buffer_reserve(&t->in, room));
		ssize_t n = read(t->fd, to, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return broken(t, e);
		buffer_added(&t->in, (size_t)n);
	}
	return 0;
}

static int take(struct changes_stream *t, void *to, size_t len, struct err *e)
{
	for (uint8_t *at = to; len > 0;) {
		if (hear(t, 1, e) < 0)
			return -1;
		size_t here = buffer_len(&t->in) < len ? buffer_len(&t->in) : len;
		memcpy(at, buffer_data(&t->in), here);
		buffer_consume(&t->in, here);
		at += here;
		len -= here;
	}
	return 0;
}

static int ask(struct changes_stream *t, uint8_t what, struct err *e)
{
	t->state = what == ASK_CONTENT ? CHANGES_STREAM_IN_CONTENT : CHANGES_STREAM_IDLE;
	return send(t->fd, &what, 1, MSG_NOSIGNAL) == 1 ? 0 : broken(t, e);
}

/* Gets rid of the last file's content, as far as the caller has not read it: declines
 * the offer, or reads the rest. */
static int settle(struct changes_stream *t, struct err *e)
{
	const uint8_t *data;

	if (t->state == CHANGES_STREAM_ASKABLE)
		return ask(t, ASK_NO, e);
	while (t->state == CHANGES_STREAM_IN_CONTENT)
		if (changes_stream_read(t, &data, NULL) < 0 && t->is_broken)
			return broken(t, e);
	return 0;
}

/* Checks that the item's path is one part below the current folder.  At the end of a
 * folder, the path must be the current folder itself. */
static bool is_in_place(const struct changes_stream *t,
			const struct changes_stream_head *h)
{
	size_t len = strlen(t->here);
	const char *name = t->text + len + (len > 0);

	if (h->kind == CHANGES_STREAM_FOLDER_END)
		return len > 0 && !strcmp(t->text, t->here);
	if (h->kind ==
	    CHANGES_STREAM_LEFT_OUT) /* the path is only printed; it may also be that of a
				      * folder that could not be read */
		return true;
	return h->path_len > len + (len > 0) && !strncmp(t->text, t->here, len) &&
	       (!len || t->text[len] == '/') && !strchr(name, '/') && strcmp(name, ".") &&
	       strcmp(name, "..");
}

static void move_to(struct changes_stream *t, const struct changes_stream_head *h)
{
	if (h->kind == CHANGES_STREAM_FOLDER) {
		free(t->here);
		t->here = text_copy(t->text);
		t->depth++;
	} else if (h->kind == CHANGES_STREAM_FOLDER_END) {
		char *slash = strrchr(t->here, '/');
		*(slash ? slash : t->here) = '\0';
		t->depth--;
	}
}

static bool is_in_range(const struct changes_stream_head *h)
{
	return h->kind < CHANGES_STREAM_KIND_COUNT &&
	       h->path_len < CHANGES_STREAM_PATH_MAX && h->link_len < PATH_MAX &&
	       h->mode <= 07777 && h->mtime_ns < 1000000000 && h->size <= INT64_MAX;
}

static int take_item(struct changes_stream *t, const struct changes_stream_head *h,
		     struct changes_stream_item *ret, struct err *e)
{
	own_free(&t->text);
	t->text = mem_zeroed(1, (size_t)h->path_len + h->link_len + 2);
	char *link = t->text + h->path_len + 1;
	if (take(t, t->text, h->path_len, e) < 0 || take(t, link, h->link_len, e) < 0)
		return -1;
	if (strlen(t->text) != h->path_len || strlen(link) != h->link_len ||
	    !is_in_place(t, h) || ++t->item_count > 3ull * UPPER_SCAN_ENTRIES_MAX ||
	    t->depth > DIR_STACK_DEPTH_MAX)
		return broken(t, e);
	const char *slash = strrchr(t->text, '/');
	*ret = (struct changes_stream_item){
		.kind = (enum changes_stream_kind)h->kind, .path = t->text, .link = link,
		.name = slash ? slash + 1 : t->text, .mode = h->mode, .size = h->size,
		.mtime = h->mtime, .mtime_ns = h->mtime_ns,
		.is_covered = h->flags & CHANGES_STREAM_COVERED,
	};
	move_to(t, h);
	t->state = h->kind != CHANGES_STREAM_FILE    ? CHANGES_STREAM_IDLE
		   : t->is_bare			     ? CHANGES_STREAM_CONTENTLESS
		   : h->flags & CHANGES_STREAM_ALONG ? CHANGES_STREAM_IN_CONTENT
						     : CHANGES_STREAM_ASKABLE;
	return 1;
}

int changes_stream_next(struct changes_stream *t, struct changes_stream_item *ret,
			struct err *e)
{
	struct changes_stream_head h;

	if (settle(t, e) < 0 || take(t, &h, sizeof(h), e) < 0)
		return -1;
	if (h.kind == CHANGES_STREAM_ALL)
		return 0;
	return is_in_range(&h) ? take_item(t, &h, ret, e) : broken(t, e);
}

static int end_content(struct changes_stream *t, struct err *e)
{
	uint8_t verdict;

	t->state = CHANGES_STREAM_IDLE;
	if (take(t, &verdict, sizeof(verdict), e) < 0)
		return -1;
	if (verdict == CONTENT_WHOLE)
		return 0;
	if (verdict == CONTENT_CHANGED)
		return err_set(e, ERR_BUSY, "it was changed inside while it was read");
	return err_set(e, ERR_REFUSED, "it cannot be read");
}

ssize_t changes_stream_read(struct changes_stream *t, const uint8_t **ret, struct err *e)
{
	uint32_t len;

	if (t->state == CHANGES_STREAM_CONTENTLESS)
		return err_set(e, ERR_INTERNAL, "its content was not sent");
	if (t->state == CHANGES_STREAM_ASKABLE && ask(t, ASK_CONTENT, e) < 0)
		return -1;
	if (t->state != CHANGES_STREAM_IN_CONTENT)
		return 0;
	if (take(t, &len, sizeof(len), e) < 0)
		return -1;
	if (len == 0)
		return end_content(t, e);
	if (len > PIECE)
		return broken(t, e);
	if (hear(t, len, e) < 0)
		return -1;
	*ret = buffer_data(&t->in);
	buffer_consume(&t->in, len); /* the data stays in the buffer until the next
				      * read */
	return (ssize_t)len;
}
