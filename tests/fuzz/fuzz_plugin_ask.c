/* Asks of a hostile plugin for edits.  This program takes the editor's place, which would
 * edit files of this machine: it holds each request to its bounds, and answers with bytes
 * of the input.  Each answer is one line of JSON that has the number of its ask. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/edit/editor.h"
#include "executor/files/files.h"
#include "executor/plugin/plugin.h"
#include "executor/plugin/plugins.h"
#include "executor/wire/send_queue.h"
#include "policy/json/json.h"
#include "protocol/action.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NUMBER_MAX 64
#define NOW 5 /* the time of an edit */

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

static void check_text(const struct edit_request *r, uint32_t flag, struct bytes text)
{
	must(text.data && text.len <= ACTION_FILE_MAX);
	must((r->flags & flag) || text.len == 0);
	must(strlen((const char *)text.data) == text.len);
}

static void check_request(const struct edit_request *r)
{
	const uint32_t all = EDIT_FILE_TEXT | EDIT_OLD_STR | EDIT_NEW_STR | EDIT_LINE;

	must(!(r->flags & ~all));
	must(strlen(r->path) < PATH_MAX && strlen(r->command) <= NUMBER_MAX);
	must(strlen(r->line) <= NUMBER_MAX && ((r->flags & EDIT_LINE) || !*r->line));
	must(strlen(r->range) <= 4 * (NUMBER_MAX + 2));
	check_text(r, EDIT_FILE_TEXT, r->file_text);
	check_text(r, EDIT_OLD_STR, r->old_str);
	check_text(r, EDIT_NEW_STR, r->new_str);
}

/* The answer is the new text, in place of the editor's words. */
int editor_edit(const struct files *f, const struct edit_request *r,
		const struct editor *to, struct err *e)
{
	struct reply a = { .id = f->id, .type = MSG_CONTENT };
	const struct edited x = { .outcome = OUTCOME_DONE, .text_len = r->new_str.len };

	(void)e;
	must(to->now == NOW);
	check_request(r);
	buffer_init(&a.end, SEND_QUEUE_END_MAX);
	must(action_put_edited(&a.end, f->id, &x, NULL) == 0);
	a.len = r->new_str.len;
	a.bytes = mem_copy(r->new_str.data, r->new_str.len);
	send_queue_add(f->replies, &a);
	return 0;
}

/* Checks the line for the process. */
static void check_answer(const struct buffer *to, const struct json_at *ask)
{
	const char *line = (const char *)buffer_data(to), *said = "", *wanted = "";
	size_t len = buffer_len(to);
	struct json_at root, at, edit;
	uint64_t number = 0, asked = 1;
	bool is_error = false;
	struct err e;

	must(len > 0 && memchr(line, '\n', len) == line + len - 1);
	AUTO_JSON struct json *doc = json_parse(line, len, &e);
	must(doc != NULL);
	json_root(doc, "line", &root);
	must(json_member(ask, "ask", &at));
	must(json_uint(&at, &asked, &e) == 0);
	must(json_member(&root, "answer", &at));
	must(json_uint(&at, &number, &e) == 0 && number == asked);
	must(json_member(ask, "edit", &edit));
	if (json_member(&edit, "new_str", &at))
		must(json_string(&at, &wanted, &e) == 0);
	must(json_member(&root, "text", &at));
	must(json_string(&at, &said, &e) == 0 && strcmp(said, wanted) == 0);
	must(json_member(&root, "error", &at));
	must(json_bool(&at, &is_error, &e) == 0);
	must(is_error == !strncmp(wanted, "ERROR:", 6));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plugins set = { .proc = -1 };
	struct plugin p = { .set = &set, .id = 1, .in = -1, .out = -1, .errors = -1,
			    .status = -1 };
	struct json_at root, ask;
	struct err e;

	if (size > 512 << 10)
		return 0;
	AUTO_JSON struct json *doc = json_parse((const char *)data, size, &e);
	if (!doc)
		return 0;
	json_root(doc, "line", &root);
	if (json_expect(&root, JSON_OBJECT, &e) < 0 || !json_member(&root, "ask", &ask))
		return 0;
	plugin_let_go(&p);
	p.in = STDIN_FILENO; /* only that it is open counts: nothing is written */
	if (plugin_ask(&p, &root, NOW, &e) == 0)
		check_answer(&p.to, &root);
	else
		must(buffer_len(&p.to) == 0 && *e.text);
	p.in = -1;
	plugin_let_go(&p);
	buffer_done(&p.to);
	buffer_done(&p.from);
	return 0;
}
