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

/* A line of input longer than this is refused without being decoded. */
#define ACTION_LINE_MAX (32u << 20)
#define ACTION_NAME_MAX 64 /* the most bytes of a session's name, of a client's name, or
			    * of a timestamp */

enum action_kind {
	ACT_RUN,
	ACT_READ,
	ACT_WRITE,
	ACT_EDIT,
	ACT_LIST, /* the kinds from here to ACT_MICROAGENTS are errands
		   * (protocol/action.h) */
	ACT_GLOB,
	ACT_STAT,
	ACT_MOVE,
	ACT_REMOVE,
	ACT_MKDIR,
	ACT_GREP,
	ACT_GIT_CLONE, /* the kinds from here to ACT_MICROAGENTS are decoded by
		        * action_git.c */
	ACT_GIT_BRANCH,
	ACT_GIT_CHANGES,
	ACT_GIT_DIFF,
	ACT_GIT_SETUP,
	ACT_GIT_HOOKS,
	ACT_MICROAGENTS,
	ACT_ENV,
	ACT_CANCEL,
	ACT_CONFIRM,
	ACT_PLUGIN, /* an action that a plugin of the sandbox may answer */
	ACT_KIND_COUNT
};

struct action {
	enum action_kind kind;

	bool has_id;
	uint64_t id;
	char *timestamp; /* owned; "": the action has no timestamp */
	char *client;	 /* owned; "": the connection on which the action came is the
			  * client */
	char *session;	 /* owned */

	double timeout_s;    /* run: the hard time-out in seconds, after which the
			      * command is killed */
	bool is_blocking;    /* run: the command has no soft time-out */

	char *command; /* run: owned, the command, without white space at its ends; edit:
		        * owned, the editor's command */
	bool is_input, is_hidden;
	bool is_static; /* run: has a session for itself alone, which begins in `cwd` */
	char *cwd;	/* owned; NULL: the sandbox's working directory */
	char *path;    /* owned; NULL for kinds without args.path */
	/* Owned, or NULL: the second text of the action.  The key in args that it is
	 * read from depends on the kind: move: `to`; glob, grep: `pattern`; git_clone:
	 * `url`; git_branch, git_setup: `name`; git_changes, git_diff: `ref`;
	 * microagents: `folder`. */
	char *other;
	/* Owned, "" where absent: the third text of the action.  The key in args that
	 * it is read from: grep: `include`; git_clone: `branch`; git_setup: `email`;
	 * NULL for other kinds. */
	char *include;
	char *token, *user; /* git_clone: owned; NULL (token) and "" (user) where
			     * absent */
	uint32_t errand_flags;	/* bits of enum errand_flag */
	uint32_t depth, limit; /* errands: how deep to search, how many entries to
			        * return */
	char *content; /* write: owned; the new content of the file */
	bool is_viewed; /* read: in the form of the editor's view (impl_source is
			 * oh_aci) */
	bool is_relative; /* edit, and read with is_viewed: a relative path is accepted */
	/* Owned arguments of an edit, or of a read with is_viewed; NULL where absent.
	 * `line` is insert_line, and `range` is view_range as Python prints it. */
	char *file_text, *old_str, *new_str, *line, *range;
	uint64_t start, end; /* read, write: lines [start, end), counted from 0;
			      * UINT64_MAX: to the last line */
	uint64_t cancelled;  /* cancel: the id of the action to cancel */
	uint64_t asked;	     /* confirm: the number of the question that is answered */
	bool allows;	     /* confirm: the client's answer: yes or no */
	struct list set, unset; /* env: owned; `set` has NAME=value, `unset` has names */
	struct list secret;	/* env: owned; names whose values are redacted */
	char *name;		/* plugin: owned; the name of the action */
	char *args;		/* plugin: owned; the arguments as JSON; NULL: absent */
	const char *refusal;	/* plugin: the answer if no plugin of the sandbox has this
			      * action; static; NULL: the action is unknown then */
};

/* Decodes one line without its newline. -1: the line is no valid action; *ret then still
 * has the id, if the line had one. The caller must call action_done(), also after a
 * failure. */
int action_decode(const char *line, size_t len, struct action *ret, struct err *e);
void action_done(struct action *a);

/* Fills in the error for an action that neither hutch nor a plugin answers.  Returns
 * -1. */
int action_unknown(const struct action *a, struct err *e);

/* Returns the name of the action. */
const char *action_name(const struct action *a);

/* Returns the key in args from which `other` was read; NULL: this kind of action has
 * none. */
const char *action_other_key(const struct action *a);

/* Return whether the editor does the action, and whether the action is an errand. */
bool action_is_edit(const struct action *a);
bool action_is_errand(const struct action *a);
/* Returns whether the executor does the action by running git in the sandbox, with the
 * environment and limits of the session's shell. */
bool action_is_git(const struct action *a);

/* Returns whether the text is the name of a key, such as "C-c" (base/term_keys.h). A key
 * is sent to the terminal at once; it is neither typed as text nor run as a command,
 * with or without is_input. Any name of the form "C-X" counts, even if no such key
 * exists. */
bool action_is_key(const char *text);
/* Returns the character that is held together with Control in a text such as "C-c"; 0:
 * the text is no such combination. */
char action_control(const char *text);
