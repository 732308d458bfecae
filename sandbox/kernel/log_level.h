/* log_level -- how much of its work hutch reports, and the form of such a line.
 *
 * Both are set once for all programs of a launch: `hutch --log-level` and
 * `--log-format` set the variables, which those programs inherit; a sandbox's own
 * processes never have them.  A line is a JSON object
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

/* Checks the values of both variables.  ERR_USAGE: a variable has a value that it
 * does not take. */
int log_level_check(struct err *e);

/* Returns the level up to which entries are reported: that of the variable, else
 * warnings. */
enum log_level log_level_now(void);
bool log_level_wants_json(void);

struct log_level_entry {
	enum log_level level;
	const char *sandbox;   /* the sandbox's name; NULL: no sandbox is concerned */
	const char *component; /* the process of hutch's that reports, such as
				* "supervisor" */
	const char *message;   /* any bytes; they are escaped */
	const char *fields;    /* members of a JSON object, without its braces; NULL:
				* none */
};

/* Returns the entry as a JSON object, without a newline; allocated. */
char *log_level_line(const struct log_level_entry *x);

/* Prints the entry on stderr, if entries of its level are reported. */
void log_level_say(const struct log_level_entry *x);
