#include "egress/frames.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "policy/egress/egress_rule.h"

/* Bytes of fields on the wire: a text has a tag, a length and a NUL besides its own. */
enum {
	U32 = 5,
	ADDRESS = 5 + 16,
	NAME = 6 + FRAMES_NAME_MAX,
	ALPN = 6 + FRAMES_ALPN_MAX,
	TARGET = 6 + FRAMES_TARGET_MAX
};
static_assert(FRAME_HEADER + NAME + ADDRESS + 3 * U32 + NAME + ALPN <= FRAMES_MAX,
	      "the longest OPEN does not fit");
static_assert(FRAMES_TARGET_MAX == EGRESS_TARGET_MAX, "a target has one bound");
static_assert(FRAME_HEADER + 4 * U32 + TARGET + NAME <= FRAMES_MAX,
	      "the longest SET does not fit");

enum { GATE = 1 << FRAMES_GATE, EGRESS = 1 << FRAMES_EGRESS };

static const struct {
	const char *name;
	unsigned senders;
	bool has_id; /* else the id is 0 */
} types[] = {
	[FRAMES_NONE] = { "none", 0, false },
	[FRAMES_HELLO] = { "hello", GATE | EGRESS, false },
	[FRAMES_OPEN] = { "open", GATE, true },
	[FRAMES_OK] = { "ok", EGRESS, true },
	[FRAMES_NO] = { "no", EGRESS, true },
	[FRAMES_CLOSE] = { "close", GATE, true },
	[FRAMES_CUT] = { "cut", EGRESS, true },
	[FRAMES_RESOLVE] = { "resolve", GATE, true },
	[FRAMES_RESOLVED] = { "resolved", EGRESS, true },
	[FRAMES_SET] = { "set", EGRESS, true },
	[FRAMES_EVENT] = { "event", GATE, false },
};
static_assert(ARRAY_LEN(types) == FRAMES_COUNT, "a type has no row");

const char *frames_name(uint32_t type)
{
	return type < FRAMES_COUNT ? types[type].name : "unknown";
}

unsigned frames_descriptors(uint32_t type)
{
	return type == FRAMES_OK ? 1 : 0;
}

int frames_next(const struct buffer *b, enum frames_side sender, struct frame *ret,
		struct err *e)
{
	struct frame f;
	int whole = frame_next(b, FRAMES_MAX - FRAME_HEADER, &f, e);

	if (whole <= 0)
		return whole;
	if (f.type >= FRAMES_COUNT || !(types[f.type].senders & 1u << sender))
		return err_set(e, ERR_PROTOCOL,
			       "%s may not send a message of type %u (%s)",
			       sender == FRAMES_GATE ? "hutch-gate" : "hutch-egress",
			       f.type, frames_name(f.type));
	*ret = f;
	return 1;
}

/* --- ranges ------------------------------------------------------------------ */

/* Encoders and decoders have one check for each message, so that neither process can
 * send what the other would refuse. */

static bool is_id(enum frames_type type, uint32_t id)
{
	return types[type].has_id == (id != 0);
}

/* Returns whether a text has at most `max` bytes, all of printable ASCII without the
 * blank. */
static bool is_text(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	if (len > max)
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] < '!' || text[i] > '~')
			return false;
	return true;
}

static bool is_address(const struct frames_address *a)
{
	return a->len == 0 || a->len == 4 || a->len == 16;
}

static bool is_rule(uint32_t rule)
{
	return rule < FRAMES_RULES_MAX;
}

static bool is_rule_or_none(uint32_t rule)
{
	return is_rule(rule) || rule == FRAMES_NO_RULE;
}

static bool is_refusal(uint32_t reason)
{
	return reason != REASON_NONE && reason < REASON_COUNT;
}

static bool is_open(const struct frames_open *x)
{
	bool has_hello = x->sni[0] || x->alpn[0];

	return is_text(x->name, FRAMES_NAME_MAX) && is_address(&x->address) &&
	       (x->name[0] != '\0') == (x->address.len == 0) && x->port >= 1 &&
	       x->port <= UINT16_MAX && x->proto < FRAMES_PROTO_COUNT &&
	       is_rule_or_none(x->rule) && is_text(x->sni, FRAMES_NAME_MAX) &&
	       is_text(x->alpn, FRAMES_ALPN_MAX) &&
	       (x->proto == FRAMES_TLS || !has_hello);
}

static bool is_ok(const struct frames_ok *x)
{
	return is_address(&x->address) && x->address.len &&
	       is_text(x->cname, FRAMES_NAME_MAX) && is_rule(x->rule);
}

static bool is_no(const struct frames_no *x)
{
	return is_refusal(x->reason) && is_rule_or_none(x->rule);
}

static bool is_close(const struct frames_close *x)
{
	return x->reason < REASON_COUNT;
}

static bool is_resolve(const char *name)
{
	return name[0] && is_text(name, FRAMES_NAME_MAX);
}

static bool is_set(const struct frames_set *x)
{
	if (x->count > FRAMES_RULES_MAX || x->verdict > EGRESS_ASK ||
	    x->has_any_tls > 1 || !is_text(x->target, FRAMES_TARGET_MAX) ||
	    !is_text(x->as, FRAMES_NAME_MAX))
		return false;
	if (x->count == 0)
		return !x->index && !x->verdict && !x->has_any_tls && !x->target[0] &&
		       !x->as[0];
	return x->index < x->count && x->target[0];
}

static bool is_event(const struct frames_event *x)
{
	return x->reason < REASON_COUNT && is_rule_or_none(x->rule) &&
	       is_text(x->name, FRAMES_NAME_MAX) && is_address(&x->address) &&
	       x->port <= UINT16_MAX && is_text(x->sni, FRAMES_NAME_MAX) && x->count >= 1;
}

/* --- what encoders and decoders share ------------------------------------------ */

/* The encoder's caller has passed a value that it had to check or cut before. */
static int refuse(enum frames_type type, struct err *e)
{
	return err_set(e, ERR_INTERNAL, "a '%s' message with a value out of range",
		       frames_name(type));
}

static bool has_head(const struct frame *f, enum frames_type type)
{
	return f->type == type && is_id(type, f->id);
}

static int checked(const struct frame *f, const struct fields *in, bool in_range,
		   struct err *e)
{
	if (fields_end(in) && in_range)
		return 0;
	return err_set(e, ERR_PROTOCOL, "a malformed '%s' message", frames_name(f->type));
}

static void put_address(struct buffer *b, const struct frames_address *a)
{
	frame_put_bytes(b, a->bytes, a->len);
}

/* A length that no address has is left for is_address() to refuse. */
static struct frames_address get_address(struct fields *in)
{
	struct bytes got = fields_get_bytes(in);
	struct frames_address a = { .len = (uint32_t)got.len };

	if (got.len <= sizeof(a.bytes))
		memcpy(a.bytes, got.data, got.len);
	return a;
}

/* Puts a message whose body is one number, which the caller has checked. */
static int put_number(struct buffer *b, enum frames_type type, uint32_t id,
		      uint32_t value, struct err *e)
{
	size_t begun = frame_begin(b, (uint16_t)type, id);

	frame_put_u32(b, value);
	return frame_end(b, begun, e);
}

/* --- messages ------------------------------------------------------------------ */

int frames_put_hello(struct buffer *b, struct err *e)
{
	return put_number(b, FRAMES_HELLO, 0, FRAMES_VERSION, e);
}

int frames_get_hello(const struct frame *f, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t version = fields_get_u32(&in);

	if (checked(f, &in, has_head(f, FRAMES_HELLO), e) < 0)
		return -1;
	if (version != FRAMES_VERSION)
		return err_set(e, ERR_PROTOCOL,
			       "the other process has version %u of the frames, not %u",
			       version, FRAMES_VERSION);
	return 0;
}

int frames_put_open(struct buffer *b, uint32_t id, const struct frames_open *x,
		    struct err *e)
{
	if (!is_id(FRAMES_OPEN, id) || !is_open(x))
		return refuse(FRAMES_OPEN, e);
	size_t begun = frame_begin(b, FRAMES_OPEN, id);
	frame_put_text(b, x->name);
	put_address(b, &x->address);
	frame_put_u32(b, x->port);
	frame_put_u32(b, x->proto);
	frame_put_u32(b, x->rule);
	frame_put_text(b, x->sni);
	frame_put_text(b, x->alpn);
	return frame_end(b, begun, e);
}

int frames_get_open(const struct frame *f, struct frames_open *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct frames_open x = { .name = fields_get_text(&in) };

	x.address = get_address(&in);
	x.port = fields_get_u32(&in);
	x.proto = fields_get_u32(&in);
	x.rule = fields_get_u32(&in);
	x.sni = fields_get_text(&in);
	x.alpn = fields_get_text(&in);
	if (checked(f, &in, has_head(f, FRAMES_OPEN) && is_open(&x), e) < 0)
		return -1;
	*ret = x;
	return 0;
}

int frames_put_ok(struct buffer *b, uint32_t id, const struct frames_ok *x, struct err *e)
{
	if (!is_id(FRAMES_OK, id) || !is_ok(x))
		return refuse(FRAMES_OK, e);
	size_t begun = frame_begin(b, FRAMES_OK, id);
	put_address(b, &x->address);
	frame_put_text(b, x->cname);
	frame_put_u32(b, x->rule);
	return frame_end(b, begun, e);
}

int frames_get_ok(const struct frame *f, struct frames_ok *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct frames_ok x = { .address = get_address(&in) };

	x.cname = fields_get_text(&in);
	x.rule = fields_get_u32(&in);
	if (checked(f, &in, has_head(f, FRAMES_OK) && is_ok(&x), e) < 0)
		return -1;
	*ret = x;
	return 0;
}

int frames_put_no(struct buffer *b, uint32_t id, const struct frames_no *x, struct err *e)
{
	if (!is_id(FRAMES_NO, id) || !is_no(x))
		return refuse(FRAMES_NO, e);
	size_t begun = frame_begin(b, FRAMES_NO, id);
	frame_put_u32(b, x->reason);
	frame_put_u32(b, x->rule);
	return frame_end(b, begun, e);
}

int frames_get_no(const struct frame *f, struct frames_no *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct frames_no x = { .reason = fields_get_u32(&in) };

	x.rule = fields_get_u32(&in);
	if (checked(f, &in, has_head(f, FRAMES_NO) && is_no(&x), e) < 0)
		return -1;
	*ret = x;
	return 0;
}

int frames_put_close(struct buffer *b, uint32_t id, const struct frames_close *x,
		     struct err *e)
{
	if (!is_id(FRAMES_CLOSE, id) || !is_close(x))
		return refuse(FRAMES_CLOSE, e);
	size_t begun = frame_begin(b, FRAMES_CLOSE, id);
	frame_put_u32(b, x->reason);
	frame_put_u64(b, x->up);
	frame_put_u64(b, x->down);
	return frame_end(b, begun, e);
}

int frames_get_close(const struct frame *f, struct frames_close *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct frames_close x = { .reason = fields_get_u32(&in) };

	x.up = fields_get_u64(&in);
	x.down = fields_get_u64(&in);
	if (checked(f, &in, has_head(f, FRAMES_CLOSE) && is_close(&x), e) < 0)
		return -1;
	*ret = x;
	return 0;
}

int frames_put_cut(struct buffer *b, uint32_t id, enum reason reason, struct err *e)
{
	if (!is_id(FRAMES_CUT, id) || !is_refusal(reason))
		return refuse(FRAMES_CUT, e);
	return put_number(b, FRAMES_CUT, id, reason, e);
}

int frames_get_cut(const struct frame *f, uint32_t *ret_reason, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t reason = fields_get_u32(&in);

	if (checked(f, &in, has_head(f, FRAMES_CUT) && is_refusal(reason), e) < 0)
		return -1;
	*ret_reason = reason;
	return 0;
}

int frames_put_resolve(struct buffer *b, uint32_t id, const char *name, struct err *e)
{
	if (!is_id(FRAMES_RESOLVE, id) || !is_resolve(name))
		return refuse(FRAMES_RESOLVE, e);
	size_t begun = frame_begin(b, FRAMES_RESOLVE, id);
	frame_put_text(b, name);
	return frame_end(b, begun, e);
}

int frames_get_resolve(const struct frame *f, const char **ret_name, struct err *e)
{
	struct fields in = fields_of(f);
	const char *name = fields_get_text(&in);

	if (checked(f, &in, has_head(f, FRAMES_RESOLVE) && is_resolve(name), e) < 0)
		return -1;
	*ret_name = name;
	return 0;
}

int frames_put_resolved(struct buffer *b, uint32_t id, enum frames_outcome outcome,
			struct err *e)
{
	if (!is_id(FRAMES_RESOLVED, id) || (uint32_t)outcome >= FRAMES_OUTCOME_COUNT)
		return refuse(FRAMES_RESOLVED, e);
	return put_number(b, FRAMES_RESOLVED, id, outcome, e);
}

int frames_get_resolved(const struct frame *f, uint32_t *ret_outcome, struct err *e)
{
	struct fields in = fields_of(f);
	uint32_t outcome = fields_get_u32(&in);
	bool in_range = outcome < FRAMES_OUTCOME_COUNT;

	if (checked(f, &in, has_head(f, FRAMES_RESOLVED) && in_range, e) < 0)
		return -1;
	*ret_outcome = outcome;
	return 0;
}

int frames_put_set(struct buffer *b, const struct frames_set *x, struct err *e)
{
	if (!is_id(FRAMES_SET, x->generation) || !is_set(x))
		return refuse(FRAMES_SET, e);
	size_t begun = frame_begin(b, FRAMES_SET, x->generation);
	frame_put_u32(b, x->index);
	frame_put_u32(b, x->count);
	frame_put_u32(b, x->verdict);
	frame_put_u32(b, x->has_any_tls);
	frame_put_text(b, x->target);
	frame_put_text(b, x->as);
	return frame_end(b, begun, e);
}

int frames_get_set(const struct frame *f, struct frames_set *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct frames_set x = { .generation = f->id };

	x.index = fields_get_u32(&in);
	x.count = fields_get_u32(&in);
	x.verdict = fields_get_u32(&in);
	x.has_any_tls = fields_get_u32(&in);
	x.target = fields_get_text(&in);
	x.as = fields_get_text(&in);
	if (checked(f, &in, has_head(f, FRAMES_SET) && is_set(&x), e) < 0)
		return -1;
	*ret = x;
	return 0;
}

int frames_put_event(struct buffer *b, const struct frames_event *x, struct err *e)
{
	if (!is_event(x))
		return refuse(FRAMES_EVENT, e);
	size_t begun = frame_begin(b, FRAMES_EVENT, 0);
	frame_put_u32(b, x->reason);
	frame_put_u32(b, x->rule);
	frame_put_text(b, x->name);
	put_address(b, &x->address);
	frame_put_u32(b, x->port);
	frame_put_text(b, x->sni);
	frame_put_u32(b, x->count);
	return frame_end(b, begun, e);
}

int frames_get_event(const struct frame *f, struct frames_event *ret, struct err *e)
{
	struct fields in = fields_of(f);
	struct frames_event x = { .reason = fields_get_u32(&in) };

	x.rule = fields_get_u32(&in);
	x.name = fields_get_text(&in);
	x.address = get_address(&in);
	x.port = fields_get_u32(&in);
	x.sni = fields_get_text(&in);
	x.count = fields_get_u32(&in);
	if (checked(f, &in, has_head(f, FRAMES_EVENT) && is_event(&x), e) < 0)
		return -1;
	*ret = x;
	return 0;
}
