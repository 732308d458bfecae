#include "executor/search/grep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/mem.h"
#include "base/resolve.h"
#include "executor/search/nfa_match.h"

/* How many bytes are read at once: so many fit into a processor's L2 cache. */
#define CHUNK ((size_t)128 << 10)

/* If only the first match counts, this many bytes of each buffer are checked for a byte
 * 0: binary files nearly always have one early. */
#define GLANCE 1024

void grep_done(struct grep *g)
{
	if (!g)
		return;
	free(g->bytes);
	g->bytes = NULL;
	g->room = 0;
}

/* Opens a file below `at`, through no link. RESOLVE_NO_SYMLINKS is needed, since
 * O_NOFOLLOW concerns only the path's last name, and not even that if a slash follows. */
static int open_below(int at, const char *path, unsigned flags)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return resolve_open(at, path, &how);
}

int grep_open(int at, const char *path)
{
	return open_below(at, path, O_NONBLOCK | O_NOCTTY);
}

int grep_open_folder(int at, const char *path)
{
	return open_below(at, path, O_DIRECTORY);
}

/* --- one file --------------------------------------------------------------- */

/* The state of one file that is searched. The buffer has bytes [0, len); the complete
 * lines among them end at `whole`. */
struct reading {
	struct grep *g;
	int fd;
	size_t len, whole;
	uint64_t left;	 /* bytes that are still to be read; later growth of the file is
			  * ignored */
	uint64_t number; /* the line number, in the file, of the buffer's first line */
	bool is_over;	 /* the last byte of the file is in the buffer */
	bool is_found, is_ended;
};

static bool make_room(struct grep *g, size_t len)
{
	if (len < g->room)
		return true;
	if (g->room > GREP_LINE_MAX)
		return false;
	g->room = g->room ? 2 * g->room : CHUNK;
	g->bytes = mem_resize(g->bytes, g->room, 1);
	return true;
}

/* Fills the buffer from the file; for most files one read(2) suffices. */
static int fill(struct reading *r)
{
	struct grep *g = r->g;

	while (r->len < g->room && !r->is_over) {
		size_t most = g->room - r->len;
		ssize_t n =
			read(r->fd, g->bytes + r->len, most < r->left ? most : r->left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		r->len += (size_t)n;
		r->left -= (uint64_t)n;
		r->is_over = n == 0 || r->left == 0;
	}
	return 0;
}

static uint64_t count_lines(const uint8_t *at, const uint8_t *end)
{
	uint64_t count = 0;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		count++;
		at++;
	}
	return count;
}

/* Returns the line as it is reported: without its line end, and cut after at most
 * GREP_SHOWN_MAX bytes, but not within a character. */
static struct grep_line line_of(const struct line *l, uint64_t number)
{
	size_t len = (size_t)(l->end - l->start), shown;

	len -= len > 0 && l->start[len - 1] == '\r';
	shown = len;
	if (len > GREP_SHOWN_MAX)
		for (shown = GREP_SHOWN_MAX; shown > GREP_SHOWN_MAX - 4; shown--)
			if ((l->start[shown] & 0xc0) != 0x80)
				break;
	return (struct grep_line){ number, l->start, shown, len - shown };
}

static void tell_lines(struct reading *r)
{
	struct grep *g = r->g;
	const uint8_t *at = g->bytes, *end = g->bytes + r->whole, *counted = at;
	struct line l;

	while (!r->is_ended && nfa_match_find(g->matcher, at, end, &l)) {
		r->is_found = true;
		r->number += count_lines(counted, l.start);
		counted = l.start;
		const struct grep_line line = line_of(&l, r->number);
		r->is_ended = !g->on_line(g->context, &line);
		at = l.end + (l.end < end);
	}
	r->number += r->is_ended ? 0 : count_lines(counted, end);
}

static void look_for_one(struct reading *r)
{
	struct line l;

	r->is_found =
		nfa_match_find(r->g->matcher, r->g->bytes, r->g->bytes + r->whole, &l);
}

/* Removes the complete lines, which were searched, from the buffer; the beginning of an
 * incomplete line stays. */
static void move_on(struct reading *r)
{
	memmove(r->g->bytes, r->g->bytes + r->whole, r->len - r->whole);
	r->len -= r->whole;
}

/* Finds where the last complete line in the buffer ends; the end of the file also ends a
 * line. `known`: the first bytes have no newline. */
static void find_whole(struct reading *r, size_t known)
{
	const uint8_t *from = r->g->bytes + known;
	const uint8_t *last = memrchr(from, '\n', r->len - known);

	r->whole = last ? (size_t)(last - r->g->bytes) + 1 : 0;
	if (r->is_over || r->is_ended) /* all bytes are searched now: the file has no
				        * more, or no more lines are wanted */
		r->whole = r->len;
}

/* Fills and searches the buffer once. False: the search of this file has ended; *ret is
 * set if reading failed or the file is no text. */
static bool read_on(struct reading *r, enum grep_end *ret)
{
	struct grep *g = r->g;
	size_t known = r->len;

	if (!make_room(g, r->len))
		return *ret = GREP_NO_TEXT, false;
	if (fill(r) < 0)
		return *ret = GREP_FAILED, false;
	size_t new = r->len - known, glance = new < GLANCE ? new : GLANCE;
	if (memchr(g->bytes + known, 0, g->on_line ? new : glance))
		return *ret = GREP_NO_TEXT, false;
	find_whole(r, known);
	if (!g->on_line)
		look_for_one(r);
	else if (!r->is_ended)
		tell_lines(r);
	move_on(r);
	if (g->on_line ? r->is_over : r->is_over || r->is_found)
		return false;
	return !g->is_late || !g->is_late(g->context);
}

enum grep_end grep_file(struct grep *g, int fd)
{
	struct reading r = { .g = g, .fd = fd, .number = 1 };
	enum grep_end end = GREP_NONE;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return GREP_FAILED;
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return S_ISREG(st.st_mode) ? GREP_NONE : GREP_NO_TEXT;
	r.left = (uint64_t)st.st_size;
	while (read_on(&r, &end))
		;
	if (end != GREP_NONE || !r.is_found)
		return end;
	return r.is_ended ? GREP_ENDED : GREP_FOUND;
}
