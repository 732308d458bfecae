#include "executor/edit/edit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"
#include "executor/files/encoding.h"

#define MARK "\xef\xbb\xbf"

/* --- files as texts -------------------------------------------------------- */

/* Returns the length of the end of line at `i`: 2 for "\r\n", 0 if no line ends there. */
static size_t end_length(struct bytes text, size_t i)
{
	if (text.data[i] == '\n')
		return 1;
	if (text.data[i] != '\r')
		return 0;
	return i + 1 < text.len && text.data[i + 1] == '\n' ? 2 : 1;
}

uint8_t *edit_needle(struct bytes text, size_t *ret_len)
{
	uint8_t *to = mem_new(text.len);
	size_t len = 0;

	for (size_t i = 0, end; i < text.len; i += end ? end : 1) {
		end = end_length(text, i);
		to[len++] = end ? '\n' : text.data[i];
	}
	*ret_len = len;
	return to;
}

static const char *usual_newline(struct bytes text)
{
	size_t lf = 0, cr = 0, both = 0;

	for (size_t i = 0, end; i < text.len; i += end ? end : 1) {
		end = end_length(text, i);
		both += end == 2;
		cr += end == 1 && text.data[i] == '\r';
		lf += end == 1 && text.data[i] == '\n';
	}
	if (both > lf && both >= cr)
		return "\r\n";
	return cr > lf ? "\r" : "\n";
}

bool edit_text_init(struct edit_text *t, struct bytes raw,
		    const struct encoding *encoding, size_t *ret_bad)
{
	uint8_t *decoded;
	size_t len;

	if (raw.len == 0) /* NULL + 0 is undefined in C */
		raw.data = (const uint8_t *)"";
	if (!encoding_decode(encoding, raw, &decoded, &len, ret_bad))
		return false;
	*t = (struct edit_text){ .raw = raw, .encoding = encoding, .decoded = decoded,
				 .newline = "\n" };
	t->text = (struct bytes){ decoded ? decoded : raw.data, len };
	if (len >= strlen(MARK) && !memcmp(t->text.data, MARK, strlen(MARK)))
		t->mark = strlen(MARK);
	t->lines = (struct bytes){ t->text.data + t->mark, len - t->mark };
	if (!memchr(t->lines.data, '\r', t->lines.len))
		return true;
	t->newline = usual_newline(t->lines);
	t->owned = edit_needle(t->lines, &t->lines.len);
	t->lines.data = t->owned;
	return true;
}

void edit_text_done(struct edit_text *t)
{
	free(t->owned);
	free(t->decoded);
	*t = (struct edit_text){ 0 };
}

/* Returns the offset in t->text of byte `at` of t->lines, where each line end is a
 * single \n. */
static size_t place_in_text(const struct edit_text *t, size_t at)
{
	size_t i = t->mark;

	if (!t->owned)
		return t->mark + at;
	while (at-- > 0) {
		size_t end = end_length(t->text, i);
		i += end ? end : 1;
	}
	return i;
}

/* --- lines ----------------------------------------------------------------- */

size_t edit_count(struct bytes lines)
{
	size_t count = 0;

	for (size_t at = 0; at < lines.len; count++) {
		const uint8_t *end = memchr(lines.data + at, '\n', lines.len - at);
		at = end ? (size_t)(end - lines.data) + 1 : lines.len;
	}
	return count;
}

static size_t begin_of(struct bytes lines, size_t n)
{
	size_t at = 0;

	while (n-- > 0 && at < lines.len) {
		const uint8_t *end = memchr(lines.data + at, '\n', lines.len - at);
		at = end ? (size_t)(end - lines.data) + 1 : lines.len;
	}
	return at;
}

struct bytes edit_slice(struct bytes lines, size_t first, size_t end)
{
	size_t from = begin_of(lines, first), to = begin_of(lines, end);

	return (struct bytes){ lines.data + from, to > from ? to - from : 0 };
}

/* --- searching ------------------------------------------------------------- */

/* Returns the offset of the literal's next occurrence, at `at` or behind it; SIZE_MAX:
 * there is none. */
static size_t next_place(struct bytes lines, struct bytes literal, size_t at)
{
	if (literal.len == 0)
		return at <= lines.len ? at : SIZE_MAX;
	const uint8_t *found = at < lines.len ? memmem(lines.data + at, lines.len - at,
						       literal.data, literal.len)
					      : NULL;
	return found ? (size_t)(found - lines.data) : SIZE_MAX;
}

/* Returns the offset where the search goes on after an occurrence at `at`: behind it,
 * since occurrences do not overlap; for an empty literal, one character further. */
static size_t behind(struct bytes lines, struct bytes literal, size_t at)
{
	size_t one = utf8_length(lines.data + at, lines.len - at);

	if (literal.len > 0)
		return at + literal.len;
	return at + (one ? one : 1);
}

static size_t count_newlines(struct bytes lines, size_t from, size_t to)
{
	size_t count = 0;

	for (size_t i = from; i < to; i++)
		count += lines.data[i] == '\n';
	return count;
}

struct edit_found edit_find(struct bytes lines, struct bytes literal)
{
	struct edit_found f = { 0 };
	size_t at = next_place(lines, literal, 0);

	if (at == SIZE_MAX)
		return f;
	f = (struct edit_found){ 1, at, count_newlines(lines, 0, at) };
	if (next_place(lines, literal, behind(lines, literal, at)) != SIZE_MAX)
		f.count = 2;
	return f;
}

static void put_string(struct buffer *to, const char *text)
{
	/* cannot fail: each caller made the buffer large enough for all its text */
	(void)buffer_append(to, text, strlen(text));
}

/* Appends a formatted text of at most 31 bytes, such as a line's number. */
__attribute__((format(printf, 2, 3))) static void
put_format(struct buffer *to, const char *format, ...)
{
	char text[32];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put_string(to, text);
}

void edit_put_places(struct buffer *to, struct bytes lines, struct bytes literal)
{
	size_t listed = 0, line = 0, last = SIZE_MAX, before = 0;
	size_t at = next_place(lines, literal, 0);

	put_string(to, "[");
	for (; at != SIZE_MAX && listed < EDIT_PLACES;
	     at = next_place(lines, literal, behind(lines, literal, at))) {
		line += count_newlines(lines, before, at);
		before = at;
		if (line == last)
			continue;
		put_string(to, listed++ ? ", " : "");
		put_format(to, "%zu", line + 1);
		last = line;
	}
	put_string(to, at != SIZE_MAX ? ", ...]" : "]");
}

/* --- changes --------------------------------------------------------------- */

static uint8_t last_byte(const struct buffer *b)
{
	size_t len = buffer_len(b);

	return len ? buffer_data(b)[len - 1] : 0;
}

/* Appends bytes to the new file. Between a \r that the file ends with and a \n another
 * \n is put: "\r\n" would be one end of line in place of two. */
static void join(struct buffer *to, const uint8_t *data, size_t len)
{
	if (len == 0)
		return;
	if (last_byte(to) == '\r' && data[0] == '\n')
		put_string(to, "\n");
	(void)buffer_append(to, data, len);
}

/* Appends new text. A \n without a \r in front of it becomes the file's usual end of
 * line. */
static void put_new(struct buffer *to, struct bytes new, const char *newline)
{
	for (size_t i = 0; i < new.len;) {
		const uint8_t *data = new.data + i;
		const uint8_t *end = memchr(data, '\n', new.len - i);
		size_t len = end ? (size_t)(end - data) : new.len - i;
		bool is_both = end && len > 0 && data[len - 1] == '\r';
		join(to, data, len + is_both);
		if (end && !is_both)
			join(to, (const uint8_t *)newline, strlen(newline));
		i += len + 1;
	}
}

/* Writes to `to` the new text that will stand between offsets `head` and `tail` of the
 * old text. Where a \r and a \n meet at either border, they are kept apart, as in
 * join(). */
static void put_middle(const struct edit_text *t, size_t head, size_t tail,
		       struct bytes new, struct buffer *to)
{
	bool is_open = head > 0 && t->text.data[head - 1] == '\r';

	if (is_open) /* join() must see the \r in front of the new text; the \r is
		      * removed again below */
		put_string(to, "\r");
	put_new(to, new, t->newline);
	if (last_byte(to) == '\r' && tail < t->text.len && t->text.data[tail] == '\n')
		put_string(to, "\n");
	if (is_open)
		buffer_consume(to, 1);
}

/* Writes the file with `middle`, in the file's encoding, in place of its text from
 * `head` to `tail`. All other bytes of the file stay as they are. */
static uint32_t put_file(const struct edit_text *t, size_t head, size_t tail,
			 const struct buffer *middle, struct buffer *to_file)
{
	const struct bytes text = { buffer_data(middle), buffer_len(middle) };
	size_t from = encoding_place(t->encoding, t->raw, head);
	size_t to = encoding_place(t->encoding, t->raw, tail);
	uint32_t lacks;

	buffer_init(to_file, t->raw.len + 2 * text.len + 1);
	(void)buffer_append(to_file, t->raw.data, from);
	if (!encoding_put(t->encoding, text, to_file, &lacks))
		return lacks;
	(void)buffer_append(to_file, t->raw.data + to, t->raw.len - to);
	return 0;
}

uint32_t edit_splice(const struct edit_text *t, size_t from, size_t to, struct bytes new,
		     struct buffer *to_file)
{
	size_t head = place_in_text(t, from), tail = place_in_text(t, to);
	struct buffer middle;

	buffer_init(&middle, 2 * new.len + 4);
	put_middle(t, head, tail, new, &middle);
	uint32_t lacks = put_file(t, head, tail, &middle, to_file);
	buffer_done(&middle);
	return lacks;
}

uint32_t edit_insert(const struct edit_text *t, size_t line, struct bytes new,
		     struct buffer *to_file)
{
	size_t at = begin_of(t->lines, line);
	bool is_open = at > 0 && t->lines.data[at - 1] != '\n';
	AUTO_FREE uint8_t *text = mem_new(new.len + 2);

	text[0] = '\n';
	if (new.len > 0)
		memcpy(text + 1, new.data, new.len);
	text[new.len + 1] = '\n';
	return edit_splice(t, at, at,
			   (struct bytes){ text + !is_open, new.len + 1 + is_open },
			   to_file);
}

/* --- views ----------------------------------------------------------------- */

/* Returns the first EDIT_CLIP characters of a text, and how many characters are behind
 * them. */
static struct bytes clip(struct bytes text, size_t *ret_cut)
{
	size_t len = utf8_skip(text.data, text.len, EDIT_CLIP);

	*ret_cut = utf8_count(text.data + len, text.len - len);
	return (struct bytes){ text.data, len };
}

size_t edit_put_clipped(struct buffer *to, struct bytes text, const char *notice)
{
	size_t cut;
	struct bytes shown = clip(text, &cut);

	(void)buffer_append(to, shown.data, shown.len);
	put_string(to, cut ? notice : "");
	return cut;
}

size_t edit_put_numbered(struct buffer *to, struct bytes lines, size_t first)
{
	size_t cut;
	struct bytes shown = clip(lines, &cut);

	for (size_t at = 0; at <= shown.len; first++) {
		const uint8_t *data = shown.data + at;
		const uint8_t *end = memchr(data, '\n', shown.len - at);
		size_t len = end ? (size_t)(end - data) : shown.len - at;
		put_format(to, "%6zu\t", first);
		(void)buffer_append(to, data, len);
		put_string(to, cut && !end ? EDIT_CLIPPED_FILE "\n" : "\n");
		at += len + 1;
	}
	return cut;
}

/* --- parsing parameters ------------------------------------------------------ */

bool edit_number(const char *text, int64_t *ret)
{
	const char *at = text + strspn(text, " \t\n\v\f\r");
	bool is_negative = *at == '-';
	int64_t number = 0;

	at += is_negative || *at == '+';
	size_t digits = strspn(at, "0123456789");
	if (digits == 0 || digits > 18 || at[digits + strspn(at + digits, " \t\n\v\f\r")])
		return false;
	for (size_t i = 0; i < digits; i++)
		number = number * 10 + (at[i] - '0');
	*ret = is_negative ? -number : number;
	return true;
}

bool edit_range(const char *text, int64_t ret[2])
{
	char first[32], second[32];
	int len = 0;

	return sscanf(text, "[%31[-0-9], %31[-0-9]]%n", first, second, &len) == 2 &&
	       len > 0 && text[len] == '\0' && edit_number(first, &ret[0]) &&
	       edit_number(second, &ret[1]);
}

void edit_tidy_path(char *path)
{
	char *to = path;

	for (const char *at = path; *at;) {
		size_t len = strcspn(at, "/");
		bool is_nothing = len == 0 || (len == 1 && *at == '.');
		bool is_root = at == path && len == 0;
		if (!is_nothing) {
			memmove(to, at, len);
			to += len;
		}
		at += len;
		if (*at == '/')
			at++;
		if ((!is_nothing && *at) || is_root)
			*to++ = '/';
	}
	if (to > path + 1 && to[-1] == '/')
		to--;
	if (to == path && *path)
		*to++ = '.';
	*to = '\0';
}

const char *edit_document(const char *path)
{
	static const char *const endings[] = { ".docx", ".xlsx", ".pptx", ".pdf",
					       ".mp3",	".wav",	 ".m4a",  ".flac" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && dot > name && i < ARRAY_LEN(endings); i++)
		if (!strcasecmp(dot, endings[i]))
			return dot;
	return NULL;
}
