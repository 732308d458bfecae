/* connect_frames -- the messages of a stream of the Connect protocol, as E2B's clients send and
 * get them: a byte of flags, four bytes of the length with the highest first, and a text.
 *
 * Source: https://connectrpc.com/docs/protocol (Enveloped-Message). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CONNECT_HEADER	    5 /* bytes in front of each message */
#define CONNECT_MESSAGE_MAX (16u << 20)

/* Flags of a message.  A client sends none: no compression was offered to it, and its stream ends
 * with its body. */
#define CONNECT_FLAG_END 2

/* A text, borrowed. */
struct connect_frame {
	const char *text;
	size_t len;
};

/* Takes the next message off the bytes of a client.  1: it is *ret, and *bytes and *len are what
 * follows; 0: there is none; -1: it is not whole, too large, or has flags, and nothing was taken. */
int connect_next(const char **bytes, size_t *len, struct connect_frame *ret);

/* Writes the header of a message of `len` bytes. */
void connect_header(uint8_t flags, size_t len, uint8_t to[CONNECT_HEADER]);
