#include "rootfs-tools/changes/changes_stream.h"

#include <errno.h>
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
#include "rootfs-tools/changes/changes_tell.h"
#include "rootfs-tools/changes/reader.h"
#include "rootfs-tools/changes/upper_scan.h"

/* The size of the receive buffer: more than one piece of content. */
#define HEARD (128u << 10)

void changes_stream_listen(struct changes_stream *t, int fd)
{
	*t = (struct changes_stream){ .fd = fd, .here = text_copy("") };
	buffer_init(&t->in, HEARD);
}

/* Starts the jailed process, and sets `order->fd`. */
static int begin(struct changes_stream *t, struct changes_order *order, struct err *e)
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
					  .work = changes_tell,
					  .arg = order,
					  .result_len = sizeof(struct outcome),
					  .fds = { order->upper, theirs },
					  .fd_count = 2,
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
	return begin(t, &(struct changes_order){ .upper = upper, .ranges = ranges }, e);
}

int changes_stream_begin_with_content(struct changes_stream *t, int upper, uint32_t along,
				      struct err *e)
{
	return begin(t, &(struct changes_order){ .upper = upper, .along = along }, e);
}

int changes_stream_begin_bare(struct changes_stream *t, int upper, struct err *e)
{
	return begin(t, &(struct changes_order){ .upper = upper, .is_bare = true }, e);
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
	t->state = what == CHANGES_ASK_CONTENT ? CHANGES_STREAM_IN_CONTENT
					       : CHANGES_STREAM_IDLE;
	return send(t->fd, &what, 1, MSG_NOSIGNAL) == 1 ? 0 : broken(t, e);
}

/* Gets rid of the last file's content, as far as the caller has not read it: declines
 * the offer, or reads the rest. */
static int settle(struct changes_stream *t, struct err *e)
{
	const uint8_t *data;

	if (t->state == CHANGES_STREAM_ASKABLE)
		return ask(t, CHANGES_ASK_NO, e);
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
	if (verdict == CHANGES_CONTENT_WHOLE)
		return 0;
	if (verdict == CHANGES_CONTENT_CHANGED)
		return err_set(e, ERR_BUSY, "it was changed inside while it was read");
	return err_set(e, ERR_REFUSED, "it cannot be read");
}

ssize_t changes_stream_read(struct changes_stream *t, const uint8_t **ret, struct err *e)
{
	uint32_t len;

	if (t->state == CHANGES_STREAM_CONTENTLESS)
		return err_set(e, ERR_INTERNAL, "its content was not sent");
	if (t->state == CHANGES_STREAM_ASKABLE && ask(t, CHANGES_ASK_CONTENT, e) < 0)
		return -1;
	if (t->state != CHANGES_STREAM_IN_CONTENT)
		return 0;
	if (take(t, &len, sizeof(len), e) < 0)
		return -1;
	if (len == 0)
		return end_content(t, e);
	if (len > CHANGES_PIECE)
		return broken(t, e);
	if (hear(t, len, e) < 0)
		return -1;
	*ret = buffer_data(&t->in);
	buffer_consume(&t->in, len); /* the data stays in the buffer until the next
				      * read */
	return (ssize_t)len;
}
