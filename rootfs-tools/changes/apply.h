/* apply -- makes the changes of a sandbox's upper layer on the host.
 *
 * Changes are made one at a time, each completely or not at all.  A new file is made
 * under a temporary name in the same folder and then takes its place with one
 * rename(2); a file to be removed is moved to the temporary name first.  If an apply is
 * killed, each file is either old or new, and at most one temporary file is left, which
 * the next apply removes.  A path that already equals the sandbox's is skipped, so a
 * second apply continues where the first one ended.
 *
 * Where there are two processors, a second process makes the temporary files of some
 * changes ahead of their turn (rootfs-tools/changes/apply_ahead.h).  A kill may then leave
 * some more temporary files in one folder, with numbers at the end of their names.
 *
 * A path that was changed on the host since the sandbox began is not touched. 
 * The path's ctime tells, which no process can set: an unchanged path has a
 * ctime no later than the sandbox's beginning, or the one in the record that an
 * earlier apply of the same sandbox has written.  Before a folder is removed,
 * everything in it is checked in the same way.  A file that changes just when
 * it is exchanged is detected afterwards, and put back.
 *
 * A protected path (rootfs-tools/changes/apply_protect.h) is not touched either, even if
 * `is_forced`.
 *
 * A caller that wants all or nothing walks the changes twice: the first walk only
 * checks them, the second one makes them.  The first walk needs content only if something
 * may be refused, so a probe without content comes first (is_probing), and that walk is
 * left out where the probe has no doubt.  A change that still fails in the second walk
 * (disk full, text file busy) ends the apply, and the remaining changes are reported as
 * not done.  The folder of a git repository (rootfs-tools/changes/repository.h) is
 * applied completely or not at all even where a part of the changes is allowed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/inodes.h"
#include "rootfs-tools/changes/apply_protect.h"
#include "rootfs-tools/changes/changes_walk.h"

struct apply_ahead;
struct apply_job;
struct chosen;
struct err;
struct repositories;

#define APPLY_TEMPORARY ".hutch-apply-"

/* A folder of the host in which something is to be changed, and what stands against
 * that.  It is found out once for all changes in the folder. */
struct apply_place {
	char *path;	    /* owned; NULL: none */
	bool is_own;	    /* hutch's own, or it cannot be looked at */
	int error;	    /* errno of faccessat(2); 0: this user may write there */
	const char *fixed;  /* why not even the owner can change it; NULL: nothing */
	const char *sticky; /* why others' entries cannot be changed; NULL: nothing */
};

struct apply {
	int dir;		   /* borrowed: the host's folder */
	const struct list *wanted; /* the paths to apply, as in changes_walk.h; NULL:
				    * all */
	/* Borrowed: those of the wanted changes that the user has chosen; NULL: all, and
	 * entries that the stream leaves out are reported. */
	const struct chosen *chosen;
	const char *id;		   /* identifies the sandbox's changes; also a part of the
				    * temporary files' names */
	int64_t started_ns;
	const struct list *protects; /* borrowed: patterns (policy/protect.h); may be NULL */
	bool is_forced;
	bool is_dry;	 /* nothing is changed on the host */
	bool is_judging; /* nothing is changed on the host: this walk only checks changes
			  * and finds repositories with refused changes */
	bool is_probing; /* with is_judging: the stream has no content, and the walk ends
			  * at the first change that may be refused */
	bool has_doubt;	 /* is_probing is set and there is such a change: only a walk
			  * with content tells */
	bool is_whole;	 /* all or nothing: after one refusal no other change is made */
	bool is_stopped; /* is_whole is set and a change was refused; the caller sets it
			  * after a refusal in another folder */
	struct repositories *repositories; /* borrowed: repositories with a refused
					    * change, none of whose changes are made */
	int record; /* borrowed: file to which applied files are added, O_APPEND; -1: no
		     * record is kept */
	void *context;
	/* Called for each change that is made, or would be made. */
	void (*on_done)(void *context, const struct meeting *m);
	/* Called for each change that is refused; `why` says for what reason. */
	void (*on_refused)(void *context, const char *path, const char *why);
	/* Called for each socket or device: an apply cannot create one.  May be NULL. */
	void (*on_left_out)(void *context, const char *path, const char *why);
	/* Counts of changes so far. */
	uint64_t done, refused, left_out;
	uint64_t protected, changed; /* counts of refused changes by reason: the path is
				      * protected, or was changed on the host; the user
				      * may override both */
	/* Private. */
	struct inodes applied, own;
	struct apply_protect protect;
	struct list closed; /* folders whose final mode denies their owner access; the
			     * mode is set at the end */
	struct list shut;   /* the folder that was refused last; empty: none */
	struct list opened; /* folders that get a new mode, from the top down to the
			     * current one */
	struct apply_place place;
	struct apply_job *job;	   /* owned: a small file that is being made */
	struct apply_ahead *ahead; /* owned: files that are made ahead of their turn */
	bool is_alone;		   /* no second process makes files */
	uint64_t files,
		in_row; /* small files so far: of all, and since the last item that
				 * was no file */
	char temporary[sizeof(APPLY_TEMPORARY) + 32];
};

/* Reads the record of earlier applies.  Call this function before apply_all(), and
 * apply_done() even after a failure. */
int apply_begin(struct apply *a, struct err *e);
void apply_done(struct apply *a);

/* Makes all changes.  -1: the walk ended early with an error.  Refusals alone are no
 * error. */
int apply_all(struct apply *a, struct changes_stream *t, struct err *e);

/* Removes only the temporary files that a killed apply has left. */
int apply_sweep(struct apply *a, struct changes_stream *t, struct err *e);
