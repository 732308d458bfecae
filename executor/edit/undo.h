/* undo -- earlier contents of edited files, so that an edit can be undone.
 *
 * Each edit adds a step: the whole file before the edit, byte for byte.  The latest
 * steps are kept: UNDO_STEPS and UNDO_FILE_BYTES for one file, UNDO_FILES
 * files and UNDO_BYTES for all together; the oldest beyond that are dropped.  A
 * zeroed struct is an empty history, and holds no memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

#define UNDO_STEPS	   100
#define UNDO_FILE_BYTES (16u << 20)
#define UNDO_FILES	   256
#define UNDO_BYTES	   (64u << 20)

struct encoding;
struct undo_file;

struct undo {
	struct undo_file *files; /* owned */
	size_t count;
	size_t bytes; /* bytes of all steps together */
	uint64_t added; /* the number of steps that were ever added, which is the next
			 * step's number */
};

void undo_done(struct undo *h);

/* Adds a step: the file of this path had the content `old`, of this encoding, before an
 * edit. The content is copied. */
void undo_add(struct undo *h, const char *path, struct bytes old,
		 const struct encoding *encoding);

/* Returns the file's content before its last edit, valid until the history changes.
 * False: there is no step. */
bool undo_last(const struct undo *h, const char *path, struct bytes *ret);
/* Returns the encoding of the content that undo_last() gives; NULL: there is no step. */
const struct encoding *undo_encoding(const struct undo *h, const char *path);
/* Drops the file's last step, after it was undone. */
void undo_drop_last(struct undo *h, const char *path);

/* Drops all steps of the file, since a new file took its place. */
void undo_forget(struct undo *h, const char *path);
