/* changes_stream: the sender of changes is not trusted. The exchange ends at a path
 * that is not one component below the folder that was sent last, and at a number
 * that is out of range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "rootfs-tools/changes/changes_stream.h"

struct told {
	struct changes_stream_head head;
	const char *path, *link; /* NULL as a path: the end of the stream */
};

#define FOLDER(p)     { .head = { .kind = CHANGES_STREAM_FOLDER, .mode = 0755 }, .path = p }
#define FOLDER_END(p) { .head = { .kind = CHANGES_STREAM_FOLDER_END }, .path = p }
#define LINK(p)	      { .head = { .kind = CHANGES_STREAM_LINK, .mode = 0777 }, .path = p, .link = "to" }

static void say(int to, const struct told *t)
{
	struct changes_stream_head h = t->head;
	const char *link = t->link ? t->link : "";

	if (!h.path_len)
		h.path_len = (uint32_t)strlen(t->path);
	if (!h.link_len)
		h.link_len = (uint32_t)strlen(link);
	assert_int_equal(io_write_all(to, &h, sizeof(h)), 0);
	assert_int_equal(io_write_all(to, t->path, strlen(t->path)), 0);
	assert_int_equal(io_write_all(to, link, strlen(link)), 0);
}

/* Returns how many entries came before the error; -1: there was no error. */
static int hear(const struct told *all)
{
	struct changes_stream t;
	struct changes_stream_item item;
	struct err e;
	int ends[2], count = 0, more;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	changes_stream_listen(&t, ends[0]);
	for (; all->path; all++)
		say(ends[1], all);
	const struct changes_stream_head end = { .kind = CHANGES_STREAM_ALL };
	assert_int_equal(io_write_all(ends[1], &end, sizeof(end)), 0);
	(void)close(ends[1]);
	while ((more = changes_stream_next(&t, &item, &e)) > 0)
		count++;
	if (more < 0)
		assert_true(t.is_broken);
	changes_stream_done(&t);
	return more < 0 ? count : -1;
}

static void test_entries_in_order_are_taken(void **state)
{
	static const struct told good[] = {
		FOLDER("a"),	 LINK("a/b"), FOLDER("a/c"), FOLDER_END("a/c"),
		FOLDER_END("a"), LINK("a.b"), LINK("..."),   { .path = NULL },
	};

	(void)state;
	assert_int_equal(hear(good), -1);
}

static void test_entries_out_of_place_are_refused(void **state)
{
	static const struct {
		struct told all[4];
		int good;
	} rows[] = {
		{ { LINK("..") }, 0 },
		{ { LINK(".") }, 0 },
		{ { LINK("/etc") }, 0 },
		{ { LINK("a/b") }, 0 },
		{ { FOLDER("a"), LINK("b") }, 1 },
		{ { FOLDER("a"), LINK("a") }, 1 },
		{ { FOLDER("a"), LINK("a/") }, 1 },
		{ { FOLDER("a"), LINK("a/..") }, 1 },
		{ { FOLDER("a"), LINK("a//b") }, 1 },
		{ { FOLDER("a"), LINK("ab") }, 1 },
		{ { FOLDER("a"), LINK("a/b/c") }, 1 },
		{ { FOLDER_END("a") }, 0 },
		{ { FOLDER_END("") }, 0 },
		{ { FOLDER("a"), FOLDER_END("b") }, 1 },
		{ { FOLDER("a"), FOLDER_END("a"), FOLDER_END("a") }, 2 },
		{ { FOLDER("..") }, 0 },
		{ { LINK("") }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (hear(rows[i].all) != rows[i].good)
			fail_msg("row %zu: %d", i, hear(rows[i].all));
}

static void test_numbers_out_of_their_range_are_not(void **state)
{
	static const struct changes_stream_head heads[] = {
		{ .kind = CHANGES_STREAM_KIND_COUNT },
		{ .kind = UINT32_MAX },
		{ .kind = CHANGES_STREAM_LINK, .mode = 010000 },
		{ .kind = CHANGES_STREAM_LINK, .mtime_ns = 1000000000 },
		{ .kind = CHANGES_STREAM_LINK, .path_len = CHANGES_STREAM_PATH_MAX },
		{ .kind = CHANGES_STREAM_LINK, .path_len = UINT32_MAX },
		{ .kind = CHANGES_STREAM_LINK, .path_len = 1, .link_len = 1 << 20 },
		{ .kind = CHANGES_STREAM_FILE, .size = UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		const struct told all[] = { { .head = heads[i], .path = "a" },
					    { .path = NULL } };
		if (hear(all) != 0)
			fail_msg("row %zu", i);
	}
}

static void test_a_zero_in_a_path_is_not(void **state)
{
	const struct changes_stream_head h = { .kind = CHANGES_STREAM_LINK,
					       .path_len = 3,
					       .link_len = 1 };
	struct changes_stream t;
	struct changes_stream_item item;
	struct err e;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	changes_stream_listen(&t, ends[0]);
	assert_int_equal(io_write_all(ends[1], &h, sizeof(h)), 0);
	assert_int_equal(io_write_all(ends[1], "a\0bt", 4), 0);
	assert_int_equal(changes_stream_next(&t, &item, &e), -1);
	(void)close(ends[1]);
	changes_stream_done(&t);
}

static void test_a_piece_that_is_too_long_is_not(void **state)
{
	const struct changes_stream_head h = { .kind = CHANGES_STREAM_FILE,
					       .path_len = 1,
					       .size = 9 };
	const uint32_t len = (64 << 10) + 1;
	struct changes_stream t;
	struct changes_stream_item item;
	const uint8_t *data;
	struct err e;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	changes_stream_listen(&t, ends[0]);
	assert_int_equal(io_write_all(ends[1], &h, sizeof(h)), 0);
	assert_int_equal(io_write_all(ends[1], "f", 1), 0);
	assert_int_equal(io_write_all(ends[1], &len, sizeof(len)), 0);
	assert_int_equal(changes_stream_next(&t, &item, &e), 1);
	assert_int_equal(changes_stream_read(&t, &data, &e), -1);
	assert_true(t.is_broken);
	(void)close(ends[1]);
	changes_stream_done(&t);
}

/* Sends a file's content in pieces, each after its length; then the end mark and the
 * verdict. */
static void say_content(int to, const char *text, uint8_t verdict)
{
	const uint32_t len = (uint32_t)strlen(text), none = 0;

	assert_int_equal(io_write_all(to, &len, sizeof(len)), 0);
	assert_int_equal(io_write_all(to, text, len), 0);
	assert_int_equal(io_write_all(to, &none, sizeof(none)), 0);
	assert_int_equal(io_write_all(to, &verdict, 1), 0);
}

/* Sends four files, the last one without its content. */
static void say_files(int to)
{
	static const struct changes_stream_head end = { .kind = CHANGES_STREAM_ALL },
				      asked = { .kind = CHANGES_STREAM_FILE, .size = 5 };
	struct changes_stream_head along = asked;

	along.flags = CHANGES_STREAM_ALONG;
	say(to, &(struct told){ .head = along, .path = "a" });
	say_content(to, "first", 0);
	say(to, &(struct told){ .head = along, .path = "b" });
	say_content(to, "other", 0);
	say(to, &(struct told){ .head = along, .path = "c" });
	say_content(to, "cut", 1);
	say(to, &(struct told){ .head = asked, .path = "d" });
	assert_int_equal(io_write_all(to, &end, sizeof(end)), 0);
	assert_int_equal(shutdown(to, SHUT_WR), 0);
}

static void next_is(struct changes_stream *t, const char *path)
{
	struct changes_stream_item item;
	struct err e;

	assert_int_equal(changes_stream_next(t, &item, &e), 1);
	assert_string_equal(item.path, path);
}

static void test_content_that_comes_along_is_not_asked_for(void **state)
{
	struct changes_stream t;
	struct changes_stream_item item;
	const uint8_t *data;
	struct err e;
	char asked[8];
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	changes_stream_listen(&t, ends[0]);
	say_files(ends[1]);
	next_is(&t, "a");
	assert_int_equal(changes_stream_read(&t, &data, &e), 5);
	assert_memory_equal(data, "first", 5);
	assert_int_equal(changes_stream_read(&t, &data, &e), 0);
	assert_int_equal(changes_stream_read(&t, &data, &e), 0);
	next_is(&t, "b");
	next_is(&t, "c");
	assert_int_equal(changes_stream_read(&t, &data, &e), 3);
	assert_int_equal(changes_stream_read(&t, &data, &e), -1);
	assert_false(t.is_broken);
	assert_int_equal(e.kind, ERR_BUSY);
	next_is(&t, "d");
	assert_int_equal(recv(ends[1], asked, sizeof(asked), MSG_DONTWAIT), -1);
	assert_int_equal(changes_stream_next(&t, &item, &e), 0);
	assert_int_equal(recv(ends[1], asked, sizeof(asked), MSG_DONTWAIT), 1);
	changes_stream_done(&t);
	(void)close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries_in_order_are_taken),
		cmocka_unit_test(test_entries_out_of_place_are_refused),
		cmocka_unit_test(test_numbers_out_of_their_range_are_not),
		cmocka_unit_test(test_a_zero_in_a_path_is_not),
		cmocka_unit_test(test_a_piece_that_is_too_long_is_not),
		cmocka_unit_test(test_content_that_comes_along_is_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
