/* Frames between gate and egress: arbitrary bytes are split into frames, and each is
 * decoded as every message.  A decoded message has its texts inside the frame, and is
 * encoded to the same bytes: each message has exactly one encoding. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/own.h"
#include "tests/egress_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

/* The text ends inside the body, and is printable. */
static void check_text(const struct frame *f, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	claim(at >= f->body && at < f->body + f->len);
	claim(memchr(at, 0, (size_t)(f->body + f->len - at)) != NULL);
	for (; *text; text++)
		claim(*text >= '!' && *text <= '~');
}

static void check_texts(const struct frame *f, const struct egress_message *m)
{
	if (m->type == FRAMES_OPEN) {
		check_text(f, m->open.name);
		check_text(f, m->open.sni);
		check_text(f, m->open.alpn);
	} else if (m->type == FRAMES_OK) {
		check_text(f, m->ok.cname);
	} else if (m->type == FRAMES_RESOLVE) {
		check_text(f, m->resolve);
	} else if (m->type == FRAMES_SET) {
		check_text(f, m->set.target);
		check_text(f, m->set.as);
	} else if (m->type == FRAMES_EVENT) {
		check_text(f, m->event.name);
		check_text(f, m->event.sni);
	}
}

static void check_again(const struct frame *f, const struct egress_message *m)
{
	struct buffer again;
	struct frame g;
	struct err e;

	/* FRAMES_MAX is enough for each message, since each came in as much. */
	buffer_init(&again, FRAMES_MAX);
	claim(egress_message_put(&again, m, &e) == 0);
	claim(frame_next(&again, FRAMES_MAX - FRAME_HEADER, &g, &e) == 1);
	claim(g.type == f->type && g.id == f->id && g.len == f->len);
	claim(!g.len || memcmp(g.body, f->body, g.len) == 0);
	buffer_done(&again);
}

/* The body is decoded as each type; a copy of exact size shows a read beyond it. */
static void try_all(const struct frame *f)
{
	AUTO_FREE uint8_t *body = malloc(f->len + !f->len);
	struct egress_message m;
	struct err e;

	claim(body != NULL);
	memcpy(body, f->body, f->len);
	for (uint32_t type = FRAMES_HELLO; type < FRAMES_COUNT; type++) {
		bool has_id = type != FRAMES_HELLO && type != FRAMES_EVENT;
		struct frame as = { (uint16_t)type, has_id ? f->id | 1 : 0, body,
				    f->len };
		/* The frame with its own type keeps its own id. */
		if (type == f->type)
			as.id = f->id;
		if (egress_message_get(&as, type, &m, &e) < 0) {
			claim(e.kind == ERR_PROTOCOL);
			continue;
		}
		check_texts(&as, &m);
		check_again(&as, &m);
	}
}

static void split(const uint8_t *data, size_t size, enum frames_side sender)
{
	struct buffer in;
	struct frame f;
	struct err e;
	int whole;

	buffer_init(&in, size);
	(void)buffer_append(&in, data, size); /* fits */
	while ((whole = frames_next(&in, sender, &f, &e)) > 0) {
		claim(FRAME_HEADER + f.len <= FRAMES_MAX);
		claim(FRAME_HEADER + f.len <= buffer_len(&in));
		claim(f.type != FRAMES_NONE && f.type < FRAMES_COUNT);
		try_all(&f);
		buffer_consume(&in, FRAME_HEADER + f.len);
	}
	claim(whole == 0 || e.kind == ERR_PROTOCOL);
	buffer_done(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	split(data, size, FRAMES_GATE);
	split(data, size, FRAMES_EGRESS);
	return 0;
}
