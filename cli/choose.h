/* choose -- has the user choose on a terminal which of the kept changes are to be
 * applied, one after the other. */
#pragma once

struct chosen;
struct err;
struct kept_changes;

/* Shows each of the wanted changes, and asks about it.  `ret` has a zero object for each
 * folder of the changes, and gets what was chosen, also after a failure.  -1: there is
 * no terminal, the input has ended before the last answer, or the changes could not be
 * read; then nothing is to be applied. */
int choose(const struct kept_changes *p, struct chosen *ret, struct err *e);
