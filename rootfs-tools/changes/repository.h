/* repository -- which changes are made together or not at all: those in a
 * folder ".git".
 *
 * An index, a HEAD and the objects that they name belong together: new refs
 * beside the host's old index would be a repository with all of the new work
 * staged for its reversal.
 *
 * The inside may have made millions of such folders: they are kept sorted, and
 * a walk finds them nearly in that order, so adding one costs little. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define REPOSITORY ".git"

/* A repository with a change that cannot be made. */
struct repository {
	char *path; /* owned */
	char *why;  /* owned: change and reason, as a sentence without a subject */
	bool is_named; /* for the caller: it has been reported */
};

struct repositories {
	struct repository *items; /* owned; by their paths */
	size_t count, room;
};

void repositories_done(struct repositories *r);

/* Returns the length of the part of `path` that names the outermost ".git" on it; 0:
 * there is none. */
size_t repository_len(const char *path);

/* Records that a change of `path` cannot be made.  Does nothing if the path is
 * in no repository, or if the repository is recorded already. */
void repository_break(struct repositories *r, const char *path, const char *why);

/* Returns the recorded repository that `path` is or is in, valid until the next
 * repository_break(); or NULL. */
struct repository *repository_find(struct repositories *r, const char *path);
