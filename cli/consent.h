/* consent -- says on a terminal which kept changes a verb is about, and asks before they
 * are applied or discarded.
 *
 * A user who has not given the changes their name, nor says it now, may mean others: so
 * the host's folders and the count are shown first.  Where stdin or stderr is no
 * terminal, nothing is asked. */
#pragma once
#include <stdbool.h>

struct cow;
struct cow_list;
struct err;
struct kept_changes;

/* Notes on a terminal which changes were found by the current folder. */
void consent_note(const struct cow *c);

/* Asks before the wanted changes are applied, unless the user has named them: `is_named`
 * says whether the command line has a name.  -1: the count failed, or the answer was not
 * yes. */
int consent_to_apply(const struct kept_changes *p, bool is_named, struct err *e);

/* Asks once before all changes in the list are discarded, unless the user has named each
 * of them. */
int consent_to_discard(const struct cow_list *l, bool is_named, struct err *e);
