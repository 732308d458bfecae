/* program -- hutch's own helper programs.
 *
 * hutch finds them beside itself: DIR/libexec/NAME in a build tree, and
 * DIR/../libexec/hutch/NAME where it was installed; they find each other in their own
 * folder.  If hutch was moved or copied without them, the error says so. */
#pragma once
#include <sys/types.h>

struct err;

struct program {
	char *path; /* owned */
	int fd;	    /* owned; -1 until program_open() */
	dev_t dev;
	ino_t ino;
};

/* Finds the helper program `name`, such as "hutch-executor".  *ret_path is allocated. */
int program_find(const char *name, char **ret_path, struct err *e);

/* Finds hutch itself, from a helper program.  *ret_path is allocated. */
int program_find_hutch(char **ret_path, struct err *e);

/* Finds and opens the helper program `name`.  Must be done before root is dropped,
 * since the folder that hutch is installed in may be closed to the user that hutch
 * becomes. */
int program_open(const char *name, struct program *ret, struct err *e);
void program_done(struct program *p);

/* Returns a descriptor to execute the program from.  Called in the child, before
 * pivot_root(2) hides the host's paths.  The descriptor refers to a read-only mount of
 * the file or, if the file's path is no longer accessible or this process may not mount, to a sealed memfd with a
 * copy.  Either way no process can open /proc/1/exe for writing (runc CVE-2019-5736). */
int program_seal(const struct program *p, struct err *e);
