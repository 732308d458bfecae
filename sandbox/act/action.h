/* action -- one line of what an agent asks for, decoded (docs/actions.md).
 *
 * The line is anybody's bytes: it is scanned, parsed and checked by policy/json,
 * every value against its type and range, and what is unknown is refused by
 * name.  Texts belong to the action and live as long as it does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct json;

/* A longer line is refused, unread. */
#define ACTION_LINE_MAX (32u << 20)
#define ACTION_NAME_MAX 64 /* of a session or a client, in bytes */

enum action_kind {
	ACT_RUN,
	ACT_READ,
	ACT_WRITE,
	ACT_CANCEL,
	ACT_UNSUPPORTED, /* of the reference, and not here: `refusal` says so */
	ACT_KIND_COUNT
};

struct action {
	enum action_kind kind;
	struct json *doc; /* owned; the texts are in it */

	bool has_id;
	uint64_t id;
	const char *timestamp; /* "" without one */
	const char *client;    /* "" is this connection */
	const char *session;

	double timeout_s;    /* of a run: hard; 0: none */
	bool is_blocking;    /* no soft time-out */

	const char *command; /* run */
	bool is_input, is_hidden;
	const char *path;    /* read, write */
	const char *content; /* write */
	uint64_t start, end; /* lines from 0; UINT64_MAX: to the last */
	uint64_t cancelled;  /* cancel: an id */
	const char *refusal; /* unsupported; static */
};

/* Decodes one line without its newline.  -1: it is no action, or none that can be
 * done; *ret then still has the id where the line had one, and action_done() is
 * still due. */
int action_decode(const char *line, size_t len, struct action *ret, struct err *e);
void action_done(struct action *a);

/* Whether the text is the name of a key that commands are interrupted with: C-c,
 * C-d, C-z and other C-LETTER. */
bool action_is_control_key(const char *text);
