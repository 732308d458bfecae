/* capture: decides which bytes of a stream are reported at once, and which are left
 * when a process has ended. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "supervisor/capture.h"
#include "supervisor/connection.h"

static struct capture *make(bool has_stdin, bool has_terminal, struct connection_fds *fds)
{
	struct err e;
	struct capture *c = capture_new(has_stdin, has_terminal, fds, &e);

	assert_non_null(c);
	assert_int_equal(fds->count, CONNECTION_FDS);
	return c;
}

static void print(struct capture *c, const void *bytes, size_t len)
{
	output_ring_add(&c->ring[0], bytes, len, output_ring_wants(&c->ring[0], len));
}

static void test_only_our_ends_do_not_block(void **state)
{
	struct connection_fds fds;
	struct capture *c = make(true, false, &fds);

	(void)state;
	assert_int_equal(capture_fds(c), 3);
	for (int i = 0; i < CONNECTION_FDS; i++) {
		assert_false(fcntl(fds.fds[i], F_GETFL) & O_NONBLOCK);
		assert_true(fcntl(fds.fds[i], F_GETFD) & FD_CLOEXEC);
	}
	assert_true(fcntl(c->in, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(c->out[0], F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(c->out[1], F_GETFD) & FD_CLOEXEC);
	connection_fds_done(&fds);
	capture_free(c);
	c = make(false, true, &fds);
	assert_int_equal(capture_fds(c), 1);
	connection_fds_done(&fds);
	capture_close(c);
	assert_true(capture_is_over(c));
	capture_free(c);
	capture_free(NULL);
}

/* Bytes of the stream, and how many of them are reported; "" is an empty stream. */
static const struct {
	const char *bytes;
	size_t len;
	bool is_over;
	size_t told;
	bool is_text;
} pieces[] = {
	{ "", 0, false, 0, false },
	{ "", 0, true, 0, false },
	{ "text\n", 5, false, 5, true },
	{ "\xe2\x82\xac", 3, false, 3, true },
	{ "\xe2\x82", 2, false, 0, false }, /* the rest may come */
	/* The stream ends without the character's rest. */
	{ "\xe2\x82", 2, true, 2, false },
	{ "ab\xe2\x82", 4, false, 2, true },
	{ "ab\xe2\x82", 4, true, 2, true },
	{ "a\0b", 3, false, 3, false },
	{ "a\xff""b", 3, false, 3, false },
	{ "a\xff\xe2", 3, false, 3, false },
	/* The character's first byte was lost before. */
	{ "\x82\xac", 2, false, 2, false },
	{ "\xed\xa0\x80", 3, false, 3, false }, /* a surrogate */
};

static void test_a_piece_is_text_or_bytes_and_no_character_is_torn(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		struct connection_fds fds;
		struct capture *c = make(false, false, &fds);
		struct piece p;
		print(c, pieces[i].bytes, pieces[i].len);
		if (pieces[i].is_over)
			capture_close(c);
		assert_int_equal(capture_piece(c, 0, 0, &p), pieces[i].told > 0);
		assert_int_equal(p.len, pieces[i].told);
		if (p.len) {
			assert_int_equal(p.is_text, pieces[i].is_text);
			assert_memory_equal(p.bytes, pieces[i].bytes, p.len);
		}
		connection_fds_done(&fds);
		capture_free(c);
	}
}

/* A long text is reported in pieces, none of which ends within a character. */
static void test_a_long_text_is_told_in_pieces_of_text(void **state)
{
	struct connection_fds fds;
	struct capture *c = make(false, false, &fds);
	struct piece p;
	uint64_t at = 0;
	size_t count = 0;

	(void)state;
	print(c, "x", 1);
	while (c->ring[0].end < 5 * CAPTURE_PIECE)
		print(c, "\xf0\x9f\x90\x87", 4);
	while (capture_piece(c, 0, at, &p)) {
		assert_true(p.is_text);
		assert_int_equal(p.bytes[0], at ? 0xf0 : 'x');
		at += p.len;
		count++;
	}
	assert_int_equal(at, c->ring[0].end);
	assert_int_equal(count, 6);
	connection_fds_done(&fds);
	capture_free(c);
}

/* A command ends with half a character, and a process that it left behind writes the
 * other half: the two are not joined. */
static void test_output_before_the_end_is_told_without_later_output(void **state)
{
	struct connection_fds fds;
	struct capture *c = make(false, false, &fds);
	struct piece p;

	(void)state;
	print(c, "a\xe2", 2);
	c->has_exited = true;
	c->last[0] = 2;
	print(c, "\x82\xac", 2);
	assert_true(capture_piece(c, 0, 0, &p));
	assert_true(p.is_text && p.len == 1);
	assert_true(capture_piece(c, 0, 1, &p));
	assert_true(!p.is_text && p.len == 1);
	assert_true(capture_piece(c, 0, 2, &p));
	assert_true(!p.is_text && p.len == 2);
	assert_false(capture_piece(c, 0, 4, &p));
	connection_fds_done(&fds);
	capture_free(c);
}

static void put(struct capture *c, size_t len)
{
	char *bytes = malloc(len);

	assert_non_null(bytes);
	memset(bytes, 'x', len);
	assert_true(buffer_append(&c->input, bytes, len));
	free(bytes);
	capture_flush(c);
}

static void test_input_waits_until_the_process_takes_it_and_then_ends(void **state)
{
	struct connection_fds fds;
	struct capture *c = make(true, false, &fds);
	char bytes[4096];
	size_t total = 0;
	ssize_t n;

	(void)state;
	put(c, 2 * CAPTURE_INPUT);
	assert_true(buffer_len(&c->input) > CAPTURE_INPUT);
	c->has_eof = true;
	while ((n = read(fds.fds[0], bytes, sizeof(bytes))) > 0) {
		total += (size_t)n;
		capture_flush(c);
	}
	assert_int_equal(n, 0);
	assert_int_equal(total, 2 * CAPTURE_INPUT);
	assert_int_equal(c->in, -1);
	assert_false(c->is_broken);
	connection_fds_done(&fds);
	capture_free(c);
}

static void test_input_that_nobody_reads_any_more_is_gone(void **state)
{
	struct connection_fds fds;
	struct capture *c = make(true, false, &fds);

	(void)state;
	assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	put(c, CAPTURE_INPUT);
	assert_false(c->is_broken);
	connection_fds_done(&fds);
	capture_flush(c);
	assert_true(c->is_broken);
	assert_int_equal(c->in, -1);
	assert_int_equal(buffer_len(&c->input), 0);
	capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_our_ends_do_not_block),
		cmocka_unit_test(test_a_piece_is_text_or_bytes_and_no_character_is_torn),
		cmocka_unit_test(test_a_long_text_is_told_in_pieces_of_text),
		cmocka_unit_test(test_output_before_the_end_is_told_without_later_output),
		cmocka_unit_test(
			test_input_waits_until_the_process_takes_it_and_then_ends),
		cmocka_unit_test(test_input_that_nobody_reads_any_more_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
