#include "actions/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

void lines_init(struct lines *l, size_t max)
{
	*l = (struct lines){ .max = max };
	buffer_init(&l->in, max + LINES_AT_ONCE);
}

void lines_done(struct lines *l)
{
	buffer_done(&l->in);
}

/* Finds the end of the buffer's first line; *ret_len is its length as far as it was
 * read. True: the line is complete. */
static bool find_end(struct lines *l, size_t *ret_len)
{
	const uint8_t *bytes = buffer_data(&l->in);
	size_t len = buffer_len(&l->in);
	const uint8_t *stop = len > l->scanned
		? memchr(bytes + l->scanned, '\n', len - l->scanned) : NULL;

	l->scanned = stop ? (size_t)(stop - bytes) : len;
	*ret_len = l->scanned;
	return stop || (l->is_at_eof && (len > 0 || l->is_skipping));
}

static void consume(struct lines *l, size_t len)
{
	buffer_consume(&l->in, len);
	l->scanned = 0;
}

enum line_kind lines_next(struct lines *l, const char **ret, size_t *ret_len)
{
	bool is_whole = find_end(l, ret_len);

	if (*ret_len > l->max)
		l->is_skipping = true;
	if (!is_whole && l->is_skipping)
		consume(l, *ret_len);
	if (!is_whole)
		return LINE_NONE;
	*ret = (const char *)buffer_data(&l->in);
	return l->is_skipping ? LINE_TOO_LONG : LINE_WHOLE;
}

void lines_took(struct lines *l)
{
	consume(l, l->scanned + 1);
	l->is_skipping = false;
}

uint8_t *lines_room(struct lines *l, size_t len)
{
	return buffer_reserve(&l->in, len); /* cannot fail: longer lines are dropped, so
					     * the buffer is never full */
}

void lines_added(struct lines *l, size_t n)
{
	l->is_at_eof = n == 0;
	buffer_added(&l->in, n);
}

int lines_read(struct lines *l, int fd, struct err *e)
{
	ssize_t n = read(fd, lines_room(l, LINES_AT_ONCE), LINES_AT_ONCE);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : err_sys(e, "read a line");
	lines_added(l, (size_t)n);
	return 0;
}

bool lines_is_over(const struct lines *l)
{
	return l->is_at_eof && buffer_len(&l->in) == 0 && !l->is_skipping;
}
