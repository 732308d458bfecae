/* level -- how much of what hutch does is told, and how a line of that looks.
 *
 * Said once for all programs of a launch: `hutch --log-level` and `--log-format` set the
 * variables, which they inherit; a sandbox's own never have them.  A line is a JSON object
 *
 *	{"time":"...","level":"warn","sandbox":"box","component":"supervisor",
 *	 "message":"...","fields":{...}}
 *
 * or, as a text, "TIME warn box supervisor: MESSAGE FIELDS". */
#pragma once
#include <stdbool.h>

struct err;

#define LEVEL_VARIABLE	"HUTCH_LOG_LEVEL"
#define FORMAT_VARIABLE "HUTCH_LOG_FORMAT"
/* Of a sandbox's log folder (sandbox/shelf.h), with NAME.1, the one before it. */
#define LEVEL_FILE "supervisor"

enum level { LEVEL_ERROR, LEVEL_WARN, LEVEL_INFO, LEVEL_DEBUG, LEVEL_COUNT };

/* "error", "warn", ... */
const char *level_name(enum level level);

/* The variables: ERR_USAGE where one has a value that it does not take. */
int level_check(struct err *e);

/* What is told: those up to this one; warnings where nothing says otherwise. */
enum level level_now(void);
bool level_wants_json(void);

struct level_entry {
	enum level level;
	const char *sandbox;   /* NULL: none */
	const char *component; /* which process of hutch's */
	const char *message;   /* any bytes */
	const char *fields;    /* members of an object, without its braces; NULL: none */
};

/* As JSON, without a newline; allocated. */
char *level_line(const struct level_entry *x);

/* On stderr, if it is to be told. */
void level_say(const struct level_entry *x);
