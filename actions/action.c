#include "actions/action.h"

#include <stdlib.h>
#include <string.h>

#include "actions/action_errand.h"
#include "actions/action_git.h"
#include "actions/args.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_keys.h"
#include "base/variables.h"
#include "policy/json/json.h"
#include "protocol/action.h"
#include "protocol/plugin.h"

/* The default of an action's time-out, and the largest one that is accepted, in
 * seconds. */
#define TIMEOUT_DEFAULT 120
#define TIMEOUT_MAX	1e6

#define BLANKS " \t\r\n\v\f"

static const char *const top_keys[] = {
	"action", "args",    "timeout",		   "id",	  "timestamp", "source",
	"message", "cause", "tool_call_metadata", "llm_metrics", "session",   "client",
	NULL,
};

static const char *const run_args[] = { "command", "is_input", "blocking",  "is_static",
					"cwd",	   "hidden",   COMMON_ARGS, NULL };
static const char *const read_args[] = { "path",	"start",      "end",
					 "impl_source", "view_range", "relative",
					 COMMON_ARGS,	NULL };
static const char *const write_args[] = { "path", "content", "start", "end", COMMON_ARGS,
					  NULL };
static const char *const edit_args[] = { "path",	"command",  "file_text",
					 "old_str",	"new_str",  "insert_line",
					 "content",	"start",    "end",
					 "impl_source", "relative", COMMON_ARGS,
					 NULL };
static const char *const env_args[] = { "set", "unset", "secret", COMMON_ARGS, NULL };
static const char *const cancel_args[] = { "id", COMMON_ARGS, NULL };
static const char *const confirm_args[] = { "ask", "allow", COMMON_ARGS, NULL };
static const char *const wrapper_keys[] = { "action", NULL };

/* Reads a line number, counted from 0; -1 stands for the last line.  *ret stays
 * as it is when the key is absent. */
static int get_line(const struct json_at *args, const char *key, uint64_t *ret,
		    struct err *e)
{
	struct json_at item;
	double number;

	if (!json_member(args, key, &item))
		return 0;
	if (json_number(&item, &number, e) < 0)
		return -1;
	if (number == -1) {
		*ret = ACTION_LAST_LINE;
		return 0;
	}
	if (json_uint(&item, ret, NULL) == 0)
		return 0;
	return err_set(e, ERR_USAGE, "args.%s: not a whole number from 0 to 2^53%s", key,
		       strcmp(key, "end") ? "" : ", or -1, the last line");
}

static int get_path(const struct json_at *args, struct action *a, struct err *e)
{
	if (args_require(args, "path", &a->path, e) < 0)
		return -1;
	if (args_path(a->path, "path", e) < 0)
		return -1;
	a->start = 0;
	a->end = ACTION_LAST_LINE;
	if (get_line(args, "start", &a->start, e) < 0 ||
	    get_line(args, "end", &a->end, e) < 0)
		return -1;
	if (a->start == ACTION_LAST_LINE)
		return err_set(e, ERR_USAGE,
			       "args.start: not a whole number from 0 to 2^53");
	return 0;
}

/* Removes blanks from both ends, in place. */
static void strip(char *text)
{
	size_t first = strspn(text, BLANKS), len = strlen(text);

	while (len > first && strchr(BLANKS, text[len - 1]))
		len--;
	memmove(text, text + first, len - first);
	text[len - first] = '\0';
}

/* Turns each \r\n into \n, in place. */
static void take_newlines(char *text)
{
	char *to = strchr(text, '\r');

	for (const char *at = to; at && *at; at++)
		if (at[0] != '\r' || at[1] != '\n')
			*to++ = *at;
	if (to)
		*to = '\0';
}

static int decode_run(const struct json_at *args, struct action *a, struct err *e)
{
	if (args_require(args, "command", &a->command, e) < 0 ||
	    args_bool(args, "is_input", &a->is_input, e) < 0 ||
	    args_bool(args, "hidden", &a->is_hidden, e) < 0 ||
	    args_bool(args, "is_static", &a->is_static, e) < 0 ||
	    args_text(args, "cwd", &a->cwd, e) < 0 ||
	    args_bool(args, "blocking", &a->is_blocking, e) < 0)
		return -1;
	if (strlen(a->command) > ACTION_TEXT_MAX)
		return err_set(e, ERR_USAGE, "args.command: more than %u bytes",
			       ACTION_TEXT_MAX);
	if (a->is_static && a->cwd && strlen(a->cwd) >= 4096)
		return err_set(e, ERR_USAGE, "args.cwd: more than 4095 bytes");
	strip(a->command);
	take_newlines(a->command);
	return 0;
}

/* --- arguments of the editor ------------------------------------------------- */

/* A view_range is cut after about this many bytes of text: the editor refuses so long a
 * list anyway. */
#define RANGE_MAX 256

static bool is_whole(double number)
{
	return number >= -0x1p53 && number <= 0x1p53 && number == (double)(int64_t)number;
}

static char *number_text(double number)
{
	return is_whole(number) ? text_format("%.0f", number)
				: text_format("%.17g", number);
}

/* Returns an item of a view_range as Python prints it in a list, for the editor's error
 * text. Strings are cut to 64 bytes, and lists and objects are abbreviated: none of them
 * is valid in a range. */
static char *item_text(const struct json_at *item)
{
	double number = 0;
	const char *text = "";
	bool is_true = false;

	switch (json_type(item)) {
	case JSON_NUMBER:
		(void)json_number(item, &number, NULL); /* cannot fail */
		return number_text(number);
	case JSON_STRING:
		(void)json_string(item, &text, NULL); /* cannot fail */
		return text_format("'%.64s'", text);
	case JSON_BOOL:
		(void)json_bool(item, &is_true, NULL); /* cannot fail */
		return text_copy(is_true ? "True" : "False");
	case JSON_NULL:
		return text_copy("None");
	case JSON_NONE:
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	return text_copy(json_type(item) == JSON_ARRAY ? "[...]" : "{...}");
}

/* Reads view_range.  An empty list counts as absent. */
static int get_range(const struct json_at *args, char **ret, struct err *e)
{
	struct json_at list, item = { 0 };
	char *text = NULL;

	if (!json_member(args, "view_range", &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, e) < 0)
		return -1;
	while ((!text || strlen(text) < RANGE_MAX) && json_step(&list, &item)) {
		AUTO_FREE char *one = item_text(&item), *before = text;
		text = text_format("%s%s%s", before ? before : "[", before ? ", " : "",
				   one);
	}
	if (text)
		*ret = text_format("%s]", text);
	free(text);
	return 0;
}

/* Reads insert_line, which may be a number, or a text that the editor reads as a
 * number. */
static int get_insert_line(const struct json_at *args, char **ret, struct err *e)
{
	struct json_at item;
	double number;

	if (!json_member(args, "insert_line", &item))
		return 0;
	if (json_type(&item) == JSON_STRING)
		return args_text(args, "insert_line", ret, e);
	if (json_number(&item, &number, e) < 0)
		return -1;
	*ret = number_text(number);
	return 0;
}

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

/* Refuses texts that are too long together: all texts of an action, and some paths, must
 * fit into one message to the executor. */
static int check_lengths(const struct action *a, struct err *e)
{
	const size_t most = FRAME_MAX_TO_EXECUTOR - 32768;

	if (length(a->command) >= 4096 || length(a->line) >= 4096)
		return err_set(e, ERR_USAGE, "args.%s: more than 4095 bytes",
			       length(a->command) >= 4096 ? "command" : "insert_line");
	if (length(a->file_text) + length(a->old_str) + length(a->new_str) <= most)
		return 0;
	return err_set(e, ERR_USAGE,
		       "args.file_text, old_str, new_str: more than %zu bytes", most);
}

static int decode_edit(const struct json_at *args, struct action *a, struct err *e)
{
	AUTO_FREE char *by = NULL, *content = NULL;

	if (get_path(args, a, e) < 0 || args_text(args, "command", &a->command, e) < 0 ||
	    args_text(args, "file_text", &a->file_text, e) < 0 ||
	    args_text(args, "old_str", &a->old_str, e) < 0 ||
	    args_text(args, "new_str", &a->new_str, e) < 0 ||
	    get_insert_line(args, &a->line, e) < 0 ||
	    args_text(args, "content", &content, e) < 0 ||
	    args_text(args, "impl_source", &by, e) < 0 ||
	    args_bool(args, "relative", &a->is_relative, e) < 0)
		return -1;
	if (!a->command)
		a->command = text_copy("");
	if (by && strcmp(by, "oh_aci") != 0)
		return err_set(e, ERR_USAGE,
			       "args.impl_source: only oh_aci is done here");
	return check_lengths(a, e);
}

static int decode_read(const struct json_at *args, struct action *a, struct err *e)
{
	AUTO_FREE char *by = NULL;

	if (get_path(args, a, e) < 0 || args_text(args, "impl_source", &by, e) < 0 ||
	    args_bool(args, "relative", &a->is_relative, e) < 0)
		return -1;
	a->is_viewed = by && !strcmp(by, "oh_aci");
	return a->is_viewed ? get_range(args, &a->range, e) : 0;
}

static int decode_write(const struct json_at *args, struct action *a, struct err *e)
{
	if (get_path(args, a, e) < 0 || args_require(args, "content", &a->content, e) < 0)
		return -1;
	if (strlen(a->content) >= FRAME_MAX_TO_EXECUTOR - 8192)
		return err_set(e, ERR_USAGE, "args.content: more than %u bytes",
			       FRAME_MAX_TO_EXECUTOR - 8192 - 1);
	return 0;
}

static int decode_cancel(const struct json_at *args, struct action *a, struct err *e)
{
	struct json_at id;

	if (!json_member(args, "id", &id))
		return err_set(e, ERR_USAGE, "args.id is missing");
	return json_uint(&id, &a->cancelled, e);
}

static int decode_confirm(const struct json_at *args, struct action *a, struct err *e)
{
	struct json_at ask, allow;

	if (!json_member(args, "ask", &ask))
		return err_set(e, ERR_USAGE, "args.ask is missing");
	if (!json_member(args, "allow", &allow))
		return err_set(e, ERR_USAGE, "args.allow is missing");
	return json_uint(&ask, &a->asked, e) < 0 ? -1 : json_bool(&allow, &a->allows, e);
}

/* --- the environment ------------------------------------------------------- */

static int get_set(const struct json_at *args, struct list *ret, struct err *e)
{
	struct json_at object, item = { 0 };
	const char *name, *value;

	if (!json_member(args, "set", &object))
		return 0;
	if (json_expect(&object, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&object, &item, &name)) {
		/* The name is checked before '=' and the value are appended: it may
		 * itself contain a '='. */
		if (!variable_is_name(name))
			return err_set(
				e, ERR_USAGE,
				"args.set: '%.60s' is no name for a variable: " VARIABLE_NAME_RULE,
				name);
		if (json_string(&item, &value, e) < 0)
			return -1;
		list_addf(ret, "%s=%s", name, value);
	}
	return 0;
}

static int get_names(const struct json_at *args, const char *key, struct list *ret,
		     struct err *e)
{
	struct json_at list, item = { 0 };
	const char *name;

	if (!json_member(args, key, &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&list, &item)) {
		if (json_string(&item, &name, e) < 0)
			return -1;
		if (!variable_is_name(name))
			return err_set(
				e, ERR_USAGE,
				"args.%s: '%.60s' is no name for a variable: " VARIABLE_NAME_RULE,
				key, name);
		list_add(ret, name);
	}
	return 0;
}

/* Reads args.secret: a list of names, or true for all names in args.set. */
static int get_secret(const struct json_at *args, struct action *a, struct err *e)
{
	struct json_at item;
	bool are_all = false;

	if (!json_member(args, "secret", &item))
		return 0;
	if (json_type(&item) != JSON_BOOL)
		return get_names(args, "secret", &a->secret, e);
	(void)json_bool(&item, &are_all, NULL); /* cannot fail */
	for (size_t i = 0; are_all && i < a->set.count; i++)
		list_addf(&a->secret, "%.*s", (int)strcspn(a->set.items[i], "="),
			  a->set.items[i]);
	return 0;
}

static int decode_env(const struct json_at *args, struct action *a, struct err *e)
{
	if (get_set(args, &a->set, e) < 0 || get_names(args, "unset", &a->unset, e) < 0 ||
	    get_secret(args, a, e) < 0)
		return -1;
	if (a->set.count + a->unset.count > VARIABLES_MAX) /* all variables of an action
							    * must fit into one message */
		return err_set(e, ERR_USAGE, "args: more than %d variables",
			       VARIABLES_MAX);
	return 0;
}

static const struct verb {
	const char *name;
	enum action_kind kind;
	const char *const *args;
	int (*decode)(const struct json_at *args, struct action *a, struct err *e);
	const char *refusal;
} verbs[] = {
	{ "run", ACT_RUN, run_args, decode_run, NULL },
	{ "read", ACT_READ, read_args, decode_read, NULL },
	{ "write", ACT_WRITE, write_args, decode_write, NULL },
	{ "edit", ACT_EDIT, edit_args, decode_edit, NULL },
	{ "list", ACT_LIST, action_list_args, action_decode_list, NULL },
	{ "glob", ACT_GLOB, action_glob_args, action_decode_glob, NULL },
	{ "grep", ACT_GREP, action_grep_args, action_decode_grep, NULL },
	{ "stat", ACT_STAT, action_stat_args, action_decode_path, NULL },
	{ "move", ACT_MOVE, action_move_args, action_decode_move, NULL },
	{ "remove", ACT_REMOVE, action_remove_args, action_decode_remove, NULL },
	{ "mkdir", ACT_MKDIR, action_mkdir_args, action_decode_path, NULL },
	{ "git_clone", ACT_GIT_CLONE, action_clone_args, action_decode_clone, NULL },
	{ "git_branch", ACT_GIT_BRANCH, action_branch_args, action_decode_branch, NULL },
	{ "git_changes", ACT_GIT_CHANGES, action_changes_args, action_decode_changes,
	  NULL },
	{ "git_diff", ACT_GIT_DIFF, action_diff_args, action_decode_diff, NULL },
	{ "git_setup", ACT_GIT_SETUP, action_setup_args, action_decode_setup, NULL },
	{ "install_git_hooks", ACT_GIT_HOOKS, action_hooks_args, action_decode_hooks,
	  NULL },
	{ "microagents", ACT_MICROAGENTS, action_microagents_args,
	  action_decode_microagents, NULL },
	{ "run_setup_script", ACT_RUN, action_script_args, action_decode_script, NULL },
	{ "env", ACT_ENV, env_args, decode_env, NULL },
	{ "cancel", ACT_CANCEL, cancel_args, decode_cancel, NULL },
	{ "confirm", ACT_CONFIRM, confirm_args, decode_confirm, NULL },
	{ "run_ipython", ACT_PLUGIN, NULL, NULL,
	  "JupyterRequirement not found. Unable to run IPython action." },
	{ "browse", ACT_PLUGIN, NULL, NULL,
	  "Browser functionality is not supported or disabled." },
	{ "browse_interactive", ACT_PLUGIN, NULL, NULL,
	  "Browser functionality is not supported or disabled." },
};

const char *action_name(const struct action *a)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].kind == a->kind && a->kind != ACT_PLUGIN)
			return verbs[i].name;
	return a->name ? a->name : "";
}

const char *action_other_key(const struct action *a)
{
	static const char *const keys[ACT_KIND_COUNT] = {
		[ACT_GLOB] = "pattern",	     [ACT_GREP] = "pattern",
		[ACT_MOVE] = "to",	     [ACT_GIT_CLONE] = "url",
		[ACT_GIT_BRANCH] = "name",   [ACT_GIT_CHANGES] = "ref",
		[ACT_GIT_DIFF] = "ref",	     [ACT_GIT_SETUP] = "name",
		[ACT_MICROAGENTS] = "folder",
	};

	return keys[a->kind];
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

/* Decodes `args`.  If it is absent or null, an empty object is decoded in its place. */
static int decode_args(const struct json_at *root, const struct verb *v, struct action *a,
		       struct err *e)
{
	struct json_at args;

	a->kind = v->kind;
	if (json_member(root, "args", &args) && json_only(&args, v->args, e) < 0)
		return err_in(e, "wrong arguments");
	return v->decode(&args, a, e);
}

/* Reads the id of the action.  An id of -1 counts as absent: OpenHands sends it for
 * "none". */
static int get_id(const struct json_at *root, struct action *a, struct err *e)
{
	struct json_at id;
	double number;

	if (!json_member(root, "id", &id))
		return 0;
	if (json_number(&id, &number, e) < 0)
		return -1;
	if (number == -1)
		return 0;
	if (json_uint(&id, &a->id, e) < 0)
		return -1;
	a->has_id = true;
	return 0;
}

static int get_name(const struct json_at *root, const char *key, char **ret,
		    struct err *e)
{
	if (args_text(root, key, ret, e) < 0)
		return -1;
	if (strlen(*ret) > ACTION_NAME_MAX)
		return err_set(e, ERR_USAGE, "%s: more than %d bytes", key,
			       ACTION_NAME_MAX);
	return 0;
}

static int get_timeout(const struct json_at *root, struct action *a, struct err *e)
{
	struct json_at item;

	if (!json_member(root, "timeout", &item)) {
		if (a->kind == ACT_RUN && a->is_blocking && a->timeout_s == 0)
			return err_set(e, ERR_USAGE,
				       "Blocking command with no timeout set");
		if (a->timeout_s == 0 &&
		    a->kind != ACT_PLUGIN) /* already set if the decoder of this kind of
				        * action has its own default */
			a->timeout_s = TIMEOUT_DEFAULT;
		return 0;
	}
	if (json_number(&item, &a->timeout_s, e) < 0)
		return -1;
	if (!(a->timeout_s > 0 && a->timeout_s <= TIMEOUT_MAX))
		return err_set(e, ERR_USAGE, "timeout: seconds above 0, up to %.0f, were "
					     "expected", TIMEOUT_MAX);
	return 0;
}

/* Unwraps {"action": {...}}, the form in which actions travel over HTTP. */
static int unwrap(struct json_at *root, struct err *e)
{
	struct json_at inner;

	if (!json_member(root, "action", &inner) || json_type(&inner) != JSON_OBJECT)
		return 0;
	if (json_only(root, wrapper_keys, e) < 0)
		return -1;
	*root = inner;
	return 0;
}

static int get_names_of(const struct json_at *root, struct action *a, struct err *e)
{
	if (get_name(root, "timestamp", &a->timestamp, e) < 0 ||
	    get_name(root, "client", &a->client, e) < 0)
		return -1;
	return get_name(root, "session", &a->session, e);
}

int action_unknown(const struct action *a, struct err *e)
{
	return err_set(e, ERR_USAGE,
		       "'%.60s' is not defined. Available actions: run, "
		       "read, write, edit, list, glob, grep, stat, "
		       "move, remove, mkdir, git_clone, git_branch, "
		       "git_changes, git_diff, git_setup, "
		       "install_git_hooks, run_setup_script, "
		       "microagents, env, confirm, cancel",
		       a->name);
}

/* Decodes an action that hutch itself does not do.  The executor checks its arguments
 * against the schema of the plugin that answers it. */
static int decode_plugin(const struct json_at *root, const char *name,
			 const char *refusal, struct action *a, struct err *e)
{
	struct json_at args;

	a->kind = ACT_PLUGIN;
	a->name = text_copy(name);
	a->refusal = refusal;
	if (!plugin_is_name(name))
		return action_unknown(a, e);
	if (get_names_of(root, a, e) < 0)
		return -1;
	if (json_member(root, "args", &args)) {
		size_t len;
		const char *text = json_source(&args, &len);
		if (json_expect(&args, JSON_OBJECT, e) < 0)
			return -1;
		if (len > PLUGIN_ARGS_MAX)
			return err_set(e, ERR_LIMIT, "args: more than %u bytes",
				       PLUGIN_ARGS_MAX);
		a->args = text_format("%.*s", (int)len, text);
	}
	return get_timeout(root, a, e);
}

static int decode(struct json_at *root, struct action *a, struct err *e)
{
	AUTO_FREE char *name = NULL;

	if (unwrap(root, e) < 0)
		return -1;
	if (json_expect(root, JSON_OBJECT, e) < 0 || get_id(root, a, e) < 0)
		return -1;
	if (json_only(root, top_keys, e) < 0)
		return -1;
	if (args_text(root, "action", &name, e) < 0)
		return -1;
	if (!name)
		return err_set(e, ERR_USAGE, "'action' key is not found");
	const struct verb *v = find_verb(name);
	if (!v || v->kind == ACT_PLUGIN)
		return decode_plugin(root, name, v ? v->refusal : NULL, a, e);
	if (get_names_of(root, a, e) < 0 || decode_args(root, v, a, e) < 0)
		return -1;
	return get_timeout(root, a, e);
}

int action_decode(const char *line, size_t len, struct action *ret, struct err *e)
{
	struct json_at root;

	*ret = (struct action){ .timestamp = text_copy(""), .client = text_copy(""),
				.session = text_copy("main") };
	AUTO_JSON struct json *doc = json_parse(line, len, e);
	if (!doc)
		return -1;
	json_root(doc, "action", &root);
	return decode(&root, ret, e);
}

void action_done(struct action *a)
{
	if (!a)
		return;
	free(a->timestamp);
	free(a->client);
	free(a->session);
	free(a->command);
	free(a->cwd);
	free(a->path);
	free(a->other);
	free(a->include);
	if (a->token)
		explicit_bzero(a->token, strlen(a->token));
	free(a->token);
	free(a->user);
	free(a->content);
	free(a->file_text);
	free(a->old_str);
	free(a->new_str);
	free(a->line);
	free(a->range);
	free(a->name);
	free(a->args);
	list_done(&a->set);
	list_done(&a->unset);
	list_done(&a->secret);
	*a = (struct action){ 0 };
}

bool action_is_edit(const struct action *a)
{
	return a->kind == ACT_EDIT || (a->kind == ACT_READ && a->is_viewed);
}

bool action_is_errand(const struct action *a)
{
	return a->kind >= ACT_LIST && a->kind <= ACT_MICROAGENTS;
}

bool action_is_git(const struct action *a)
{
	return a->kind >= ACT_GIT_CLONE && a->kind <= ACT_GIT_HOOKS;
}

static struct bytes bytes_of(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

char action_control(const char *text)
{
	return key_control(bytes_of(text));
}

bool action_is_key(const char *text)
{
	char sent[KEY_MAX];

	return action_control(text) || key_find(bytes_of(text), sent) > 0;
}
