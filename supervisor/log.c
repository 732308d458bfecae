#include "supervisor/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

void log_init(struct log *l, int folder, const char *name, uint64_t max)
{
	*l = (struct log){ .name = name, .max = max, .folder = folder, .now = -1,
			   .before = -1 };
}

void log_done(struct log *l)
{
	own_close(&l->folder);
	own_close(&l->now);
	own_close(&l->before);
}

/* Begins the log's next file.  The new file is created before the others are renamed,
 * so that nothing changes if the disk is full. */
static int rotate(struct log *l, struct err *e)
{
	int flags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	AUTO_FREE char *name_before = text_format("%s.1", l->name);
	AUTO_FREE char *name_next = text_format("%s.next", l->name);
	AUTO_CLOSE int next = openat(l->folder, name_next, flags, 0600);

	if (next < 0)
		return err_sys(e, "make the log's next file");
	if (l->now >= 0 && renameat(l->folder, l->name, l->folder, name_before) < 0 &&
	    errno != ENOENT)
		return err_sys(e, "rename the log's file");
	if (renameat(l->folder, name_next, l->folder, l->name) < 0)
		return err_sys(e, "rename the log's next file");
	own_close(&l->before);
	l->before = fd_take(&l->now);
	l->now = fd_take(&next);
	l->begin = l->middle;
	l->middle = l->end;
	return 0;
}

/* Appends the whole line, or nothing if it cannot be written. */
static int append(struct log *l, const uint8_t *line, size_t len, struct err *e)
{
	off_t at = (off_t)(l->end - l->middle);
	size_t done = 0;

	while (done < len) {
		ssize_t n = pwrite(l->now, line + done, len - done, at + (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			(void)err_sys(e, "write the log");
			if (ftruncate(l->now, at) < 0) /* on failure: the next entry
							* will overwrite the part of
							* this one */
				(void)err_in(e, "a part of an entry is left");
			return -1;
		}
		done += (size_t)n;
	}
	l->end += len;
	return 0;
}

static int add(struct log *l, const void *line, size_t len, struct err *e)
{
	if (l->folder < 0)
		return err_set(e, ERR_NOT_FOUND, "the sandbox has no folder for its log");
	if ((l->now < 0 || l->end - l->middle + len > l->max) && rotate(l, e) < 0)
		return -1;
	return append(l, line, len, e);
}

enum log_outcome log_add(struct log *l, const void *line, size_t len, int64_t now,
			 struct err *e)
{
	bool had_stopped = l->retry_ms != 0;

	if (had_stopped && !clock_is_due(l->retry_ms, now)) {
		l->lost += len;
		return LOG_SILENT;
	}
	if (add(l, line, len, e) < 0) {
		l->retry_ms = now + LOG_RETRY_MS;
		l->lost = had_stopped ? l->lost + len : len;
		return had_stopped ? LOG_SILENT : LOG_STOPPED;
	}
	l->retry_ms = 0;
	return had_stopped ? LOG_RESUMED : LOG_WRITTEN;
}

size_t log_read(const struct log *l, uint64_t at, void *to, size_t max)
{
	bool is_old = at < l->middle;
	uint64_t end = is_old ? l->middle : l->end;
	size_t len = end - at < max ? (size_t)(end - at) : max;
	ssize_t n = pread(is_old ? l->before : l->now, to, len,
			  (off_t)(at - (is_old ? l->begin : l->middle)));

	return n > 0 ? (size_t)n : 0;
}

/* Returns where the last `count` entries begin.  Newlines are counted backwards from
 * the end, where the first one is that of the last entry. */
uint64_t log_tail(const struct log *l, uint64_t count)
{
	AUTO_FREE uint8_t *block = mem_new(LOG_LINE_MAX);
	uint64_t at = l->end, newlines = 0;

	while (at > l->begin) {
		uint64_t from = at <= l->middle ? l->begin : l->middle;
		uint64_t start = at - from > LOG_LINE_MAX ? at - LOG_LINE_MAX : from;
		size_t n = log_read(l, start, block, (size_t)(at - start));
		while (n-- > 0)
			if (block[n] == '\n' && newlines++ == count)
				return start + n + 1;
		at = start;
	}
	return l->begin;
}
