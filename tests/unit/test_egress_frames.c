/* frames: messages between gate and egress, each range of each field, on both ends. */
#include "egress/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "policy/egress/egress_rule.h"
#include "tests/egress_message.h"
#include "tests/unit/exact.h"

#define V4   { { 192, 0, 2, 1 }, 4 }
#define V6   { { 0x20, 1, 0xd, 0xb8, [15] = 7 }, 16 }
#define NONE { { 0 }, 0 }

#define X25  "xxxxxxxxxxxxxxxxxxxxxxxxx"
#define X100 X25 X25 X25 X25
#define X127 X100 X25 "xx"
#define X253 X127 X100 X25 "x"
#define X20  "xxxxxxxxxxxxxxxxxxxx"
#define X300 X100 X100 X100

/* A message, and whether the two ends take it. */
struct row {
	const char *about;
	bool is_valid;
	struct egress_message m;
};

static const struct row rows[] = {
#define OPEN(about, is_valid, id, ...) \
	{ about, is_valid, { FRAMES_OPEN, id, .open = { __VA_ARGS__ } } }
#define OPEN_NAME(about, is_valid, name) \
	OPEN(about, is_valid, 1, name, NONE, 443, FRAMES_TLS, 0, "", "")
#define OPEN_SNI(about, is_valid, sni, alpn) \
	OPEN(about, is_valid, 1, "a.example", NONE, 443, FRAMES_TLS, 0, sni, alpn)
	OPEN("a name", true, 1, "a.example", NONE, 443, FRAMES_TLS, 3, "b.example",
	     "h2,http/1.1"),
	OPEN("an address", true, 7, "", V4, 22, FRAMES_OPAQUE, FRAMES_NO_RULE, "", ""),
	OPEN("an address of IPv6", true, UINT32_MAX, "", V6, 80, FRAMES_HTTP, 0, "", ""),
	OPEN("id 0", false, 0, "a.example", NONE, 443, FRAMES_TLS, 0, "", ""),
	OPEN("neither name nor address", false, 1, "", NONE, 443, FRAMES_TLS, 0, "", ""),
	OPEN("both", false, 1, "a.example", V4, 443, FRAMES_TLS, 0, "", ""),
	OPEN("both, of IPv6", false, 1, "a.example", V6, 443, FRAMES_TLS, 0, "", ""),
	OPEN("1 byte of address", false, 1, "", { { 1 }, 1 }, 443, FRAMES_TLS, 0, "", ""),
	OPEN("3 bytes", false, 1, "", { { 1 }, 3 }, 443, FRAMES_TLS, 0, "", ""),
	OPEN("5 bytes", false, 1, "", { { 1 }, 5 }, 443, FRAMES_TLS, 0, "", ""),
	OPEN("15 bytes", false, 1, "", { { 1 }, 15 }, 443, FRAMES_TLS, 0, "", ""),
	OPEN("17 bytes", false, 1, "", { { 1 }, 17 }, 443, FRAMES_TLS, 0, "", ""),
	OPEN("port 0", false, 1, "a", NONE, 0, FRAMES_TLS, 0, "", ""),
	OPEN("port 1", true, 1, "a", NONE, 1, FRAMES_TLS, 0, "", ""),
	OPEN("port 65535", true, 1, "a", NONE, 65535, FRAMES_TLS, 0, "", ""),
	OPEN("port 65536", false, 1, "a", NONE, 65536, FRAMES_TLS, 0, "", ""),
	OPEN("port 65979, 443 in 16 bits", false, 1, "a", NONE, 65979, 1, 0, "", ""),
	OPEN("proto 3", false, 1, "a", NONE, 443, FRAMES_PROTO_COUNT, 0, "", ""),
	OPEN("proto -1", false, 1, "a", NONE, 443, UINT32_MAX, 0, "", ""),
	OPEN("rule 4095", true, 1, "a", NONE, 443, FRAMES_TLS, 4095, "", ""),
	OPEN("rule 4096", false, 1, "a", NONE, 443, FRAMES_TLS, 4096, "", ""),
	OPEN("rule -2", false, 1, "a", NONE, 443, FRAMES_TLS, UINT32_MAX - 1, "", ""),
	OPEN("sni without TLS", false, 1, "a", NONE, 80, FRAMES_HTTP, 0, "a", ""),
	OPEN("alpn without TLS", false, 1, "a", NONE, 22, FRAMES_OPAQUE, 0, "", "h2"),
	OPEN_NAME("253 bytes of name", true, X253),
	OPEN_NAME("254 bytes of name", false, X253 "x"),
	OPEN_NAME("a blank in a name", false, "a b"),
	OPEN_NAME("a line end in a name", false, "a.example\n"),
	OPEN_NAME("an escape in a name", false, "\x1b[31m"),
	OPEN_NAME("DEL in a name", false, "a\x7f"),
	OPEN_NAME("UTF-8 in a name", false, "\xc3\xa4"),
	OPEN_NAME("byte 255 in a name", false, "\xff"),
	OPEN_NAME("the first and the last printable byte", true, "!~"),
	OPEN_SNI("253 bytes of sni", true, X253, ""),
	OPEN_SNI("254 bytes of sni", false, X253 "x", ""),
	OPEN_SNI("a blank in an sni", false, "a ", ""),
	OPEN_SNI("127 bytes of alpn", true, "", X127),
	OPEN_SNI("128 bytes of alpn", false, "", X127 "x"),
	OPEN_SNI("a blank in an alpn", false, "", "h2, http/1.1"),
	OPEN("the longest one", true, 1, X253, NONE, 65535, FRAMES_TLS, 4095, X253, X127),

#define OK(about, is_valid, id, ...) \
	{ about, is_valid, { FRAMES_OK, id, .ok = { __VA_ARGS__ } } }
	OK("IPv4", true, 1, V4, "", 0),
	OK("IPv6 and an alias", true, 2, V6, "b.example", 4095),
	OK("id 0", false, 0, V4, "", 0),
	OK("no address", false, 1, NONE, "", 0),
	OK("8 bytes of address", false, 1, { { 1 }, 8 }, "", 0),
	OK("17 bytes", false, 1, { { 1 }, 17 }, "", 0),
	OK("no rule", false, 1, V4, "", FRAMES_NO_RULE),
	OK("rule 4096", false, 1, V4, "", 4096),
	OK("253 bytes of alias", true, 1, V4, X253, 0),
	OK("254 bytes of alias", false, 1, V4, X253 "x", 0),
	OK("a blank in an alias", false, 1, V4, "a b", 0),
	OK("an escape in an alias", false, 1, V4, "\x1b", 0),

#define NO(about, is_valid, id, reason, rule) \
	{ about, is_valid, { FRAMES_NO, id, .no = { reason, rule } } }
	NO("by a rule", true, 1, REASON_RULE, 4095),
	NO("by default", true, 1, REASON_NO_RULE, FRAMES_NO_RULE),
	NO("the last reason", true, 1, REASON_COUNT - 1, 0),
	NO("id 0", false, 0, REASON_RULE, 1),
	NO("no reason", false, 1, REASON_NONE, 1),
	NO("too great a reason", false, 1, REASON_COUNT, 1),
	NO("reason -1", false, 1, UINT32_MAX, 1),
	NO("rule 4096", false, 1, REASON_RULE, 4096),

#define CLOSE(about, is_valid, id, reason, up, down) \
	{ about, is_valid, { FRAMES_CLOSE, id, .close = { reason, up, down } } }
	CLOSE("by itself", true, 1, REASON_NONE, 0, 0),
	CLOSE("with bytes", true, 1, REASON_COUNT - 1, UINT64_MAX, 1),
	CLOSE("id 0", false, 0, REASON_NONE, 0, 0),
	CLOSE("too great a reason", false, 1, REASON_COUNT, 0, 0),
	CLOSE("reason -1", false, 1, UINT32_MAX, 0, 0),

#define CUT(about, is_valid, id, reason) \
	{ about, is_valid, { FRAMES_CUT, id, .cut = reason } }
	CUT("a rule is gone", true, 1, REASON_RULE_REMOVED),
	CUT("the last reason", true, 1, REASON_COUNT - 1),
	CUT("id 0", false, 0, REASON_RULE_REMOVED),
	CUT("no reason", false, 1, REASON_NONE),
	CUT("too great a reason", false, 1, REASON_COUNT),
	CUT("reason -1", false, 1, UINT32_MAX),

#define RESOLVE(about, is_valid, id, name) \
	{ about, is_valid, { FRAMES_RESOLVE, id, .resolve = name } }
	RESOLVE("a name", true, 1, "a.example"),
	RESOLVE("id 0", false, 0, "a.example"),
	RESOLVE("no name", false, 1, ""),
	RESOLVE("253 bytes", true, 1, X253),
	RESOLVE("254 bytes", false, 1, X253 "x"),
	RESOLVE("a blank", false, 1, " "),
	RESOLVE("a tab", false, 1, "a\tb"),

#define RESOLVED(about, is_valid, id, outcome) \
	{ about, is_valid, { FRAMES_RESOLVED, id, .resolved = outcome } }
	RESOLVED("found", true, 1, FRAMES_FOUND),
	RESOLVED("empty", true, 1, FRAMES_EMPTY),
	RESOLVED("no such name", true, 1, FRAMES_NXDOMAIN),
	RESOLVED("id 0", false, 0, FRAMES_FOUND),
	RESOLVED("outcome 3", false, 1, FRAMES_OUTCOME_COUNT),
	RESOLVED("outcome -1", false, 1, UINT32_MAX),

#define SET(about, is_valid, generation, index, count, ...) \
	{ about, is_valid, \
	  { FRAMES_SET, generation, .set = { generation, index, count, __VA_ARGS__ } } }
	SET("one rule", true, 1, 0, 1, EGRESS_ALLOW, 0, "a.example", ""),
	SET("each member", true, 1, 0, 1, EGRESS_ASK, 1, "@host:80", "b.example"),
	SET("the last of the longest set", true, UINT32_MAX, 4095, 4096, 0, 0, "a", ""),
	SET("an empty set", true, 2, 0, 0, 0, 0, "", ""),
	SET("generation 0", false, 0, 0, 1, 0, 0, "a", ""),
	SET("the index is the count", false, 1, 1, 1, 0, 0, "a", ""),
	SET("index -1", false, 1, UINT32_MAX, 1, 0, 0, "a", ""),
	SET("4097 rules", false, 1, 0, 4097, 0, 0, "a", ""),
	SET("an empty set with an index", false, 1, 1, 0, 0, 0, "", ""),
	SET("an empty set with a verdict", false, 1, 0, 0, 1, 0, "", ""),
	SET("an empty set with tls", false, 1, 0, 0, 0, 1, "", ""),
	SET("an empty set with a target", false, 1, 0, 0, 0, 0, "a", ""),
	SET("an empty set with a name", false, 1, 0, 0, 0, 0, "", "a"),
	SET("a rule without a target", false, 1, 0, 1, 0, 0, "", ""),
	SET("verdict 3", false, 1, 0, 1, EGRESS_ASK + 1, 0, "a", ""),
	SET("verdict -1", false, 1, 0, 1, UINT32_MAX, 0, "a", ""),
	SET("tls 2", false, 1, 0, 1, 1, 2, "a", ""),
	SET("320 bytes, and 253", true, 1, 0, 1, 1, 0, X300 X20, X253),
	SET("321 bytes", false, 1, 0, 1, 1, 0, X300 X20 "x", ""),
	SET("a name of 254 bytes", false, 1, 0, 1, 1, 0, "a", X253 "x"),
	SET("a blank", false, 1, 0, 1, 1, 0, "a b", ""),
	SET("a line end", false, 1, 0, 1, 1, 0, "a\n", ""),
	SET("an escape", false, 1, 0, 1, 1, 0, "\x1b", ""),
	SET("an escape in a name", false, 1, 0, 1, 1, 0, "a", "\x1b"),
	SET("DEL", false, 1, 0, 1, 1, 0, "\x7f", ""),
	SET("UTF-8", false, 1, 0, 1, 1, 0, "\xc3\xa4", ""),

#define EVENT(about, is_valid, ...) \
	{ about, is_valid, { FRAMES_EVENT, 0, .event = { __VA_ARGS__ } } }
	EVENT("a refusal", true, REASON_SNI_MISMATCH, 3, "a.example", V4, 443,
	      "b.example", 1),
	EVENT("allowed", true, REASON_NONE, 0, "a.example", NONE, 443, "", 1),
	EVENT("nothing is known", true, REASON_NO_NAME, FRAMES_NO_RULE, "", V6, 65535, "",
	      UINT32_MAX),
	EVENT("a question", true, REASON_NAME_INVALID, FRAMES_NO_RULE, "a?b", NONE, 0, "",
	      5),
	EVENT("too great a reason", false, REASON_COUNT, 0, "a", NONE, 443, "", 1),
	EVENT("reason -1", false, UINT32_MAX, 0, "a", NONE, 443, "", 1),
	EVENT("rule 4096", false, REASON_RULE, 4096, "a", NONE, 443, "", 1),
	EVENT("8 bytes", false, REASON_RULE, 0, "", { { 1 }, 8 }, 443, "", 1),
	EVENT("17 bytes", false, REASON_RULE, 0, "", { { 1 }, 17 }, 443, "", 1),
	EVENT("port 65536", false, REASON_RULE, 0, "a", NONE, 65536, "", 1),
	EVENT("count 0", false, REASON_RULE, 0, "a", NONE, 443, "", 0),
	EVENT("253 bytes", true, REASON_RULE, 0, X253, NONE, 443, X253, 1),
	EVENT("254 bytes of name", false, REASON_RULE, 0, X253 "x", NONE, 443, "", 1),
	EVENT("254 bytes of sni", false, REASON_RULE, 0, "a", NONE, 443, X253 "x", 1),
	EVENT("a blank in a name", false, REASON_RULE, 0, "a b", NONE, 443, "", 1),
	EVENT("a line end in an sni", false, REASON_RULE, 0, "a", NONE, 443, "\n", 1),

	{ "hello", true, { .type = FRAMES_HELLO } },
};

/* --- frames without checks ------------------------------------------------------- */

static void raw_address(struct buffer *b, const struct frames_address *a)
{
	uint8_t bytes[32] = { 0 };

	memcpy(bytes, a->bytes, sizeof(a->bytes));
	assert_true(a->len <= sizeof(bytes));
	frame_put_bytes(b, bytes, a->len);
}

static void raw_open(struct buffer *b, const struct frames_open *x)
{
	frame_put_text(b, x->name);
	raw_address(b, &x->address);
	frame_put_u32(b, x->port);
	frame_put_u32(b, x->proto);
	frame_put_u32(b, x->rule);
	frame_put_text(b, x->sni);
	frame_put_text(b, x->alpn);
}

static void raw_event(struct buffer *b, const struct frames_event *x)
{
	frame_put_u32(b, x->reason);
	frame_put_u32(b, x->rule);
	frame_put_text(b, x->name);
	raw_address(b, &x->address);
	frame_put_u32(b, x->port);
	frame_put_text(b, x->sni);
	frame_put_u32(b, x->count);
}

static void raw_body(struct buffer *b, const struct egress_message *m)
{
	if (m->type == FRAMES_HELLO) {
		frame_put_u32(b, FRAMES_VERSION);
	} else if (m->type == FRAMES_OPEN) {
		raw_open(b, &m->open);
	} else if (m->type == FRAMES_OK) {
		raw_address(b, &m->ok.address);
		frame_put_text(b, m->ok.cname);
		frame_put_u32(b, m->ok.rule);
	} else if (m->type == FRAMES_NO) {
		frame_put_u32(b, m->no.reason);
		frame_put_u32(b, m->no.rule);
	} else if (m->type == FRAMES_CLOSE) {
		frame_put_u32(b, m->close.reason);
		frame_put_u64(b, m->close.up);
		frame_put_u64(b, m->close.down);
	} else if (m->type == FRAMES_CUT) {
		frame_put_u32(b, m->cut);
	} else if (m->type == FRAMES_RESOLVE) {
		frame_put_text(b, m->resolve);
	} else if (m->type == FRAMES_RESOLVED) {
		frame_put_u32(b, m->resolved);
	} else if (m->type == FRAMES_SET) {
		frame_put_u32(b, m->set.index);
		frame_put_u32(b, m->set.count);
		frame_put_u32(b, m->set.verdict);
		frame_put_u32(b, m->set.has_any_tls);
		frame_put_text(b, m->set.target);
		frame_put_text(b, m->set.as);
	} else {
		raw_event(b, &m->event);
	}
}

/* Makes the frame of a message, valid or not. */
static struct frame raw(struct buffer *b, const struct egress_message *m)
{
	struct frame f;
	struct err e;

	buffer_init(b, 2 * FRAMES_MAX);
	size_t begun = frame_begin(b, (uint16_t)m->type, m->id);
	raw_body(b, m);
	assert_int_equal(frame_end(b, begun, &e), 0);
	assert_int_equal(frame_next(b, 2 * FRAMES_MAX, &f, &e), 1);
	return f;
}

/* Decodes a copy of exact size, so that a sanitizer sees a read beyond it. */
static int get_copy(const struct frame *f, uint32_t type)
{
	AUTO_FREE uint8_t *body = exact_copy(f->body, f->len);
	struct frame own = { f->type, f->id, body, f->len };
	struct egress_message m;
	struct err e = { .kind = ERR_NONE };
	int got = egress_message_get(&own, type, &m, &e);

	assert_true(got == 0 || e.kind == ERR_PROTOCOL);
	return got;
}

/* --- ranges -------------------------------------------------------------------- */

static void test_decoders_take_what_is_in_range(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buffer b;
		struct frame f = raw(&b, &rows[i].m);
		if ((get_copy(&f, f.type) == 0) != rows[i].is_valid)
			fail_msg("%s: %s", frames_name(f.type), rows[i].about);
		buffer_done(&b);
	}
}

static void test_encoders_take_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e = { .kind = ERR_NONE };
		struct buffer b;
		buffer_init(&b, 2 * FRAMES_MAX);
		assert_true(buffer_append(&b, "before", 6));
		int put = egress_message_put(&b, &rows[i].m, &e);
		if ((put == 0) != rows[i].is_valid || (put < 0 && e.kind != ERR_INTERNAL))
			fail_msg("%s: %s", frames_name(rows[i].m.type), rows[i].about);
		if (put < 0)
			assert_int_equal(buffer_len(&b), 6);
		assert_memory_equal(buffer_data(&b), "before", 6);
		buffer_done(&b);
	}
}

static void must_be_equal(const struct buffer *a, const struct buffer *b)
{
	assert_int_equal(buffer_len(a), buffer_len(b));
	assert_memory_equal(buffer_data(a), buffer_data(b), buffer_len(a));
}

static void test_messages_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buffer whole, put, again;
		struct egress_message got;
		struct err e;
		if (!rows[i].is_valid)
			continue;
		struct frame f = raw(&whole, &rows[i].m);
		buffer_init(&put, FRAMES_MAX);
		assert_int_equal(egress_message_put(&put, &rows[i].m, &e), 0);
		must_be_equal(&whole, &put);
		assert_int_equal(egress_message_get(&f, f.type, &got, &e), 0);
		/* Each field has come back, or these bytes would be others. */
		(void)raw(&again, &got);
		must_be_equal(&whole, &again);
		buffer_done(&whole);
		buffer_done(&put);
		buffer_done(&again);
	}
}

static void test_fields_of_an_open(void **state)
{
	static const struct egress_message m = {
		FRAMES_OPEN, 9, .open = { "", V4, 8443, FRAMES_TLS, 17, "s", "h2" }
	};
	static const uint8_t address[16] = { 192, 0, 2, 1 };
	struct frames_open x;
	struct buffer b;
	struct err e;

	(void)state;
	memset(&x, 0xff, sizeof(x));
	struct frame f = raw(&b, &m);
	assert_int_equal(frames_get_open(&f, &x, &e), 0);
	assert_string_equal(x.name, "");
	assert_int_equal(x.address.len, 4);
	/* The bytes behind an IPv4 address are 0. */
	assert_memory_equal(x.address.bytes, address, 16);
	assert_int_equal(x.port, 8443);
	assert_int_equal(x.proto, FRAMES_TLS);
	assert_int_equal(x.rule, 17);
	assert_string_equal(x.sni, "s");
	assert_string_equal(x.alpn, "h2");
	buffer_done(&b);
}

static void test_a_set_has_its_generation_as_id(void **state)
{
	struct frames_set x = { 77, 1, 2, EGRESS_DENY, 0, "*", "" };
	struct buffer b;
	struct frame f;
	struct err e;

	(void)state;
	buffer_init(&b, FRAMES_MAX);
	assert_int_equal(frames_put_set(&b, &x, &e), 0);
	assert_int_equal(frames_next(&b, FRAMES_EGRESS, &f, &e), 1);
	assert_int_equal(f.id, 77);
	x.generation = 0;
	assert_int_equal(frames_get_set(&f, &x, &e), 0);
	assert_int_equal(x.generation, 77);
	buffer_done(&b);
}

/* The encoders of these two take no id. */
static void test_hello_and_event_have_no_id(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct egress_message m = rows[i].m;
		struct buffer b;
		if (!rows[i].is_valid ||
		    (m.type != FRAMES_HELLO && m.type != FRAMES_EVENT))
			continue;
		m.id = 1;
		struct frame f = raw(&b, &m);
		assert_int_equal(get_copy(&f, f.type), -1);
		f.id = 0;
		assert_int_equal(get_copy(&f, f.type), 0);
		buffer_done(&b);
	}
}

static void test_another_version_is_refused(void **state)
{
	static const uint32_t versions[] = { 0, FRAMES_VERSION + 1, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		struct buffer b;
		struct frame f;
		struct err e;
		buffer_init(&b, FRAMES_MAX);
		size_t begun = frame_begin(&b, FRAMES_HELLO, 0);
		frame_put_u32(&b, versions[i]);
		assert_int_equal(frame_end(&b, begun, &e), 0);
		assert_int_equal(frames_next(&b, FRAMES_GATE, &f, &e), 1);
		assert_int_equal(frames_get_hello(&f, &e), -1);
		assert_int_equal(e.kind, ERR_PROTOCOL);
		assert_non_null(strstr(e.text, "version"));
		buffer_done(&b);
	}
}

/* --- forms --------------------------------------------------------------------- */

static void test_a_body_that_is_cut_or_too_long_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t longer[FRAMES_MAX + 5] = { 0 };
		struct buffer b;
		if (!rows[i].is_valid)
			continue;
		struct frame f = raw(&b, &rows[i].m);
		for (size_t len = 0; len < f.len; len++) {
			struct frame cut = { f.type, f.id, f.body, len };
			assert_int_equal(get_copy(&cut, f.type), -1);
		}
		memcpy(longer, f.body, f.len);
		/* One byte more, and a whole field more. */
		longer[f.len] = 'u';
		assert_int_equal(
			get_copy(&(struct frame){ f.type, f.id, longer, f.len + 1 },
				 f.type),
			-1);
		assert_int_equal(
			get_copy(&(struct frame){ f.type, f.id, longer, f.len + 5 },
				 f.type),
			-1);
		buffer_done(&b);
	}
}

/* `whole` holds the frame, and nothing else. */
static void must_be_its_encoding(const struct frame *f, const struct buffer *whole)
{
	struct egress_message got;
	struct buffer again;
	struct err e;

	buffer_init(&again, FRAMES_MAX);
	assert_int_equal(egress_message_get(f, f->type, &got, &e), 0);
	assert_int_equal(egress_message_put(&again, &got, &e), 0);
	must_be_equal(whole, &again);
	buffer_done(&again);
}

/* One bit of the body is changed: the frame is refused, or is the only encoding of the
 * message that it now is. */
static void test_a_changed_body_has_one_meaning_or_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buffer b;
		if (!rows[i].is_valid)
			continue;
		struct frame f = raw(&b, &rows[i].m);
		uint8_t *body = b.bytes + b.start + FRAME_HEADER;
		for (size_t bit = 0; bit < 8 * f.len; bit++) {
			body[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (get_copy(&f, f.type) == 0)
				must_be_its_encoding(&f, &b);
			body[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		buffer_done(&b);
	}
}

static void test_no_decoder_takes_another_types_frame(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buffer b;
		struct frame f = raw(&b, &rows[i].m);
		for (uint32_t type = FRAMES_HELLO; type < FRAMES_COUNT; type++)
			if (type != f.type)
				assert_int_equal(get_copy(&f, type), -1);
		buffer_done(&b);
	}
}

static void test_a_full_buffer_stays_as_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buffer whole, b;
		struct err e;
		if (!rows[i].is_valid)
			continue;
		(void)raw(&whole, &rows[i].m);
		buffer_init(&b, buffer_len(&whole) + 5);
		assert_true(buffer_append(&b, "before", 6));
		assert_int_equal(egress_message_put(&b, &rows[i].m, &e), -1);
		assert_int_equal(e.kind, ERR_LIMIT);
		assert_int_equal(buffer_len(&b), 6);
		buffer_done(&whole);
		buffer_done(&b);
	}
}

/* --- frames_next --------------------------------------------------------------- */

/* Returns what frames_next() says of `len` bytes; *f must be untouched if it has found no
 * frame. */
static int next(const void *bytes, size_t len, enum frames_side sender, struct frame *f)
{
	struct err e = { .kind = ERR_NONE };
	struct buffer b;

	*f = (struct frame){ .type = 0xbeef };
	buffer_init(&b, len + 1);
	assert_true(buffer_append(&b, bytes, len));
	int whole = frames_next(&b, sender, f, &e);
	assert_int_equal(e.kind, whole < 0 ? ERR_PROTOCOL : ERR_NONE);
	assert_true(whole > 0 || f->type == 0xbeef);
	f->body = NULL;
	buffer_done(&b);
	return whole;
}

static void test_each_side_sends_its_own_types(void **state)
{
	static const char sides[FRAMES_COUNT + 2][3] = {
		[FRAMES_NONE] = "", [FRAMES_HELLO] = "ge",  [FRAMES_OPEN] = "g",
		[FRAMES_OK] = "e",  [FRAMES_NO] = "e",	    [FRAMES_CLOSE] = "g",
		[FRAMES_CUT] = "e", [FRAMES_RESOLVE] = "g", [FRAMES_RESOLVED] = "e",
		[FRAMES_SET] = "e", [FRAMES_EVENT] = "g",
	};
	struct frame f;

	(void)state;
	for (unsigned type = 0; type < ARRAY_LEN(sides); type++) {
		const uint8_t bytes[FRAME_HEADER] = { [4] = (uint8_t)type, [8] = 5 };
		int gate = next(bytes, sizeof(bytes), FRAMES_GATE, &f);
		assert_int_equal(gate, strchr(sides[type], 'g') ? 1 : -1);
		int egress = next(bytes, sizeof(bytes), FRAMES_EGRESS, &f);
		assert_int_equal(egress, strchr(sides[type], 'e') ? 1 : -1);
		if (egress == 1)
			assert_true(f.type == type && f.id == 5 && f.len == 0);
	}
	/* OPEN, in the lower byte of the type alone. */
	const uint8_t high[FRAME_HEADER] = { [4] = FRAMES_OPEN, [5] = 1 };
	assert_int_equal(next(high, sizeof(high), FRAMES_GATE, &f), -1);
}

static void test_a_frame_is_found_when_it_is_whole(void **state)
{
	struct frame f;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buffer b;
		if (!rows[i].is_valid)
			continue;
		(void)raw(&b, &rows[i].m);
		enum frames_side side =
			next(buffer_data(&b), buffer_len(&b), FRAMES_GATE, &f) == 1
				? FRAMES_GATE
				: FRAMES_EGRESS;
		for (size_t len = 0; len < buffer_len(&b); len++)
			assert_int_equal(next(buffer_data(&b), len, side, &f), 0);
		assert_int_equal(next(buffer_data(&b), buffer_len(&b), side, &f), 1);
		assert_int_equal(f.type, rows[i].m.type);
		assert_int_equal(FRAME_HEADER + f.len, buffer_len(&b));
		buffer_done(&b);
	}
}

static void test_a_frame_has_1024_bytes_at_most(void **state)
{
	uint8_t bytes[FRAMES_MAX + 1] = { [4] = FRAMES_EVENT };
	struct frame f;

	(void)state;
	bytes[0] = 1012 & 0xff, bytes[1] = 1012 >> 8;
	assert_int_equal(next(bytes, 1023, FRAMES_GATE, &f), 0);
	assert_int_equal(next(bytes, 1024, FRAMES_GATE, &f), 1);
	/* A header is enough to refuse a frame that is too long. */
	bytes[0]++;
	assert_int_equal(next(bytes, FRAME_HEADER, FRAMES_GATE, &f), -1);
	assert_int_equal(next(bytes, sizeof(bytes), FRAMES_GATE, &f), -1);
	bytes[0] = 0, bytes[1] = 0, bytes[6] = 1;
	assert_int_equal(next(bytes, FRAME_HEADER, FRAMES_GATE, &f), -1);
}

static void test_two_frames_in_a_row(void **state)
{
	struct buffer b;
	struct frame f;
	struct err e;

	(void)state;
	buffer_init(&b, 2 * FRAMES_MAX);
	assert_int_equal(frames_put_hello(&b, &e), 0);
	assert_int_equal(frames_put_resolve(&b, 3, "a.example", &e), 0);
	assert_int_equal(frames_next(&b, FRAMES_GATE, &f, &e), 1);
	assert_int_equal(frames_get_hello(&f, &e), 0);
	buffer_consume(&b, FRAME_HEADER + f.len);
	assert_int_equal(frames_next(&b, FRAMES_GATE, &f, &e), 1);
	assert_int_equal(f.type, FRAMES_RESOLVE);
	assert_int_equal(f.id, 3);
	buffer_consume(&b, FRAME_HEADER + f.len);
	assert_int_equal(frames_next(&b, FRAMES_GATE, &f, &e), 0);
	buffer_done(&b);
}

static void test_types_have_names_and_descriptors(void **state)
{
	static const char *const names[] = { "none",	 "hello", "open",  "ok",
					     "no",	 "close", "cut",   "resolve",
					     "resolved", "set",	  "event", "unknown" };

	(void)state;
	for (uint32_t type = 0; type < ARRAY_LEN(names); type++) {
		assert_string_equal(frames_name(type), names[type]);
		assert_int_equal(frames_descriptors(type), type == FRAMES_OK);
	}
	assert_string_equal(frames_name(UINT32_MAX), "unknown");
	assert_int_equal(frames_descriptors(UINT32_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decoders_take_what_is_in_range),
		cmocka_unit_test(test_encoders_take_the_same),
		cmocka_unit_test(test_messages_come_back),
		cmocka_unit_test(test_fields_of_an_open),
		cmocka_unit_test(test_a_set_has_its_generation_as_id),
		cmocka_unit_test(test_hello_and_event_have_no_id),
		cmocka_unit_test(test_another_version_is_refused),
		cmocka_unit_test(test_a_body_that_is_cut_or_too_long_is_refused),
		cmocka_unit_test(test_a_changed_body_has_one_meaning_or_none),
		cmocka_unit_test(test_no_decoder_takes_another_types_frame),
		cmocka_unit_test(test_a_full_buffer_stays_as_it_is),
		cmocka_unit_test(test_each_side_sends_its_own_types),
		cmocka_unit_test(test_a_frame_is_found_when_it_is_whole),
		cmocka_unit_test(test_a_frame_has_1024_bytes_at_most),
		cmocka_unit_test(test_two_frames_in_a_row),
		cmocka_unit_test(test_types_have_names_and_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
