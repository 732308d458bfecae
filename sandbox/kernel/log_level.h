/* log_level -- how much of its work hutch reports, and the form of such a line.
 *
 * Set once for all programs of a launch: `hutch --log-level` and `--log-format`
 * set the variables, which those programs inherit; a sandbox's own processes
 * never have them.  A line is a JSON object
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
/* The file in a sandbox's log folder (sandbox/state/state_dir.h); NAME.1 is the one
 * before it. */
#define LOG_LEVEL_FILE "supervisor"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_COUNT
};

/* "error", "warn", ... */
const char *log_level_name(enum log_level level);

/* Checks the variables.  ERR_USAGE: one has a value that it does not take. */
int log_level_check(struct err *e);

/* Entries up to this level are reported; warnings unless the variable says
 * otherwise. */
enum log_level log_level_now(void);
bool log_level_wants_json(void);

struct log_level_entry {
	enum log_level level;
	const char *sandbox;   /* NULL: none */
	const char *component; /* the process of hutch's that reports */
	const char *message;   /* any bytes */
	const char *fields;    /* members of an object, without its braces; NULL: none */
};

/* The entry as JSON, without a newline; allocated. */
char *log_level_line(const struct log_level_entry *x);

/* Prints the entry on stderr, if its level is reported. */
void log_level_say(const struct log_level_entry *x);
