/* Functions that the files of why.h share. */
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

/* Returns the command-line option, or the default, by which the sandbox shows the
 * file; allocated. */
char *why_line(const struct why *w, const struct found *f);

/* Returns an absolute path, allocated: a relative path is joined to the working
 * directory. */
char *why_whole(const struct why *w, const char *path);

/* Set the answer for a path that is masked, for one on a read-only mount, for one that the
 * sandbox does not show (why_say_not_shown()), and for one whose mode forbids that it is
 * `what`, such as "read" (why_say_closed()). */
void why_say_mask(const struct why *w, const struct found *f, struct answer *ret);
void why_say_read_only(const struct why *w, const struct found *f, struct answer *ret);
/* Sets the answer for a name that must not be made (--protect-missing) in a
 * folder that a step shows.  Returns false if the name may be made. */
bool why_say_missing(const struct why *w, const struct step *shows, const char *path,
		     struct answer *ret);
void why_say_not_shown(const struct why *w, const char *path, struct answer *ret);
void why_say_closed(const struct why *w, const struct found *f, const char *what,
		    struct answer *ret);
