/* screen: whatever the output is, the memory and time that it takes are bounded. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/utf8.h"
#include "executor/terminal/screen.h"
#include "executor/terminal/truncate_text.h"
#include "tests/unit/cost.h"
#include "tests/unit/rounds.h"

#define E "\x1b"
#define C "\x1b["

#define DEEP  C "1000;1Hx" C "H"
#define BROAD C "1;1000H\xc3\xa9" C "H"

/* The bound that the header promises. */
#define BOUND (DISPLAY_CELLS + SCROLLBACK_ROOM + (64u << 10))

/* Bytes of freed memory that malloc(3) may keep. */
#define CACHED 16384

static size_t in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

#define LONG (64u << 20)

/* Output: after `first` comes `text`, repeated up to ROUNDS_OF(bytes). */
static const struct flood {
	const char *text;
	size_t bytes;
	const char *first;
} floods[] = {
	{ "y\r\n", LONG, "" },
	{ "all work and no play makes a terminal a dull place; ", LONG, "" },
	{ "\xe6\xbc\xa2\xe5\xad\x97", 2u << 20, "" },
	{ "\xcc\x81", 1u << 20, "" },
	{ "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81", 1u << 20, "" },
	{ C "1;999H\xcc\x81\xcc\x81", 1u << 20, "" },
	{ C "?7l" C "1;999H\xcc\x81\xcc\x81", 1u << 20, "" },
	{ "\xff", 1u << 20, "" },
	{ C "999999999b", 256u << 10, "" },
	{ "x" C "999999999b", 256u << 10, "" },
	{ C "2147483648I", 1u << 20, "" },
	{ C "4294967295L" C "99999999999999999999M", 128u << 10, "" },
	{ C "999999999S", 16u << 10, "" },
	{ "x" C "999999999T", 64u << 10, "" },
	{ C "999999999@" "x", 128u << 10, "" },
	{ C "999999999P" "x", 128u << 10, "" },
	{ C "999999999;999999999H" "x" C "2J", 16u << 10, "" },
	{ C "1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1H", 1u << 20, "" },
	{ "1;", 1u << 20, "" },
	{ E "#8", 64u << 10, "" },
	{ E "c", 64u << 10, "" },
	{ C "?1049h\xe6\xbc\xa2" C "?1049l", 128u << 10, "" },
	{ C "2;999r" C "999H\n\n\n\n\n\n\n\n", 64u << 10, "" },
	{ C "r" C "H" E "M" E "M" E "M" E "M", 64u << 10, "" },
	{ C "4hx", 256u << 10, "" },
	{ C "6n" C "c", 256u << 10, "" },
	{ C "1000;1H\xc3\xa9\r\n", 256u << 10, "" },
	{ E "7" E "8" E "D" E "E" E "H" C "3g", 256u << 10, "" },
	/* DEEP puts text on each row, and the cursor on the first one. */
	{ C "2J", 256u << 10, DEEP },
	{ C "J", 256u << 10, DEEP },
	{ C "1J", 256u << 10, DEEP },
	{ C "2J", 256u << 10, C "?1049h" DEEP },
	{ DEEP C "2J", 16u << 10, "" },
	{ C "L", 16u << 10, DEEP },
	{ C "M", 16u << 10, DEEP },
	{ E "M", 16u << 10, DEEP },
	{ C "T", 16u << 10, DEEP },
	{ C "S", 16u << 10, DEEP C "2;1000r" },
	{ "\n", 16u << 10, DEEP C "1;999r" C "999H" },
	{ "\n", 16u << 10, DEEP C "2;1000r" C "1000H" },
	/* A row with a character outside of ASCII stores all its cells. */
	{ C "@", 16u << 10, BROAD },
	{ "x\r", 16u << 10, BROAD C "4h" },
	{ C "999X", 16u << 10, BROAD },
	{ "\xe6\xbc\xa2" C "999b", 16u << 10, "" },
	{ C "2K" BROAD, 16u << 10, "" },
	{ "\r" C "9999I", 16u << 10, C "3g" },
	{ C "9999I" C "9999Z", 16u << 10, C "3g" },
	{ E "c" E "7", 16u << 10, "" },
	{ C "?1047h" DEEP C "?1047l", 16u << 10, "" },
	{ C "?7;7;7;7;7;7;7;7;7;7;7;7;7;7;7h", 16u << 10, "" },
	{ C "!p", 16u << 10, "" },
};

/* Returns the number of bytes of repeated text. */
static size_t feed_flood(struct screen *s, const struct flood *f)
{
	size_t len = strlen(f->text), many = ROUNDS_OF(16384) / len, fed = 0;
	AUTO_FREE char *piece = malloc(many * len);

	for (size_t i = 0; i < many; i++)
		memcpy(piece + i * len, f->text, len);
	screen_feed(s, f->first, strlen(f->first));
	for (; fed < ROUNDS_OF(f->bytes); fed += many * len)
		screen_feed(s, piece, many * len);
	return fed;
}

static void check_text(struct screen *s)
{
	struct screen_text t = screen_take(s, SCREEN_ENDED);

	assert_true(utf8_is_valid(t.bytes, t.len, false));
	assert_true(utf8_count(t.bytes, t.len) <=
		    TRUNCATE_TEXT_CHARS + strlen(TRUNCATE_TEXT_NOTICE));
	free(t.bytes);
}

static void check_same_text(struct screen *a, struct screen *b)
{
	struct screen_text x = screen_take(a, SCREEN_ENDED | SCREEN_WHOLE);
	struct screen_text y = screen_take(b, SCREEN_ENDED | SCREEN_WHOLE);

	assert_int_equal(x.len, y.len);
	assert_int_equal(x.cut, y.cut);
	if (x.len > 0)
		assert_memory_equal(x.bytes, y.bytes, x.len);
	free(x.bytes);
	free(y.bytes);
}

/* A byte may take so many times the processor time of a byte of plain text: the most
 * expensive byte scrolls all rows. */
#define HOSTILE_TIMES 10000
/* A unit of the counted work may take so many times that of plain text; most units
 * take less. */
#define HOSTILE_UNIT_TIMES 20

static void test_floods_have_a_bound(void **state)
{
	/* Microseconds for a byte and for a unit of work. */
	double plain = 0, plain_unit = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(floods); i++) {
		struct screen s;
		size_t before = in_use();
		int64_t begun = cost_us();
		screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
		size_t fed = feed_flood(&s, &floods[i]);
		double took = (double)(cost_us() - begun);
		double cost = took / (double)fed;
		double unit = took / (double)s.display.work;
		if (getenv("SHOW"))
			printf("# %8.1f ns/byte %6.2f ns/unit %8zu KiB  '%s'\n",
			       cost * 1e3, unit * 1e3,
			       (in_use() - before) >> 10, floods[i].text + 1);
		if (in_use() - before > BOUND)
			fail_msg("row %zu: %zu bytes", i, in_use() - before);
		plain = i == 0 ? cost : plain;
		plain_unit = i == 0 ? unit : plain_unit;
		if (unit > HOSTILE_UNIT_TIMES * plain_unit)
			fail_msg(
				"row %zu: %.3f us for a unit of work, and %.3f in plain text",
				i, unit, plain_unit);
		if (cost > HOSTILE_TIMES * plain)
			fail_msg("row %zu: %.3f us a byte, and %.3f of plain text", i,
				 cost, plain);
		check_text(&s);
		screen_clear(&s);
	}
}

/* The most work of one sequence: it moves a thousand rows to the scrollback. */
#define STEP_WORK (SCREEN_ROWS * 16)
#define TURN_WORK 4096

/* However expensive its bytes are, each part of the work is bounded, and no
 * byte is lost between two parts.  The test counts work and measures no time. */
static void test_work_ends_where_it_is_told_to(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(floods); i++) {
		const struct flood *f = &floods[i];
		size_t len = strlen(f->text), many = ROUNDS_OF(16384) / len, at = 0;
		AUTO_FREE char *text = malloc(many * len);
		struct screen whole, parts;

		screen_init(&whole, SCREEN_ROWS, SCREEN_COLS);
		screen_init(&parts, SCREEN_ROWS, SCREEN_COLS);
		for (size_t j = 0; j < many; j++)
			memcpy(text + j * len, f->text, len);
		screen_feed(&whole, f->first, strlen(f->first));
		screen_feed(&parts, f->first, strlen(f->first));
		screen_feed(&whole, text, many * len);
		while (at < many * len) {
			uint64_t work = TURN_WORK, before = parts.display.work;
			size_t used = screen_feed_some(&parts, text + at, many * len - at,
						       &work);
			uint64_t did = parts.display.work - before;
			assert_true(used > 0);
			if (did > TURN_WORK + STEP_WORK)
				fail_msg("row %zu: %zu bytes were %llu units of work", i,
					 used, (unsigned long long)did);
			assert_true(at + used == many * len || did >= TURN_WORK);
			assert_int_equal(work, did < TURN_WORK ? TURN_WORK - did : 0);
			at += used;
		}
		check_same_text(&whole, &parts);
		screen_clear(&whole);
		screen_clear(&parts);
	}
}

static uint64_t work_of(const char *first, const char *text, int times)
{
	struct screen s;

	screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
	screen_feed(&s, first, strlen(first));
	uint64_t before = s.display.work;
	for (int i = 0; i < times; i++)
		screen_feed(&s, text, strlen(text));
	uint64_t did = s.display.work - before;
	screen_clear(&s);
	return did;
}

/* Clearing a screen of a thousand rows costs as much work as it has text; clearing
 * an empty one costs nothing. */
static void test_a_clear_screen_is_cleared_for_nothing(void **state)
{
	static const char *const clears[] = { C "2J", C "J", C "1J", E "c" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(clears); i++) {
		uint64_t once = work_of(DEEP, clears[i], 1);
		uint64_t often = work_of(DEEP, clears[i], 1001);
		assert_in_range(often - once, 0, 1000 * 4 * strlen(clears[i]));
	}
}

/* A reset looks at a screen's million blank cells only the first time. */
static void test_blank_cells_are_looked_at_once(void **state)
{
	struct screen s;

	(void)state;
	screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
	for (int i = 0; i < SCREEN_ROWS - 1; i++)
		screen_feed(&s, " " C "999b", 7);
	screen_feed(&s, E "c", 2);
	uint64_t before = s.display.work;
	for (int i = 0; i < 1000; i++)
		screen_feed(&s, E "c", 2);
	assert_in_range(s.display.work - before, 0, 1000 * 4 * 2);
	screen_clear(&s);
}

/* Combining characters do not pile up: libvterm would keep each of them, and visit
 * all of them for each new one. */
static void test_combining_characters_are_not_piled_up(void **state)
{
	static const struct flood piles[] = {
		{ "\xcc\x81", 2u << 20, "" },
		{ C "1;999H\xcc\x81\xcc\x82", 1u << 20, "" },
		{ "a" C "1;2H\xcc\x81" "\b", 1u << 20, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(piles); i++) {
		struct screen s;
		size_t before = in_use();
		screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
		(void)feed_flood(&s, &piles[i]);
		assert_in_range(in_use(), 0, before + (64u << 10));
		screen_clear(&s);
	}
}

/* Once a string has begun, all bytes belong to it, however many there are. */
static void test_strings_of_any_length_are_passed_over(void **state)
{
	static const char *const begins[] = { E "]0;", E "P", E "_", E "^", E "X", C };
	AUTO_FREE char *piece = malloc(1 << 20);

	(void)state;
	memset(piece, '1', 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
		struct screen s;
		screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
		size_t before = in_use();
		screen_feed(&s, begins[i], strlen(begins[i]));
		for (int j = 0; j < ROUNDS_OF(32); j++)
			screen_feed(&s, piece, 1 << 20);
		assert_in_range(in_use(), 0, before + 1024);
		screen_feed(&s, E "\\m\nafter", 9);
		struct screen_text t = screen_take(&s, SCREEN_ENDED);
		assert_non_null(memmem(t.bytes, t.len, "after", 5));
		free(t.bytes);
		screen_clear(&s);
	}
}

/* A screen without output uses no memory, and printed text is freed when its command
 * has ended. */
static void test_memory_follows_the_text(void **state)
{
	struct screen s;

	(void)state;
	size_t before = in_use();
	screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
	assert_int_equal(in_use(), before);
	screen_feed(&s, "hi\r\n", 4);
	assert_in_range(in_use(), before, before + 512);
	screen_feed(&s, "\xc3\xa9", 2);
	assert_in_range(in_use(), before, before + (32u << 10));
	(void)feed_flood(&s, &floods[0]);
	assert_in_range(in_use(), before, before + (256u << 10));
	screen_clear(&s);
	assert_in_range(in_use(), 0, before + CACHED);
}

static void test_both_grids_full_of_large_characters(void **state)
{
	struct screen s;
	size_t before = in_use();

	(void)state;
	screen_init(&s, SCREEN_ROWS, SCREEN_COLS);
	for (int grid = 0; grid < 2; grid++) {
		for (size_t i = 0; i < 1100000; i += 1000)
			for (int j = 0; j < 250; j++)
				screen_feed(&s, "\xf0\x9d\x94\xb8\xcc\x81\xcc\x82"
						"\xf0\x9d\x94\xb8\xcc\x81\xcc\x82"
						"\xf0\x9d\x94\xb8\xcc\x81\xcc\x82"
						"\xf0\x9d\x94\xb8\xcc\x81\xcc\x82", 32);
		screen_feed(&s, C "?1049h", 8);
	}
	assert_in_range(in_use(), before, before + BOUND);
	struct screen_text t = screen_take(&s, SCREEN_WHOLE);
	assert_in_range(t.len, 0, SCREEN_TEXT_MAX);
	free(t.bytes);
	screen_feed(&s, C "?1049l", 8);
	t = screen_take(&s, SCREEN_WHOLE);
	assert_in_range(t.len, 1, SCREEN_TEXT_MAX);
	assert_true(utf8_is_valid(t.bytes, t.len, false));
	assert_true(t.cut > 0);
	free(t.bytes);
	screen_clear(&s);
	assert_in_range(in_use(), 0, before + CACHED);
}

static void test_any_bytes_at_all(void **state)
{
	static const char liked[] = E "[]()?;0123456789ABCDHJKLMPSTXcbhlrmn78"
				    "\n\r\t\b\x0e\x0f ";

	(void)state;
	srand(7);
	for (int i = 0; i < 500; i++) {
		char in[300];
		struct screen s;
		size_t len = (size_t)rand() % sizeof(in);
		for (size_t j = 0; j < len; j++)
			in[j] = rand() % 3 ? liked[(size_t)rand() % (sizeof(liked) - 1)]
					   : (char)rand();
		screen_init(&s, 4, 7);
		screen_feed(&s, in, len / 2);
		check_text(&s);
		screen_feed(&s, in + len / 2, len - len / 2);
		check_text(&s);
		screen_clear(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floods_have_a_bound),
		cmocka_unit_test(test_work_ends_where_it_is_told_to),
		cmocka_unit_test(test_a_clear_screen_is_cleared_for_nothing),
		cmocka_unit_test(test_blank_cells_are_looked_at_once),
		cmocka_unit_test(test_combining_characters_are_not_piled_up),
		cmocka_unit_test(test_strings_of_any_length_are_passed_over),
		cmocka_unit_test(test_memory_follows_the_text),
		cmocka_unit_test(test_both_grids_full_of_large_characters),
		cmocka_unit_test(test_any_bytes_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
