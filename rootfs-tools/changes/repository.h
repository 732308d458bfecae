/* repository -- which changes are made together or not at all: those in a
 * folder ".git".
 *
 * The index, HEAD and the objects that they name belong together: with new refs beside
 * the host's old index, git would show all of the new work as staged for its reversal.
 *
 * The sandbox may have made millions of such folders.  They are kept sorted, and a walk
 * finds them nearly in that order, so adding one costs little. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define REPOSITORY ".git"

/* A repository with a refused change, so that none of its changes may be made. */
struct repository {
	char *path; /* owned */
	char *why;  /* owned: the change and the reason for its refusal, as a sentence
		     * without its subject */
	bool is_named; /* set by the caller: the repository has been reported */
};

struct repositories {
	struct repository *items; /* owned; by their paths */
	size_t count, room;
};

void repositories_done(struct repositories *r);

/* Returns the length of `path` up to and with its first part ".git"; 0: no part is
 * ".git". */
size_t repository_len(const char *path);

/* Records that a change of `path` cannot be made.  Does nothing if the path is
 * in no repository, or if the repository is recorded already. */
void repository_break(struct repositories *r, const char *path, const char *why);

/* Returns the recorded repository that is `path` or contains `path`, or NULL.  The
 * result is valid until the next repository_break(). */
struct repository *repository_find(struct repositories *r, const char *path);
