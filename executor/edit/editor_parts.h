/* editor_parts -- declarations that the editor's source files share.
 *
 *	editor.c	the request: what is checked before any command
 *	editor_view.c	view
 *	editor_change.c	create, str_replace, insert, undo_edit
 *	editor_file.c	a file, opened, read and replaced
 *	editor_say.c	the answer's text
 *
 * Each function that gets a job returns false when it has written an error into the
 * job's answer; then no more text may be added to the answer. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "executor/edit/edit.h"
#include "executor/files/files_parts.h"

struct edit_request;
struct encoding;
struct undo;

/* A change for the linter to check, with EDIT_LINT; all fields are zero if there is
 * none. */
struct change_made {
	uint8_t *old, *new; /* owned: the lines before and after the change */
	size_t old_len, new_len;
	size_t at; /* the offset in the answer's text where the linter's findings are to
		    * be put */
};

/* One request, and its answer. */
struct job {
	const struct edit_request *r;
	struct undo *undo; /* borrowed */
	char path[PATH_MAX];	 /* the request's path without "//", "/." and a slash at
				  * its end */
	struct buffer say, diff;
	uint64_t cut;
	bool is_binary; /* the file is binary: the answer is OUTCOME_BINARY alone,
			 * without text and diff */
	struct change_made change;
};

/* A file that is viewed, and perhaps changed. */
struct file {
	int fd; /* owned */
	struct stat st;
	struct content raw;
	struct edit_text text;
	int write_error; /* the errno of the attempt to open the file for writing; 0: the
			  * file is open for writing, or nothing will be written */
};

/* The file's new content, before it is written. */
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

/* Opens and reads the file, for writing too if `writes`. The caller must call
 * editor_file_done(), also after a failure. */
bool editor_load(struct job *j, struct file *f, bool writes);
void editor_file_done(struct file *f);

/* Replaces the file's content by `m`, and adds the diff to the answer. *ret_text, which
 * borrows from `m`, is the caller's to free. */
bool editor_store(struct job *j, const struct file *f, const struct made *m,
		  struct edit_text *ret_text);

/* --- the answer's text ------------------------------------------------------- */

#define EDITOR_SHOWN "Here's the result of running `cat -n` on "

void editor_say_bytes(struct job *j, const void *data, size_t len);
void editor_say(struct job *j, const char *text);
void editor_say_format(struct job *j, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds the lines to the answer, numbered from `first`, behind a heading that names the
 * file. */
void editor_show(struct job *j, struct bytes lines, size_t first);

/* Empties the answer's text and diff, and begins an error. */
void editor_begin_error(struct job *j);
#define EDITOR_FAIL(j, ...) \
	(editor_begin_error(j), editor_say_format(j, __VA_ARGS__), false)

/* The functions below report an error, and all of them return false. */

/* Reports an errno; `doing` is "read" or "write to". */
bool editor_fail_sys(struct job *j, int sys, const char *doing);
/* Reports a file that could not be opened, read or made. */
bool editor_fail_result(struct job *j, struct result got, const char *doing);
/* Reports a fault of the path; the path is inserted in place of each @ in `why`. */
bool editor_fail_path(struct job *j, const char *why);
bool editor_fail_gone(struct job *j);
bool editor_fail_folder(struct job *j);
bool editor_fail_missing(struct job *j, const char *parameter);
/* Reports a fault of the file's content; `why` is the sentence that the answer has
 * behind the path. */
bool editor_fail_file(struct job *j, const char *why);
/* Reports a character that the file's encoding does not have. */
bool editor_fail_lacks(struct job *j, const struct encoding *encoding,
		       uint32_t character);
bool editor_fail_size(struct job *j, uint64_t size);
