/* stored -- the image of hutch's store that a source stands for.
 *
 * A file is imported once, and found again by what stat(2) says of it: nothing of it is
 * read the second time.  Its name in the store is apptainer.local/file:KEY. */
#pragma once
#include <stdbool.h>

struct err;
struct source;

#define STORED_FRONT "apptainer.local/"

/* Returns a reference, allocated; NULL with an error.  A file or layout is imported if it
 * was not yet; *ret_is_bare: it has no configuration, so that the image's own
 * /.singularity.d counts. */
char *stored_find(const struct source *s, bool *ret_is_bare, struct err *e);

/* Checks that the store has an image of that name. */
int stored_check(const char *name, struct err *e);

/* Notes that the file at `path` is this image, which need not be imported then. */
int stored_note(const char *path, const char *reference, struct err *e);

/* Imports a file or folder under the name `as`. */
int stored_import(const struct source *s, const char *as, struct err *e);

/* Gets an image from its registry, unless the store has it and it is not to be fresh.
 * Returns a reference, allocated. */
char *stored_pull(const char *reference, bool is_fresh, struct err *e);

/* Removes a name, and what no other name needs. */
void stored_remove(const char *reference);

/* Removes all names of files. */
int stored_clean(struct err *e);
