/* changes_record -- the audit log's entries of `hutch apply` and `hutch discard`, where the
 * sandbox was made with an audit log.
 *
 *	changes_record_init, changes_record_begin, (changes_record_applied,) changes_record_done */
#pragma once
#include "sandbox/launch/audit.h"

struct apply_kept;
struct err;

struct changes_record {
	const struct apply_kept *apply; /* borrowed */
	char *const *words; /* borrowed: the wanted paths, up to a NULL; NULL: all */
	struct audit audit;
};

void changes_record_init(struct changes_record *r, const struct apply_kept *apply);
void changes_record_done(struct changes_record *r);

/* Writes the entry of what is to be done, "apply" or "discard", before any file is changed. */
int changes_record_begin(struct changes_record *r, const char *event, struct err *e);

/* Writes the entry of the result; `why` is the error, or NULL. */
int changes_record_applied(struct changes_record *r, const struct err *why,
			   struct err *e);
