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

/* `plan` is borrowed, and has been built. */
struct lookup *lookup_new(const struct plan *plan);
void lookup_free(struct lookup *l);

enum found_kind {
	FOUND,		 /* `st` describes it */
	FOUND_NOTHING,	 /* its folder exists, the name does not */
	FOUND_NO_FOLDER, /* nor does the folder that it would be in */
	FOUND_FILE,	 /* a name on the way is no folder */
	FOUND_CLOSED,	 /* a folder on the way may not be searched */
	FOUND_MASK,	 /* it is masked: no process may open it */
	FOUND_LOOP	 /* too many links */
};

struct found {
	enum found_kind kind;
	char *path; /* owned: without links, as far as the path exists; FOUND_NOTHING:
		     * with the missing name */
	char *host; /* owned: its place on the host; NULL: it has none */
	const struct step *step; /* the mount that shows it */
	const struct step *made; /* the step that makes it; NULL: it was there before */
	bool is_read_only;	 /* by its mount */
	bool is_own;		 /* the launch makes it, with `st.st_mode` */
	bool is_image;		 /* it is a file of an image, below what is written */
	struct stat st;
};

void lookup_path(const struct lookup *l, const char *path, bool follows,
		 struct found *ret);
void found_done(struct found *f);

/* Whether the command may access what was FOUND, with R_OK, W_OK or X_OK of
 * access(2), by modes and owners, wherever it is mounted. */
bool lookup_may(const struct lookup *l, const struct found *f, int how);

/* Opens what was FOUND, if it is a file of the host's or of an image, to read
 * it; else -1 with errno. */
int lookup_open(const struct lookup *l, const struct found *f);
