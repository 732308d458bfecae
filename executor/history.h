/* history -- what files were before they were edited, so that it can be undone.
 *
 * Each edit is a step: the whole file as it was, byte for byte.  Kept are, of the
 * latest, HISTORY_STEPS of a file and HISTORY_FILE_BYTES of them, and of all files
 * together HISTORY_FILES files and HISTORY_BYTES; what is over goes, oldest first.
 * A zeroed struct is an empty history, and holds no memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

#define HISTORY_STEPS	   100
#define HISTORY_FILE_BYTES (16u << 20)
#define HISTORY_FILES	   256
#define HISTORY_BYTES	   (64u << 20)

struct encoding;
struct history_file;

struct history {
	struct history_file *files; /* owned */
	size_t count;
	size_t bytes; /* of all steps */
	uint64_t added; /* steps so far: their age */
};

void history_done(struct history *h);

/* The file of this path was `old` before an edit, as text of this encoding.  Copied. */
void history_add(struct history *h, const char *path, struct bytes old,
		 const struct encoding *encoding);

/* What it was before the last one, good until the history changes.  False: nothing
 * is known. */
bool history_last(const struct history *h, const char *path, struct bytes *ret);
/* What it was taken for then; NULL: nothing is known. */
const struct encoding *history_encoding(const struct history *h, const char *path);
/* The last edit was undone. */
void history_drop_last(struct history *h, const char *path);

/* The file is a new one. */
void history_forget(struct history *h, const char *path);
