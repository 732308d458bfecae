/* plugin -- one plugin: its manifest, its process, and the call under way.
 *
 * This header is shared by the files of the room; plugins.h is for others.
 *
 * States, and the event that leads to the next one:
 *
 *   OFF	  there is no process	  --a call, or at once-->  BEGINS
 *   BEGINS	  it has said nothing	  --"ready"-->		   UP
 *   UP		  it answers calls
 *   BEGINS, UP				  --it must be killed-->   KILLED
 *   BEGINS, UP, KILLED			  --it is reaped-->	   OFF
 *   any	  --"failed", or no valid plugin.json-->  DEAD, for good */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "policy/plugin/manifest.h"
#include "protocol/message.h"
#include "protocol/plugin.h"

struct json_at;
struct plugins;

/* The most bytes of a line in either direction. */
#define PLUGIN_LINE_MAX (8u << 20)
/* How many of the last bytes of a process's stderr are kept. */
#define PLUGIN_TAIL 4096
/* How long a call waits, in ms, for the end of a process that was killed, which may wait
 * for a file system. */
#define PLUGIN_REAPED_MS 5000
/* How many descriptors of the executor a process takes. */
#define PLUGIN_FDS 4

enum plugin_phase { PLUGIN_OFF, PLUGIN_BEGINS, PLUGIN_UP, PLUGIN_KILLED, PLUGIN_DEAD };

/* The action that a plugin is to answer. */
struct call {
	uint32_t id; /* 0: none */
	uint64_t timeout_ms;
	bool is_streamed;
	bool is_sent;	     /* the process has its line */
	uint32_t stopped;    /* OUTCOME_TIMED_OUT or OUTCOME_CANCELLED: the process was
			      * told to answer now; OUTCOME_DONE: it was not */
	char *line;	     /* owned; the line for the process, until it is sent */
	const char *action;  /* borrowed from the manifest: its name */
};

struct plugin {
	struct plugins *set; /* borrowed */
	uint32_t id;
	char *name, *folder;	  /* owned */
	uint8_t *request;	  /* owned; the body of MSG_PLUGIN */
	struct exec exec;	  /* owned; how a command is run; its pointers lead into
				   * `request` */
	struct manifest manifest; /* owned; empty if it could not be read */
	char *failure; /* owned; why the last process has ended, or why there can be none;
			* NULL: there was no failure */

	enum plugin_phase phase;
	pid_t pid; /* of the process's keeper (spawn.h), which stands for it here */
	int in, out, errors, status; /* owned; our ends of the process's 0, 1 and 2, and
				      * the status pipe of spawn.h; -1: closed */
	struct buffer to;	     /* lines that are to be written */
	struct buffer from;	     /* bytes of a line whose end has not come */
	size_t scanned;		     /* so many bytes of `from` have no line end */
	char tail[PLUGIN_TAIL];	     /* the last bytes of stderr */
	size_t tail_len;
	struct failed end; /* how the process has ended, or could not be started, as its
			    * keeper has told (spawn.h); EXEC_STAGE_NONE: not told */
	int64_t due; /* until when the process must be ready or answer; INT64_MAX: no
		      * limit */
	bool has_asked;	   /* among the bytes that were read in this turn was an "ask" */
	bool has_answered; /* the process has answered a call */
	unsigned ends;	   /* so many processes in a row have ended without an answer */
	int64_t not_before; /* the next process may be started from this time on */
	struct call call;
};

/* --- plugin_process.c --------------------------------------------------------------- */

/* Starts the process.  A failure becomes the plugin's. */
void plugin_start(struct plugin *p, int64_t now);
/* Kills the process with its descendants, and fails the call under way; the reason is
 * formatted. */
void plugin_fail(struct plugin *p, int64_t now, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a plugin that cannot work at all: its phase is PLUGIN_DEAD afterwards. */
void plugin_give_up(struct plugin *p, int64_t now, const char *reason);
/* Kills the process, which is not reaped yet, with its descendants. */
void plugin_end_process(struct plugin *p);
/* Reads what the keeper tells.  Returns true if the process has ended, or could not be
 * started: plugin_end_process() is to be called then. */
bool plugin_read_end(struct plugin *p);
/* Called when the process was reaped. */
void plugin_ended(struct plugin *p, int status, int64_t now);
/* Closes the descriptors and empties the buffers. */
void plugin_let_go(struct plugin *p);
/* Keeps the end of what the process has written to stderr. */
void plugin_read_errors(struct plugin *p);
/* Tells the supervisor the state of the process. */
void plugin_say_state(const struct plugin *p, enum plugin_state state,
		      const char *reason);

/* --- plugin_write.c ----------------------------------------------------------------- */

/* Returns the line for a call, allocated; `args` is checked JSON on any number of
 * lines. */
char *plugin_call_line(const struct plugin_call *c, uint32_t id, const char *cwd,
		       uint64_t timeout_ms, const struct json_at *args);
/* Adds a line, which ends with a newline, to those that are to be written.  Returns false
 * if the process has not read so much that it does not fit. */
bool plugin_say(struct plugin *p, const char *line, size_t len);
/* Writes what the pipe takes. */
void plugin_write(struct plugin *p, int64_t now);
/* Sends the call under way, with the time limit that begins now. */
void plugin_send_call(struct plugin *p, int64_t now);

/* --- plugin_read.c -------------------------------------------------------------------- */

/* Reads once from the process, and handles the lines that are complete.  Returns false if
 * there was nothing to read. */
bool plugin_read(struct plugin *p, int64_t now);

/* --- plugin_answer.c ------------------------------------------------------------------ */

/* Answers the call under way, which is over then: with a reason and an outcome other than
 * OUTCOME_DONE, or with the line of the process.  plugin_answer() returns -1 if the line
 * does not fit the action's schema; the call is still under way then. */
void plugin_answer_failure(struct plugin *p, uint32_t outcome, const char *reason);
int plugin_answer(struct plugin *p, const struct json_at *line, struct err *e);

/* --- plugin_ask.c --------------------------------------------------------------------- */

/* Does what the process has asked for, and tells it the answer.  Returns -1 if the
 * request is malformed. */
int plugin_ask(struct plugin *p, const struct json_at *line, int64_t now, struct err *e);
