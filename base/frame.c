#include "base/frame.h"

#include <string.h>

#include "base/buffer.h"
#include "base/err.h"

/* The tag byte in front of each field; printable, so that a hex dump can be read. */
enum tag {
	TAG_U32 = 'u',
	TAG_U64 = 'q',
	TAG_BYTES = 'b',
	TAG_TEXT = 's',
	TAG_LIST = 'l'
};

static void store16(uint8_t *to, uint16_t v)
{
	to[0] = (uint8_t)v;
	to[1] = (uint8_t)(v >> 8);
}

static void store32(uint8_t *to, uint32_t v)
{
	store16(to, (uint16_t)v);
	store16(to + 2, (uint16_t)(v >> 16));
}

static uint32_t load32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* Appends bytes to the frame.  If they do not fit, the frame is marked as cut: later
 * bytes are not added, and frame_end() removes the part that was written, since half
 * a frame must never be sent. */
static void put(struct buffer *b, const void *data, size_t len)
{
	if (b->is_cut || !buffer_append(b, data, len))
		b->is_cut = true;
}

size_t frame_begin(struct buffer *b, uint16_t type, uint32_t id)
{
	uint8_t header[FRAME_HEADER] = { 0 };
	size_t begun = buffer_len(b);

	b->is_cut = false;
	store16(header + 4, type);
	store32(header + 8, id);
	put(b, header, sizeof(header));
	return begun;
}

void frame_put_u32(struct buffer *b, uint32_t value)
{
	uint8_t field[5] = { TAG_U32 };

	store32(field + 1, value);
	put(b, field, sizeof(field));
}

void frame_put_u64(struct buffer *b, uint64_t value)
{
	uint8_t field[9] = { TAG_U64 };

	store32(field + 1, (uint32_t)value);
	store32(field + 5, (uint32_t)(value >> 32));
	put(b, field, sizeof(field));
}

static void put_tagged(struct buffer *b, enum tag tag, const void *data, size_t len)
{
	uint8_t head[5] = { (uint8_t)tag };

	if (len > UINT32_MAX) {
		b->is_cut = true;
		return;
	}
	store32(head + 1, (uint32_t)len);
	put(b, head, sizeof(head));
	put(b, data, len);
}

void frame_put_bytes(struct buffer *b, const void *data, size_t len)
{
	put_tagged(b, TAG_BYTES, data, len);
}

void frame_put_text(struct buffer *b, const char *text)
{
	put_tagged(b, TAG_TEXT, text, strlen(text) + 1);
}

void frame_put_list(struct buffer *b, char *const *texts)
{
	uint8_t head[5] = { TAG_LIST };
	uint32_t count = 0;

	while (texts && texts[count])
		count++;
	store32(head + 1, count);
	put(b, head, sizeof(head));
	for (uint32_t i = 0; i < count; i++)
		frame_put_text(b, texts[i]);
}

int frame_end(struct buffer *b, size_t begun, struct err *e)
{
	if (b->is_cut) {
		b->end = b->start + begun;
		b->is_cut = false;
		return err_set(e, ERR_LIMIT, "a message is too large to send");
	}
	store32(b->bytes + b->start + begun,
		(uint32_t)(buffer_len(b) - begun - FRAME_HEADER));
	return 0;
}

int frame_next(const struct buffer *b, size_t max, struct frame *ret, struct err *e)
{
	const uint8_t *at = buffer_data(b);
	size_t have = buffer_len(b);

	if (have < FRAME_HEADER)
		return 0;
	uint32_t len = load32(at);
	if (at[6] || at[7])
		return err_set(e, ERR_PROTOCOL, "a frame's reserved bytes are not zero");
	if (len > max)
		return err_set(e, ERR_PROTOCOL,
			       "a frame of %u bytes is over the maximum of %zu",
			       len, max);
	if (have - FRAME_HEADER < len)
		return 0;
	ret->type = (uint16_t)(at[4] | at[5] << 8);
	ret->id = load32(at + 8);
	ret->body = at + FRAME_HEADER;
	ret->len = len;
	return 1;
}

struct fields fields_of(const struct frame *f)
{
	return (struct fields){ .at = f->body, .end = f->body + f->len };
}

/* Returns the place of the next `len` bytes, and advances past them; NULL if there
 * are fewer. */
static const uint8_t *take(struct fields *in, size_t len)
{
	if (in->is_bad || (size_t)(in->end - in->at) < len) {
		in->is_bad = true;
		return NULL;
	}
	const uint8_t *at = in->at;
	in->at += len;
	return at;
}

static bool take_tag(struct fields *in, enum tag tag)
{
	const uint8_t *at = take(in, 1);

	if (at && *at == (uint8_t)tag)
		return true;
	in->is_bad = true;
	return false;
}

static uint32_t take_u32(struct fields *in)
{
	const uint8_t *at = take(in, 4);

	return at ? load32(at) : 0;
}

uint32_t fields_get_u32(struct fields *in)
{
	return take_tag(in, TAG_U32) ? take_u32(in) : 0;
}

uint64_t fields_get_u64(struct fields *in)
{
	if (!take_tag(in, TAG_U64))
		return 0;
	uint64_t low = take_u32(in);
	return low | (uint64_t)take_u32(in) << 32;
}

static struct bytes take_tagged(struct fields *in, enum tag tag)
{
	struct bytes got = { .data = (const uint8_t *)"" };

	if (!take_tag(in, tag))
		return got;
	uint32_t len = take_u32(in);
	const uint8_t *data = take(in, len);
	if (data)
		got = (struct bytes){ .data = data, .len = len };
	return got;
}

struct bytes fields_get_bytes(struct fields *in)
{
	return take_tagged(in, TAG_BYTES);
}

const char *fields_get_text(struct fields *in)
{
	struct bytes got = take_tagged(in, TAG_TEXT);

	/* The first 0 byte must be the last byte, so that a C string has all bytes of
	 * the field. */
	if (got.len == 0 || memchr(got.data, 0, got.len) != got.data + got.len - 1) {
		in->is_bad = true;
		return "";
	}
	return (const char *)got.data;
}

uint32_t fields_get_list(struct fields *in)
{
	if (!take_tag(in, TAG_LIST))
		return 0;
	uint32_t count = take_u32(in);

	/* A count is false if the bytes that are left cannot hold so many texts: the
	 * shortest text takes 6 bytes (tag, length, and its NUL). */
	if (in->is_bad || count > (size_t)(in->end - in->at) / 6) {
		in->is_bad = true;
		return 0;
	}
	return count;
}

bool fields_end(const struct fields *in)
{
	return !in->is_bad && in->at == in->end;
}
