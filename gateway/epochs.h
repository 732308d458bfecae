/* epochs -- how often each sandbox was resumed by /resume, so that a key that was revoked by
 * that stays revoked after a restart of the server: a file for each, which holds a number. */
#pragma once

struct err;
struct serve;

/* Returns the number; 0: it never was. */
unsigned epochs_get(const struct serve *s, const char *id);
/* Adds one.  Returns the new number, or 0 with an error. */
unsigned epochs_next(const struct serve *s, const char *id, struct err *e);
void epochs_forget(const struct serve *s, const char *id);
