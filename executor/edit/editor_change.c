#include "executor/edit/editor_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"
#include "executor/edit/diff.h"
#include "executor/edit/undo.h"
#include "protocol/action.h"

bool editor_create(struct job *j)
{
	const struct bytes none = { (const uint8_t *)"", 0 }, text = j->r->file_text;

	if (!(j->r->flags & EDIT_FILE_TEXT))
		return editor_fail_missing(j, "file_text");
	AUTO_FREE uint8_t *copy = mem_copy(text.data, text.len);
	const struct content c = { copy, text.len };
	struct result got = files_make(j->path, &c);
	if (got.outcome == OUTCOME_NOT_FOUND)
		return editor_fail_sys(j, got.sys, "write to");
	if (got.outcome != OUTCOME_DONE)
		return editor_fail_result(j, got, "write to");
	undo_forget(j->undo, j->path);
	editor_say_format(j, "File created successfully at: %s", j->path);
	diff_put(&j->diff, j->r->path, none, text);
	return true;
}

/* --- str_replace ------------------------------------------------------------ */

static void remember(struct job *j, const struct file *f)
{
	undo_add(j->undo, j->path, (struct bytes){ f->raw.bytes, f->raw.len },
		    f->text.encoding);
}

static struct bytes stripped(struct bytes text)
{
	size_t blanks = utf8_blanks(text.data, text.len);

	return (struct bytes){ text.data + blanks,
			       utf8_trimmed(text.data + blanks, text.len - blanks) };
}

static bool is_same(struct bytes a, struct bytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* The replacement that an edit asks for, and the place where it goes. */
struct change {
	struct bytes old, new;
	uint8_t *owned;
	struct bytes literal; /* `old` with \n as its only end of line, which is searched
			       * for; its bytes are owned by `owned` */
	struct edit_found found;
};

static void look(struct change *c, const struct file *f)
{
	free(c->owned);
	c->owned = edit_needle(c->old, &c->literal.len);
	c->literal.data = c->owned;
	c->found = edit_find(f->text.lines, c->literal);
}

static bool fail_change(struct job *j, const struct file *f, const struct change *c)
{
	bool is_several = c->found.count > 1;

	editor_begin_error(j);
	editor_say(j, "No replacement was performed");
	editor_say(j, is_several ? ". Multiple occurrences of old_str `" : ", old_str `");
	editor_say_bytes(j, c->old.data, c->old.len);
	if (!is_several) {
		editor_say_format(j, "` did not appear verbatim in %s.", j->path);
		return false;
	}
	editor_say(j, "` in lines ");
	edit_put_places(&j->say, f->text.lines, c->literal);
	editor_say(j, ". Please ensure it is unique.");
	return false;
}

/* Searches for `old` verbatim, and if that fails, for `old` without white space at both
 * ends; then `new` loses its white space at both ends, too. */
static bool find_change(struct job *j, const struct file *f, struct change *c)
{
	look(c, f);
	if (c->found.count == 0) {
		c->old = stripped(c->old);
		c->new = stripped(c->new);
		look(c, f);
	}
	return c->found.count == 1 || fail_change(j, f, c);
}

/* Lines [first, end), counted from 0. */
struct span {
	size_t first, end;
};

static size_t count_newlines(struct bytes text)
{
	AUTO_FREE uint8_t *lines = NULL;
	size_t len, count = 0;

	lines = edit_needle(text, &len);
	for (size_t i = 0; i < len; i++)
		count += lines[i] == '\n';
	return count;
}

/* Keeps copies of both texts for the linter, which runs after the texts are freed. */
static void keep_change(struct job *j, struct bytes old, struct bytes new)
{
	if (!(j->r->flags & EDIT_LINT))
		return;
	j->change = (struct change_made){
		.old = mem_copy(old.data, old.len), .old_len = old.len,
		.new = mem_copy(new.data, new.len), .new_len = new.len,
		.at = buffer_len(&j->say),
	};
}

static void show_snippet(struct job *j, const struct file *f, struct bytes lines,
			 struct span span)
{
	struct bytes some = edit_slice(lines, span.first, span.end);

	j->cut += edit_put_numbered(&j->say, some, span.first + 1);
	keep_change(j, f->text.lines, lines);
	editor_say(j, "Review the changes and make sure they are as expected");
}

/* Shows the changed lines, and EDIT_CONTEXT lines above and below them. */
static void say_replaced(struct job *j, const struct file *f, struct bytes lines,
			 const struct change *c)
{
	size_t line = c->found.line + 1;
	size_t first = line > EDIT_CONTEXT ? line - EDIT_CONTEXT : 0;

	editor_say_format(j, "The file %s has been edited. " EDITOR_SHOWN
			  "a snippet of %s:\n", j->path, j->path);
	show_snippet(j, f, lines, (struct span){ first, line + EDIT_CONTEXT +
							count_newlines(c->new) });
	editor_say(j, ". Edit the file again if necessary.");
}

static bool replace(struct job *j, const struct file *f, const struct change *c)
{
	size_t at = c->found.at;
	struct edit_text text;
	struct made m = { .encoding = f->text.encoding };
	uint32_t lacks = edit_splice(&f->text, at, at + c->literal.len, c->new, &m.bytes);
	bool is_stored = lacks ? editor_fail_lacks(j, m.encoding, lacks)
			       : editor_store(j, f, &m, &text);

	if (is_stored) {
		remember(j, f);
		say_replaced(j, f, text.lines, c);
		edit_text_done(&text);
	}
	buffer_done(&m.bytes);
	return is_stored;
}

static bool fail_same(struct job *j)
{
	editor_begin_error(j);
	editor_say(j, "Invalid `new_str` parameter: ");
	editor_say_bytes(j, j->r->new_str.data, j->r->new_str.len);
	editor_say(j, ". No replacement was performed. `new_str` and `old_str` must "
		   "be different.");
	return false;
}

bool editor_str_replace(struct job *j)
{
	struct change c = { .old = j->r->old_str, .new = j->r->new_str };
	struct file f;

	if (!(j->r->flags & EDIT_OLD_STR))
		return editor_fail_missing(j, "old_str");
	if (j->r->flags & EDIT_NEW_STR && is_same(c.old, c.new))
		return fail_same(j);
	bool is_done = editor_load(j, &f, true) && find_change(j, &f, &c) &&
		       replace(j, &f, &c);
	free(c.owned);
	editor_file_done(&f);
	return is_done;
}

/* --- insert ----------------------------------------------------------------- */

static void say_inserted(struct job *j, const struct file *f, struct bytes lines,
			 size_t line)
{
	size_t first = line > EDIT_CONTEXT ? line - EDIT_CONTEXT : 0;
	size_t added = count_newlines(j->r->new_str) + 1;

	editor_say_format(j, "The file %s has been edited. " EDITOR_SHOWN
			  "a snippet of the edited file:\n", j->path);
	show_snippet(j, f, lines, (struct span){ first, line + EDIT_CONTEXT + added });
	editor_say(j, " (correct indentation, no duplicate lines, etc). Edit the "
		   "file again if necessary.");
}

static bool insert_at(struct job *j, const struct file *f, size_t line)
{
	struct edit_text text;
	struct made m = { .encoding = f->text.encoding };
	uint32_t lacks = edit_insert(&f->text, line, j->r->new_str, &m.bytes);
	bool is_stored = lacks ? editor_fail_lacks(j, m.encoding, lacks)
			       : editor_store(j, f, &m, &text);

	if (is_stored) {
		remember(j, f);
		say_inserted(j, f, text.lines, line);
		edit_text_done(&text);
	}
	buffer_done(&m.bytes);
	return is_stored;
}

static bool insert_into(struct job *j, const struct file *f)
{
	int64_t line, count = (int64_t)edit_count(f->text.lines);

	(void)edit_number(j->r->line, &line); /* the number was checked before, so this
					       * cannot fail */
	if (line < 0 || line > count)
		return EDITOR_FAIL(j, "Invalid `insert_line` parameter: %lld. It "
				   "should be within the range of allowed values: "
				   "[0, %lld]", (long long)line, (long long)count);
	return insert_at(j, f, (size_t)line);
}

bool editor_insert(struct job *j)
{
	struct file f;

	if (!(j->r->flags & EDIT_LINE))
		return editor_fail_missing(j, "insert_line");
	if (!(j->r->flags & EDIT_NEW_STR))
		return editor_fail_missing(j, "new_str");
	bool is_done = editor_load(j, &f, true) && insert_into(j, &f);
	editor_file_done(&f);
	return is_done;
}

/* --- undo_edit -------------------------------------------------------------- */

static bool undo(struct job *j, const struct file *f)
{
	struct edit_text text;
	struct bytes old;
	struct made m;

	if (!undo_last(j->undo, j->path, &old))
		return EDITOR_FAIL(j, "No edit history found for %s.", j->path);
	m.encoding = undo_encoding(j->undo, j->path);
	buffer_init(&m.bytes, old.len + 1);
	/* the buffer is made large enough for the old content */
	(void)buffer_append(&m.bytes, old.data, old.len);
	bool is_stored = editor_store(j, f, &m, &text);
	if (is_stored) {
		undo_drop_last(j->undo, j->path);
		editor_say_format(j, "Last edit to %s undone successfully. ", j->path);
		editor_show(j, text.lines, 1);
		edit_text_done(&text);
	}
	buffer_done(&m.bytes);
	return is_stored;
}

bool editor_undo_edit(struct job *j)
{
	struct file f;
	bool is_done = editor_load(j, &f, true) && undo(j, &f);

	editor_file_done(&f);
	return is_done;
}
