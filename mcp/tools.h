/* tools -- the tools that clients can call: names, schemas, and the functions that do
 * them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct job;
struct err;
struct hutch_message;
struct policy;
struct command;

enum tool_number {
	TOOL_SANDBOX_CREATE,
	TOOL_SANDBOX_LIST,
	TOOL_SANDBOX_END,
	TOOL_EXEC,
	TOOL_EXEC_OUTPUT,
	TOOL_EXEC_KILL,
	TOOL_READ_FILE,
	TOOL_WRITE_FILE,
	TOOL_EDIT_FILE,
	TOOL_LIST_DIR,
	TOOL_SEARCH_FILES,
	TOOL_GREP,
	TOOL_RUN_CODE,
	TOOL_SNAPSHOT,
	TOOL_FORK,
	TOOL_DIFF,
	TOOL_APPLY,
	TOOL_ALLOW_HOST,
	TOOL_COUNT
};

enum tool_flag {
	TOOL_READ_ONLY = 1,
	TOOL_DESTRUCTIVE = 2,
	TOOL_IDEMPOTENT = 4,
	TOOL_OPEN_WORLD = 8,
	TOOL_IN_BOX = 16, /* it works in a sandbox, and needs a connection to it */
	TOOL_MAKES = 32	  /* and makes the default one if that is not there */
};

enum argument_type {
	ARGUMENT_TEXT,
	ARGUMENT_WHOLE,	  /* a whole number */
	ARGUMENT_SECONDS, /* above 0, and up to TOOL_SECONDS_MAX */
	ARGUMENT_BOOL,
	ARGUMENT_TEXTS,	    /* an array of texts */
	ARGUMENT_VARIABLES, /* an object whose values are texts */
	ARGUMENT_TYPES
};

#define TOOL_SECONDS_MAX 86400

struct argument {
	const char *name, *description;
	enum argument_type type;
	bool is_required;
};

#define TOOL_ARGUMENTS_MAX 9

struct tool {
	const char *name, *title, *description;
	unsigned flags;
	const char *output; /* the members of the output schema's `properties` */
	struct argument arguments[TOOL_ARGUMENTS_MAX];
	void (*start)(struct job *j); /* sends the first request */
	void (*take)(struct job *j, const struct hutch_message *m);
	void (*ended)(struct job *j, const struct command *p);
	void (*answered)(struct job *j);	    /* the user has allowed it */
	void (*late)(struct job *j);		    /* the call's timer has expired */
	bool (*is_offered)(const struct policy *p); /* NULL: always */
};

extern const struct tool tools[TOOL_COUNT];

/* Finds a tool by its name; NULL. */
const struct tool *tools_find(const char *name, uint32_t offered);
/* Reads a list of names, with commas between them, into bits. */
int tools_choose(const char *list, uint32_t *ret, struct err *e);
/* The tools that sandboxes of this policy have a use for. */
uint32_t tools_for(const struct policy *p);
/* Writes the member "tools" of the answer to tools/list. */
void tools_write(struct buffer *b, uint32_t offered);

/* Checks the names and types of the arguments. */
int tools_check(const struct tool *t, const struct job *j, struct err *e);

/* exec.c */
void exec_start(struct job *j);
void exec_take(struct job *j, const struct hutch_message *m);
void exec_output_start(struct job *j);
void exec_output_take(struct job *j, const struct hutch_message *m);
void exec_output_late(struct job *j);
void exec_kill_start(struct job *j);
void exec_kill_take(struct job *j, const struct hutch_message *m);

/* files.c */
void files_read(struct job *j);
void files_write(struct job *j);
void files_edit(struct job *j);
void files_list(struct job *j);
void files_search(struct job *j);
void files_grep(struct job *j);
void files_run_code(struct job *j);
void files_take(struct job *j, const struct hutch_message *m);

/* boxes.c */
void boxes_list(struct job *j);
void boxes_make_ended(struct job *j, const struct command *p);
void boxes_list_ended(struct job *j, const struct command *p);
void boxes_end(struct job *j);
void boxes_end_take(struct job *j, const struct hutch_message *m);
void boxes_snapshot(struct job *j);
void boxes_snapshot_ended(struct job *j, const struct command *p);
void boxes_fork(struct job *j);
void boxes_diff(struct job *j);
void boxes_diff_ended(struct job *j, const struct command *p);
void boxes_apply(struct job *j);
void boxes_apply_answered(struct job *j);
void boxes_apply_ended(struct job *j, const struct command *p);
void boxes_allow(struct job *j);
void boxes_allow_answered(struct job *j);
void boxes_allow_take(struct job *j, const struct hutch_message *m);
