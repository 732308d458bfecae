/* What why.c and why_exec.c share. */
#pragma once
#include <stdbool.h>

struct answer;
struct found;
struct policy;
struct step;
struct why;

/* Finds it; false: it is not to be had, and the answer says why. */
bool why_find(const struct why *w, const char *path, struct found *f, struct answer *ret);

/* The flag or default that shows what was found, allocated. */
char *why_line(const struct why *w, const struct found *f);

/* "DIR/PATH" of a relative one, allocated. */
char *why_whole(const struct why *w, const char *path);

/* What refuses it: a mask; that it is mounted read-only; that it is not shown. */
void why_say_mask(const struct why *w, const struct found *f, struct answer *ret);
void why_say_read_only(const struct why *w, const struct found *f, struct answer *ret);
/* A name inside, in what a step shows, that is not to be made; false: it may be. */
bool why_say_missing(const struct why *w, const struct step *shows, const char *path,
		     struct answer *ret);
void why_say_not_shown(const struct why *w, const char *path, struct answer *ret);
