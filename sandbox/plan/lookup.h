/* lookup -- tells what is at a path inside, by the plan, before anything is
 * started.
 *
 *	struct lookup *l = lookup_new(plan);
 *	struct found f;
 *
 *	lookup_path(l, "/workspace/src", true, &f);
 *	...
 *	found_done(&f);
 *	lookup_free(l);
 *
 * The steps of the plan are followed as mounts.h carries them out, and paths as
 * the kernel would follow them inside: links lead to other places inside, and a
 * later mount hides what was below it.  Files of the host are looked at as they
 * are now. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

struct plan;
struct step;

struct lookup;

/* Makes a look-up for `plan`, which is borrowed and has been built. */
struct lookup *lookup_new(const struct plan *plan);
void lookup_free(struct lookup *l);

enum found_kind {
	FOUND,		 /* the path exists, and `st` describes the file there */
	FOUND_NOTHING,	 /* the path's folder exists, but not the name in it */
	FOUND_NO_FOLDER, /* not even the folder that the path would be in exists */
	FOUND_FILE,	 /* a name on the way to the path is not a folder */
	FOUND_CLOSED,	 /* a folder on the way to the path may not be searched */
	FOUND_MASK,	 /* the path is masked: no process inside may open it */
	FOUND_LOOP	 /* the path leads through too many links (ELOOP) */
};

struct found {
	enum found_kind kind;
	char *path; /* owned: the path without links, as far as it exists;
		     * FOUND_NOTHING: with the missing name */
	char *host; /* owned: the path on the host; NULL: the file is not on the host */
	const struct step *step; /* the step whose mount shows the file */
	const struct step *made; /* the step that makes the file; NULL: no step makes
				  * it */
	bool is_read_only;	 /* the mount that shows the file is read-only */
	bool is_own;		 /* the launch makes the file, with `st.st_mode` */
	bool is_image;		 /* the file is an image's, below what is written
				  * inside */
	struct stat st;
};

void lookup_path(const struct lookup *l, const char *path, bool follows,
		 struct found *ret);
void found_done(struct found *f);

/* Tells whether the command may access the file of *f, which is FOUND.  `how`
 * is R_OK, W_OK or X_OK of access(2).  Judges by modes and owners, not by
 * whether the mount is read-only. */
bool lookup_may(const struct lookup *l, const struct found *f, int how);

/* Opens the file of *f, which is FOUND, for reading, if it is a file of the
 * host or of an image.  Returns a descriptor, or -1 with errno. */
int lookup_open(const struct lookup *l, const struct found *f);
