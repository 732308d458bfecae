/* action -- the requests of an agent, as messages (docs/protocol.md, "Actions").
 *
 * This header has the same rules as protocol/message.h: encoding appends a frame;
 * decoding gives pointers that are borrowed from a frame, and refuses a malformed or
 * out-of-range field. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"

/* The most bytes of a text or a file in one MSG_OUTPUT or MSG_CONTENT. */
#define ACTION_CHUNK (32u << 10)

/* The largest file that is read or written as a whole. */
#define ACTION_FILE_MAX (10u << 20)

/* The longest command. */
#define ACTION_TEXT_MAX (4u << 20)

#define ACTION_CUT_MAX (1ull << 53) /* the largest integer that every reader of JSON
				     * can hold exactly */

#define ACTION_LAST_LINE UINT64_MAX
#define ACTION_NO_CODE	 UINT32_MAX /* the exit code of a command that has not ended */

enum run_kind {
	RUN_NONE,
	RUN_COMMAND, /* a command for the shell */
	RUN_INPUT,   /* a line, typed to the running program */
	RUN_KEY,     /* a key, by its name */
	RUN_WAIT,    /* nothing is typed; the action waits for more output */
	RUN_KIND_COUNT
};

enum run_flag {
	RUN_STREAM = 1,
	RUN_PREVIOUS = 2, /* for RUN_COMMAND: if the previous command ended while no
			   * action waited for it, report that one first
			   * (REPORT_PREVIOUS) */
	RUN_WHOLE = 4, /* the middle of a long text is not cut out */
	RUN_FLAGS = 7
};

struct run_request {
	uint32_t session;
	uint32_t kind;	/* enum run_kind */
	uint32_t flags; /* enum run_flag */
	uint64_t soft_ms, hard_ms; /* the time-outs of the action; 0: none */
	struct bytes text; /* borrowed; the command, line or key, without 0 bytes */
};

enum report_state {
	REPORT_NONE,
	REPORT_COMPLETED,
	REPORT_NO_CHANGE,    /* there was no output for the soft time-out */
	REPORT_TIMED_OUT,    /* the hard time-out is over */
	REPORT_BUSY,	     /* the action was not executed: a command is still running */
	REPORT_NOTHING,	     /* no command is running */
	REPORT_UNKNOWN_KEY,
	REPORT_CANCELLED,
	REPORT_STATE_COUNT
};

enum report_flag {
	REPORT_CONTINUED = 1, /* this is not the first report of this command */
	REPORT_KEY = 2,	      /* a key ended the command */
	REPORT_RESTARTED = 4, /* the shell was restarted */
	REPORT_NOT_TYPED = 8, /* the command had ended before the input came */
	REPORT_PREVIOUS = 16, /* this is about the previous command; the report of this
			       * action follows */
	REPORT_FLAGS = 31
};

struct report {
	uint32_t state; /* enum report_state */
	uint32_t flags; /* enum report_flag */
	uint32_t exit_code; /* the command's exit code, 0..255, or ACTION_NO_CODE */
	uint32_t background; /* the pid of a job that went to the background; 0: none */
	uint64_t cut;	     /* bytes left out of the content */
	uint64_t lines; /* lines of the content if some are missing in front of it;
			 * else 0 */
	uint32_t log;	   /* the number of the file that has the whole output; 0: none */
	uint64_t unlogged; /* bytes of the output that are not in the file `log` */
	const char *cwd, *interpreter; /* borrowed; the shell's directory and its Python;
				        * "" where unknown */
};

enum read_form { READ_NONE, READ_TEXT, READ_BASE64, READ_FORM_COUNT };

/* The owner of files, and the start of relative paths, while there is no session. */
struct file_place {
	uint32_t uid, gid; /* the user, as the inside numbers it */
	const char *cwd;   /* borrowed; the absolute directory where relative paths
			    * begin */
};

struct read_request {
	uint32_t session; /* the session's id; 0: there is none, so `place` counts */
	struct file_place place;
	uint32_t form; /* enum read_form */
	uint64_t first, end; /* the lines to read, from 0; with READ_TEXT only */
	const char *path;    /* borrowed */
};

struct write_request {
	uint32_t session; /* the session's id; 0: there is none, so `place` counts */
	struct file_place place;
	uint64_t first, end; /* the lines to be replaced; for the whole file 0 and LAST */
	const char *path;    /* borrowed */
	struct bytes content; /* borrowed */
};

enum edit_flag {
	EDIT_FILE_TEXT = 1, /* file_text is given, perhaps empty; the next three flags say
			     * the same of other fields */
	EDIT_OLD_STR = 2,
	EDIT_NEW_STR = 4,
	EDIT_LINE = 8,
	EDIT_IS_READ = 16, /* for a file that looks binary, answer OUTCOME_BINARY alone */
	EDIT_LINT = 32, /* ask a linter about the change */
	EDIT_RELATIVE = 64, /* a relative path is allowed, and begins where that of a
			     * MSG_READ begins */
	EDIT_FLAGS = 127
};

/* An edit as the agent asked for it; the editor checks the words. */
struct edit_request {
	uint32_t session; /* the session's id; 0: none. place.cwd is also used in the
			   * error for a refused path */
	struct file_place place;
	uint32_t flags; /* enum edit_flag */
	const char *command, *path; /* borrowed */
	const char *line;	    /* borrowed: insert_line */
	const char *range; /* borrowed: view_range, as Python prints it; "": none */
	struct bytes file_text, old_str, new_str; /* borrowed */
};

/* The end of an edit. The content of the answer is a text followed by a diff. */
struct edited {
	uint32_t outcome; /* OUTCOME_DONE, or OUTCOME_BINARY with no content */
	uint64_t text_len; /* bytes of the text, behind which the diff begins */
	uint64_t cut;	   /* characters that are left out of the text */
};

enum errand_kind {
	ERRAND_NONE,
	ERRAND_LIST,
	ERRAND_GLOB,
	ERRAND_STAT,
	ERRAND_MOVE,
	ERRAND_REMOVE,
	ERRAND_MKDIR,
	ERRAND_GREP,
	ERRAND_GIT_CLONE, /* from here on: errands that run git or read a repository */
	ERRAND_GIT_BRANCH,
	ERRAND_GIT_CHANGES,
	ERRAND_GIT_DIFF,
	ERRAND_GIT_SETUP,
	ERRAND_GIT_HOOKS,
	ERRAND_MICROAGENTS,
	ERRAND_ACCOUNT, /* a user's account inside; only the supervisor asks for it */
	ERRAND_KIND_COUNT
};

enum errand_flag {
	ERRAND_OVERWRITE = 1,	/* for move: replace an existing file */
	ERRAND_RECURSIVE = 2,	/* for remove: remove a folder with its content */
	ERRAND_IGNORE_CASE = 4, /* for grep: capital and small letters match each other */
	ERRAND_CREATE = 8,	/* for git branch: make a new one; for git setup: make a
				 * new repository */
	ERRAND_FLAGS = 15
};

/* The limits of an errand: how deep it looks, how many results it gives, and how many
 * bytes they have. */
#define ERRAND_DEPTH_MAX 4096
#define ERRAND_LIMIT_MAX 10000
#define ERRAND_TEXT_MAX	 (1u << 20)
/* The largest file in git's comparison; a diff sends both files, behind a line with
 * their sizes. */
#define ERRAND_SIDE_MAX (1u << 20)
/* The most bytes of the text about an account. */
#define ERRAND_ACCOUNT_MAX 4096
/* The longest answer of a credential helper, for git clone. */
#define ERRAND_SECRET_MAX 4000

/* An errand as the client asks for it. Fields that a kind does not use are 0 or ""
 * (docs/protocol.md). */
struct errand_request {
	uint32_t session; /* the session's id; 0: none */
	struct file_place place;
	uint32_t kind;	/* enum errand_kind */
	uint32_t flags; /* enum errand_flag */
	uint32_t depth; /* for list: folders below each other; for git clone: commits, 0:
			 * all */
	uint32_t limit; /* for list, glob, grep, git changes: the most results */
	uint64_t timeout_ms; /* the errand's time; 0: no limit */
	const char *path;    /* borrowed */
	/* Borrowed.  move: the target; glob, grep: the pattern; git clone: the URL,
	 * branch: its name, changes, diff: the base, setup: user.name; microagents:
	 * the folder; account: a user's name or number. */
	const char *other;
	const char *include; /* borrowed: grep; git clone: the branch; setup: user.email;
			      * account: a group's name or number, or "" */
	struct bytes secret; /* borrowed: git clone */
};

/* The lstat(2) of a path; mode 0: it was not asked for. */
struct stat_told {
	uint32_t mode, uid, gid; /* the file's st_mode, and its owner */
	uint64_t size;
	int64_t seconds; /* the time of the last modification */
	uint32_t nanoseconds;
	const char *target; /* borrowed: the target of a link, else "" */
};

struct returned {
	uint32_t outcome; /* enum outcome */
	uint32_t sys;	  /* errno, 0..4095 */
	uint64_t cut;	  /* bytes that are left out of the text */
	const char *path; /* borrowed; absolute; the path that the answer is about */
	const char *cwd;  /* borrowed: the working directory */
	struct stat_told stat;
};

enum outcome {
	OUTCOME_DONE,
	OUTCOME_NOT_FOUND,
	OUTCOME_IS_FOLDER,
	OUTCOME_NOT_UTF8,
	OUTCOME_BINARY,
	OUTCOME_TOO_LARGE,
	OUTCOME_NOT_REGULAR, /* a device, a pipe, a socket */
	OUTCOME_ERROR,	     /* `sys` says which error */
	OUTCOME_FILE_COUNT,  /* the outcomes from here on are of errands only */
	OUTCOME_TIMED_OUT = OUTCOME_FILE_COUNT,
	OUTCOME_CANCELLED,
	OUTCOME_REFUSED, /* the text gives the reason */
	OUTCOME_COUNT
};

struct done {
	uint32_t outcome; /* enum outcome */
	uint32_t sys;	  /* errno, 0..4095 */
	const char *path; /* borrowed; absolute */
	const char *cwd;  /* borrowed */
};

struct buffer;
struct err;

int action_put_run(struct buffer *b, uint32_t id, const struct run_request *r,
		   struct err *e);
int action_get_run(const struct frame *f, struct run_request *ret, struct err *e);

int action_put_cancel(struct buffer *b, uint32_t id, struct err *e);
int action_get_cancel(const struct frame *f, struct err *e);

/* MSG_HOLD for one action; message_get_hold() decodes it. */
int action_put_hold(struct buffer *b, uint32_t id, bool is_held, struct err *e);

int action_put_read(struct buffer *b, uint32_t id, const struct read_request *r,
		    struct err *e);
int action_get_read(const struct frame *f, struct read_request *ret, struct err *e);

int action_put_write(struct buffer *b, uint32_t id, const struct write_request *r,
		     struct err *e);
int action_get_write(const struct frame *f, struct write_request *ret, struct err *e);

/* Puts a MSG_OUTPUT or MSG_CONTENT of at most ACTION_CHUNK bytes. */
int action_put_text(struct buffer *b, uint16_t type, uint32_t id, struct bytes text,
		    struct err *e);
int action_get_text(const struct frame *f, struct bytes *ret, struct err *e);

int action_put_report(struct buffer *b, uint32_t id, const struct report *r,
		      struct err *e);
int action_get_report(const struct frame *f, struct report *ret, struct err *e);

int action_put_edit(struct buffer *b, uint32_t id, const struct edit_request *r,
		    struct err *e);
int action_get_edit(const struct frame *f, struct edit_request *ret, struct err *e);

int action_put_edited(struct buffer *b, uint32_t id, const struct edited *x,
		      struct err *e);
int action_get_edited(const struct frame *f, struct edited *ret, struct err *e);

int action_put_errand(struct buffer *b, uint32_t id, const struct errand_request *r,
		      struct err *e);
int action_get_errand(const struct frame *f, struct errand_request *ret, struct err *e);

/* Returns the most bytes of text in the answer to an errand of this kind. */
size_t action_errand_max(uint32_t kind);

int action_put_returned(struct buffer *b, uint32_t id, const struct returned *x,
			struct err *e);
int action_get_returned(const struct frame *f, struct returned *ret, struct err *e);

int action_put_done(struct buffer *b, uint32_t id, const struct done *d, struct err *e);
int action_get_done(const struct frame *f, struct done *ret, struct err *e);
