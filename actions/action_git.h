/* action_git -- decodes the arguments of actions about a git repository, for action.c.
 *
 * The URL and the token are checked here, so no other code gets an unchecked one: the
 * token is sent only to the server that the URL names, and only over TLS, or over HTTP
 * to this machine. */
#pragma once

struct action;
struct err;
struct json_at;

/* The keys that each kind of git action accepts in `args`, NULL-terminated. */
extern const char *const action_clone_args[];
extern const char *const action_branch_args[];
extern const char *const action_changes_args[];
extern const char *const action_diff_args[];
extern const char *const action_setup_args[];
extern const char *const action_hooks_args[];
extern const char *const action_microagents_args[];
extern const char *const action_script_args[];

int action_decode_clone(const struct json_at *args, struct action *a, struct err *e);
int action_decode_branch(const struct json_at *args, struct action *a, struct err *e);
int action_decode_changes(const struct json_at *args, struct action *a, struct err *e);
int action_decode_diff(const struct json_at *args, struct action *a, struct err *e);
int action_decode_setup(const struct json_at *args, struct action *a, struct err *e);
int action_decode_hooks(const struct json_at *args, struct action *a, struct err *e);
int action_decode_microagents(const struct json_at *args, struct action *a,
			      struct err *e);
/* Decodes run_setup_script, which becomes a run of the session's shell. */
int action_decode_script(const struct json_at *args, struct action *a, struct err *e);

/* Returns a shell command with the same effect as the git action, so that policy rules
 * about commands apply to the action too; allocated. NULL: there is no such command. */
char *action_git_command(const struct action *a);
/* Returns the output of a git credential helper for the action's user and token
 * (gitcredentials(7)); allocated. NULL: the action has no token. */
char *action_git_secret(const struct action *a);
