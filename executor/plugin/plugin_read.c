#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "executor/plugin/plugin.h"
#include "executor/plugin/plugins.h"
#include "executor/wire/send_queue.h"
#include "policy/json/json.h"
#include "protocol/action.h"

/* How many bytes are read at once: as many as a pipe holds. */
#define CHUNK (64u << 10)

/* --- the kinds of lines ------------------------------------------------------------ */

static int take_ready(struct plugin *p, int64_t now, struct err *e)
{
	if (p->phase != PLUGIN_BEGINS)
		return err_set(e, ERR_USAGE, "it said \"ready\" twice");
	p->phase = PLUGIN_UP;
	p->due = INT64_MAX;
	free(p->failure);
	p->failure = NULL;
	plugin_say_state(p, PLUGIN_READY, "");
	if (p->call.id)
		plugin_send_call(p, now);
	return 0;
}

static int take_output(struct plugin *p, const struct json_at *text, struct err *e)
{
	const char *said;

	if (json_string(text, &said, e) < 0)
		return -1;
	if (!p->call.is_streamed || !*said)
		return 0;
	struct reply a = { .id = p->call.id, .type = MSG_OUTPUT };
	a.len = strlen(said);
	a.bytes = (uint8_t *)text_copy(said);
	send_queue_add(p->set->replies, &a);
	return 0;
}

static int take_error(struct plugin *p, const struct json_at *text, struct err *e)
{
	const char *said;

	if (json_string(text, &said, e) < 0)
		return -1;
	plugin_answer_failure(p, OUTCOME_REFUSED, said);
	p->has_answered = true;
	p->due = INT64_MAX;
	return 0;
}

static int take_answer(struct plugin *p, const struct json_at *line, struct err *e)
{
	if (plugin_answer(p, line, e) < 0)
		return -1;
	p->has_answered = true;
	p->due = INT64_MAX;
	return 0;
}

/* Handles a line about a call. */
static int take_call(struct plugin *p, const struct json_at *line, struct err *e)
{
	static const char *const output[] = { "call", "output", NULL };
	static const char *const error[] = { "call", "error", NULL };
	static const char *const answer[] = { "call", "answer", "data", "note", NULL };
	struct json_at member;
	uint64_t id;

	(void)json_member(line, "call", &member); /* the caller has found it */
	if (json_uint(&member, &id, e) < 0)
		return -1;
	if (!p->call.is_sent || id != p->call.id)
		return err_set(e, ERR_USAGE, "it answered call %llu, which is not under "
					     "way", (unsigned long long)id);
	if (json_member(line, "output", &member))
		return json_only(line, output, e) < 0 ? -1 : take_output(p, &member, e);
	if (json_member(line, "error", &member))
		return json_only(line, error, e) < 0 ? -1 : take_error(p, &member, e);
	return json_only(line, answer, e) < 0 ? -1 : take_answer(p, line, e);
}

/* Handles an "ask".  If bytes that were read at once have two, the process has written
 * the second one before it could have the answer to the first one.  Were that allowed, a
 * pipe full of edits would keep the executor from all other work for minutes. */
static int take_ask(struct plugin *p, const struct json_at *line, int64_t now,
		    struct err *e)
{
	if (p->has_asked)
		return err_set(e, ERR_USAGE, "it asked again before it had the answer");
	p->has_asked = true;
	return plugin_ask(p, line, now, e);
}

/* --- lines ------------------------------------------------------------------------- */

/* Handles one line.  Returns -1 if it is no message of the contract. */
static int take(struct plugin *p, const struct json_at *line, int64_t now, struct err *e)
{
	static const char *const ready[] = { "ready", NULL };
	static const char *const failed[] = { "failed", NULL };
	struct json_at member;
	const char *reason;
	bool is_ready = false;

	if (json_member(line, "ready", &member)) {
		if (json_only(line, ready, e) < 0 || json_bool(&member, &is_ready, e) < 0)
			return -1;
		return is_ready ? take_ready(p, now, e)
				: err_set(e, ERR_USAGE, "\"ready\" was not true");
	}
	if (json_member(line, "failed", &member)) {
		if (json_only(line, failed, e) < 0 ||
		    json_string(&member, &reason, e) < 0)
			return -1;
		plugin_give_up(p, now, reason);
		return 0;
	}
	if (p->phase != PLUGIN_UP)
		return err_set(e, ERR_USAGE, "its first line was neither \"ready\" nor "
					     "\"failed\"");
	if (json_member(line, "call", &member))
		return take_call(p, line, e);
	if (json_member(line, "ask", &member))
		return take_ask(p, line, now, e);
	return err_set(e, ERR_USAGE, "it wrote a line without ready, failed, call or ask");
}

static void take_line(struct plugin *p, const char *text, size_t len, int64_t now)
{
	struct json_at root;
	struct err e = { 0 };
	AUTO_JSON struct json *doc = json_parse(text, len, &e);

	if (!doc)
		return plugin_fail(
			p, now,
			"it wrote a line that is no JSON (%s); descriptor 2 is "
			"for other output",
			e.text);
	json_root(doc, "line", &root);
	if (json_expect(&root, JSON_OBJECT, &e) < 0 || take(p, &root, now, &e) < 0)
		plugin_fail(p, now, "it broke the contract of plugins: %s", e.text);
}

static bool is_running(const struct plugin *p)
{
	return p->phase == PLUGIN_BEGINS || p->phase == PLUGIN_UP;
}

/* Handles the complete lines in `from`.  A line may end the process's part in all this,
 * whereupon `from` is empty. */
static void take_lines(struct plugin *p, int64_t now)
{
	while (is_running(p)) {
		const char *text = (const char *)buffer_data(&p->from);
		size_t len = buffer_len(&p->from);
		const char *end = memchr(text + p->scanned, '\n', len - p->scanned);

		p->scanned = len;
		if (!end && len > PLUGIN_LINE_MAX)
			return plugin_fail(p, now, "it wrote a line of more than %u bytes",
					   PLUGIN_LINE_MAX);
		if (!end)
			return;
		size_t line = (size_t)(end - text);
		take_line(p, text, line, now);
		if (!is_running(p))
			return;
		buffer_consume(&p->from, line + 1);
		p->scanned = 0;
	}
}

/* Gives back the memory that a long line has taken. */
static void trim(struct plugin *p)
{
	size_t max = p->from.max;

	if (buffer_len(&p->from) > 0 || !is_running(p))
		return;
	buffer_done(&p->from);
	buffer_init(&p->from, max);
}

bool plugin_read(struct plugin *p, int64_t now)
{
	size_t left = p->from.max - buffer_len(&p->from);
	size_t len = left < CHUNK ? left : CHUNK;
	ssize_t n = read(p->out, buffer_reserve(&p->from, len), len);

	if (n > 0)
		buffer_added(&p->from, (size_t)n);
	if (n == 0)
		own_close(&p->out); /* the process is closing down; its end tells more */
	take_lines(p, now);
	trim(p);
	return n > 0;
}
