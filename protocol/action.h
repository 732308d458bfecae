/* action -- the messages of agents' actions (docs/protocol.md, "Actions").
 *
 * The rules of protocol/message.h hold here too: encoding appends a frame; decoding
 * gives pointers that are borrowed from a frame, and refuses a malformed or
 * out-of-range field. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"

/* The most bytes in one MSG_OUTPUT or MSG_CONTENT; longer texts are sent in several. */
#define ACTION_CHUNK (32u << 10)

/* The largest file that is read or written as a whole. */
#define ACTION_FILE_MAX (10u << 20)

/* The longest command. */
#define ACTION_TEXT_MAX (4u << 20)

#define ACTION_CUT_MAX (1ull << 53) /* 2^53: JSON readers that use doubles hold no larger
				     * integer exactly */

#define ACTION_LAST_LINE UINT64_MAX
#define ACTION_NO_CODE	 UINT32_MAX /* the exit code of a command that has not ended */

enum run_kind {
	RUN_NONE,
	RUN_COMMAND, /* a command for the shell */
	RUN_INPUT,   /* a line of input for the running program */
	RUN_KEY,     /* a key for the running program, by its name, such as "C-c" */
	RUN_WAIT,    /* no input; the action waits for more output */
	RUN_KIND_COUNT
};

enum run_flag {
	RUN_STREAM = 1,
	RUN_PREVIOUS = 2, /* with RUN_COMMAND: if the previous command ended while no
			   * action waited for it, send its report first
			   * (REPORT_PREVIOUS) */
	RUN_WHOLE = 4, /* send the whole output; otherwise the middle of a long output is
		        * cut out */
	RUN_FLAGS = 7
};

struct run_request {
	uint32_t session;
	uint32_t kind;	/* enum run_kind */
	uint32_t flags; /* enum run_flag */
	uint64_t soft_ms, hard_ms; /* the soft and the hard time-out of the action; 0:
				    * none */
	struct bytes text; /* borrowed; the command, the line or the key's name; has no 0
			    * bytes */
};

enum report_state {
	REPORT_NONE,
	REPORT_COMPLETED,
	REPORT_NO_CHANGE,    /* the command printed nothing for the soft time-out */
	REPORT_TIMED_OUT,    /* the hard time-out has passed */
	REPORT_BUSY,	     /* the command was not executed, since another one is still
			      * running */
	REPORT_NOTHING,	     /* no command is running */
	REPORT_UNKNOWN_KEY,
	REPORT_CANCELLED,
	REPORT_STATE_COUNT
};

enum report_flag {
	REPORT_CONTINUED = 1, /* this is not the first report of this command */
	REPORT_KEY = 2,	      /* the key that the action sent ended the command */
	REPORT_RESTARTED = 4, /* the shell was restarted */
	REPORT_NOT_TYPED = 8, /* the input was not sent, since the command had ended
			       * before */
	REPORT_PREVIOUS = 16, /* this report is about the previous command; that of the
			       * action's own command follows */
	REPORT_FLAGS = 31
};

struct report {
	uint32_t state; /* enum report_state */
	uint32_t flags; /* enum report_flag */
	uint32_t exit_code; /* the command's exit code, 0..255, or ACTION_NO_CODE */
	uint32_t background; /* the pid of a job that went to the background; 0: none */
	uint64_t cut;	     /* how many bytes of the output are missing in the content */
	uint64_t lines; /* how many lines the content has, if lines in front of it are
			 * missing; else 0 */
	uint32_t log;	   /* the number in the name of the log file with the whole
			    * output; 0: there is no log */
	uint64_t unlogged; /* how many bytes of the output are missing in that log file */
	const char *cwd, *interpreter; /* borrowed; the shell's working directory, and
				        * the path of `python` on its PATH; "": unknown */
};

enum read_form { READ_NONE, READ_TEXT, READ_BASE64, READ_FORM_COUNT };

/* The user and the working directory for a file action while its session has no shell. */
struct file_place {
	uint32_t uid, gid; /* the user's ids in the sandbox's user namespace */
	const char *cwd;   /* borrowed; the absolute directory where relative paths
			    * begin */
};

struct read_request {
	uint32_t session; /* the id of the session that gives the user and the directory;
			   * 0: `place` gives them */
	struct file_place place;
	uint32_t form; /* enum read_form */
	uint64_t first, end; /* with READ_TEXT: the lines [first, end), counted from 0 */
	const char *path;    /* borrowed */
};

struct write_request {
	uint32_t session; /* the id of the session that gives the user and the directory;
			   * 0: `place` gives them */
	struct file_place place;
	uint64_t first, end; /* the lines [first, end) are replaced; 0 and
			      * ACTION_LAST_LINE: the whole file */
	const char *path;    /* borrowed */
	struct bytes content; /* borrowed */
};

enum edit_flag {
	EDIT_FILE_TEXT = 1, /* the request has file_text, perhaps empty; the next three
			     * flags say the same of old_str, new_str and line */
	EDIT_OLD_STR = 2,
	EDIT_NEW_STR = 4,
	EDIT_LINE = 8,
	EDIT_IS_READ = 16, /* the edit is a read: if the file looks binary, the answer is
			    * OUTCOME_BINARY alone */
	EDIT_LINT = 32, /* run a linter on the change */
	EDIT_RELATIVE = 64, /* accept a relative path; it begins in the directory of a
			     * MSG_READ */
	EDIT_FLAGS = 127
};

/* An edit with the agent's own arguments; the executor checks these. */
struct edit_request {
	uint32_t session; /* the session's id; 0: none. The error for a refused relative
			   * path names place.cwd in any case */
	struct file_place place;
	uint32_t flags; /* enum edit_flag */
	const char *command, *path; /* borrowed */
	const char *line;	    /* borrowed: insert_line */
	const char *range; /* borrowed: view_range, as Python prints a list; "": the
			    * whole file */
	struct bytes file_text, old_str, new_str; /* borrowed */
};

/* MSG_EDITED, the end of the answer to an edit. The content before it is a text, and
 * behind the text a diff. */
struct edited {
	uint32_t outcome; /* OUTCOME_DONE, or OUTCOME_BINARY with no content */
	uint64_t text_len; /* the length of the text, behind which the diff begins */
	uint64_t cut;	   /* how many characters were cut off the text */
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
	ERRAND_GIT_CLONE, /* the errands from here on run git or read a repository */
	ERRAND_GIT_BRANCH,
	ERRAND_GIT_CHANGES,
	ERRAND_GIT_DIFF,
	ERRAND_GIT_SETUP,
	ERRAND_GIT_HOOKS,
	ERRAND_MICROAGENTS,
	ERRAND_ACCOUNT, /* looks up a user in the rootfs' passwd and group; only the
			 * supervisor asks for it */
	ERRAND_KIND_COUNT
};

enum errand_flag {
	ERRAND_OVERWRITE = 1,	/* for move: replace an existing file */
	ERRAND_RECURSIVE = 2,	/* for remove: remove a folder with its content */
	ERRAND_IGNORE_CASE = 4, /* for grep: ignore the case of letters */
	ERRAND_CREATE = 8,	/* for git branch: make a new branch; for git setup: make
				 * a new repository */
	ERRAND_FLAGS = 15
};

/* Limits of an errand: the depth of a list, the number of results, and the bytes of its
 * text. */
#define ERRAND_DEPTH_MAX 4096
#define ERRAND_LIMIT_MAX 10000
#define ERRAND_TEXT_MAX	 (1u << 20)
/* The largest file that git diff compares; its answer has both versions of the file,
 * behind a line with their sizes. */
#define ERRAND_SIDE_MAX (1u << 20)
/* The most bytes of an ERRAND_ACCOUNT's text. */
#define ERRAND_ACCOUNT_MAX 4096
/* The most bytes of the token and user name for git clone, in the form of a credential
 * helper's output. */
#define ERRAND_SECRET_MAX 4000

/* The arguments of an errand. Fields that a kind of errand does not use are 0 or ""
 * (docs/protocol.md). */
struct errand_request {
	uint32_t session; /* the session's id; 0: none */
	struct file_place place;
	uint32_t kind;	/* enum errand_kind */
	uint32_t flags; /* enum errand_flag */
	uint32_t depth; /* for list: how many levels of folders; for git clone: how many
			 * commits, 0: all */
	uint32_t limit; /* for list, glob, grep, git changes: the most results */
	uint64_t timeout_ms; /* the errand's time-out; 0: none */
	const char *path;    /* borrowed */
	/* Borrowed. move: the new path; glob, grep: the pattern; git clone: the URL; git
	 * branch: its name; git changes, git diff: the base commit; git setup:
	 * user.name; microagents: the folder; account: a user's name or number. */
	const char *other;
	const char *include; /* borrowed; grep: a glob for the files to search; git
			      * clone: the branch; git setup: user.email; account: a
			      * group's name or number; "": not given */
	struct bytes secret; /* borrowed: git clone */
};

/* The result of lstat(2) for a path; all fields are 0 or "" unless the errand is
 * ERRAND_STAT. */
struct stat_result {
	uint32_t mode, uid, gid; /* the file's st_mode, and its owner */
	uint64_t size;
	int64_t seconds; /* the time of the last modification */
	uint32_t nanoseconds;
	const char *target; /* borrowed: the target of a link, else "" */
};

struct returned {
	uint32_t outcome; /* enum outcome */
	uint32_t sys;	  /* errno, 0..4095 */
	uint64_t cut;	  /* how many bytes were left out of the text */
	const char *path; /* borrowed; absolute; the path that the answer is about */
	const char *cwd;  /* borrowed: the working directory */
	struct stat_result stat;
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
	OUTCOME_FILE_COUNT,  /* from here on: outcomes that only errands have */
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

/* Puts a MSG_HOLD for one action's output; message_get_hold() decodes it. */
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
