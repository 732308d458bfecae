/* supervisor_log -- a log of messages of the supervisor, the launch and their helper
 * processes.  It shows a user what has happened to a sandbox in the background
 * (sandbox/kernel/log_level.h).
 *
 * The messages are lines of JSON in two files in the sandbox's log folder, like the log
 * of its output (log.h); after the sandbox's end the folder is moved to .ended.
 * Secrets are hidden in all messages, and bytes that come from inside are escaped.  The
 * files are created with the first message. */
#pragma once
#include "sandbox/kernel/log_level.h"
#include "supervisor/log.h"

/* The maximum size in bytes of one of the log's two files. */
#define SUPERVISOR_LOG_FILE_MAX (1u << 20)

struct redact;
struct registry_entry;

struct supervisor_log {
	struct log log;
	enum log_level level; /* the lowest level of the messages that are written */
	const struct registry_entry *entry; /* borrowed; the sandbox's entry in the
					     * registry, with the log folder */
	const struct redact *secrets;	    /* borrowed; secrets to hide in messages */
	const int64_t *now_ms; /* borrowed: the present time of the supervisor's loop */
};

void supervisor_log_init(struct supervisor_log *j, const struct registry_entry *entry,
		  const struct redact *secrets, const int64_t *now_ms);
void supervisor_log_done(struct supervisor_log *j);

/* Adds a message.  `fields`: further members of its JSON object, without braces; NULL:
 * none. */
void supervisor_log_add(struct supervisor_log *j, enum log_level level,
			const char *component, const char *message, const char *fields);

/* Adds an error as a message, with its kind and remedy. */
struct err;
void supervisor_log_add_err(struct supervisor_log *j, enum log_level level,
			    const char *component, const struct err *why);

/* Adds an event (docs/control.md) as a message. */
void supervisor_log_add_event(struct supervisor_log *j, const char *event,
			      const char *members);
