/* edit -- what an editor does to a text, and how it shows it; no file is touched here.
 *
 * A file is in one of the encodings of encoding.h, with or without a byte order mark in
 * front, and its lines end with \n, \r\n or \r, as Python's universal newlines have it.
 * Whoever edits it sees UTF-8, and neither the mark nor the carriage returns: `lines` has
 * \n only.  What is written keeps every byte that was not edited, and new lines end as
 * most lines of the file do.
 *
 * Lines are counted from 0 here.  One behind the last newline is no line of a file
 * (edit_count), but is shown as an empty one (edit_put_numbered): the reference's way. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

/* More characters than this are clipped, in a view or a snippet. */
#define EDIT_CLIP 16000
/* So many lines are shown before and behind what was changed. */
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

/* So many places of a text that occurs more often are told. */
#define EDIT_PLACES 1000

struct buffer;
struct encoding;

struct edit_text {
	struct bytes raw;    /* borrowed: the file */
	const struct encoding *encoding;
	struct bytes text;   /* of raw, or of `decoded`: the same as UTF-8 */
	struct bytes lines;  /* of text, or of `owned` */
	uint8_t *decoded, *owned; /* or NULL */
	const char *newline; /* how most lines of the file end; "\n" where none does */
	size_t mark;	     /* bytes of the byte order mark, in the text */
};

/* False when it is not of this encoding: *ret_bad is the first byte that is not.
 * Otherwise good for as long as `raw` is; then edit_text_done(). */
bool edit_text_init(struct edit_text *t, struct bytes raw, const struct encoding *encoding,
		    size_t *ret_bad);
void edit_text_done(struct edit_text *t);

/* How many lines it has; the last one need not end. */
size_t edit_count(struct bytes lines);
/* Lines [first, end), with their newlines; as far as they are there. */
struct bytes edit_slice(struct bytes lines, size_t first, size_t end);

/* What somebody looks for, with \n as the only end of line.  The caller frees it. */
uint8_t *edit_needle(struct bytes text, size_t *ret_len);

struct edit_found {
	size_t count; /* 0, 1, or 2 for more; they do not overlap */
	size_t at, line; /* of the first */
};
/* Where the text is; an empty one is before and behind every character. */
struct edit_found edit_find(struct bytes lines, struct bytes needle);
/* "[1, 4]": the lines, from 1, where it begins. */
void edit_put_places(struct buffer *to, struct bytes lines, struct bytes needle);

/* The file with bytes [from, to) of `lines` replaced.  `to_file` gets it.  Returned is 0,
 * or the first character of `new` that the file's encoding does not have; `to_file` is
 * nothing then, and buffer_done() is due all the same. */
uint32_t edit_splice(const struct edit_text *t, size_t from, size_t to, struct bytes new,
		     struct buffer *to_file);
/* The file with lines put in front of line `line`, which may be edit_count().  Each
 * piece of `new` becomes one, the last too. */
uint32_t edit_insert(const struct edit_text *t, size_t line, struct bytes new,
		     struct buffer *to_file);

/* Each line with its number, `first` for the first one, as `cat -n` prints them, and a
 * newline; cut after EDIT_CLIP characters.  Returns how many are missing. */
size_t edit_put_numbered(struct buffer *to, struct bytes lines, size_t first);
/* The text, cut likewise, with the notice behind it. */
size_t edit_put_clipped(struct buffer *to, struct bytes text, const char *notice);

/* A whole number, as Python's int() reads one; false: it is none. */
bool edit_number(const char *text, int64_t *ret);
/* Two of them, as Python prints a list: "[1, 2]". */
bool edit_range(const char *text, int64_t ret[2]);

/* Leaves out what pathlib leaves out: "//", "/." and a slash at the end. */
void edit_tidy_path(char *path);
/* ".pdf" of a file that an editor has a converter for, in the reference; else NULL. */
const char *edit_document(const char *path);
