/* args -- reads and checks the values in an action's `args`.
 *
 * If a key is absent, or its value is null, *ret stays as it is. -1: the value has
 * another type, or is out of its range. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct json_at;

/* Keys that every action may have in `args` and that hutch ignores; keep_prompt
 * and the keys after it come from older clients. */
#define COMMON_ARGS                                                            \
	"thought", "security_risk", "confirmation_state", "is_confirmed", "keep_prompt", \
		"task_completed", "translated_ipython_code", "timestamp"

/* Reads a text.  *ret becomes a copy; the text that it held before is freed. */
int args_text(const struct json_at *at, const char *key, char **ret, struct err *e);
int args_bool(const struct json_at *at, const char *key, bool *ret, struct err *e);
/* Reads a whole number from 1 to `most`. */
int args_count(const struct json_at *args, const char *key, uint32_t most, uint32_t *ret,
	       struct err *e);
/* Reads a text that must be present: an absent value is an error. */
int args_require(const struct json_at *args, const char *key, char **ret,
		 struct err *e);
/* Checks the length of a path, which is the value of `key` in args. */
int args_path(const char *text, const char *key, struct err *e);
