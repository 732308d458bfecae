/* manifest -- the file plugin.json of a plugin (docs/plugins.md).
 *
 * The executor reads the file of each plugin of its sandbox, and the programs of the host
 * read those of a folder that the user names and of the store.  The text is strict JSON
 * (policy/json); an unknown member and a value out of its bounds are errors that name the
 * place. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;
struct json_at;

#define MANIFEST_FILE	     "plugin.json"
#define MANIFEST_MAX	     (64u << 10) /* the most bytes of the file */
#define MANIFEST_NAME_MAX    32		 /* of a plugin, and of its version */
#define MANIFEST_ACTIONS_MAX 32
#define MANIFEST_MEMBERS_MAX 64 /* arguments of an action, and members of its answer */
#define MANIFEST_MEMBER_MAX  64 /* the most bytes of the name of an action or member */
#define MANIFEST_WORDS_MAX   64 /* the most items of any list of texts */
#define MANIFEST_SECONDS_MAX 86400

/* The types of arguments and of members of an answer. */
enum plugin_type {
	PLUGIN_TEXT,
	PLUGIN_NUMBER,
	PLUGIN_FLAG,
	PLUGIN_PNG, /* of answers only */
	PLUGIN_ANY  /* of arguments only */
};

struct plugin_member {
	char *name; /* owned */
	enum plugin_type type;
	bool is_list;	  /* of answers only */
	bool is_required; /* of arguments only */
};

struct plugin_members {
	struct plugin_member *items; /* owned */
	size_t count;
};

struct plugin_action {
	char *name, *observation; /* owned */
	char *message;		  /* owned; "" if the file names none */
	struct plugin_members args, answer;
};

/* The texts in `command` and `environment` are as the file has them, with ${plugin}
 * (manifest_expand()). */
struct manifest {
	char *name, *version; /* owned */
	struct list command;  /* empty: the plugin has no process */
	struct plugin_action *actions; /* owned */
	size_t action_count;
	struct list programs, files;  /* what the plugin requires of the root */
	bool starts_at_launch;
	uint32_t ready_ms, timeout_ms, grace_ms;
	struct list environment;  /* NAME=value */
	char *path, *python_path; /* owned; relative to the plugin's folder; NULL: none */
	uint16_t port;		  /* 0: none */
	char *url;		  /* owned; what follows http://HOST:PORT; NULL: none */
	char *install;		  /* owned; a file in the plugin's folder; NULL: none */
	struct list allow;	  /* the egress rules for `install` */
};

/* Reads a plugin.json, a regular file of at most MANIFEST_MAX bytes, into new memory that
 * the caller frees.  The open cannot block, since it waits for no other end of a pipe. */
int manifest_load(const char *path, char **ret_text, size_t *ret_len, struct err *e);

/* Checks and decodes the `len` bytes of a plugin.json.  `name` is the name that the plugin must have;
 * NULL: any.  The caller must call manifest_done() after a success. */
int manifest_read(const char *text, size_t len, const char *name, struct manifest *ret,
		  struct err *e);
void manifest_done(struct manifest *m);

/* Returns whether the text is the name of a plugin. */
bool manifest_is_name(const char *text);

/* Returns the action of this name; NULL: the plugin has none. */
const struct plugin_action *manifest_action(const struct manifest *m, const char *name);
/* Returns the member of this name; NULL: there is none. */
const struct plugin_member *manifest_member(const struct plugin_members *m,
					    const char *name);

/* Returns the text with `folder` in place of each ${plugin}; allocated. */
char *manifest_expand(const char *text, const char *folder);

/* Checks the arguments of an action, an object or "no value", against its schema. */
int manifest_check_args(const struct plugin_action *a, const struct json_at *args,
			struct err *e);
