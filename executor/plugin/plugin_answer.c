#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/plugin/plugin.h"
#include "executor/plugin/plugins.h"
#include "executor/wire/send_queue.h"
#include "policy/json/json.h"
#include "protocol/action.h"

/* An answer that is being put together. */
struct draft {
	struct plugin_answer answer;
	struct buffer text; /* the texts of its parts, one behind the other */
};

static void send(struct plugin *p, struct draft *d)
{
	struct reply a = { .id = p->call.id, .type = MSG_CONTENT };

	buffer_init(&a.end, SEND_QUEUE_END_MAX);
	/* cannot fail: the message has at most PLUGIN_PARTS_MAX parts, for which the
	 * buffer has room */
	(void)plugin_put_answer(&a.end, p->call.id, &d->answer, NULL);
	a.len = buffer_len(&d->text);
	a.bytes = mem_copy(buffer_data(&d->text), a.len);
	send_queue_add(p->set->replies, &a);
	free(p->call.line);
	p->call = (struct call){ 0 };
}

void plugin_answer_failure(struct plugin *p, uint32_t outcome, const char *reason)
{
	struct draft d = { .answer = { .outcome = outcome, .part_count = 1 } };
	size_t len = strlen(reason);

	buffer_init(&d.text, PLUGIN_ANSWER_MAX);
	len = len < PLUGIN_ANSWER_MAX ? len : PLUGIN_ANSWER_MAX;
	(void)buffer_append(&d.text, reason, len); /* cannot fail: it was cut to the
						    * bound */
	d.answer.parts[0] = (struct plugin_part){ "content", PART_TEXT, len };
	send(p, &d);
	buffer_done(&d.text);
}

/* --- parts --------------------------------------------------------------------------- */

static int too_much(struct err *e)
{
	return err_set(e, ERR_LIMIT,
		       "an answer of more than %u members, or %u bytes of texts",
		       PLUGIN_PARTS_MAX, PLUGIN_ANSWER_MAX);
}

static int add(struct draft *d, const char *name, uint32_t kind, uint64_t value,
	       struct err *e)
{
	struct plugin_answer *a = &d->answer;

	if (a->part_count == PLUGIN_PARTS_MAX)
		return too_much(e);
	a->parts[a->part_count++] = (struct plugin_part){ name, kind, value };
	return 0;
}

static int add_text(struct draft *d, const char *name, uint32_t kind,
		    const struct json_at *at, struct err *e)
{
	const char *text;

	if (json_string(at, &text, e) < 0)
		return -1;
	size_t len = strlen(text);
	if (!buffer_append(&d->text, text, len))
		return too_much(e);
	return add(d, name, kind, len, e);
}

static int add_png(struct draft *d, const char *name, uint32_t kind,
		   const struct json_at *at, struct err *e)
{
	static const uint8_t signature[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	const char *text;
	size_t len;

	if (json_string(at, &text, e) < 0)
		return -1;
	uint8_t *bytes = buffer_reserve(&d->text, strlen(text));
	if (!bytes)
		return too_much(e);
	if (!base64_decode(text, strlen(text), bytes, &len) || len < sizeof(signature) ||
	    memcmp(bytes, signature, sizeof(signature)) != 0)
		return err_set(e, ERR_USAGE, "%s: a PNG in base64 was expected", at->place);
	buffer_added(&d->text, len);
	return add(d, name, kind, len, e);
}

static int add_value(struct draft *d, const struct plugin_member *m, uint32_t item,
		     const struct json_at *at, struct err *e)
{
	uint64_t number;
	bool flag;

	switch (m->type) {
	case PLUGIN_PNG:
		return add_png(d, m->name, PART_PNG | item, at, e);
	case PLUGIN_NUMBER:
		if (json_uint(at, &number, e) < 0)
			return -1;
		return add(d, m->name, PART_NUMBER | item, number, e);
	case PLUGIN_FLAG:
		if (json_bool(at, &flag, e) < 0)
			return -1;
		return add(d, m->name, PART_FLAG | item, flag, e);
	case PLUGIN_TEXT:
	case PLUGIN_ANY:
	default:
		return add_text(d, m->name, PART_TEXT | item, at, e);
	}
}

static int add_list(struct draft *d, const struct plugin_member *m,
		    const struct json_at *all, struct err *e)
{
	struct json_at one = { 0 };
	uint32_t before = d->answer.part_count;

	if (json_expect(all, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(all, &one))
		if (add_value(d, m, PART_ITEM, &one, e) < 0)
			return -1;
	return d->answer.part_count > before ? 0 : add(d, m->name, PART_EMPTY, 0, e);
}

/* Adds each member of the schema, also those that the answer has not. */
static int add_members(struct draft *d, const struct plugin_members *schema,
		       const struct json_at *answer, struct err *e)
{
	for (size_t i = 0; i < schema->count; i++) {
		const struct plugin_member *m = &schema->items[i];
		struct json_at at;
		int added = !json_member(answer, m->name, &at)
				    ? add(d, m->name, PART_NULL, 0, e)
			    : m->is_list ? add_list(d, m, &at, e)
					 : add_value(d, m, 0, &at, e);
		if (added < 0)
			return -1;
	}
	return 0;
}

static int check_members(const struct plugin_members *schema,
			 const struct json_at *answer, struct err *e)
{
	struct json_at one = { 0 };
	const char *name;

	if (json_expect(answer, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(answer, &one, &name))
		if (!manifest_member(schema, name))
			return err_set(e, ERR_USAGE, "answer: its schema has no '%.64s'",
				       name);
	return 0;
}

static int add_data(struct draft *d, const struct json_at *line, struct err *e)
{
	struct json_at data, note, one = { 0 };
	const char *name;

	if (json_member(line, "note", &note) && add_text(d, "", PART_NOTE, &note, e) < 0)
		return -1;
	if (!json_member(line, "data", &data))
		return 0;
	if (json_expect(&data, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&data, &one, &name)) {
		if (!plugin_is_name(name))
			return err_set(e, ERR_USAGE, "data: a name of 1 to 64 letters, "
						     "digits and _ was expected");
		if (add_text(d, name, PART_DATA, &one, e) < 0)
			return -1;
	}
	return 0;
}

int plugin_answer(struct plugin *p, const struct json_at *line, struct err *e)
{
	const struct plugin_action *a = manifest_action(&p->manifest, p->call.action);
	struct draft d = { .answer = { .outcome = OUTCOME_DONE } };
	struct json_at answer;

	if (!json_member(line, "answer", &answer))
		return err_set(e, ERR_USAGE, "it wrote a line about a call without "
					     "output, answer or error");
	buffer_init(&d.text, PLUGIN_ANSWER_MAX);
	int put = check_members(&a->answer, &answer, e);
	if (put == 0)
		put = add_members(&d, &a->answer, &answer, e);
	if (put == 0)
		put = add_data(&d, line, e);
	if (put == 0)
		send(p, &d);
	buffer_done(&d.text);
	return put;
}
