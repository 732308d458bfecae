/* history -- earlier contents of edited files, so that an edit can be undone.
 *
 * Each edit adds a step: the whole file before the edit, byte for byte.  The latest
 * steps are kept: HISTORY_STEPS and HISTORY_FILE_BYTES for one file, HISTORY_FILES
 * files and HISTORY_BYTES for all together; the oldest beyond that are dropped.  A
 * zeroed struct is an empty history, and holds no memory. */
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
	uint64_t added; /* steps so far; gives each step its age */
};

void history_done(struct history *h);

/* Adds a step: the file of this path was `old` before an edit, as text of this
 * encoding.  Copied. */
void history_add(struct history *h, const char *path, struct bytes old,
		 const struct encoding *encoding);

/* The file's content before its last edit, valid until the history changes.  False:
 * there is no step. */
bool history_last(const struct history *h, const char *path, struct bytes *ret);
/* The encoding of that content; NULL: there is no step. */
const struct encoding *history_encoding(const struct history *h, const char *path);
/* Drops the file's last step, after it was undone. */
void history_drop_last(struct history *h, const char *path);

/* Drops all steps of the file, since a new file took its place. */
void history_forget(struct history *h, const char *path);
