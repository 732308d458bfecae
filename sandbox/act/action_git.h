/* action_git -- what git, and what lies in a repository, is asked for with, for action.c.
 *
 * A URL and a token are held to what can be sent safely before anybody sees them: the
 * token goes to the server that the URL names, over TLS or to this machine alone. */
#pragma once

struct action;
struct err;
struct json_at;

/* The keys that each may have, NULL-terminated. */
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
int action_decode_microagents(const struct json_at *args, struct action *a, struct err *e);
/* run_setup_script: a run of the session's shell. */
int action_decode_script(const struct json_at *args, struct action *a, struct err *e);

/* The words for a shell that do the same as this, for rules about commands; allocated.
 * NULL: it is not one of git's that has such. */
char *action_git_command(const struct action *a);
/* What a credential helper says for it; allocated.  NULL: it has no token. */
char *action_git_secret(const struct action *a);
