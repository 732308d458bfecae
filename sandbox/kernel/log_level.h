/* log_level -- how much detail hutch logs, and the format of a log line.
 *
 * Both are set once for all programs of a launch: `hutch --log-level` and `--log-format`
 * set environment variables, which those programs inherit; the processes inside a
 * sandbox never have these variables.  A line is a JSON object
 *
 *	{"time":"...","level":"warn","sandbox":"box","component":"supervisor",
 *	 "message":"...","fields":{...}}
 *
 * or, as a text, "TIME warn box supervisor: MESSAGE FIELDS". */
#pragma once
#include <stdbool.h>

struct err;

#define LOG_LEVEL_VARIABLE	"HUTCH_LOG_LEVEL"
#define FORMAT_VARIABLE "HUTCH_LOG_FORMAT"
/* The supervisor's log in a sandbox's log folder (sandbox/state/state_dir.h); NAME.1
 * is the older part of the log. */
#define LOG_LEVEL_FILE "supervisor"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_COUNT
};

/* Returns "error", "warn", ... */
const char *log_level_name(enum log_level level);

/* Checks the values of both variables.  ERR_USAGE: a variable has an invalid value. */
int log_level_check(struct err *e);

/* Returns the highest level that is logged: the value of LOG_LEVEL_VARIABLE, by default
 * LOG_LEVEL_WARN. */
enum log_level log_level_now(void);
bool log_level_wants_json(void);

struct log_level_entry {
	enum log_level level;
	const char *sandbox;   /* the sandbox's name; NULL: no sandbox is concerned */
	const char *component; /* the program of hutch's that writes the entry, such as
				* "supervisor" */
	const char *message;   /* any bytes; they are escaped */
	const char *fields;    /* members of a JSON object, without its braces; NULL:
				* none */
};

/* Returns the entry as a JSON object, without a newline; allocated. */
char *log_level_line(const struct log_level_entry *x);

/* Prints the entry on stderr, if entries of its level are reported. */
void log_level_say(const struct log_level_entry *x);
