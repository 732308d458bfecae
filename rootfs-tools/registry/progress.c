#include "rootfs-tools/registry/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/own.h"
#include "base/wait_line.h"

#define DRAW_MS	    100
#define BAR_MIN	    10
#define BAR_MAX	    40
#define SPEED_MS    1000 /* over less time no speed is shown, since it would not be
			  * reliable */

enum progress_style progress_style(bool is_quiet, bool may_bar)
{
	const char *term = getenv("TERM");

	if (is_quiet || note_is_silent())
		return PROGRESS_NONE;
	if (!may_bar || !isatty(STDERR_FILENO) || (term && !strcmp(term, "dumb")))
		return PROGRESS_LINES;
	return PROGRESS_BAR;
}

void progress_bytes(uint64_t bytes, char ret[16])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 999.95 && unit + 1 < ARRAY_LEN(units)) {
		value /= 1000;
		unit++;
	}
	(void)snprintf(ret, 16, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* --- the line ------------------------------------------------------------------ */

static char *speed(const struct progress *p, int64_t now)
{
	const int64_t took = now - p->began_ms;
	char text[16];

	if (took < SPEED_MS)
		return text_copy("");
	progress_bytes(p->have * 1000 / (uint64_t)took, text);
	return text_format("  %s/s", text);
}

static char *bar(const struct progress *p, size_t width)
{
	char *text = mem_zeroed(1, width + 5);
	const size_t full =
		p->total ? (size_t)((double)p->have / (double)p->total * (double)width) :
			   width;

	memset(text, ' ', width + 4);
	text[0] = '[';
	for (size_t i = 0; i < full && i < width; i++)
		text[1 + i] = '=';
	if (full < width)
		text[1 + full] = '>';
	text[width + 1] = ']';
	return text;
}

char *progress_line(const struct progress *p, size_t columns, int64_t now)
{
	char have[16], total[16];
	AUTO_FREE char *fast = speed(p, now);

	progress_bytes(p->have, have);
	progress_bytes(p->total, total);
	AUTO_FREE char *figures = text_format("%s of %s  %zu of %zu layers%s", have,
					      total, p->done, p->count, fast);
	const size_t taken = strlen(p->name) + 2 + strlen(figures) + 4;
	size_t room = columns > taken ? columns - taken : 0;
	room = room > BAR_MAX ? BAR_MAX : room;
	AUTO_FREE char *drawn = room >= BAR_MIN ? bar(p, room) : text_copy("");
	AUTO_FREE char *line = text_format("%s  %s%s", p->name, drawn, figures);
	return text_format("%.*s", (int)columns, line);
}

static void draw(struct progress *p, bool is_due, int64_t now)
{
	if (p->style != PROGRESS_BAR || (!is_due && now - p->drawn_ms < DRAW_MS))
		return;
	AUTO_FREE char *line = progress_line(p, wait_line_columns(), now);
	(void)fprintf(stderr, "\r%s\033[K", line);
	(void)fflush(stderr);
	p->drawn_ms = now;
	p->is_drawn = true;
}

/* --- news ---------------------------------------------------------------------- */

void progress_begin(struct progress *p, const char *name, size_t count, uint64_t total,
		    int64_t now)
{
	char text[16];

	p->name = name;
	p->count = count;
	p->done = 0;
	p->total = total;
	p->have = 0;
	p->at = mem_zeroed(count, sizeof(*p->at));
	p->began_ms = now;
	progress_bytes(total, text);
	if (p->style == PROGRESS_LINES)
		(void)fprintf(stderr, "%s: %zu layer%s to get, %s\n", name, count,
			      count == 1 ? "" : "s", text);
	draw(p, true, now);
}

void progress_end(struct progress *p)
{
	if (p->is_drawn)
		(void)fprintf(stderr, "\r\033[K");
	p->is_drawn = false;
	own_free(&p->at);
}

void progress_at(struct progress *p, size_t layer, uint64_t at, int64_t now)
{
	p->have = p->have - p->at[layer] + at; /* `have` becomes smaller when a layer's
					        * download starts anew */
	p->at[layer] = at;
	draw(p, false, now);
}

void progress_fetched(struct progress *p, size_t layer, uint64_t size, int64_t now)
{
	char text[16];

	progress_at(p, layer, size, now);
	progress_bytes(size, text);
	if (p->style == PROGRESS_LINES)
		(void)fprintf(stderr, "%s: layer %zu of %zu: got, %s\n", p->name,
			      layer + 1, p->count, text);
}

void progress_unpacked(struct progress *p, size_t layer, int64_t now)
{
	p->done++;
	if (p->style == PROGRESS_LINES)
		(void)fprintf(stderr, "%s: layer %zu of %zu: unpacked\n", p->name,
			      layer + 1, p->count);
	draw(p, p->done == p->count, now);
}
