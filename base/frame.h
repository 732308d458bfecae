/* frame -- the binary frames of docs/protocol.md.
 *
 * A frame is a header of 12 bytes (body length u32, type u16, zero u16, id u32; all
 * little endian) and a body of typed fields: a tag byte and a value.  The decoder
 * checks every length against the bytes that are there before it reads them, and
 * never allocates: fields point into the frame's own bytes and are valid as long as
 * these.
 *
 * Writing:	frame_begin, frame_put_*, frame_end.
 * Reading:	frame_next finds a frame in a buffer, fields_init and
 *		fields_get_* walk it, fields_end tells whether all succeeded.
 * Errors are remembered, so that a reader can get all its fields and check once at
 * the end. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER 12

/* Hard maximum of a body, checked on both ends.  A frame from a sandbox is small by
 * design; a frame to it may carry a whole argv and environment. */
#define FRAME_MAX_TO_EXECUTOR	(8u << 20)
#define FRAME_MAX_FROM_EXECUTOR (64u << 10)

struct buffer;
struct err;

struct frame {
	uint16_t type;
	uint32_t id;
	const uint8_t *body; /* borrowed: points into the buffer */
	size_t len;
};

/* Starts a frame behind the buffer's content; returns the frame's place for
 * frame_end(). The put functions return nothing: frame_end() reports a frame that
 * exceeded the buffer's bound. */
size_t frame_begin(struct buffer *b, uint16_t type, uint32_t id);
void frame_put_u32(struct buffer *b, uint32_t value);
void frame_put_u64(struct buffer *b, uint64_t value);
void frame_put_bytes(struct buffer *b, const void *data, size_t len);
void frame_put_text(struct buffer *b, const char *text);
/* Puts a list of texts; a NULL list is an empty one. */
void frame_put_list(struct buffer *b, char *const *texts);
/* Ends the frame, and fills in its length.  ERR_LIMIT: the frame did not fit; `b` is
 * as it was before frame_begin(), and its content can be sent. */
int frame_end(struct buffer *b, size_t begun, struct err *e);

/* Looks for a whole frame at the start of `b` without consuming it.  Returns 1 and
 * the frame in *ret (consume FRAME_HEADER + ret->len when done with it); 0 if more
 * bytes are needed; -1 if the bytes are no frame of this protocol, or the body is
 * over `max`. */
int frame_next(const struct buffer *b, size_t max, struct frame *ret, struct err *e);

struct fields {
	const uint8_t *at, *end;
	bool is_bad;
};

struct bytes {
	const uint8_t *data;
	size_t len;
};

struct fields fields_of(const struct frame *f);
uint32_t fields_get_u32(struct fields *in);
uint64_t fields_get_u64(struct fields *in);
struct bytes fields_get_bytes(struct fields *in);
/* Gets a text: bytes without a 0 in them.  The 0 byte that ends every text on the
 * wire is checked and not counted, so the result is a C string in place. */
const char *fields_get_text(struct fields *in);
/* Gets the number of texts that follow; each is read with fields_get_text.  The
 * number is checked against the bytes that are left, so it can be trusted for an
 * allocation. */
uint32_t fields_get_list(struct fields *in);
/* Returns true when every get has succeeded and no byte is left. */
bool fields_end(const struct fields *in);
