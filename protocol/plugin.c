#include "protocol/plugin.h"

#include <limits.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "protocol/action.h"
#include "protocol/message.h"

#define NUMBER_MAX (UINT64_C(1) << 53)

static bool is_short(const char *text, size_t most)
{
	return text && strnlen(text, most + 1) <= most;
}

bool plugin_is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_";

	return is_short(text, PLUGIN_NAME_MAX) && *text && !text[strspn(text, letters)];
}

/* --- an offer, a state --------------------------------------------------------- */

int plugin_put_offer(struct buffer *b, uint32_t id, const struct plugin_offer *o,
		     struct err *e)
{
	size_t begun = frame_begin(b, MSG_OFFER, id);

	frame_put_text(b, o->version);
	frame_put_u32(b, o->ready_ms);
	frame_put_u32(b, o->timeout_ms);
	frame_put_u32(b, o->grace_ms);
	frame_put_u32(b, o->action_count);
	for (uint32_t i = 0; i < o->action_count; i++) {
		frame_put_text(b, o->actions[i].action);
		frame_put_text(b, o->actions[i].observation);
		frame_put_text(b, o->actions[i].message);
	}
	return frame_end(b, begun, e);
}

static bool get_offered(struct fields *in, struct plugin_offered *ret)
{
	ret->action = fields_get_text(in);
	ret->observation = fields_get_text(in);
	ret->message = fields_get_text(in);
	return plugin_is_name(ret->action) && plugin_is_name(ret->observation) &&
	       is_short(ret->message, PLUGIN_MESSAGE_MAX);
}

int plugin_get_offer(const struct frame *f, struct plugin_offer *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct plugin_offer o = { .version = fields_get_text(&in) };

	o.ready_ms = fields_get_u32(&in);
	o.timeout_ms = fields_get_u32(&in);
	o.grace_ms = fields_get_u32(&in);
	o.action_count = fields_get_u32(&in);
	bool in_range = is_short(o.version, PLUGIN_NAME_MAX) &&
			o.ready_ms <= PLUGIN_MS_MAX && o.timeout_ms <= PLUGIN_MS_MAX &&
			o.grace_ms <= PLUGIN_MS_MAX &&
			o.action_count <= PLUGIN_ACTIONS_MAX;
	for (uint32_t i = 0; in_range && i < o.action_count; i++)
		in_range = get_offered(&in, &o.actions[i]);
	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret = o;
	return 0;
}

int plugin_put_state(struct buffer *b, uint32_t id, uint32_t state, const char *reason,
		     struct err *e)
{
	size_t begun = frame_begin(b, MSG_STATE, id);

	frame_put_u32(b, state);
	frame_put_text(b, reason);
	return frame_end(b, begun, e);
}

int plugin_get_state(const struct frame *f, uint32_t *ret_state, const char **ret_reason,
		     struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t state = fields_get_u32(&in);
	const char *reason = fields_get_text(&in);
	bool in_range = state > PLUGIN_STATE_NONE && state < PLUGIN_STATE_COUNT &&
			is_short(reason, PLUGIN_REASON_MAX) &&
			(state == PLUGIN_FAILED || !*reason);

	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret_state = state;
	*ret_reason = reason;
	return 0;
}

/* --- a call --------------------------------------------------------------------- */

int plugin_put_call(struct buffer *b, uint32_t id, const struct plugin_call *c,
		    struct err *e)
{
	size_t begun = frame_begin(b, MSG_CALL, id);

	frame_put_u32(b, c->plugin);
	frame_put_u32(b, c->session);
	frame_put_u64(b, c->timeout_ms);
	frame_put_u32(b, c->is_streamed);
	frame_put_text(b, c->cwd);
	frame_put_text(b, c->action);
	frame_put_bytes(b, c->args.data, c->args.len);
	return frame_end(b, begun, e);
}

int plugin_get_call(const struct frame *f, struct plugin_call *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct plugin_call c = { .plugin = fields_get_u32(&in) };

	c.session = fields_get_u32(&in);
	c.timeout_ms = fields_get_u64(&in);
	uint32_t is_streamed = fields_get_u32(&in);
	c.is_streamed = is_streamed;
	c.cwd = fields_get_text(&in);
	c.action = fields_get_text(&in);
	c.args = fields_get_bytes(&in);
	bool in_range = is_streamed <= 1 && c.timeout_ms <= PLUGIN_MS_MAX &&
			is_short(c.cwd, PATH_MAX - 1) && plugin_is_name(c.action) &&
			c.args.len <= PLUGIN_ARGS_MAX;
	if (message_checked(f, &in, in_range, e) < 0)
		return -1;
	*ret = c;
	return 0;
}

/* --- an answer ------------------------------------------------------------------- */

int plugin_put_answer(struct buffer *b, uint32_t id, const struct plugin_answer *a,
		      struct err *e)
{
	size_t begun = frame_begin(b, MSG_ANSWERED, id);

	frame_put_u32(b, a->outcome);
	frame_put_u32(b, a->part_count);
	for (uint32_t i = 0; i < a->part_count; i++) {
		frame_put_text(b, a->parts[i].name);
		frame_put_u32(b, a->parts[i].kind);
		frame_put_u64(b, a->parts[i].value);
	}
	return frame_end(b, begun, e);
}

uint64_t plugin_part_len(const struct plugin_part *p)
{
	switch (p->kind & ~PART_ITEM) {
	case PART_TEXT:
	case PART_PNG:
	case PART_DATA:
	case PART_NOTE:
		return p->value;
	default:
		return 0;
	}
}

static bool is_value(const struct plugin_part *p)
{
	switch (p->kind & ~PART_ITEM) {
	case PART_NONE:
		return false;
	case PART_FLAG:
		return p->value <= 1;
	case PART_NUMBER:
		return p->value <= NUMBER_MAX;
	case PART_NULL:
		return p->value == 0;
	case PART_EMPTY:
		return p->value == 0 && !(p->kind & PART_ITEM);
	default:
		return p->value <= PLUGIN_ANSWER_MAX;
	}
}

/* Returns whether the part's name and kind are valid by themselves. */
static bool is_part(const struct plugin_part *p)
{
	uint32_t kind = p->kind & ~PART_ITEM;

	if (kind >= PART_KIND_COUNT || !is_value(p))
		return false;
	if (kind == PART_NOTE)
		return p->name && !*p->name && !(p->kind & PART_ITEM);
	return plugin_is_name(p->name) && (kind != PART_DATA || !(p->kind & PART_ITEM));
}

/* Returns whether two parts would be the same member of the same object. */
static bool is_same(const struct plugin_part *a, const struct plugin_part *b)
{
	return (a->kind == PART_DATA) == (b->kind == PART_DATA) &&
	       !strcmp(a->name, b->name);
}

/* Returns whether the last of `count` parts may follow those before it: no member
 * stands twice, but for the items of one list, which follow each other. */
static bool may_follow(const struct plugin_part *parts, uint32_t count)
{
	const struct plugin_part *last = &parts[count - 1];

	if (count > 1 && (last->kind & PART_ITEM) && parts[count - 2].kind == last->kind &&
	    is_same(last, &parts[count - 2]))
		return true;
	for (uint32_t i = 0; i + 1 < count; i++)
		if (is_same(&parts[i], last))
			return false;
	return true;
}

static bool get_part(struct fields *in, struct plugin_part *ret)
{
	ret->name = fields_get_text(in);
	ret->kind = fields_get_u32(in);
	ret->value = fields_get_u64(in);
	return !in->is_bad && is_part(ret);
}

int plugin_get_answer(const struct frame *f, struct plugin_answer *ret, struct err *e)
{
	struct fields in = fields_of(f);
	uint64_t total = 0;

	ret->outcome = fields_get_u32(&in);
	ret->part_count = fields_get_u32(&in);
	bool in_range = ret->outcome < OUTCOME_COUNT &&
			ret->part_count <= PLUGIN_PARTS_MAX;
	for (uint32_t i = 0; in_range && i < ret->part_count; i++) {
		in_range = get_part(&in, &ret->parts[i]) && may_follow(ret->parts, i + 1);
		total += in_range ? plugin_part_len(&ret->parts[i]) : 0;
	}
	in_range = in_range && total <= PLUGIN_ANSWER_MAX;
	if (ret->outcome != OUTCOME_DONE)
		in_range = in_range && ret->part_count == 1 &&
			   ret->parts[0].kind == PART_TEXT;
	return message_checked(f, &in, in_range, e);
}
