/* send_queue -- a queue of answers to the supervisor, kept in order while the channel has
 * no room for all of them.
 *
 * An answer is a text, sent in messages of ACTION_CHUNK bytes, and a closing message.
 * The queue keeps an answer until it is sent.  While the queue is full, no request is
 * read and no output is streamed, so it stays bounded if the supervisor reads slowly. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* When the queue holds this many bytes, no further request is read.  The queue may exceed
 * this by one more answer (a file as base64, or an editor's answer) and by the reports of
 * all sessions. */
#define SEND_QUEUE_HIGH (256u << 10)
/* A closing message is at most this large: the largest is a MSG_ANSWERED. */
#define SEND_QUEUE_END_MAX (32u << 10)

struct channel;
struct err;

struct reply {
	struct reply *next;
	uint32_t id;
	uint16_t type;	/* MSG_OUTPUT or MSG_CONTENT */
	bool is_base64; /* the text is to be sent as base64 */
	uint8_t *bytes; /* owned; the text of the answer */
	size_t len, sent;
	struct buffer end; /* owned; the closing message as a whole frame; empty if the
			    * answer has none */
};

struct send_queue {
	struct reply *first, *last; /* owned; the answers, as a list in their order */
	size_t bytes;		     /* the total size of the texts in the queue */
};

void send_queue_done(struct send_queue *a);

/* Takes over the bytes and the closing frame of `from`. */
void send_queue_add(struct send_queue *a, const struct reply *from);

bool send_queue_is_empty(const struct send_queue *a);
bool send_queue_is_full(const struct send_queue *a);

/* Moves as much of the queue as there is room for into the channel's output. */
int send_queue_send(struct send_queue *a, struct channel *c, struct err *e);
