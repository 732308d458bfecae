/* errand -- one errand (MSG_ERRAND), in the process that does it and nothing else.
 *
 * It runs in a copy of the executor's memory, as whoever it is done for, as undumpable
 * as the executor, and holds one pipe, as descriptors 0, 1 and 2.  There it writes what
 * came of it: a whole MSG_RETURNED, and behind it the text, to the end.
 *
 * What it looks at is hostile.  It follows the paths that it was given as the kernel
 * does, so inside the sandbox's root; everything below these it reaches by descriptor
 * and through no link (walk.h).  It opens what cannot make it wait, or, where a file
 * system does, it is killed.  /proc/self would be itself, with the executor's memory:
 * what tells of a process is refused (files_parts.h).
 *
 *	errand.c	which errand it is, and how it is told
 *	errand_list.c	list, glob
 *	errand_change.c	stat, move, remove, mkdir
 *	errand_grep.c	grep
 *	errand_git.c	git: clone, branch, setup (git.h)
 *	errand_changes.c	git: changes, diff
 *	errand_repository.c	git's hook, microagents
 *	errand_account.c	who a user is: passwd and group
 */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/action.h"
#include "base/buffer.h"

struct exec;

/* What the process is given. */
struct errand_order {
	uint32_t id;
	const struct errand_request *request; /* borrowed */
	/* Borrowed; how commands of its session are run; NULL: it has none yet. */
	const struct exec *as;
};

/* Does it and exits; `order` is a struct errand_order. */
void errand_run(const void *order);

/* --- between its parts --------------------------------------------------------- */

struct errand {
	const struct errand_request *ask; /* borrowed */
	const struct exec *as;		  /* borrowed; as above */
	char path[PATH_MAX];		  /* absolute */
	char other[PATH_MAX];		  /* of a move: absolute */
	char shown[PATH_MAX]; /* stands before the names that are found: "" or DIR/ */
	struct buffer text;   /* holds action_errand_max() */
	struct returned end;  /* all 0 to begin with: done */
	char target[PATH_MAX]; /* end.stat.target may be here */
};

/* What a kind does.  It fills in `text` and `end`; of `end` the directory, and where
 * there is none yet a path, are filled in for it. */
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

/* It failed at `path` (NULL: its own), which stays as long as `x`, with this errno.
 * -1, for the caller to return. */
int errand_fail(struct errand *x, const char *path, int sys);

/* It is not done, for this reason, a sentence: OUTCOME_REFUSED. */
int errand_refuse(struct errand *x, const char *why);

/* The folder at x->path, for reading: errand_fail() where there is none, or where it
 * tells of a process. */
int errand_open_folder(struct errand *x);

/* Asked to come to an end, with what there is.  A system call: not to be made for each
 * byte. */
bool errand_is_late(void);

/* Puts "[...]", a line of what is to be known beside the result, at the end of the text,
 * for which there is always room. */
void errand_note(struct errand *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Puts a line into the text, unless it is full; then it, and all that follow, are counted
 * as cut.  True: there is room for more. */
bool errand_line(struct errand *x, const char *line, size_t len);
