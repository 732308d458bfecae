/* edit -- an editor's changes to a text, and its views of it; no file is touched here.
 *
 * A file is in one of the encodings of encoding.h, with or without a byte order mark in
 * front, and its lines end with \n, \r\n or \r, as in Python's universal newlines.  The
 * editor sees UTF-8, without the mark and the carriage returns: `lines` has \n only.
 * Written files keep every byte that was not edited, and new lines end as most lines of
 * the file do.
 *
 * Lines are counted from 0 here.  Empty text behind the last newline is no line of a
 * file (edit_count), but is shown as an empty one (edit_put_numbered), as in
 * OpenHands' editor. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

/* The most characters that a view or a snippet shows; longer ones are clipped. */
#define EDIT_CLIP 16000
/* This many lines are shown above and below a change. */
#define EDIT_CONTEXT 4
#define EDIT_CLIPPED_BEGIN \
	"<response clipped><NOTE>Due to the max output limit, only part of this "
#define EDIT_CLIPPED_FILE                                                          \
	EDIT_CLIPPED_BEGIN "file has been shown to you. You should retry this tool " \
	"after you have searched inside the file with `grep -n` in order to find "   \
	"the line numbers of what you are looking for.</NOTE>"
#define EDIT_CLIPPED_FOLDER                                                          \
	EDIT_CLIPPED_BEGIN "directory has been shown to you. You should use `ls -la` " \
	"instead to view large directories incrementally.</NOTE>"

/* An error about a text that occurs more than once lists at most this many
 * occurrences. */
#define EDIT_PLACES 1000

struct buffer;
struct encoding;

struct edit_text {
	struct bytes raw;    /* borrowed: the file */
	const struct encoding *encoding;
	struct bytes text;   /* the file as UTF-8: `raw` itself, or `decoded` */
	struct bytes lines;  /* the text without byte order mark and with \n as its only
			      * end of line; points into `text` or `owned` */
	uint8_t *decoded, *owned; /* owned, or NULL */
	const char *newline; /* the ending of most lines of the file; "\n" if there is
			      * none */
	size_t mark;	     /* the length of the byte order mark at the beginning of
			      * `text`; 0: no mark */
};

/* Decodes a file. False: the file is not of this encoding, and *ret_bad is the offset of
 * the first invalid byte. Otherwise `t` is valid as long as `raw` is, and
 * edit_text_done() must be called. */
bool edit_text_init(struct edit_text *t, struct bytes raw,
		    const struct encoding *encoding, size_t *ret_bad);
void edit_text_done(struct edit_text *t);

/* Returns how many lines there are; the last one need not end with a newline. */
size_t edit_count(struct bytes lines);
/* Returns lines [first, end), with their newlines, as far as they exist. */
struct bytes edit_slice(struct bytes lines, size_t first, size_t end);

/* Returns a copy of the text with \n as its only end of line, to be searched for in the
 * lines of a file. The caller frees it. */
uint8_t *edit_needle(struct bytes text, size_t *ret_len);

struct edit_found {
	size_t count; /* the number of occurrences that do not overlap: 0, 1, or 2 for
		       * two and more */
	size_t at, line; /* the offset of the first occurrence, and the number of its
			  * line, from 0 */
};
/* Finds the literal in the lines; an empty literal occurs before and behind every
 * character. */
struct edit_found edit_find(struct bytes lines, struct bytes literal);
/* Writes the numbers, from 1, of the lines where the literal begins: "[1, 4]". */
void edit_put_places(struct buffer *to, struct bytes lines, struct bytes literal);

/* Writes to `to_file` the file with bytes [from, to) of `lines` replaced by `new`.
 * Returns 0, or the first character of `new` that the file's encoding does not have;
 * then `to_file` is incomplete, and still must be freed with buffer_done(). */
uint32_t edit_splice(const struct edit_text *t, size_t from, size_t to, struct bytes new,
		     struct buffer *to_file);
/* Writes to `to_file` the file with `new` put in front of line `line`, which may be
 * edit_count(). `new` is split at \n, and each piece becomes a line, the last one too.
 * Returns the same as edit_splice(). */
uint32_t edit_insert(const struct edit_text *t, size_t line, struct bytes new,
		     struct buffer *to_file);

/* Writes each line with its number, as `cat -n` prints them, beginning with `first`,
 * and a newline; clips after EDIT_CLIP characters.  Returns how many characters are
 * missing. */
size_t edit_put_numbered(struct buffer *to, struct bytes lines, size_t first);
/* Writes the text, clipped after EDIT_CLIP characters, and `notice` behind a clipped one.
 * Returns how many characters are missing. */
size_t edit_put_clipped(struct buffer *to, struct bytes text, const char *notice);

/* Reads a whole number like Python's int(). False: the text is no number. */
bool edit_number(const char *text, int64_t *ret);
/* Reads two whole numbers in the form of a Python list: "[1, 2]". */
bool edit_range(const char *text, int64_t ret[2]);

/* Leaves out of the path the parts that Python's pathlib leaves out: "//", "/." and a
 * slash at the end. */
void edit_tidy_path(char *path);
/* Returns the path's ending, such as ".pdf", if OpenHands' editor can convert such files
 * to text; else NULL. */
const char *edit_document(const char *path);
