/* action -- one line of input from an agent, decoded (docs/actions.md).
 *
 * The line is untrusted: policy/json scans and parses it, every value is
 * checked against its type and range, and an unknown key is refused by name.
 * The action keeps copies of the texts that it needs, and of nothing else. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;

/* A longer line is refused without being decoded. */
#define ACTION_LINE_MAX (32u << 20)
#define ACTION_NAME_MAX 64 /* bytes of a session's name, a client's, a timestamp */

enum action_kind {
	ACT_RUN,
	ACT_READ,
	ACT_WRITE,
	ACT_EDIT,
	ACT_LIST, /* from here to ACT_MICROAGENTS: errands (protocol/action.h) */
	ACT_GLOB,
	ACT_STAT,
	ACT_MOVE,
	ACT_REMOVE,
	ACT_MKDIR,
	ACT_GREP,
	ACT_GIT_CLONE, /* from here to ACT_MICROAGENTS: decoded by action_git.c */
	ACT_GIT_BRANCH,
	ACT_GIT_CHANGES,
	ACT_GIT_DIFF,
	ACT_GIT_SETUP,
	ACT_GIT_HOOKS,
	ACT_MICROAGENTS,
	ACT_ENV,
	ACT_CANCEL,
	ACT_CONFIRM,
	ACT_UNSUPPORTED, /* OpenHands has it, hutch does not; `refusal` is the answer */
	ACT_KIND_COUNT
};

struct action {
	enum action_kind kind;

	bool has_id;
	uint64_t id;
	char *timestamp; /* owned; "" without one */
	char *client;	 /* owned; "" stands for this connection */
	char *session;	 /* owned */

	double timeout_s;    /* of a run: the hard one */
	bool is_blocking;    /* run: no soft time-out */

	char *command; /* run: owned, without outer blanks; edit: owned, verbatim */
	bool is_input, is_hidden;
	bool is_static; /* run: in a session of its own, which begins in `cwd` */
	char *cwd;	/* owned; NULL: the sandbox's working directory */
	char *path;    /* owned; NULL for kinds without args.path */
	/* Owned, or NULL.  The key in args depends on the kind: move: `to`;
	 * glob, grep: `pattern`; git_clone: `url`; git_branch, git_setup:
	 * `name`; git_changes, git_diff: `ref`; microagents: `folder`. */
	char *other;
	/* Owned, "" where absent.  grep: `include`; git_clone: `branch`;
	 * git_setup: `email`; NULL for other kinds. */
	char *include;
	char *token, *user; /* git_clone: owned; NULL and "" where absent */
	uint32_t errand_flags;	/* enum errand_flag */
	uint32_t depth, limit; /* of an errand */
	char *content; /* write: owned */
	bool is_viewed; /* read: shown by the editor (impl_source oh_aci) */
	bool is_relative; /* edit, viewed read: a relative path is accepted */
	/* edit and viewed read: owned, NULL where absent; `line` is
	 * insert_line, and `range` is view_range as Python prints it. */
	char *file_text, *old_str, *new_str, *line, *range;
	uint64_t start, end; /* lines from 0; UINT64_MAX: to the last */
	uint64_t cancelled;  /* cancel: the id to cancel */
	uint64_t asked;	     /* confirm: the number of the question... */
	bool allows;	     /* ...and the answer */
	struct list set, unset; /* env: owned; NAME=value, and names */
	struct list secret;	/* env: owned; names whose values are redacted */
	const char *refusal; /* unsupported; static */
};

/* Decodes one line without its newline.  -1: the line is no valid action; *ret
 * then still has the id where the line had one, and the caller still owes
 * action_done(). */
int action_decode(const char *line, size_t len, struct action *ret, struct err *e);
void action_done(struct action *a);

/* The name of the action's kind; "" for ACT_UNSUPPORTED. */
const char *action_name(const struct action *a);

/* The key in args that `other` was read from; NULL: the kind has none. */
const char *action_other_key(const struct action *a);

/* Whether the editor performs the action, and whether the action is an errand. */
bool action_is_edit(const struct action *a);
bool action_is_errand(const struct action *a);
/* Whether the executor performs the action by running git inside, with the
 * environment and limits of the session's shell. */
bool action_is_git(const struct action *a);

/* Whether the text names a key (base/term_keys.h).  A key is sent at once, neither
 * typed nor run, with or without is_input.  Any combination with Control
 * counts, even if no such key exists. */
bool action_is_key(const char *text);
/* The character that is held together with Control, as the text has it; 0: the
 * text is no such combination. */
char action_control(const char *text);
