#include "docker/list_format.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "docker/describe.h"
#include "docker/template.h"

/* docker's columns: at least so wide, and so many blanks behind the widest cell */
#define WIDTH_MIN 10
#define GAP	  3

/* docker's formats of lists have \t and \n as two characters. */
static char *unescape(const char *format)
{
	char *text = text_copy(format), *to = text;

	for (const char *at = text; *at; at++)
		if (at[0] == '\\' && (at[1] == 't' || at[1] == 'n'))
			*to++ = *++at == 't' ? '\t' : '\n';
		else
			*to++ = *at;
	*to = '\0';
	return text;
}

/* Returns the head of the table.  That of `{{.Label "KEY"}}` is empty. */
static char *head_of(const struct list_format_head *heads)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	for (; heads->name; heads++)
		json_write_text(&b, heads->name, heads->head);
	json_write_raw(&b, "Label", "{}");
	json_write_close(&b, "}");
	return json_write_end(&b);
}

int list_format_read(struct list_format *f, const char *given,
		     const struct list_format_head *heads, struct err *e)
{
	if (!given || !strcmp(given, "table"))
		return 0;
	f->text = unescape(given);
	f->is_table = !strncmp(f->text, "table ", 6);
	f->template = f->text + (f->is_table ? 6 : 0);
	if (!f->is_table && !strcmp(f->template, "json"))
		return 0;
	if (template_check(f->template, e) < 0)
		return err_in(e, "template parsing error");
	if (!f->is_table)
		return 0;
	AUTO_FREE char *head = head_of(heads);
	return list_format_add(f, head, e);
}

static int add_line(struct list_format *f, const char *row, struct err *e)
{
	struct json_view view;
	struct buffer out;

	if (json_view_scan(&view, row, strlen(row), e) < 0)
		return -1;
	json_write_begin(&out);
	int rc = template_run(f->template, view, &out, e);
	AUTO_FREE char *line = json_write_end(&out);
	list_add(&f->lines, line);
	return rc < 0 ? err_in(e, "template parsing error") : 0;
}

int list_format_add(struct list_format *f, const char *row, struct err *e)
{
	return f->is_table ? add_line(f, row, e)
			   : describe_by_template(row, f->template, e);
}

/* --- the table --------------------------------------------------------------- */

/* Returns the number of characters of a cell, which ends at a tab. */
static size_t width_of(const char *cell)
{
	size_t width = 0;

	for (; *cell && *cell != '\t'; cell++)
		width += ((unsigned char)*cell & 0xc0) != 0x80; /* UTF-8 */
	return width;
}

/* Returns the cell in a column; NULL: the line has fewer. */
static const char *cell_at(const char *line, size_t column)
{
	while (line && column-- > 0) {
		line = strchr(line, '\t');
		line = line ? line + 1 : NULL;
	}
	return line;
}

/* Returns the width of a column, which is counted in cells with a tab behind them. */
static size_t column_width(const struct list *lines, size_t column)
{
	size_t width = WIDTH_MIN;

	for (size_t i = 0; i < lines->count; i++) {
		const char *cell = cell_at(lines->items[i], column);
		if (cell && strchr(cell, '\t') && width_of(cell) + GAP > width)
			width = width_of(cell) + GAP;
	}
	return width;
}

static void print_line(const struct list *lines, const char *line)
{
	struct buffer b;

	json_write_begin(&b);
	for (size_t column = 0; line; column++) {
		const size_t len = strcspn(line, "\t"), width = width_of(line);
		(void)buffer_append(&b, line, len);
		if (line[len])
			for (size_t n = column_width(lines, column); n > width; n--)
				(void)buffer_append(&b, " ", 1);
		line = line[len] ? line + len + 1 : NULL;
	}
	AUTO_FREE char *text = json_write_end(&b);
	describe_print(text);
}

void list_format_print(const struct list_format *f)
{
	for (size_t i = 0; i < f->lines.count; i++)
		print_line(&f->lines, f->lines.items[i]);
}

void list_format_done(struct list_format *f)
{
	list_done(&f->lines);
	free(f->text);
	*f = (struct list_format){ 0 };
}
