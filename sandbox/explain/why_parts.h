/* Functions that why.c, why_exec.c and why_refused.c share. */
#pragma once
#include <stdbool.h>

struct answer;
struct found;
struct policy;
struct step;
struct why;

/* Finds the file at the path.  Returns false if the path leads to nothing that
 * can be judged; the answer then says why. */
bool why_find(const struct why *w, const char *path, struct found *f, struct answer *ret);

/* Returns the option or default that shows the path, allocated. */
char *why_line(const struct why *w, const struct found *f);

/* Returns the path from the working directory, "DIR/PATH", for a relative
 * path; allocated. */
char *why_whole(const struct why *w, const char *path);

/* Set the answer by the reason of a refusal: a mask; a read-only mount; a path
 * that is not shown. */
void why_say_mask(const struct why *w, const struct found *f, struct answer *ret);
void why_say_read_only(const struct why *w, const struct found *f, struct answer *ret);
/* Sets the answer for a name that must not be made (--protect-missing) in a
 * folder that a step shows.  Returns false if the name may be made. */
bool why_say_missing(const struct why *w, const struct step *shows, const char *path,
		     struct answer *ret);
void why_say_not_shown(const struct why *w, const char *path, struct answer *ret);
