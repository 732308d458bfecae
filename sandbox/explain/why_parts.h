/* Functions that why.c, why_exec.c and why_refused.c share. */
#pragma once
#include <stdbool.h>

struct answer;
struct found;
struct policy;
struct step;
struct why;

/* Finds the path; false: it cannot be had, and the answer says why. */
bool why_find(const struct why *w, const char *path, struct found *f, struct answer *ret);

/* The option or default that shows the path, allocated. */
char *why_line(const struct why *w, const struct found *f);

/* "DIR/PATH" for a relative path, allocated. */
char *why_whole(const struct why *w, const char *path);

/* Answer by the reason of a refusal: a mask; a read-only mount; a path that is
 * not shown. */
void why_say_mask(const struct why *w, const struct found *f, struct answer *ret);
void why_say_read_only(const struct why *w, const struct found *f, struct answer *ret);
/* Answers for a name, in a folder that a step shows, that must not be made;
 * false: it may be. */
bool why_say_missing(const struct why *w, const struct step *shows, const char *path,
		     struct answer *ret);
void why_say_not_shown(const struct why *w, const char *path, struct answer *ret);
