/* replies -- a queue of answers to the supervisor, kept in order while the channel has
 * no room for all of them.
 *
 * An answer is a text, sent in messages of ACTION_CHUNK bytes, and a closing message.
 * It is kept until it is sent.  While too much is kept, no request is read and no
 * output is streamed, so a slow supervisor bounds the queue itself. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* At this many bytes no further request is read.  One more answer (a file as base64, or
 * an editor's answer) and the reports of all sessions may come on top. */
#define REPLIES_HIGH (256u << 10)
/* The largest closing message holds two paths. */
#define REPLIES_END_MAX (16u << 10)

struct channel;
struct err;

struct reply {
	struct reply *next;
	uint32_t id;
	uint16_t type;	/* MSG_OUTPUT or MSG_CONTENT */
	bool is_base64; /* the text is to be sent as base64 */
	uint8_t *bytes; /* owned */
	size_t len, sent;
	struct buffer end; /* owned; a whole frame, or nothing */
};

struct replies {
	struct reply *first, *last; /* owned */
	size_t bytes;		     /* in all answers together */
};

void replies_done(struct replies *a);

/* Takes over the bytes and the closing frame of `from`. */
void replies_add(struct replies *a, const struct reply *from);

bool replies_is_empty(const struct replies *a);
bool replies_is_full(const struct replies *a);

/* Moves as much as there is room for into the channel's queue. */
int replies_send(struct replies *a, struct channel *c, struct err *e);
