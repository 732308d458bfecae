/* lookup -- what is at a path inside, by the plan, before anything has been started.
 *
 *	struct lookup *l = lookup_new(plan);
 *	struct found f;
 *
 *	lookup_path(l, "/workspace/src", true, &f);
 *	...
 *	found_done(&f);
 *	lookup_free(l);
 *
 * The steps of the plan are followed as mounts.h does them, and paths as the kernel would
 * follow them inside: links lead to other places inside, of a later mount what was below it
 * is not seen.  What is shown of the host is looked at as it is now. */
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
	FOUND,		 /* `st` says what */
	FOUND_NOTHING,	 /* there is no such name in a folder that is there */
	FOUND_NO_FOLDER, /* nor is the folder that it would be in */
	FOUND_FILE,	 /* on the way is something that is no folder */
	FOUND_CLOSED,	 /* on the way is a folder that may not be searched */
	FOUND_MASK,	 /* nobody may open it */
	FOUND_LOOP	 /* too many links */
};

struct found {
	enum found_kind kind;
	char *path; /* owned: without links, as far as there is something; of FOUND_NOTHING
		     * with the name that is not there */
	char *host; /* owned: where that is on the host; NULL: nowhere */
	const struct step *step; /* that shows it: a mount */
	const struct step *made; /* that makes it; NULL: it was there before */
	bool is_read_only;	 /* as it is mounted */
	bool is_own;		 /* the launch makes it, with `st.st_mode` */
	bool is_image;		 /* it is a file of an image, below what is written */
	struct stat st;
};

void lookup_path(const struct lookup *l, const char *path, bool follows, struct found *ret);
void found_done(struct found *f);

/* Whether the command may do that with what was FOUND, R_OK, W_OK or X_OK of access(2), by
 * modes and owners, wherever it is mounted. */
bool lookup_may(const struct lookup *l, const struct found *f, int how);

/* Opens what was FOUND, if it is a file of the host's or of an image, to look into it; else
 * -1 with errno. */
int lookup_open(const struct lookup *l, const struct found *f);
