#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "executor/edit/editor.h"
#include "executor/files/files.h"
#include "executor/plugin/plugin.h"
#include "executor/plugin/plugins.h"
#include "executor/wire/send_queue.h"
#include "policy/json/json.h"
#include "protocol/action.h"

/* The longest line number and view_range that are passed to the editor, which refuses
 * them as text. */
#define NUMBER_MAX 64

/* --- the request --------------------------------------------------------------------- */

/* Reads a text that may be absent.  `flag` is set in *flags if it is there; 0: none. */
static int get_text(const struct json_at *edit, const char *key, struct bytes *ret,
		    uint32_t flag, uint32_t *flags, struct err *e)
{
	struct json_at at;
	const char *text;

	*ret = (struct bytes){ (const uint8_t *)"", 0 };
	if (!json_member(edit, key, &at))
		return 0;
	if (json_string(&at, &text, e) < 0)
		return -1;
	*ret = (struct bytes){ (const uint8_t *)text, strlen(text) };
	*flags |= flag;
	return ret->len <= ACTION_FILE_MAX ? 0
					   : err_set(e, ERR_LIMIT, "%s: it is too long",
						     at.place);
}

/* Returns a value as it stands in the line, cut to NUMBER_MAX bytes; allocated. */
static char *source_of(const struct json_at *at)
{
	size_t len;
	const char *text = json_source(at, &len);

	return text_format("%.*s", (int)(len < NUMBER_MAX ? len : NUMBER_MAX), text);
}

/* Returns the view_range as Python prints a list; allocated. */
static char *range_of(const struct json_at *edit)
{
	struct json_at list, item = { 0 };
	struct list items = { 0 };

	if (!json_member(edit, "view_range", &list))
		return text_copy("");
	while (items.count < 4 && json_step(&list, &item)) {
		AUTO_FREE char *one = source_of(&item);
		list_add(&items, one);
	}
	AUTO_FREE char *all = list_join(&items, 0, ", ");
	list_done(&items);
	return text_format("[%s]", all);
}

static char *line_of(const struct json_at *edit, uint32_t *flags)
{
	struct json_at at;

	if (!json_member(edit, "insert_line", &at))
		return text_copy("");
	*flags |= EDIT_LINE;
	return source_of(&at);
}

/* --- the answer ---------------------------------------------------------------------- */

/* Tells the process the editor's text: that of the one reply in the queue. */
static int say(struct plugin *p, uint64_t ask, const struct send_queue *q, struct err *e)
{
	static const char error[] = "ERROR:";
	const struct reply *r = q->first;
	struct edited x;
	struct frame f;

	if (!r || frame_next(&r->end, SEND_QUEUE_END_MAX, &f, e) != 1 ||
	    action_get_edited(&f, &x, e) < 0 || x.text_len > r->len)
		return err_set(e, ERR_INTERNAL, "the editor gave no answer");
	size_t len = (size_t)x.text_len;
	bool is_error = len >= sizeof(error) - 1 &&
			!memcmp(r->bytes, error, sizeof(error) - 1);
	struct buffer b;
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_number(&b, "answer", (int64_t)ask);
	json_write_bytes(&b, "text", r->bytes, len);
	json_write_bool(&b, "error", is_error);
	json_write_close(&b, "}\n");
	bool is_said = plugin_say(p, (const char *)buffer_data(&b), buffer_len(&b));
	buffer_done(&b);
	return is_said ? 0 : err_set(e, ERR_LIMIT, "it does not read its lines");
}

static int do_edit(struct plugin *p, uint64_t ask, const struct edit_request *r,
		   int64_t now, struct err *e)
{
	struct send_queue q = { 0 };
	const struct files files = { &q, p->set->user, &r->place, p->id };
	const struct editor editor = { .undo = p->set->undo, .now = now };

	p->set->is_lost = editor_edit(&files, r, &editor, e) < 0;
	int said = p->set->is_lost ? -1 : say(p, ask, &q, e);
	send_queue_done(&q);
	return said;
}

int plugin_ask(struct plugin *p, const struct json_at *line, int64_t now, struct err *e)
{
	static const char *const keys[] = { "ask", "edit", NULL };
	static const char *const edit_keys[] = { "command", "path", "file_text", "old_str",
						 "new_str", "insert_line", "view_range",
						 NULL };
	struct edit_request r = { .place = { p->exec.uid, p->exec.gid, p->exec.cwd } };
	struct json_at at, edit;
	struct bytes command, path;
	uint64_t ask;

	if (json_only(line, keys, e) < 0)
		return -1;
	(void)json_member(line, "ask", &at); /* the caller has found it */
	if (json_uint(&at, &ask, e) < 0)
		return -1;
	if (!json_member(line, "edit", &edit))
		return err_set(e, ERR_USAGE, "it asked for nothing");
	if (json_only(&edit, edit_keys, e) < 0 ||
	    get_text(&edit, "command", &command, 0, &r.flags, e) < 0 ||
	    get_text(&edit, "path", &path, 0, &r.flags, e) < 0 ||
	    get_text(&edit, "file_text", &r.file_text, EDIT_FILE_TEXT, &r.flags, e) < 0 ||
	    get_text(&edit, "old_str", &r.old_str, EDIT_OLD_STR, &r.flags, e) < 0 ||
	    get_text(&edit, "new_str", &r.new_str, EDIT_NEW_STR, &r.flags, e) < 0)
		return -1;
	if (path.len >= PATH_MAX || command.len > NUMBER_MAX)
		return err_set(e, ERR_USAGE, "it asked for an edit with a path or command "
					     "that is too long");
	AUTO_FREE char *insert = line_of(&edit, &r.flags);
	AUTO_FREE char *range = range_of(&edit);
	r.command = (const char *)command.data;
	r.path = (const char *)path.data;
	r.line = insert;
	r.range = range;
	return do_edit(p, ask, &r, now, e);
}
