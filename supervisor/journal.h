/* journal -- the messages of a supervisor, its launch and its helpers about
 * themselves, for a user who wonders what became of a sandbox in the background
 * (sandbox/kernel/level.h).
 *
 * Lines of JSON in the sandbox's log folder, in a log of two files like that of
 * its output (log.h), which moves to .ended with the folder.  Secrets are
 * hidden, whatever writes them; bytes of the inside are escaped.  The first
 * line makes the file: a sandbox without messages has none. */
#pragma once
#include "sandbox/kernel/level.h"
#include "supervisor/log.h"

/* The size of one file; two are kept. */
#define JOURNAL_FILE_MAX (1u << 20)

struct mask;
struct registry_entry;

struct journal {
	struct log log;
	enum level level; /* of the messages that are written */
	const struct registry_entry *entry; /* borrowed */
	const struct mask *mask;	    /* borrowed */
	const int64_t *now_ms; /* borrowed: the time of its owner's loop */
};

void journal_init(struct journal *j, const struct registry_entry *entry,
		  const struct mask *mask, const int64_t *now_ms);
void journal_done(struct journal *j);

/* Adds a message.  `fields`: members of an object, without its braces; NULL:
 * none. */
void journal_add(struct journal *j, enum level level, const char *component,
		 const char *message, const char *fields);

/* Adds an error, with its kind and its remedy. */
struct err;
void journal_add_err(struct journal *j, enum level level, const char *component,
		     const struct err *why);

/* Adds an event of docs/control.md. */
void journal_add_event(struct journal *j, const char *event, const char *members);
