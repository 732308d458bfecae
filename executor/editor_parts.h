/* editor_parts -- between the parts of the editor.
 *
 *	editor.c	the request: what is looked at before any command
 *	editor_view.c	view
 *	editor_change.c	create, str_replace, insert, undo_edit
 *	editor_file.c	a file, opened, read and replaced
 *	editor_say.c	the words
 *
 * Each step is given the job and returns false when it has said what went wrong; then
 * nothing more is to be said. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "executor/edit.h"
#include "executor/files_parts.h"

struct edit_request;
struct encoding;
struct history;

/* What a linter is to be asked about, with EDIT_LINT; zero: nothing was changed that
 * it is asked about. */
struct change_made {
	uint8_t *old, *new; /* owned: the lines */
	size_t old_len, new_len;
	size_t at; /* where in what is said its words belong */
};

/* One request, and what is to be answered. */
struct job {
	const struct edit_request *r;
	struct history *history; /* borrowed */
	char path[PATH_MAX];	 /* as the texts have it */
	struct buffer say, diff;
	uint64_t cut;
	bool is_binary; /* nothing is said but that */
	struct change_made change;
};

/* A file that is looked at, and perhaps changed. */
struct file {
	int fd; /* owned */
	struct stat st;
	struct content raw;
	struct edit_text text;
	int write_error; /* it can be read only */
};

/* What it is to be then. */
struct made {
	struct buffer bytes;
	const struct encoding *encoding;
};

/* --- commands -------------------------------------------------------------- */

bool editor_view(struct job *j);
bool editor_create(struct job *j);
bool editor_str_replace(struct job *j);
bool editor_insert(struct job *j);
bool editor_undo_edit(struct job *j);

/* --- files ----------------------------------------------------------------- */

/* Opens and reads it.  editor_file_done() is due in any case. */
bool editor_load(struct job *j, struct file *f, bool writes);
void editor_file_done(struct file *f);

/* Replaces it, and tells the difference.  *ret_text, of what is in `m`, is the caller's
 * then. */
bool editor_store(struct job *j, const struct file *f, const struct made *m,
		  struct edit_text *ret_text);

/* --- words ----------------------------------------------------------------- */

#define EDITOR_SHOWN "Here's the result of running `cat -n` on "

void editor_say_bytes(struct job *j, const void *data, size_t len);
void editor_say(struct job *j, const char *text);
void editor_say_format(struct job *j, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A whole view, of lines that are numbered from `first`. */
void editor_show(struct job *j, struct bytes lines, size_t first);

/* What follows is the whole answer, and an error. */
void editor_begin_error(struct job *j);
#define EDITOR_FAIL(j, ...) \
	(editor_begin_error(j), editor_say_format(j, __VA_ARGS__), false)

/* All of these return false. */

/* `doing`: "read" or "write to". */
bool editor_fail_sys(struct job *j, int sys, const char *doing);
/* What could not be opened, read or made. */
bool editor_fail_result(struct job *j, struct result got, const char *doing);
/* What is wrong with the path; it is put where an @ stands. */
bool editor_fail_path(struct job *j, const char *why);
bool editor_fail_gone(struct job *j);
bool editor_fail_folder(struct job *j);
bool editor_fail_missing(struct job *j, const char *parameter);
/* What is wrong with the file. */
bool editor_fail_file(struct job *j, const char *why);
/* A character that its encoding does not have. */
bool editor_fail_lacks(struct job *j, const struct encoding *encoding, uint32_t character);
bool editor_fail_size(struct job *j, uint64_t size);
