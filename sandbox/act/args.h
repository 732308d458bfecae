/* args -- the values in an action's `args`, checked.
 *
 * Absent or null: the value stays as it is.  -1: it is of another type, or out of its
 * range. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct json_at;

/* What every action may have in `args` and what makes no difference here;
 * keep_prompt and what follows are of older clients. */
#define COMMON_ARGS                                                            \
	"thought", "security_risk", "confirmation_state", "is_confirmed", "keep_prompt", \
		"task_completed", "translated_ipython_code", "timestamp"

/* A copy. */
int args_text(const struct json_at *at, const char *key, char **ret, struct err *e);
int args_bool(const struct json_at *at, const char *key, bool *ret, struct err *e);
/* A whole number from 1. */
int args_count(const struct json_at *args, const char *key, uint32_t most, uint32_t *ret,
	       struct err *e);
/* Absent is an error. */
int args_require(const struct json_at *args, const char *key, char **ret,
		 struct err *e);
/* `text` stands for a path: args.KEY. */
int args_path(const char *text, const char *key, struct err *e);
