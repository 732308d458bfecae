/* supervisor_log -- the messages of a supervisor, its launch and its helpers about
 * themselves, for a user who wonders what became of a sandbox in the background
 * (sandbox/kernel/log_level.h).
 *
 * Lines of JSON in the sandbox's log folder, in a log of two files like that of
 * its output (log.h), which moves to .ended with the folder.  Secrets are
 * hidden, whatever writes them; bytes of the inside are escaped.  The first
 * line makes the file: a sandbox without messages has none. */
#pragma once
#include "sandbox/kernel/log_level.h"
#include "supervisor/log.h"

/* The size in bytes of one file of the log; two files are kept. */
#define SUPERVISOR_LOG_FILE_MAX (1u << 20)

struct redact;
struct registry_entry;

struct supervisor_log {
	struct log log;
	enum log_level level; /* the lowest level of the messages that are written */
	const struct registry_entry *entry; /* borrowed; the sandbox's entry, whose
					     * folder has the log */
	const struct redact *secrets;	    /* borrowed; secrets to hide in messages */
	const int64_t *now_ms; /* borrowed: the time of its owner's loop */
};

void supervisor_log_init(struct supervisor_log *j, const struct registry_entry *entry,
		  const struct redact *secrets, const int64_t *now_ms);
void supervisor_log_done(struct supervisor_log *j);

/* Adds a message.  `fields`: members of an object, without its braces; NULL:
 * none. */
void supervisor_log_add(struct supervisor_log *j, enum log_level level,
			const char *component, const char *message, const char *fields);

/* Adds an error, with its kind and its remedy. */
struct err;
void supervisor_log_add_err(struct supervisor_log *j, enum log_level level,
			    const char *component, const struct err *why);

/* Adds an event of docs/control.md as a message. */
void supervisor_log_add_event(struct supervisor_log *j, const char *event,
			      const char *members);
