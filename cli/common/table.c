#include "cli/common/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "base/term_escape.h"
#include "base/utf8.h"

#define GAP 3
/* A column is as wide as its widest cell, but at most this many characters; a wider
 * cell extends beyond its column. */
#define WIDE 48
/* A path is shortened to so many characters rather than to fewer. */
#define CUT_MIN 16

void table_add(struct table *t, char *text)
{
	AUTO_FREE char *mine = text;
	AUTO_FREE char *shown = term_escape_line(mine ? mine : "-");

	list_add(&t->cells, shown);
}

static size_t width_of(const char *text)
{
	return utf8_count((const uint8_t *)text, strlen(text));
}

static void measure(const struct table *t, size_t widths[TABLE_COLUMNS_MAX])
{
	for (size_t i = 0; i < t->cells.count; i++) {
		size_t width = width_of(t->cells.items[i]), column = i % t->columns;
		if (width > widths[column] && width <= WIDE)
			widths[column] = width;
	}
}

/* --- to fit a terminal ------------------------------------------------------------ */

/* Returns the column with this head; t->columns: there is none. */
static size_t find_column(const struct table *t, const char *head)
{
	size_t column = 0;

	while (column < t->columns && strcmp(t->cells.items[column], head) != 0)
		column++;
	return column;
}

static void leave_out(struct table *t, size_t column)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->cells.count; i++)
		if (i % t->columns == column)
			free(t->cells.items[i]);
		else
			t->cells.items[kept++] = t->cells.items[i];
	t->cells.items[kept] = NULL;
	t->cells.count = kept;
	t->columns--;
}

/* Returns how many characters of a line the other columns leave for this one. */
static size_t room_for(const struct table *t, size_t column, size_t width)
{
	size_t widths[TABLE_COLUMNS_MAX] = { 0 }, others = GAP * (t->columns - 1);

	measure(t, widths);
	for (size_t i = 0; i < t->columns; i++)
		others += i == column ? 0 : widths[i];
	return others < width ? width - others : 0;
}

static size_t widest(const struct table *t, size_t column)
{
	size_t most = 0;

	for (size_t i = column; i < t->cells.count; i += t->columns)
		if (width_of(t->cells.items[i]) > most)
			most = width_of(t->cells.items[i]);
	return most;
}

/* Replaces what is in front of the last characters, which have `room` with the dots. */
static void cut_front(char **cell, size_t room)
{
	const size_t len = strlen(*cell), count = width_of(*cell);

	if (count <= room)
		return;
	char *old = *cell;
	*cell = text_format("...%s", old + utf8_skip((const uint8_t *)old, len,
						     count - room + strlen("...")));
	free(old);
}

void table_fit(struct table *t, size_t width, const char *const *spare, const char *cut)
{
	size_t column = find_column(t, cut);

	if (!width || column == t->columns)
		return;
	const size_t most = widest(t, column), least = most < CUT_MIN ? most : CUT_MIN;
	for (; *spare && room_for(t, column, width) < least;
	     spare++, column = find_column(t, cut))
		if (find_column(t, *spare) < t->columns)
			leave_out(t, find_column(t, *spare));
	size_t room = room_for(t, column, width);
	for (size_t i = column; i < t->cells.count; i += t->columns)
		cut_front(&t->cells.items[i], room > CUT_MIN ? room : CUT_MIN);
}

size_t table_screen(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

char *table_path(const char *path)
{
	const char *home = getenv("HOME");
	const size_t len = home ? strlen(home) : 0;

	if (!path)
		return NULL;
	if (len < 2 || strncmp(path, home, len) != 0 || (path[len] && path[len] != '/'))
		return text_copy(path);
	return text_format("~%s", path + len);
}

/* --- all -------------------------------------------------------------------------- */

static size_t gap_behind(const char *text, size_t column_width)
{
	size_t width = width_of(text);

	return width < column_width ? column_width - width + GAP : GAP;
}

void table_print(const struct table *t, FILE *to)
{
	size_t widths[TABLE_COLUMNS_MAX] = { 0 };

	measure(t, widths);
	for (size_t i = 0; i < t->cells.count; i++) {
		const char *text = t->cells.items[i];
		size_t column = i % t->columns;
		if (column + 1 == t->columns)
			(void)fprintf(to, "%s\n", text);
		else
			(void)fprintf(to, "%s%*s", text,
				      (int)gap_behind(text, widths[column]), "");
	}
}

void table_done(struct table *t)
{
	list_done(&t->cells);
}

char *table_bytes(uint64_t bytes)
{
	static const char *const units[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"
	};
	double value = (double)bytes;
	size_t i = 0;

	for (; value >= 1024 && i + 1 < ARRAY_LEN(units); i++)
		value /= 1024;
	return text_format(i ? "%.1f%s" : "%.0f%s", value, units[i]);
}

static char *ago(int64_t count, const char *unit)
{
	return text_format("%lld %s%s ago", (long long)count, unit,
			   count == 1 ? "" : "s");
}

char *table_age(const char *text, int64_t now)
{
	static const struct {
		int64_t below, seconds;
		const char *unit;
	} steps[] = {
		{ 60, 1, "second" },	  { 3600, 60, "minute" },
		{ 2 * 86400, 3600, "hour" }, { INT64_MAX, 86400, "day" },
	};
	struct tm tm = { 0 };

	if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon,
			    &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6)
		return NULL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	int64_t age = now - (int64_t)timegm(&tm);
	size_t i = 0;
	while (age >= steps[i].below)
		i++;
	return ago(age < 0 ? 0 : age / steps[i].seconds, steps[i].unit);
}
