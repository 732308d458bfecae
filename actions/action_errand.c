#include "actions/action_errand.h"

#include <string.h>

#include "actions/action.h"
#include "actions/args.h"
#include "base/err.h"
#include "base/list.h"
#include "policy/json/json.h"
#include "protocol/action.h"

/* The most results in an answer, if the action sets no limit: about as much as a model
 * can read. */
#define LIST_LIMIT 1000
#define GLOB_LIMIT 100
#define GREP_LIMIT 250

const char *const action_list_args[] = { "path", "depth", "limit", COMMON_ARGS, NULL };
const char *const action_glob_args[] = { "pattern", "path", "limit", COMMON_ARGS, NULL };
const char *const action_stat_args[] = { "path", COMMON_ARGS, NULL };
const char *const action_move_args[] = { "path", "to", "overwrite", COMMON_ARGS, NULL };
const char *const action_remove_args[] = { "path", "recursive", COMMON_ARGS, NULL };
const char *const action_mkdir_args[] = { "path", COMMON_ARGS, NULL };
const char *const action_grep_args[] = { "pattern", "path",	 "include", "ignore_case",
					 "limit",   COMMON_ARGS, NULL };

static int get_flag(const struct json_at *args, const char *key, enum errand_flag flag,
		    struct action *a, struct err *e)
{
	bool is_set = false;

	if (args_bool(args, key, &is_set, e) < 0)
		return -1;
	a->errand_flags |= is_set ? (uint32_t)flag : 0;
	return 0;
}

/* Reads the path of a folder.  An absent path stands for the working directory. */
static int get_folder(const struct json_at *args, struct action *a, struct err *e)
{
	if (args_text(args, "path", &a->path, e) < 0)
		return -1;
	if (!a->path)
		a->path = text_copy(".");
	return args_path(a->path, "path", e);
}

static int get_pattern(const struct json_at *args, struct action *a, struct err *e)
{
	if (args_require(args, "pattern", &a->other, e) < 0)
		return -1;
	if (*a->other && strlen(a->other) < 4096)
		return 0;
	return err_set(e, ERR_USAGE,
		       "args.pattern: a pattern of 1 to 4095 bytes was expected");
}

int action_decode_list(const struct json_at *args, struct action *a, struct err *e)
{
	a->depth = 1;
	a->limit = LIST_LIMIT;
	if (get_folder(args, a, e) < 0 ||
	    args_count(args, "depth", ERRAND_DEPTH_MAX, &a->depth, e) < 0)
		return -1;
	return args_count(args, "limit", ERRAND_LIMIT_MAX, &a->limit, e);
}

int action_decode_glob(const struct json_at *args, struct action *a, struct err *e)
{
	a->limit = GLOB_LIMIT;
	if (get_pattern(args, a, e) < 0 || get_folder(args, a, e) < 0)
		return -1;
	return args_count(args, "limit", ERRAND_LIMIT_MAX, &a->limit, e);
}

int action_decode_path(const struct json_at *args, struct action *a, struct err *e)
{
	if (args_require(args, "path", &a->path, e) < 0)
		return -1;
	return args_path(a->path, "path", e);
}

int action_decode_move(const struct json_at *args, struct action *a, struct err *e)
{
	if (action_decode_path(args, a, e) < 0 ||
	    args_require(args, "to", &a->other, e) < 0 ||
	    args_path(a->other, "to", e) < 0)
		return -1;
	return get_flag(args, "overwrite", ERRAND_OVERWRITE, a, e);
}

int action_decode_remove(const struct json_at *args, struct action *a, struct err *e)
{
	if (action_decode_path(args, a, e) < 0)
		return -1;
	return get_flag(args, "recursive", ERRAND_RECURSIVE, a, e);
}

int action_decode_grep(const struct json_at *args, struct action *a, struct err *e)
{
	a->limit = GREP_LIMIT;
	if (get_pattern(args, a, e) < 0 || get_folder(args, a, e) < 0 ||
	    args_text(args, "include", &a->include, e) < 0 ||
	    get_flag(args, "ignore_case", ERRAND_IGNORE_CASE, a, e) < 0)
		return -1;
	if (!a->include)
		a->include = text_copy("");
	if (strlen(a->include) >= 4096)
		return err_set(e, ERR_USAGE, "args.include: more than 4095 bytes");
	return args_count(args, "limit", ERRAND_LIMIT_MAX, &a->limit, e);
}
