/* screen: shows what a person would see of a program's output.  Each row is fed in
 * pieces of every size, so that sequences and characters are cut everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/own.h"
#include "base/utf8.h"
#include "executor/terminal/screen.h"
#include "executor/terminal/truncate_text.h"

#define R UTF8_REPLACEMENT
#define E "\x1b"
#define C "\x1b["

struct row_case {
	const char *in, *out;
};

/* Output, and the text on a screen of the size that sessions have. */
static const struct row_case large[] = {
	/* Output in the form in which the kernel's terminal passes it on. */
	{ "hi\r\n", "hi" },
	{ "   x\r\n\ty\r\n", "x\n        y" },
	{ "^C", "^C" },
	{ "^Z\r\n[1]+  Stopped                 sleep 100\r\n",
	  "^Z\n[1]+  Stopped                 sleep 100" },
	{ "a\rb\r\n", "b" },
	{ C "31mred" C "0m " C "38;5;1mx" C "?25l" C "38:2::1:2:3my\r\n", "red xy" },
	/* the cases spaces, carriage, cr_lf and unicode of
	 * tests/run/golden/session.json */
	{ "a   \r\n\r\n b\r\n", "a\n\n b" },
	{ "no newline", "no newline" },
	{ "\r\n\r\n", "" },
	{ "progress 10%\rprogress 100%\r\n", "progress 100%" },
	{ "\r1 of 3\r2 of 3\r3 of 3\r\n", "3 of 3" },
	{ "dos\r\r\nline\r\r\n", "dos\nline" },
	{ "h\xc3\xa9llo w\xc3\xb6rld \xe2\x9c\x93 \xe6\xbc\xa2\xe5\xad\x97\r\n",
	  "h\xc3\xa9llo w\xc3\xb6rld \xe2\x9c\x93 \xe6\xbc\xa2\xe5\xad\x97" },
	{ "", "" },
	{ " \t\r\n", "" },
	{ "\xc2\xa0x\xe3\x80\x80\r\n\xe2\x80\x83y\xc2\xa0\xc2\xa0",
	  "x\n\xe2\x80\x83y" },
	/* the cursor */
	{ "long line\rshort", "shortline" },
	{ "abc\b\bX", "aXc" },
	{ "\b\bx", "x" },
	{ "a\tb\tc", "a       b       c" },
	{ "12345678\tx", "12345678        x" },
	{ "a\nb\nc", "a\n b\n  c" },
	{ "a\vb\fc", "a\n b\n  c" },
	{ "one\r\ntwo\r\n" C "2Aup" C "2Bdown", "upe\ntwo\n  down" },
	{ "one\r\ntwo\r\n" C "A" C "2KTWO", "one\nTWO" },
	{ "x" C "5Cy" C "3Dz", "x   z y" },
	{ C "3;5Hat" C "1;1Hhome", "home\n\n    at" },
	{ "abc" C "Gx" C "3`z", "xbz" },
	{ "a" C "3Eb" C "2Fc", "a\nc\n\nb" },
	{ "a" C "3db" C "2ec", "a\n\n b\n\n  c" },
	{ "ab" E "7\r\nlow" E "8c", "abc\nlow" },
	{ "ab" C "s\r\nlow" C "uc", "abc\nlow" },
	{ "a" E "Db" E "Ec", "a\n b\nc" },
	{ "a\r\nb" E "Mc", "ac\nb" },
	{ C "3b" "-" C "5b|", "------|" },
	{ "\xe2\x94\x80" C "2b|", "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80|" },
	{ "-\xe2\x82\xac" C "2b|", "-\xe2\x82\xac|" },
	/* erase, insert, delete */
	{ "hello" C "3D" C "K", "he" },
	{ "hello" C "3D" C "1K", "lo" },
	{ "hello\r\nworld" C "1;3H" C "J", "he" },
	{ "hello\r\nworld" C "2;3H" C "1J", "ld" },
	{ "hello\r\nworld" C "2;3H" C "1Jx", "xld" },
	{ "hello" C "4D" C "2P", "hlo" },
	{ "hello" C "4D" C "2@", "h  ello" },
	{ "hello" C "4D" C "2X", "h  lo" },
	{ "hello" C "4D" C "4hXY" C "4l!", "hXY!llo" },
	{ "a\r\nb\r\nc" C "2;1H" C "L", "a\n\nb\nc" },
	{ "a\r\nb\r\nc" C "2;1H" C "M", "a\nc" },
	{ "a\r\nb\r\nc" C "1;1H" C "M", "b\nc" },
	{ "a\r\nb\r\nc" C "T", "a\nb\nc" },
	{ "a\r\nb\r\nc\r\n" C "2Sx", "a\nb\nc\n\n\nx" },
	{ "a\r\nb\r\nc\r\nd" C "2;3r" C "3;1H\nX" C "r", "a\nc\nX\nd" },
	{ "a\r\nb\r\nc\r\nd" C "2;3r" C "2;1H" E "MX" C "r", "a\nX\nb\nd" },
	{ "a\r\nb\r\nc" C "2;3r" C "?6h" C "1;1HX" C "?6l", "a\nX\nc" },
	/* clearing the screen: its text goes to the scrollback, unless that is
	 * cleared, too */
	{ "old\r\n" C "H" C "2Jnew", "old\nnew" },
	{ "old\r\n" C "H" C "Jnew", "old\nnew" },
	{ "old\r\n" C "H" C "J" C "3Jnew", "new" },
	{ "old\r\n" E "cnew", "old\nnew" },
	{ "a" C "?6h" C "4h" C "2;3r" E "cx\ry", "a\ny" },
	{ C "4hab\r" C "!pX", "Xb" },
	/* characters */
	{ "bell\a nul del\x7f", "bell nul del" },
	{ "e\xcc\x81x", "e\xcc\x81x" },
	{ "e\xcc\x81\r\n", "e\xcc\x81" },
	{ "\xd0\xb5\xcc\x88x", "\xd0\xb5\xcc\x88x" },
	{ "\xe3\x81\x8b\xe3\x82\x99x", "\xe3\x81\x8b\xe3\x82\x99x" },
	{ "a\xcc\x81\xcc\x82\xcc\x83z", "a\xcc\x81\xcc\x82z" },
	{ "\xcc\x81x", "x" },
	{ "\xe6\xbc\xa2\xe5\xad\x97\rx", "x \xe5\xad\x97" },
	{ "\xe6\xbc\xa2\xe5\xad\x97" C "3Dx", "x\xe5\xad\x97" },
	{ "ab\xe6\xbc\xa2" C "2D" C "2@", "ab  \xe6\xbc\xa2" },
	{ "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb!",
	  "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb!" },
	{ "a\xff" "b\xc3", "a" R "b" R },
	{ "\xe2\x82", R },
	{ "\xe2\x82x", R "x" },
	{ "\xc0\x80", R R },
	{ "\xed\xa0\x80", R R R },
	{ "\xf4\x90\x80\x80", R R R R },
	{ "a\xc2\x85\xc2\x9b" "31mb", "a31mb" },
	{ E "(0lqk" E "(B x", "\xe2\x94\x8c\xe2\x94\x80\xe2\x94\x90 x" },
	{ E ")0\x0eqq\x0f-q", "\xe2\x94\x80\xe2\x94\x80-q" },
	/* strings (OSC, DCS, APC, PM), and bytes that form no sequence */
	{ E "]0;title\aa" E "]8;;http://x" E "\\b", "ab" },
	{ E "]0;never ended\nnext", "next" },
	{ E "Pq#0" E "\\a" E "^x" E "\\b" E "_y" E "\\c", "abc" },
	{ E "(Ba" E "=b" E ">c" E "#8d" C "8;9;9te", "abcde" },
	{ "cut" E, "cut" },
	{ "cut" C, "cut" },
	{ "cut" C "3", "cut" },
	{ "cut" E "]0;x", "cut" },
	{ "a" C "3\x18" "b", "ab" },
	{ "a" C "3" C "31mb", "ab" },
	{ "a" C "1\rCb", "ab" },
	{ "a" C "\xc3\xa9", "a\xc3\xa9" },
	{ C "1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20Hx", "x" },
	/* the alternate screen: its text is shown while it is active, and not
	 * afterwards */
	{ "shell\r\n" C "?1049h" C "Hfull" C "5;2Hscreen", "full\n\n\n\n screen" },
	{ "shell\r\n" C "?1049h" C "Hfull" C "?1049lback", "shell\nback" },
	{ "shell\r\n" C "?47h" C "2Jfull" C "?47l", "shell" },
	{ C "?1049h" C "?7l" C "2;5r" C "?1049l" C "r" C "?7hx", "x" },
};

/* Output, and the text on a screen of few rows and columns. */
static const struct row_case small[] = {
	/* A line that wraps at the margin is still one line. */
	{ "abcdefghij", "abcdefghij" },
	{ "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz" },
	{ "abcde\r\nfgh", "abcde\nfgh" },
	{ "abcde\rX", "Xbcde" },
	{ "abcde\nX", "abcde\n    X" },
	{ "abcde\bX", "abcXe" },
	{ "abcdef" C "1;5HX\r\n", "abcdX\nf" },
	{ "abcdef" C "1;3H" C "K" C "2;2H!", "ab\nf!" },
	{ "abcd\xe6\xbc\xa2x", "abcd\xe6\xbc\xa2x" },
	{ "abc\xe6\xbc\xa2x", "abc\xe6\xbc\xa2x" },
	/* libvterm has wrapped the line before it gets the accent. */
	{ "abcde\xcc\x81" "fg", "abcdefg" },
	{ "ab\tc\td", "ab  cd" }, /* a tab stops in the last column at the latest */
	{ "1\r\n2\r\n3\r\n4\r\n5\r\n6", "1\n2\n3\n4\n5\n6" },
	{ "1\r\n2\r\n3\r\n" C "Htop", "1\ntop\n3" },
	{ "1\r\n2\r\n3\r\n" C "HX\r\n\r\n\r\n\r\nY", "1\nX\n3\n\n\nY" },
	/* Rows that leave a region at the top are kept. */
	{ C "1;2r1\r\n2\r\n3" C "r", "1\n2\n3" },
	{ C "2;3r1\r\n2\r\n3\r\n4" C "r", "1\n3\n4" },
	{ "1\r\n2\r\n3" C "H" C "M" C "3;1Hx", "2\n3\nx" },
	{ C "?7labcdefg", "abcdg" },
	{ C "?7labcdefg\xc3\xa9", "abcd\xc3\xa9" },
	{ "abcdefgh" C "3;5H\r\n\r\nxyz", "abcdefgh\n\n\nxyz" },
	{ "abcde\xc3\xa9" "fghi" "jkl", "abcde\xc3\xa9" "fghijkl" },
	{ C "9999;9999Hx", "x" },
	{ "ab" C "9999@" C "9999P" C "9999L" C "9999M" C "9999X" C "9999b", "bbbbb" },
};

static struct screen_text take_of(const struct row_case *c, unsigned rows, unsigned cols,
				  size_t piece)
{
	struct screen s;
	size_t len = strlen(c->in);

	screen_init(&s, rows, cols);
	for (size_t at = 0; at < len; at += piece)
		screen_feed(&s, c->in + at, len - at < piece ? len - at : piece);
	struct screen_text got = screen_take(&s, SCREEN_ENDED);
	screen_clear(&s);
	return got;
}

static void check(const struct row_case *c, unsigned rows, unsigned cols, size_t piece)
{
	struct screen_text got = take_of(c, rows, cols, piece);

	if (got.len != strlen(c->out) ||
	    (got.len && memcmp(got.bytes, c->out, got.len) != 0))
		fail_msg("'%s' in pieces of %zu: '%.*s', not '%s'", c->in, piece,
			 (int)got.len, (char *)got.bytes, c->out);
	assert_int_equal(got.cut, 0);
	assert_int_equal(got.lines, 0);
	free(got.bytes);
}

static void test_each_kind_of_output(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(large); i++)
		for (size_t piece = 1; piece < 60; piece += piece < 5 ? 1 : 54)
			check(&large[i], SCREEN_ROWS, SCREEN_COLS, piece);
}

static void test_a_screen_of_three_rows_and_five_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(small); i++)
		for (size_t piece = 1; piece < 60; piece += piece < 5 ? 1 : 54)
			check(&small[i], 3, 5, piece);
}

/* --- reports --------------------------------------------------------------- */

struct step {
	const char *in, *out;
};

static const struct step prompts[] = { { "Name? ", "Name?" },
				       { "Hello Ann\r\n", "Hello Ann" },
				       { "", "" } },
			 counting[] = { { "1\r\n", "1" },
					{ "2\r\n", "2" },
					{ "", "" },
					{ "3\r\n4", "3\n4" },
					{ "5\r\n", "5" } },
			 progress[] = { { "get\r\n10%", "get\n10%" },
					{ "\r20%", "20%" },
					{ "\r100%\r\ndone", "100%\ndone" } },
			 dots[] = { { "..", ".." }, { "...", "..." } },
			 same_again[] = { { "a\r\nb\r\n", "a\nb" },
					  { C "H"
					      "a\r\nb\r\n",
					    "" } },
			 redrawn[] = { { "a\r\nb\r\nc\r\n", "a\nb\nc" },
				       { C "2;1HX" C "4;1H", "X\nc" },
				       { "d", "d" } },
			 shrunk[] = { { "a\r\nb\r\n", "a\nb" },
				      { C "2K" C "A" C "2K", "" },
				      { "c", "c" } },
			 cleared[] = { { "a\r\nb\r\n", "a\nb" },
				       { C "H" C "2J"
					   "c\r\n",
					 "c" },
				       { C "H" C "2J" C "3J"
					   "d",
					 "d" } },
			 deleted[] = { { "a\r\nb\r\nc\r\n", "a\nb\nc" },
				       { C "H" C "M", "b\nc" } },
			 full_screen[] = { { "first\r\n", "first" },
					   { C "?1049h" C "Hvim", "vim" },
					   { "", "" },
					   { C "2;1H:q", ":q" },
					   { C "H"
					       "VIM",
					     "VIM\n:q" },
					   { C "?1049l"
					       "last",
					     "last" } },
			 repl[] = { { ">>> ", ">>>" },
				    { "2\r\n>>> ", "2\n>>>" },
				    { "", "" } };

#define STEPS(name) { name, ARRAY_LEN(name) }
static const struct {
	const struct step *steps;
	size_t count;
} reports[] = { STEPS(prompts), STEPS(counting), STEPS(progress), STEPS(dots),
		STEPS(same_again), STEPS(redrawn), STEPS(shrunk), STEPS(cleared),
		STEPS(deleted), STEPS(full_screen), STEPS(repl) };

static void check_take(struct screen *s, const char *out)
{
	struct screen_text got = screen_take(s, 0);

	if (got.len != strlen(out) || (got.len && memcmp(got.bytes, out, got.len) != 0))
		fail_msg("'%.*s', not '%s'", (int)got.len, (char *)got.bytes, out);
	assert_int_equal(got.lines, 0);
	free(got.bytes);
}

static void test_a_report_has_what_is_new(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(reports); i++) {
		struct screen s;
		screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
		for (size_t j = 0; j < reports[i].count; j++) {
			const struct step *t = &reports[i].steps[j];
			screen_feed(&s, t->in, strlen(t->in));
			check_take(&s, t->out);
		}
		screen_clear(&s);
	}
}

/* A report shows what is new, even if the lines that were reported before have left
 * the screen at the top. */
static const struct step scrolled[] = { { "1\r\n2\r\n", "1\n2" },
					{ "3\r\n4\r\n5\r\n", "3\n4\n5" },
					{ "6", "6" } },
			 scrolled_half[] = { { "1\r\n2", "1\n2" },
					     { "2\r\n3\r\n4\r\n5\r\n", "2\n3\n4\n5" } },
			 scrolled_change[] = { { "1\r\n2\r\n", "1\n2" },
					       { C "2;1HX\r\n3\r\n4\r\n5", "X\n3\n4\n5" },
					       { "6", "6" } },
			 wrapped[] = { { "abcdefg", "abcdefg" },
				       { "hijk", "hijk" },
				       { C "2;1HX", "abcdeXghijk" } },
			 wrapped_away[] = { { "abcdefghijkl", "abcdefghijkl" },
					    { "mnopqrstuvw", "mnopqrstuvw" },
					    { C "1;1HX", "abcdefghijXlmnopqrstuvw" } };

static const struct {
	const struct step *steps;
	size_t count;
} small_reports[] = { STEPS(scrolled), STEPS(scrolled_half), STEPS(scrolled_change),
		      STEPS(wrapped), STEPS(wrapped_away) };

static void test_reported_lines_may_have_scrolled(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(small_reports); i++) {
		struct screen s;
		screen_init(&s, 3, 5);
		for (size_t j = 0; j < small_reports[i].count; j++) {
			const struct step *t = &small_reports[i].steps[j];
			screen_feed(&s, t->in, strlen(t->in));
			check_take(&s, t->out);
		}
		screen_clear(&s);
	}
}

/* --- the window ------------------------------------------------------------ */

static struct screen_text print_lines(unsigned count, unsigned wishes)
{
	struct screen s;
	char line[40];

	screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
	for (unsigned i = 1; i <= count; i++)
		screen_feed(&s, line,
			    (size_t)snprintf(line, sizeof(line), "Line %u\r\n", i));
	struct screen_text got = screen_take(&s, SCREEN_ENDED | wishes);
	screen_clear(&s);
	return got;
}

static bool has(const struct screen_text *t, const char *text)
{
	return memmem(t->bytes, t->len, text, strlen(text));
}

/* After 50,000 lines the text has the last 10,000 or so: a client that sees its first
 * half must find line 40000 there. */
static void test_the_window_of_fifty_thousand_lines(void **state)
{
	(void)state;
	struct screen_text got = print_lines(50000, 0);
	assert_in_range(got.lines, 10001, 11360);
	assert_true(has(&got, "Line 40000\n") && has(&got, "Line 50000"));
	assert_int_equal(got.len, TRUNCATE_TEXT_CHARS + strlen(TRUNCATE_TEXT_NOTICE));
	free(got.bytes);
	got = print_lines(50000, SCREEN_WHOLE);
	char first[40];
	int len = snprintf(first, sizeof(first), "Line %zu\n", 50001 - got.lines);
	assert_memory_equal(got.bytes, first, (size_t)len);
	assert_int_equal(truncate_text_lines(got.bytes, got.len), got.lines);
	free(got.bytes);
}

static void test_five_thousand_lines_are_no_window(void **state)
{
	(void)state;
	struct screen_text got = print_lines(5000, 0);
	assert_int_equal(got.lines, 0);
	assert_true(got.cut > 0);
	assert_true(has(&got, "Line 1\n") && has(&got, "Line 5000"));
	free(got.bytes);
	got = print_lines(10999, SCREEN_WHOLE);
	assert_int_equal(got.lines, 0);
	assert_int_equal(got.cut, 0);
	assert_int_equal(truncate_text_lines(got.bytes, got.len), 10999);
	free(got.bytes);
}

static void test_reported_lines_are_not_missing(void **state)
{
	struct screen s;
	char line[40];

	(void)state;
	screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
	for (unsigned i = 1; i <= 60000; i++) {
		screen_feed(&s, line,
			    (size_t)snprintf(line, sizeof(line), "Line %u\r\n", i));
		if (i % 9000 != 0)
			continue;
		struct screen_text got = screen_take(&s, SCREEN_WHOLE);
		assert_int_equal(got.cut, 0);
		assert_int_equal(truncate_text_lines(got.bytes, got.len), 9000);
		free(got.bytes);
	}
	screen_clear(&s);
}

static void test_a_line_of_any_length_is_one(void **state)
{
	(void)state;
	for (size_t len = 999; len <= 29999; len += 1000 + len % 7) {
		AUTO_FREE char *text = malloc(len + 1);
		for (size_t i = 0; i < len; i++)
			text[i] = (char)('a' + i % 26);
		text[len] = '\0';
		check(&(struct row_case){ text, text }, SCREEN_ROWS, SCREEN_COLS, 77);
	}
}

/* --- answers --------------------------------------------------------------- */

static const struct row_case answers[] = {
	{ "plain " C "31m", "" },
	{ C "c", C "?1;2c" },
	{ C ">c", C ">0;100;0c" },
	{ C "5n", C "0n" },
	{ "ab\r\ncd" C "6n", C "2;3R" },
	{ "\xe6\xbc\xa2" "ab" C "6n", C "1;5R" },
	{ C "999;999H" C "6n", C "999;999R" },
	{ C "9999;9999H" C "6n", C "1000;1000R" },
	{ C "?2026$p", C "?2026;0$y" },
	{ E "[0q" E "]11;?\a" E "P$qm" E "\\", "" },
};

static void test_questions_are_answered(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		struct screen s;
		screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
		screen_feed(&s, answers[i].in, strlen(answers[i].in));
		struct buffer *b = screen_answers(&s);
		size_t len = b ? buffer_len(b) : 0;
		if (len != strlen(answers[i].out) ||
		    (len && memcmp(buffer_data(b), answers[i].out, len) != 0))
			fail_msg("row %zu: '%.*s'", i, (int)len,
				 b ? (const char *)buffer_data(b) : "");
		screen_clear(&s);
	}
}

/* --- characters that need no emulator -------------------------------------- */

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x800)
		return (size_t)sprintf(to, "%c%c", (int)(0xc0 | c >> 6),
				       (int)(0x80 | (c & 0x3f)));
	return (size_t)sprintf(to, "%c%c%c", (int)(0xe0 | c >> 12),
			       (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
}

static unsigned column_after(const char *begin, const char *text, size_t len)
{
	struct screen s;

	screen_init(&s, 3, 5);
	screen_feed(&s, begin, strlen(begin));
	screen_feed(&s, text, len);
	unsigned col = s.col;
	screen_clear(&s);
	return col;
}

/* Each character takes as many columns when the screen draws it itself as when the
 * emulator does.  HTS, which has no effect in the first column, makes the emulator
 * draw. */
static void test_a_character_has_one_width_for_every_program(void **state)
{
	(void)state;
	for (uint32_t c = 0xa0; c < 0x10000; c++) {
		char text[4];
		if (c >= 0xd800 && c < 0xe000)
			continue;
		size_t len = put_utf8(text, c);
		if (column_after("a", text, len) != column_after(E "Ha", text, len))
			fail_msg("U+%04x", c);
	}
}

/* Pieces of output that the screen can draw without its emulator. */
static const char *const bits[] = {
	"a",
	"b",
	" ",
	"xyz",
	"\xd0\xb8",
	"\xd1\x91",
	"\xc2\xab",
	"\xe2\x80\x94",
	"\xe6\xbc\xa2",
	"\xe3\x81\x8b",
	"\xe3\x80\x82",
	"\xed\x95\x9c",
	"\xef\xbc\xa1",
	"\xd0\xb8 \xd1\x91",
	"\xe6\xbc\xa2\xed\x95\x9c",
	"\r\n",
	"\r",
	"\b",
	"\t",
	C "31m",
};

static size_t mix(char *to, size_t room, unsigned *seed)
{
	size_t len = 0;

	while (len + 16 < room) {
		*seed = *seed * 1103515245 + 12345;
		const char *bit = bits[(*seed >> 16) % ARRAY_LEN(bits)];
		memcpy(to + len, bit, strlen(bit));
		len += strlen(bit);
	}
	return len;
}

static struct screen_text drawn(const char *text, size_t len, size_t piece, unsigned cols)
{
	struct screen s;

	screen_init(&s, 3, cols);
	for (size_t at = 0; at < len; at += piece)
		screen_feed(&s, text + at, len - at < piece ? len - at : piece);
	struct screen_text t = screen_take(&s, SCREEN_ENDED);
	screen_clear(&s);
	return t;
}

static void test_characters_drawn_at_once_are_as_those_drawn_one_by_one(void **state)
{
	static const unsigned widths[] = { 2, 3, 5, 8, 80, 300 };
	unsigned seed = 1;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		char text[400];
		unsigned cols = widths[i % ARRAY_LEN(widths)];
		size_t len = mix(text, i % 4 ? 60 : sizeof(text), &seed);
		struct screen_text all = drawn(text, len, len, cols);
		struct screen_text each = drawn(text, len, 1, cols);
		if (all.len != each.len ||
		    (all.len && memcmp(all.bytes, each.bytes, all.len) != 0))
			fail_msg("text %u on %u columns: '%.*s' and not '%.*s'", i, cols,
				 (int)all.len, (char *)all.bytes, (int)each.len,
				 (char *)each.bytes);
		free(all.bytes);
		free(each.bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind_of_output),
		cmocka_unit_test(test_a_screen_of_three_rows_and_five_columns),
		cmocka_unit_test(test_a_report_has_what_is_new),
		cmocka_unit_test(test_reported_lines_may_have_scrolled),
		cmocka_unit_test(test_the_window_of_fifty_thousand_lines),
		cmocka_unit_test(test_five_thousand_lines_are_no_window),
		cmocka_unit_test(test_reported_lines_are_not_missing),
		cmocka_unit_test(test_a_line_of_any_length_is_one),
		cmocka_unit_test(test_questions_are_answered),
		cmocka_unit_test(test_a_character_has_one_width_for_every_program),
		cmocka_unit_test(
			test_characters_drawn_at_once_are_as_those_drawn_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
