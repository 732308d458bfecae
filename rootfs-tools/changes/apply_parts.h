/* apply_parts -- declarations that the parts of apply.h share.
 *
 * The functions that return int return 0, or 1 where the change is refused or already
 * made and the walk goes on, or -1 where the walk ends with the error. */
#pragma once
#include <stdbool.h>

#include "rootfs-tools/changes/apply.h"

struct err;
struct stat;

/* Returns whether changes are only judged. */
bool apply_does_nothing(const struct apply *a);

/* Refuses the change of `path`.  `why` is a sentence without a subject; with an errno,
 * `what` says which step has failed. */
int apply_refuse(struct apply *a, const char *path, const char *why);
int apply_refuse_errno(struct apply *a, const char *path, const char *what);

/* --- what was applied before (apply_record.c) ----------------------------------------- */

int apply_record_read(struct apply *a, struct err *e);

/* Records the file that the change has left.  If the record cannot be written, the next
 * apply reports a conflict for this file. */
void apply_record_add(struct apply *a, const struct meeting *m);

/* Returns whether the host's file was changed since the sandbox began, and not by an
 * apply. */
bool apply_is_changed(const struct apply *a, const struct stat *st);

/* --- whether a change may be made (apply_check.c) -------------------------------------- */

/* Remembers hutch's own folders.  They are masked inside, so a change that is reported
 * there cannot be the sandbox's, and is refused. */
void apply_find_own(struct apply *a);

int apply_check(struct apply *a, const struct meeting *m, struct err *e);

/* Judges, like apply_check(), a path whose parent folder the host does not have. */
int apply_check_new(struct apply *a, const struct meeting *m, struct err *e);

/* Judges only whether the host's file is as it was when the sandbox began, so that it
 * may be replaced. */
int apply_check_unchanged(struct apply *a, const struct meeting *m);

/* --- how it is made (apply_make.c) ------------------------------------------------------ */

int apply_make(struct apply *a, const struct meeting *m, struct err *e);

/* Removes the temporary file or folder in the folder `at`. */
void apply_remove_temporary(struct apply *a, int at);

/* Gives the folders that are closed to their owner their modes, at the end. */
void apply_close_folders(struct apply *a);
