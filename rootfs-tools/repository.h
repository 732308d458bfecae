/* repository -- which changes are done together or not at all: those in a folder of git's.
 *
 * An index, a HEAD and the objects that they name are one thing: new refs beside the host's
 * old index would be a repository with all of the new work staged for its reversal.
 *
 * The inside may have made millions of such folders: they are kept in order, and a walk
 * finds them nearly in order, so that one more costs little. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define REPOSITORY ".git"

/* One with a change that cannot be done. */
struct repository {
	char *path; /* owned */
	char *why;  /* owned: which, and why, as a sentence without a subject */
	bool is_named; /* for the caller: it has been spoken of */
};

struct repositories {
	struct repository *items; /* owned; by their paths */
	size_t count, room;
};

void repositories_done(struct repositories *r);

/* How much of `path` names the outermost ".git" that it is, or is in; 0: it is in none. */
size_t repository_len(const char *path);

/* A change of `path` cannot be done.  Nothing, if that is in no repository, or if the
 * repository is broken already. */
void repository_break(struct repositories *r, const char *path, const char *why);

/* The broken one that `path` is, or is in, good until the next is broken; or NULL. */
struct repository *repository_find(struct repositories *r, const char *path);
