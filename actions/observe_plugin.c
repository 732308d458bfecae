#include "actions/observe_plugin.h"

#include <string.h>

#include "actions/observe.h"
#include "actions/observe_parts.h"
#include "actions/plugin_table.h"
#include "base/base64.h"
#include "base/buffer.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/own.h"
#include "protocol/plugin.h"

static void put_png(struct buffer *out, const char *key, const uint8_t *bytes, size_t len)
{
	AUTO_FREE char *text = mem_new(base64_length(len) + 1);
	size_t end = base64_encode(bytes, len, (uint8_t *)text);

	text[end] = '\0';
	json_write_open(out, key, "\"data:image/png;base64,");
	json_write_close(out, text);
	json_write_close(out, "\"");
}

static void put_value(struct buffer *out, const char *key, const struct plugin_part *p,
		      const uint8_t *text)
{
	switch (p->kind & ~PART_ITEM) {
	case PART_PNG:
		return put_png(out, key, text, (size_t)p->value);
	case PART_NUMBER:
		return json_write_number(out, key, (int64_t)p->value);
	case PART_FLAG:
		return json_write_bool(out, key, p->value);
	case PART_NULL:
		return json_write_raw(out, key, "null");
	case PART_EMPTY:
		return json_write_raw(out, key, "[]");
	default:
		return json_write_bytes(out, key, text, (size_t)p->value);
	}
}

static bool is_extra(const struct plugin_part *p)
{
	return p->kind != PART_DATA && p->kind != PART_NOTE &&
	       strcmp(p->name, "content") != 0;
}

static bool is_item_of(const struct plugin_part *p, const struct plugin_part *before)
{
	return before && (p->kind & PART_ITEM) && p->kind == before->kind &&
	       !strcmp(p->name, before->name);
}

/* Writes the parts that `is_wanted` accepts as members of an object.  Items of a list
 * follow each other (plugin_get_answer()). */
static void put_members(struct buffer *out, const struct plugin_answer *a,
			const uint8_t *text, bool (*is_wanted)(const struct plugin_part *))
{
	const struct plugin_part *before = NULL;

	for (uint32_t i = 0; i < a->part_count; i++) {
		const struct plugin_part *p = &a->parts[i];
		bool is_more = is_item_of(p, before);
		if (before && (before->kind & PART_ITEM) && !is_more)
			json_write_close(out, "]");
		before = is_wanted(p) ? p : NULL;
		if (before && (p->kind & PART_ITEM) && !is_more)
			json_write_open(out, p->name, "[");
		if (before)
			put_value(out, p->kind & PART_ITEM ? NULL : p->name, p, text);
		text += plugin_part_len(p);
	}
	if (before && (before->kind & PART_ITEM))
		json_write_close(out, "]");
}

static bool is_data(const struct plugin_part *p)
{
	return p->kind == PART_DATA;
}

/* Returns the members `data` and `note` of the object `hutch`; "" if there is neither.
 * Allocated. */
static char *hutch_members(const struct plugin_answer *a, const uint8_t *text)
{
	struct buffer b;
	bool has_data = false;

	json_write_begin(&b);
	for (uint32_t i = 0; i < a->part_count; i++)
		has_data |= is_data(&a->parts[i]);
	if (has_data) {
		json_write_open(&b, "data", "{");
		put_members(&b, a, text, is_data);
		json_write_close(&b, "}");
	}
	for (uint32_t i = 0; i < a->part_count; i++) {
		if (a->parts[i].kind == PART_NOTE)
			json_write_bytes(&b, "note", text, (size_t)a->parts[i].value);
		text += plugin_part_len(&a->parts[i]);
	}
	return json_write_end(&b);
}

static void put_content(struct buffer *out, const struct plugin_answer *a,
			const uint8_t *text)
{
	for (uint32_t i = 0; i < a->part_count; i++) {
		const struct plugin_part *p = &a->parts[i];
		if (p->kind == PART_TEXT && !strcmp(p->name, "content"))
			return json_write_bytes(out, "content", text, (size_t)p->value);
		text += plugin_part_len(p);
	}
	json_write_text(out, "content", "");
}

void observe_plugin(struct buffer *out, const struct observed *o,
		    const struct known_action *known, const struct plugin_answer *a)
{
	AUTO_FREE char *members = hutch_members(a, o->content);
	struct observed mine = *o;

	mine.members = *members ? members : NULL;
	observe_kind(out, known->observation);
	observe_member(out, "message", known->message);
	put_content(out, a, o->content);
	/* OpenHands' clients know this member of a cell's observation. */
	if (!strcmp(known->observation, "run_ipython"))
		json_write_bool(out, "success", true);
	json_write_open(out, "extras", "{");
	put_members(out, a, o->content, is_extra);
	json_write_close(out, "}");
	observe_end(out, &mine, 0, false);
}
