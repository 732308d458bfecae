/* apply_parts -- declarations that the parts of apply.h share.  The functions that
 * return int return 0 on success; 1 if the change is refused or already made, so that
 * the walk goes on; -1 if the walk ends with the error. */
#pragma once
#include <stdbool.h>

#include "rootfs-tools/changes/apply.h"

struct apply_job;
struct err;
struct stat;

/* Returns whether changes are only checked, and none is made. */
bool apply_does_nothing(const struct apply *a);

/* Counts, records and reports a change that was made. */
void apply_report(struct apply *a, const struct meeting *m);

/* Refuses the change of `path`.  `why` is a sentence without its subject, such as "is a
 * FIFO".  apply_refuse_errno() takes the reason from errno; `what` is the step that
 * failed. */
int apply_refuse(struct apply *a, const char *path, const char *why);
int apply_refuse_errno(struct apply *a, const char *path, const char *what);

/* Returns 1 if the host's file has the same content, as changes_walk_is_same() does.  A
 * probe has no content: the function then sets a->has_doubt and returns 1. */
int apply_is_same(struct apply *a, const struct meeting *m, struct err *e);

/* --- what was applied before (apply_record.c) ----------------------------------------- */

int apply_record_read(struct apply *a, struct err *e);

/* Adds the new file of the change to the record.  If the record cannot be written, the
 * next apply reports a conflict for this file. */
void apply_record_add(struct apply *a, const struct meeting *m);

/* Returns whether the host's file was changed since the sandbox began, by anything but
 * an apply. */
bool apply_is_changed(const struct apply *a, const struct stat *st);

/* --- whether a change may be made (apply_check.c) -------------------------------------- */

/* Finds hutch's own folders.  The sandbox cannot see them, so a reported change in one
 * of them is not the sandbox's, and is refused. */
void apply_find_own(struct apply *a);

int apply_check(struct apply *a, const struct meeting *m, struct err *e);

/* Checks only whether another refused change keeps this one from being made. */
int apply_check_others(struct apply *a, const struct meeting *m, struct err *e);

/* Checks, like apply_check(), a path whose parent folder the host does not have. */
int apply_check_new(struct apply *a, const struct meeting *m, struct err *e);

/* Checks only whether the host's file is unchanged since the sandbox began, so that it
 * may be replaced. */
int apply_check_unchanged(struct apply *a, const struct meeting *m);

/* --- how it is made (apply_make.c) ------------------------------------------------------ */

int apply_make(struct apply *a, const struct meeting *m, struct err *e);

/* Puts the temporary file that a job has made in its place, or refuses the change because
 * the job has made none. */
int apply_put_job(struct apply *a, const struct meeting *m, const struct apply_job *j,
		  const char *temporary);

/* Refuses the change because the stream did not send the file's content; -1 if the stream
 * is broken. */
int apply_refuse_content(struct apply *a, const struct meeting *m, const struct err *why,
			 struct err *e);

/* Removes the file or folder with the temporary name in the folder `at`. */
void apply_remove_temporary(int at, const char *temporary);

/* Sets the final modes of the folders that deny their owner access.  Called at the end
 * of an apply. */
void apply_close_folders(struct apply *a);
