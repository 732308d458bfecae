/* plugin_table -- the plugins of a sandbox, as its dispatcher knows them
 * (docs/plugins.md, protocol/plugin.h).
 *
 * All that a plugin says of itself comes from the sandbox: its names are of a fixed
 * alphabet, and its other texts are escaped wherever they are shown. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "protocol/plugin.h"

struct buffer;
struct err;
struct frame;
struct plugin_uses;

struct known_action {
	char *name, *observation, *message; /* owned */
};

struct known_plugin {
	char *name, *folder; /* owned; the folder is that in the sandbox */
	char *version;	     /* owned; NULL: not known yet */
	struct list environment; /* what its process gets besides a command's
				  * variables */
	uint32_t id;   /* its id in messages to the executor; 0: it was not told yet */
	bool is_known; /* its actions are known, or it has none since it failed */
	bool is_busy;  /* one of its actions is under way */
	enum plugin_state state; /* PLUGIN_STATE_NONE: its process was not started yet */
	char *reason;		 /* owned; of PLUGIN_FAILED; else NULL */
	char *url; /* owned; the path and query of its published port; NULL: none */
	uint16_t port;			    /* the port inside; 0: none */
	uint32_t ready_ms, timeout_ms, grace_ms;
	struct known_action *actions; /* owned */
	size_t action_count;
};

/* Begins as a zeroed struct, without plugins. */
struct plugin_table {
	struct known_plugin *all; /* owned */
	size_t count;
};

void plugin_table_fill(struct plugin_table *t, const struct plugin_uses *uses);
void plugin_table_done(struct plugin_table *t);

/* Returns whether each plugin has said what it answers, or has failed. */
bool plugin_table_is_known(const struct plugin_table *t);

/* Returns the plugin of this id, or with this action; NULL: there is none.
 * *ret_action is that action. */
struct known_plugin *plugin_table_find(const struct plugin_table *t, uint32_t id);
struct known_plugin *plugin_table_answerer(const struct plugin_table *t,
					   const char *action,
					   const struct known_action **ret_action);

/* Returns how long the executor may take for a call with this time limit (0: the
 * plugin's own). */
int64_t plugin_table_ms(const struct known_plugin *p, uint64_t timeout_ms);

/* Takes a MSG_OFFER or MSG_STATE about the plugin.  Returns -1 if it is malformed or
 * comes at the wrong time. */
int plugin_table_offer(struct plugin_table *t, struct known_plugin *p,
		       const struct frame *f, struct err *e);
int plugin_table_state(struct known_plugin *p, const struct frame *f, struct err *e);

/* Notes that the plugin has failed for a reason of the host. */
void plugin_table_fail(struct known_plugin *p, const char *reason);

/* Returns the name of the state: "waiting", "starting", "ready" or "failed". */
const char *plugin_table_state_name(const struct known_plugin *p);

/* Writes the members `name`, `state` and `error` of an event or of `info`, without
 * braces. */
void plugin_table_put(struct buffer *to, const struct known_plugin *p);
