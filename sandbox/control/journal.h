/* journal -- what a supervisor, its launch and its helpers tell of themselves, for who
 * wonders what became of a sandbox in the background (sandbox/level.h).
 *
 * Lines of JSON in the sandbox's log folder, in a log of two files as that of its output
 * (log.h), which moves to .ended with it.  Secrets are hidden, whatever says them; bytes
 * of the inside are escaped.  The file is made with the first line: one that has nothing
 * to tell has none. */
#pragma once
#include "sandbox/control/log.h"
#include "sandbox/level.h"

/* Of one file; twice that is kept. */
#define JOURNAL_FILE_MAX (1u << 20)

struct mask;
struct registry_entry;

struct journal {
	struct log log;
	enum level level; /* of what is told */
	const struct registry_entry *entry; /* borrowed */
	const struct mask *mask;	    /* borrowed */
	const int64_t *now_ms; /* borrowed: the time of its owner's loop */
};

void journal_init(struct journal *j, const struct registry_entry *entry,
		  const struct mask *mask, const int64_t *now_ms);
void journal_done(struct journal *j);

/* `fields`: members of an object, without its braces; NULL: none. */
void journal_add(struct journal *j, enum level level, const char *component,
		 const char *message, const char *fields);

/* An error, with its kind and its remedy. */
struct err;
void journal_add_err(struct journal *j, enum level level, const char *component,
		     const struct err *why);

/* An event of docs/control.md. */
void journal_add_event(struct journal *j, const char *event, const char *members);
