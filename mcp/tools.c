#include "mcp/tools.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/own.h"
#include "mcp/job.h"
#include "policy/policy.h"

/* --- which tools there are ------------------------------------------------- */

static bool has_network_rules(const struct policy *p)
{
	return p->network == NETWORK_ALLOW;
}

static bool has_jupyter(const struct policy *p)
{
	return list_has(&p->plugins, "jupyter");
}

static bool has_image(const struct policy *p)
{
	return p->image == IMAGE_STORE;
}

#define SANDBOX                                                                       \
	{                                                                             \
		"sandbox_id",                                                         \
			"The sandbox to work in; the default one if it is left out.", \
			ARGUMENT_TEXT, false                                          \
	}
#define PATH(about, is_required)                          \
	{                                                 \
		"path", about, ARGUMENT_TEXT, is_required \
	}
#define A_PATH "absolute, or below the sandbox's working directory"
#define NAME                                                                           \
	{                                                                              \
		"name", "The end of its id: up to 32 letters, digits, and any of _.-", \
			ARGUMENT_TEXT, false                                           \
	}
#define CONTENT "\"content\":{\"type\":\"string\"}"
#define ID	"\"sandbox_id\":{\"type\":\"string\"}"
#define ENDED                                                                    \
	"\"running\":{\"type\":\"boolean\"},"                                    \
	"\"exit_code\":{\"type\":[\"integer\",\"null\"]},"                       \
	"\"timed_out\":{\"type\":\"boolean\"},\"stdout\":{\"type\":\"string\"}," \
	"\"stderr\":{\"type\":\"string\"},\"left_out_bytes\":{\"type\":\"integer\"}"

/* clang-format off */
const struct tool tools[TOOL_COUNT] = {
	[TOOL_SANDBOX_CREATE] = {
		.name = "sandbox_create", .title = "Make a sandbox",
		.description =
			"Makes a further sandbox, as fresh as the default one was, "
			"and returns its sandbox_id.",
		.output = ID, .arguments = { NAME }, .start = boxes_list,
		.ended = boxes_make_ended },
	[TOOL_SANDBOX_LIST] = {
		.name = "sandbox_list", .title = "List sandboxes",
		.description =
			"Lists the sandboxes of this server that live.",
		.flags = TOOL_READ_ONLY,
		.output = "\"sandboxes\":{\"type\":\"array\","
			  "\"items\":{\"type\":\"object\","
			  "\"properties\":{" ID ",\"state\":{\"type\":\"string\"},"
			  "\"created\":{\"type\":[\"string\",\"null\"]},"
			  "\"is_default\":{\"type\":\"boolean\"}}}}",
		.start = boxes_list, .ended = boxes_list_ended },
	[TOOL_SANDBOX_END] = {
		.name = "sandbox_end", .title = "End a sandbox",
		.description =
			"Ends a sandbox at once, with all processes and files in "
			"it. Changes to the user's folders that wait stay kept.",
		.flags = TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT | TOOL_IN_BOX,
		.output = ID, .arguments = { SANDBOX }, .start = boxes_end,
		.take = boxes_end_take },
	[TOOL_EXEC] = {
		.name = "exec", .title = "Run a command",
		.description =
			"Runs a shell command (command) or a program with its "
			"arguments (argv) and returns its output and exit code. "
			"With background it goes on, and the result has an exec_id.",
		.flags = TOOL_DESTRUCTIVE | TOOL_OPEN_WORLD | TOOL_IN_BOX | TOOL_MAKES,
		.output = ID ",\"exec_id\":{\"type\":\"integer\"}," ENDED,
		.arguments = {
			{ "command", "A line for bash, or sh where there is no bash.",
			  ARGUMENT_TEXT, false },
			{ "argv", "A program and its arguments, without a shell.",
			  ARGUMENT_TEXTS, false },
			{ "cwd", "The directory to run it in: " A_PATH ".", ARGUMENT_TEXT,
			  false },
			{ "env", "Variables for it.", ARGUMENT_VARIABLES, false },
			{ "stdin", "Its input.", ARGUMENT_TEXT, false },
			{ "timeout",
			  "Seconds after which it is killed; 120 by default, "
			  "none in the background.",
			  ARGUMENT_SECONDS, false },
			{ "background", "Whether it goes on behind the result.",
			  ARGUMENT_BOOL, false },
			SANDBOX },
		.start = exec_start, .take = exec_take },
	[TOOL_EXEC_OUTPUT] = {
		.name = "exec_output", .title = "Output of a background command",
		.description =
			"Returns the output that a background command has printed, "
			"and whether it has ended.",
		.flags = TOOL_READ_ONLY | TOOL_IN_BOX,
		.output = ID ",\"exec_id\":{\"type\":\"integer\"}," ENDED,
		.arguments = {
			{ "exec_id", "The number that exec has returned.", ARGUMENT_WHOLE,
			  true },
			{ "wait", "Seconds to wait for its end.",
			  ARGUMENT_SECONDS, false },
			SANDBOX },
		.start = exec_output_start, .take = exec_output_take,
		.late = exec_output_late },
	[TOOL_EXEC_KILL] = {
		.name = "exec_kill", .title = "Signal a background command",
		.description =
			"Sends a signal to a background command and its process "
			"group.",
		.flags = TOOL_DESTRUCTIVE | TOOL_IN_BOX,
		.output = ID ",\"exec_id\":{\"type\":\"integer\"}",
		.arguments = {
			{ "exec_id", "The number that exec has returned.", ARGUMENT_WHOLE,
			  true },
			{ "signal", "TERM, INT or KILL; KILL by default.", ARGUMENT_TEXT,
			  false },
			SANDBOX },
		.start = exec_kill_start, .take = exec_kill_take },
	[TOOL_READ_FILE] = {
		.name = "read_file", .title = "Read a file",
		.description =
			"Returns the text of a file, or an image as an image.",
		.flags = TOOL_READ_ONLY | TOOL_IN_BOX | TOOL_MAKES,
		.output = CONTENT,
		.arguments = {
			PATH("The file: " A_PATH ".", true),
			{ "offset", "The first line to read, from 1.",
			  ARGUMENT_WHOLE, false },
			{ "limit", "How many lines to read; all by default.",
			  ARGUMENT_WHOLE,
			  false },
			SANDBOX },
		.start = files_read, .take = files_take },
	[TOOL_WRITE_FILE] = {
		.name = "write_file", .title = "Write a file",
		.description =
			"Writes a text file, in place of what it held; missing "
			"folders are made. The last line gets a newline.",
		.flags = TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT | TOOL_IN_BOX | TOOL_MAKES,
		.output = CONTENT,
		.arguments = {
			PATH("The file: " A_PATH ".", true),
			{ "content", "The whole text.", ARGUMENT_TEXT, true },
			SANDBOX },
		.start = files_write, .take = files_take },
	[TOOL_EDIT_FILE] = {
		.name = "edit_file", .title = "Edit a file",
		.description =
			"Replaces a text in a file, which must occur exactly once "
			"there.",
		.flags = TOOL_DESTRUCTIVE | TOOL_IN_BOX | TOOL_MAKES,
		.output = CONTENT ",\"diff\":{\"type\":\"string\"}",
		.arguments = {
			PATH("The file: " A_PATH ".", true),
			{ "old_str",
			  "The text to replace, with enough around it to be the"
			  " only one.",
			  ARGUMENT_TEXT, true },
			{ "new_str", "The text in its place; nothing by default.",
			  ARGUMENT_TEXT, false },
			SANDBOX },
		.start = files_edit, .take = files_take },
	[TOOL_LIST_DIR] = {
		.name = "list_dir", .title = "List a folder",
		.description =
			"Lists a folder, a name a line; names of folders end with a"
			" slash.",
		.flags = TOOL_READ_ONLY | TOOL_IN_BOX | TOOL_MAKES,
		.output = CONTENT,
		.arguments = {
			PATH("The folder: " A_PATH "; the working directory by default.",
			     false),
			{ "depth", "How many levels; 1 by default.",
			  ARGUMENT_WHOLE, false },
			{ "limit", "At most so many names; 1000 by default.",
			  ARGUMENT_WHOLE,
			  false },
			SANDBOX },
		.start = files_list, .take = files_take },
	[TOOL_SEARCH_FILES] = {
		.name = "search_files", .title = "Find files by name",
		.description =
			"Finds files by a pattern such as **/*.py, those changed "
			"last first.",
		.flags = TOOL_READ_ONLY | TOOL_IN_BOX | TOOL_MAKES,
		.output = CONTENT,
		.arguments = {
			{ "pattern",
			  "The pattern: *, ?, [a-z], {a,b}, and ** for any "
			  "number of folders.",
			  ARGUMENT_TEXT, true },
			PATH("The folder that the pattern is about: " A_PATH ".", false),
			{ "limit", "At most so many files; 100 by default.",
			  ARGUMENT_WHOLE,
			  false },
			SANDBOX },
		.start = files_search, .take = files_take },
	[TOOL_GREP] = {
		.name = "grep", .title = "Find lines in files",
		.description =
			"Finds lines by an extended regular expression; the result "
			"has path:number:line.",
		.flags = TOOL_READ_ONLY | TOOL_IN_BOX | TOOL_MAKES,
		.output = CONTENT,
		.arguments = {
			{ "pattern", "The regular expression.", ARGUMENT_TEXT, true },
			PATH("A file or folder: " A_PATH ".", false),
			{ "include", "Only files whose name matches this, such as *.c.",
			  ARGUMENT_TEXT, false },
			{ "ignore_case", "Whether a is A, too.", ARGUMENT_BOOL, false },
			{ "limit", "At most so many lines; 250 by default.",
			  ARGUMENT_WHOLE,
			  false },
			SANDBOX },
		.start = files_grep, .take = files_take },
	[TOOL_RUN_CODE] = {
		.name = "run_code", .title = "Run Python",
		.description =
			"Runs Python in a Jupyter kernel whose variables last, and "
			"returns its output and its pictures.",
		.flags = TOOL_DESTRUCTIVE | TOOL_OPEN_WORLD | TOOL_IN_BOX | TOOL_MAKES,
		.output = CONTENT,
		.arguments = {
			{ "code", "The cell.", ARGUMENT_TEXT, true },
			{ "timeout", "Seconds after which it is interrupted.",
			  ARGUMENT_SECONDS, false },
			SANDBOX },
		.start = files_run_code, .take = files_take, .is_offered = has_jupyter },
	[TOOL_SNAPSHOT] = {
		.name = "snapshot", .title = "Keep a sandbox's files",
		.description =
			"Keeps the root file system of a sandbox as it is now, "
			"without the user's folders, for fork.",
		.output = "\"snapshot\":{\"type\":\"string\"}", .arguments = { SANDBOX },
		.start = boxes_snapshot, .ended = boxes_snapshot_ended,
		.is_offered = has_image },
	[TOOL_FORK] = {
		.name = "fork", .title = "Branch off a sandbox",
		.description =
			"Makes a sandbox whose root file system begins as that of "
			"another one, or of a snapshot.",
		.output = ID,
		.arguments = {
			{ "snapshot",
			  "What snapshot has returned; the sandbox as it is now"
			  " if this is left out.",
			  ARGUMENT_TEXT, false },
			NAME, SANDBOX },
		.start = boxes_fork, .ended = boxes_make_ended, .is_offered = has_image },
	[TOOL_DIFF] = {
		.name = "diff", .title = "Show waiting changes",
		.description =
			"Shows what a sandbox has changed in folders of the user "
			"that are shown to it as copies.",
		.flags = TOOL_READ_ONLY,
		.output = CONTENT,
		.arguments = {
			{ "patch", "Whether to show the text that has changed.",
			  ARGUMENT_BOOL, false },
			{ "paths", "Only these files and folders.",
			  ARGUMENT_TEXTS, false },
			SANDBOX },
		.start = boxes_diff, .ended = boxes_diff_ended },
	[TOOL_APPLY] = {
		.name = "apply", .title = "Apply waiting changes",
		.description =
			"Asks the user, and then makes the changes that diff shows "
			"in the user's own folders.",
		.flags = TOOL_DESTRUCTIVE | TOOL_OPEN_WORLD,
		.output = CONTENT,
		.arguments = {
			{ "paths", "Only these files and folders.",
			  ARGUMENT_TEXTS, false },
			SANDBOX },
		.start = boxes_apply, .answered = boxes_apply_answered,
		.ended = boxes_apply_ended },
	[TOOL_ALLOW_HOST] = {
		.name = "allow_host", .title = "Allow a host",
		.description =
			"Asks the user whether a sandbox may connect to a host.",
		.flags = TOOL_OPEN_WORLD | TOOL_IN_BOX | TOOL_MAKES,
		.output = CONTENT,
		.arguments = {
			{ "host",
			  "The host: NAME (ports 80 and 443), NAME:PORT or "
			  "*.NAME.",
			  ARGUMENT_TEXT, true },
			SANDBOX },
		.start = boxes_allow, .take = boxes_allow_take,
		.answered = boxes_allow_answered, .is_offered = has_network_rules },
};
/* clang-format on */

const struct tool *tools_find(const char *name, uint32_t offered)
{
	for (size_t i = 0; i < TOOL_COUNT; i++)
		if ((offered & 1u << i) && !strcmp(tools[i].name, name))
			return &tools[i];
	return NULL;
}

/* Fills in the error that the name is that of no tool. */
static int unknown(const char *name, struct err *e)
{
	struct nearest n;

	(void)err_set(e, ERR_USAGE, "--tools: there is no tool '%.60s'", name);
	nearest_init(&n, name, strlen(name));
	for (size_t i = 0; i < TOOL_COUNT; i++)
		nearest_try(&n, tools[i].name);
	if (nearest_name(&n))
		return err_remedy(e, "is it %s?", nearest_name(&n));
	return err_remedy(e, "hutch mcp --help lists them");
}

int tools_choose(const char *list, uint32_t *ret, struct err *e)
{
	uint32_t chosen = 0;

	while (*list) {
		const size_t len = strcspn(list, ",");
		AUTO_FREE char *name = text_format("%.*s", (int)len, list);
		const struct tool *t = tools_find(name, UINT32_MAX);
		if (!t)
			return unknown(name, e);
		chosen |= 1u << (t - tools);
		list += len + (list[len] == ',');
	}
	*ret = chosen;
	return chosen ? 0 : err_set(e, ERR_USAGE, "--tools names no tool");
}

uint32_t tools_for(const struct policy *p)
{
	uint32_t all = 0;

	for (size_t i = 0; i < TOOL_COUNT; i++)
		if (!tools[i].is_offered || tools[i].is_offered(p))
			all |= 1u << i;
	return all;
}

/* --- as the protocol lists them -------------------------------------------- */

static const char *const schemas[] = {
	[ARGUMENT_TEXT] = "\"type\":\"string\"",
	[ARGUMENT_WHOLE] = "\"type\":\"integer\",\"minimum\":0",
	[ARGUMENT_SECONDS] =
		"\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":86400",
	[ARGUMENT_BOOL] = "\"type\":\"boolean\"",
	[ARGUMENT_TEXTS] = "\"type\":\"array\",\"items\":{\"type\":\"string\"},"
			   "\"minItems\":1",
	[ARGUMENT_VARIABLES] = "\"type\":\"object\","
			       "\"additionalProperties\":{\"type\":\"string\"}",
};
static_assert(ARRAY_LEN(schemas) == ARGUMENT_TYPES, "a type of arguments has no schema");

/* Some readers of schemas take no empty list. */
static void write_required(struct buffer *b, const struct tool *t)
{
	bool has_some = false;

	for (const struct argument *a = t->arguments; a->name; a++) {
		if (!a->is_required)
			continue;
		if (!has_some)
			json_write_open(b, "required", "[");
		has_some = true;
		json_write_text(b, NULL, a->name);
	}
	if (has_some)
		json_write_close(b, "]");
}

static void write_input(struct buffer *b, const struct tool *t)
{
	const struct argument *a;

	json_write_open(b, "inputSchema", "{");
	json_write_text(b, "type", "object");
	json_write_open(b, "properties", "{");
	for (a = t->arguments; a->name; a++) {
		json_write_open(b, a->name, "{");
		json_write_raw(b, NULL, schemas[a->type]);
		json_write_text(b, "description", a->description);
		json_write_close(b, "}");
	}
	json_write_close(b, "}");
	write_required(b, t);
	json_write_bool(b, "additionalProperties", false);
	json_write_close(b, "}");
}

static void write_output(struct buffer *b, const struct tool *t)
{
	json_write_open(b, "outputSchema", "{");
	json_write_text(b, "type", "object");
	json_write_open(b, "properties", "{");
	json_write_raw(b, NULL, t->output);
	json_write_close(b, "}}");
}

static void write_annotations(struct buffer *b, const struct tool *t)
{
	json_write_open(b, "annotations", "{");
	json_write_text(b, "title", t->title);
	json_write_bool(b, "readOnlyHint", t->flags & TOOL_READ_ONLY);
	json_write_bool(b, "destructiveHint", t->flags & TOOL_DESTRUCTIVE);
	json_write_bool(b, "idempotentHint",
			t->flags & (TOOL_IDEMPOTENT | TOOL_READ_ONLY));
	json_write_bool(b, "openWorldHint", t->flags & TOOL_OPEN_WORLD);
	json_write_close(b, "}");
}

void tools_write(struct buffer *b, uint32_t offered)
{
	json_write_open(b, "tools", "[");
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		if (!(offered & 1u << i))
			continue;
		json_write_open(b, NULL, "{");
		json_write_text(b, "name", tools[i].name);
		json_write_text(b, "title", tools[i].title);
		json_write_text(b, "description", tools[i].description);
		write_input(b, &tools[i]);
		write_output(b, &tools[i]);
		write_annotations(b, &tools[i]);
		json_write_close(b, "}");
	}
	json_write_close(b, "]");
}

/* --- arguments ------------------------------------------------------------- */

static int check_texts(const struct json_at *at, struct err *e)
{
	struct json_at item = { 0 };
	size_t count = 0;
	const char *text;

	if (json_expect(at, JSON_ARRAY, e) < 0)
		return -1;
	for (; json_step(at, &item); count++)
		if (json_string(&item, &text, e) < 0)
			return -1;
	return count ? 0 : err_set(e, ERR_USAGE, "%s: the array is empty", at->place);
}

static int check_variables(const struct json_at *at, struct err *e)
{
	struct json_at item = { 0 };
	const char *key, *text;

	if (json_expect(at, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(at, &item, &key))
		if (json_string(&item, &text, e) < 0)
			return -1;
	return 0;
}

static int check_seconds(const struct json_at *at, struct err *e)
{
	double seconds;

	if (json_number(at, &seconds, e) < 0)
		return -1;
	if (seconds > 0 && seconds <= TOOL_SECONDS_MAX)
		return 0;
	return err_set(e, ERR_USAGE, "%s: it is above 0, and at most %d seconds",
		       at->place, TOOL_SECONDS_MAX);
}

static int check_type(const struct json_at *at, enum argument_type type, struct err *e)
{
	uint64_t number;

	switch (type) {
	case ARGUMENT_TEXT:
		return json_expect(at, JSON_STRING, e);
	case ARGUMENT_WHOLE:
		return json_uint(at, &number, e);
	case ARGUMENT_SECONDS:
		return check_seconds(at, e);
	case ARGUMENT_BOOL:
		return json_expect(at, JSON_BOOL, e);
	case ARGUMENT_TEXTS:
		return check_texts(at, e);
	case ARGUMENT_VARIABLES:
		return check_variables(at, e);
	case ARGUMENT_TYPES:
		break;
	}
	return 0;
}

int tools_check(const struct tool *t, const struct job *j, struct err *e)
{
	const char *keys[TOOL_ARGUMENTS_MAX + 1] = { NULL };
	const struct argument *a;
	struct json_at at;

	for (a = t->arguments; a->name; a++)
		keys[a - t->arguments] = a->name;
	if (j->arguments.value && json_only(&j->arguments, keys, e) < 0)
		return -1;
	for (a = t->arguments; a->name; a++) {
		if (json_member(&j->arguments, a->name, &at)) {
			if (check_type(&at, a->type, e) < 0)
				return -1;
		} else if (a->is_required) {
			return err_set(e, ERR_USAGE, "%s: it is missing", a->name);
		}
	}
	return 0;
}
