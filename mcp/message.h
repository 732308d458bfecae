/* message -- reads one message of the Model Context Protocol: a JSON-RPC 2.0 object.
 *
 * The protocol has two eras.  A request of the modern one (2026-07-28) says in its
 * `_meta` which revision it is of and what its client can do, and needs nothing that was
 * said before.  A request of the legacy one (2024-11-05 to 2025-11-25) says neither:
 * `initialize` did, once.
 *
 * The reader is strict (policy/json/json.h).  It copies the texts that answers repeat, so
 * that they outlive the line.
 *
 * Source: modelcontextprotocol.io/specification/2026-07-28, basic, basic/versioning. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "policy/json/json.h"

#define MESSAGE_MAX	 (16u << 20) /* bytes of a line */
#define MESSAGE_WORD_MAX 256	     /* bytes of an id or a token as JSON */

/* The protocol's error codes. */
#define MESSAGE_NO_JSON	      (-32700)
#define MESSAGE_BAD	      (-32600)
#define MESSAGE_NO_METHOD     (-32601)
#define MESSAGE_BAD_PARAMS    (-32602)
#define MESSAGE_NO_CAPABILITY (-32021)
#define MESSAGE_NO_VERSION    (-32022)

enum message_kind {
	MESSAGE_REFUSED, /* `code` and `problem` say why */
	MESSAGE_REQUEST,
	MESSAGE_NOTIFICATION,
	MESSAGE_RESPONSE, /* of the client, to a request of ours */
	MESSAGE_BATCH	  /* an array; `root` is it */
};

struct message {
	enum message_kind kind;
	struct json *doc; /* owned; NULL: taken, or never there */
	struct json_at root, params, meta;
	char *id;	       /* owned: the id as JSON; NULL: there is none */
	char *token;	       /* owned: the progress token as JSON; NULL: none */
	const char *method;    /* borrowed of `doc`; NULL: a response */
	const char *version;   /* modern: the revision, borrowed; NULL: legacy */
	bool has_capabilities; /* modern: they are there */
	bool can_ask;	       /* modern: its client can ask its user with a form */
	int code;
	char problem[700];
};

/* Reads `len` bytes, and fills in *ret, which message_done() releases in any case. */
void message_read(struct message *ret, const char *text, size_t len);
void message_done(struct message *m);

/* Returns whether `capabilities` say that the client can ask its user with a form. */
bool message_can_ask(const struct json_at *capabilities);

/* Returns a string or whole number as JSON, allocated; NULL: the value is neither, or is
 * too long. */
char *message_word(const struct json_at *at);
