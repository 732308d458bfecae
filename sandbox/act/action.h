/* action -- one line of what an agent asks for, decoded (docs/actions.md).
 *
 * The line is anybody's bytes: it is scanned, parsed and checked by policy/json,
 * every value against its type and range, and what is unknown is refused by
 * name.  The action keeps copies of the texts that it needs, and of nothing else. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;

/* A longer line is refused, unread. */
#define ACTION_LINE_MAX (32u << 20)
#define ACTION_NAME_MAX 64 /* of a session, a client, a timestamp, in bytes */

enum action_kind {
	ACT_RUN,
	ACT_READ,
	ACT_WRITE,
	ACT_EDIT,
	ACT_LIST, /* from here to ACT_MICROAGENTS: errands (base/action.h) */
	ACT_GLOB,
	ACT_STAT,
	ACT_MOVE,
	ACT_REMOVE,
	ACT_MKDIR,
	ACT_GREP,
	ACT_GIT_CLONE, /* from here on: of git (action_git.h) */
	ACT_GIT_BRANCH,
	ACT_GIT_CHANGES,
	ACT_GIT_DIFF,
	ACT_GIT_SETUP,
	ACT_GIT_HOOKS,
	ACT_MICROAGENTS,
	ACT_ENV,
	ACT_CANCEL,
	ACT_CONFIRM,
	ACT_UNSUPPORTED, /* of the reference, and not here: `refusal` says so */
	ACT_KIND_COUNT
};

struct action {
	enum action_kind kind;

	bool has_id;
	uint64_t id;
	char *timestamp; /* owned; "" without one */
	char *client;	 /* owned; "" is this connection */
	char *session;	 /* owned */

	double timeout_s;    /* of a run: hard; 0: none */
	bool is_blocking;    /* no soft time-out */

	char *command; /* run: owned; without outer blanks.  edit: owned, as it is */
	bool is_input, is_hidden;
	bool is_static; /* run: in a session of its own, which begins in... */
	char *cwd;	/* owned; NULL: where the sandbox does */
	char *path;    /* of all but run and cancel: owned */
	/* Owned, else NULL: move: `to`; glob, grep: `pattern`; git_clone: `url`; git_branch,
	 * git_setup: `name`; git_changes, git_diff: `ref`; microagents: `folder`. */
	char *other;
	/* Owned, "" where absent, else NULL: grep; git_clone: `branch`; git_setup: `email`. */
	char *include;
	char *token, *user; /* git_clone: owned; NULL and "" where absent */
	uint32_t errand_flags;	/* enum errand_flag */
	uint32_t depth, limit; /* of an errand */
	char *content; /* write: owned */
	bool is_viewed; /* read: as the editor shows it */
	bool is_relative; /* edit and such a read: the path may be */
	/* edit and such a read: owned, NULL where absent; `line` is insert_line, and
	 * `range` is view_range as Python prints it. */
	char *file_text, *old_str, *new_str, *line, *range;
	uint64_t start, end; /* lines from 0; UINT64_MAX: to the last */
	uint64_t cancelled;  /* cancel: an id */
	uint64_t asked;	     /* confirm: the number of what was asked... */
	bool allows;	     /* ... and the answer */
	struct list set, unset; /* env: owned; NAME=value, and names */
	struct list secret;	/* env: owned; names whose values are to be hidden */
	const char *refusal; /* unsupported; static */
};

/* Decodes one line without its newline.  -1: it is no action, or none that can be
 * done; *ret then still has the id where the line had one, and action_done() is
 * still due. */
int action_decode(const char *line, size_t len, struct action *ret, struct err *e);
void action_done(struct action *a);

/* What it is called; "" of one that is unsupported. */
const char *action_name(const struct action *a);

/* What its `other` is called in args; NULL: it has none. */
const char *action_other_key(const struct action *a);

/* Whether the editor does it; whether it is an errand. */
bool action_is_edit(const struct action *a);
bool action_is_errand(const struct action *a);
/* One that a git of the inside does, as a command of the session. */
bool action_is_git(const struct action *a);

/* Whether the text is written as a key is (base/keys.h), which is sent and not typed or
 * run, with or without is_input.  With Control there need not be such a key. */
bool action_is_key(const char *text);
/* What is held together with Control, as it was written; 0: it is another text. */
char action_control(const char *text);
