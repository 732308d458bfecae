/* plugin -- the messages about plugins (docs/protocol.md, "Plugins"; docs/plugins.md).
 *
 * MSG_PLUGIN has the body of a MSG_EXEC, which says how the plugin's process is run; its
 * `argv` is the plugin's name and its folder inside (message_put_plugin(),
 * message_get_exec()).
 *
 * The rules of protocol/message.h hold here too: encoding appends a frame; decoding
 * gives pointers that are borrowed from a frame, and refuses a malformed or
 * out-of-range field. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"

struct buffer;
struct err;

/* The most plugins of a sandbox. */
#define PLUGINS_MAX 16
/* The most actions of a plugin. */
#define PLUGIN_ACTIONS_MAX 32
/* The most bytes of a name in these messages: of an action, an observation, a member of
 * an answer. */
#define PLUGIN_NAME_MAX 64
/* The most bytes of an action's message, and of the reason for a failure. */
#define PLUGIN_MESSAGE_MAX 200
#define PLUGIN_REASON_MAX  (8u << 10)
/* The most bytes of an action's arguments, and of all texts of an answer together. */
#define PLUGIN_ARGS_MAX	  (4u << 20)
#define PLUGIN_ANSWER_MAX (8u << 20)
#define PLUGIN_PARTS_MAX  256
#define PLUGIN_MS_MAX	  86400000u

/* Returns whether the text, which may be NULL, is a name of 1 to PLUGIN_NAME_MAX letters,
 * digits and _. */
bool plugin_is_name(const char *text);

struct plugin_offered {
	const char *action, *observation, *message; /* borrowed */
};

/* MSG_OFFER: a plugin's manifest was read. */
struct plugin_offer {
	const char *version;			/* borrowed */
	uint32_t ready_ms, timeout_ms, grace_ms; /* how long a start, an action without a
						  * time limit, and an answer after a
						  * cancel may take */
	uint32_t action_count;
	struct plugin_offered actions[PLUGIN_ACTIONS_MAX];
};

int plugin_put_offer(struct buffer *b, uint32_t id, const struct plugin_offer *o,
		     struct err *e);
int plugin_get_offer(const struct frame *f, struct plugin_offer *ret, struct err *e);

enum plugin_state {
	PLUGIN_STATE_NONE,
	PLUGIN_STARTING,
	PLUGIN_READY,
	PLUGIN_FAILED, /* the process has ended or could not be started; there is a
			* reason */
	PLUGIN_STATE_COUNT
};

/* MSG_STATE. `reason` is "" unless the plugin has failed. */
int plugin_put_state(struct buffer *b, uint32_t id, uint32_t state, const char *reason,
		     struct err *e);
int plugin_get_state(const struct frame *f, uint32_t *ret_state, const char **ret_reason,
		     struct err *e);

/* MSG_CALL: an action for a plugin. */
struct plugin_call {
	uint32_t plugin, session; /* session 0: none */
	uint64_t timeout_ms;	  /* 0: that of the manifest */
	bool is_streamed;
	const char *cwd;    /* borrowed; of a session that has no shell yet */
	const char *action; /* borrowed */
	struct bytes args;  /* borrowed; an object of JSON */
};

int plugin_put_call(struct buffer *b, uint32_t id, const struct plugin_call *c,
		    struct err *e);
int plugin_get_call(const struct frame *f, struct plugin_call *ret, struct err *e);

/* The kinds of parts of an answer. */
enum part_kind {
	PART_NONE,
	PART_TEXT,   /* `value` bytes of the content */
	PART_PNG,    /* `value` bytes of the content: a picture */
	PART_DATA,   /* `value` bytes of the content: a text for hutch.data */
	PART_NOTE,   /* `value` bytes of the content: the sentence of hutch.note; has no
		      * name */
	PART_NUMBER, /* `value` itself */
	PART_FLAG,   /* `value` is 0 or 1 */
	PART_NULL,
	PART_EMPTY, /* a list without items */
	PART_KIND_COUNT
};
#define PART_ITEM 256u /* added to a kind: the part is an item of a list, whose items
			* follow each other and have the same name */

struct plugin_part {
	const char *name; /* borrowed */
	uint32_t kind;	  /* enum part_kind, perhaps with PART_ITEM */
	uint64_t value;
};

/* MSG_ANSWERED: the end of the answer to a MSG_CALL.  The texts of the parts are the
 * content, one behind the other.  With another outcome than OUTCOME_DONE there is one
 * part, "content", the reason. */
struct plugin_answer {
	uint32_t outcome; /* enum outcome */
	uint32_t part_count;
	struct plugin_part parts[PLUGIN_PARTS_MAX];
};

int plugin_put_answer(struct buffer *b, uint32_t id, const struct plugin_answer *a,
		      struct err *e);
int plugin_get_answer(const struct frame *f, struct plugin_answer *ret, struct err *e);

/* Returns how many bytes of the content the part has. */
uint64_t plugin_part_len(const struct plugin_part *p);
