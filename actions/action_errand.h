/* action_errand -- decodes the arguments of errands (protocol/action.h), for
 * action.c. */
#pragma once

struct action;
struct err;
struct json_at;

/* The keys that each kind of errand accepts in `args`, NULL-terminated. */
extern const char *const action_list_args[];
extern const char *const action_glob_args[];
extern const char *const action_grep_args[];
extern const char *const action_stat_args[];
extern const char *const action_move_args[];
extern const char *const action_remove_args[];
extern const char *const action_mkdir_args[];

int action_decode_list(const struct json_at *args, struct action *a, struct err *e);
int action_decode_glob(const struct json_at *args, struct action *a, struct err *e);
int action_decode_grep(const struct json_at *args, struct action *a, struct err *e);
/* Decodes the arguments of stat and mkdir. */
int action_decode_path(const struct json_at *args, struct action *a, struct err *e);
int action_decode_move(const struct json_at *args, struct action *a, struct err *e);
int action_decode_remove(const struct json_at *args, struct action *a, struct err *e);
