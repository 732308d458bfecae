/* errand -- one errand (MSG_ERRAND), in a worker process of its own.
 *
 * The process runs in a copy of the executor's memory, as the user that the request
 * names. Like the executor it is not dumpable (prctl(2)), and holds one pipe, as
 * descriptors 0, 1 and 2. It writes its result into the pipe: a whole MSG_RETURNED, and
 * behind it the text, to the end.
 *
 * The files that the process looks at are hostile. It opens the request's paths as the
 * kernel resolves them, which is within the sandbox's root; everything below these
 * paths it reaches by descriptor and through no link (walk.h). It opens only files
 * whose open cannot block; if a file system blocks all the same, the process is killed.
 * Files in /proc/PID are refused (files_parts.h), since /proc/self would be this
 * process, with the executor's memory.
 *
 *	errand.c	which errand it is, and how it is reported
 *	errand_list.c	list, glob
 *	errand_change.c	stat, move, remove, mkdir
 *	errand_grep.c	grep
 *	errand_git.c	git: clone, branch, setup (git.h)
 *	errand_changes.c	git: changes, diff
 *	errand_repository.c	git's hook, microagents
 *	errand_account.c	a user's ids, from passwd and group */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "protocol/action.h"

struct exec;

/* The input of the errand's process. */
struct errand_order {
	uint32_t id;
	const struct errand_request *request; /* borrowed */
	/* Borrowed; the user, environment and limits with which the session's commands
	 * run; NULL: the session has no shell yet. */
	const struct exec *as;
};

/* Runs in the errand's process: does the errand and exits; `order` is a struct
 * errand_order. */
void errand_run(const void *order);

/* --- shared by its parts -------------------------------------------------------- */

struct errand {
	const struct errand_request *ask; /* borrowed: the request */
	const struct exec *as;		  /* borrowed; the user, environment and limits
					   * with which the session's commands run; NULL:
					   * the session has no shell yet */
	char path[PATH_MAX];		  /* the request's path, made absolute */
	char other[PATH_MAX];		  /* a move's target, made absolute */
	char shown[PATH_MAX]; /* the prefix for names in the answer: "" or "FOLDER/" */
	struct buffer text;   /* the answer's text; has room for action_errand_max()
			       * bytes */
	struct returned end;  /* the answer's other fields; at first all are 0, and the
			       * outcome is OUTCOME_DONE */
	char target[PATH_MAX]; /* a buffer for end.stat.target, or for a path to be
			        * reported */
};

/* One function for each kind of errand. Each fills in `text` and `end`. Afterwards
 * errand_run() sets end.cwd, and end.path if it is still NULL. */
void errand_list(struct errand *x);
void errand_glob(struct errand *x);
void errand_stat(struct errand *x);
void errand_move(struct errand *x);
void errand_remove(struct errand *x);
void errand_mkdir(struct errand *x);
void errand_grep(struct errand *x);
void errand_git_clone(struct errand *x);
void errand_git_branch(struct errand *x);
void errand_git_changes(struct errand *x);
void errand_git_diff(struct errand *x);
void errand_git_setup(struct errand *x);
void errand_git_hooks(struct errand *x);
void errand_microagents(struct errand *x);
void errand_account(struct errand *x);

/* Notes that the errand failed with this errno at `path` (NULL: at x->path), which must
 * live as long as `x`. Returns -1, for the caller to return. */
int errand_fail(struct errand *x, const char *path, int sys);

/* Notes that the errand is refused (OUTCOME_REFUSED); `why` is a sentence. Returns -1,
 * for the caller to return. */
int errand_refuse(struct errand *x, const char *why);

/* Opens the folder at x->path for reading. Returns -1, after errand_fail(), if there is
 * no such folder, or if the folder belongs to a process in /proc. */
int errand_open_folder(struct errand *x);

/* Returns whether the process was asked (SIGALRM) to end with the results so far. Each
 * call costs a system call, so loops over bytes must not call it each time. */
bool errand_is_late(void);

/* Adds a line with a note for the reader, in brackets, to the end of the text, where
 * room for notes is always left. */
void errand_note(struct errand *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds a line to the text, unless it is full; then this line, and all that follow,
 * count as cut.  True: there is room for more. */
bool errand_line(struct errand *x, const char *line, size_t len);
