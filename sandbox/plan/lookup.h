/* lookup -- tells which file a path inside the sandbox will lead to, according to the
 * plan, before the sandbox is started.
 *
 *	struct lookup *l = lookup_new(plan);
 *	struct found f;
 *
 *	lookup_path(l, "/workspace/src", true, &f);
 *	...
 *	found_done(&f);
 *	lookup_free(l);
 *
 * The look-up takes the plan's steps as mounts.h carries them out, and follows paths as
 * the kernel would inside: links lead to other places inside, and a later mount hides
 * the files below its mount point.  Files of the host are looked at as they are now. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

struct plan;
struct step;

struct lookup;

/* Makes a look-up for `plan`, which has to be built already; the plan is borrowed. */
struct lookup *lookup_new(const struct plan *plan);
void lookup_free(struct lookup *l);

enum found_kind {
	FOUND,		 /* the path exists, and `st` describes the file there */
	FOUND_NOTHING,	 /* the folder exists, but has no file with the path's last
			  * name */
	FOUND_NO_FOLDER, /* the folder that the path would be in does not exist */
	FOUND_FILE,	 /* a name on the way to the path is not a folder */
	FOUND_CLOSED,	 /* no permission to search a folder on the way to the path */
	FOUND_MASK,	 /* the path is masked: no process inside may open it */
	FOUND_LOOP	 /* the path leads through too many links (ELOOP) */
};

struct found {
	enum found_kind kind;
	char *path; /* owned: the path without links, as far as it exists; with
		     * FOUND_NOTHING, the missing last name is part of it */
	char *host; /* owned: the path on the host; NULL: the file is not on the host */
	const struct step *step; /* the step whose mount shows the file */
	const struct step *made; /* the step that creates the file; NULL: the file is not
				  * created by a step */
	bool is_read_only;	 /* the mount that shows the file is read-only */
	bool is_own;		 /* the launch creates the file, with the mode
				  * `st.st_mode` */
	bool is_image;		 /* the file belongs to the image, and was not written
				  * inside */
	struct stat st;
};

void lookup_path(const struct lookup *l, const char *path, bool follows,
		 struct found *ret);
void found_done(struct found *f);

/* Tells whether the command has permission to access the file of *f, which must be
 * FOUND.  `how` is R_OK, W_OK or X_OK of access(2).  Only modes and owners are
 * considered, not whether the mount is read-only. */
bool lookup_may(const struct lookup *l, const struct found *f, int how);

/* Opens the file of *f, which must be FOUND, for reading, if it is a file of the host or
 * of an image.  Returns a descriptor, or -1 with errno. */
int lookup_open(const struct lookup *l, const struct found *f);
