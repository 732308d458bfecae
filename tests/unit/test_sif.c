/* sif: where the root is in a file of Apptainer's own form. */
#include "apptainer/sif.h"

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

static void put_32(uint8_t *at, uint32_t n)
{
	n = htole32(n);
	memcpy(at, &n, sizeof(n));
}

static void put_64(uint8_t *at, uint64_t n)
{
	n = htole64(n);
	memcpy(at, &n, sizeof(n));
}

static void make_head(uint8_t head[SIF_HEAD], uint64_t count, uint64_t offset)
{
	memset(head, 0, SIF_HEAD);
	memcpy(head + 32, "SIF_MAGIC", 10);
	put_64(head + 88, count);
	put_64(head + 96, offset);
}

struct part {
	uint32_t type, system, kind;
	uint8_t is_used;
	uint64_t offset;
};

static void make_descriptor(uint8_t *d, const struct part *p)
{
	memset(d, 0, SIF_DESCRIPTOR);
	put_32(d, p->type);
	d[4] = p->is_used;
	put_64(d + 17, p->offset);
	put_32(d + 201, p->system);
	put_32(d + 205, p->kind);
}

static void test_forms(void **state)
{
	uint8_t head[SIF_HEAD] = { 0 };

	(void)state;
	assert_int_equal(sif_form(head), SIF_NONE);
	make_head(head, 1, 128);
	assert_int_equal(sif_form(head), SIF_WHOLE);
	memcpy(head, "hsqs", 4);
	assert_int_equal(sif_form(head), SIF_BARE);
}

static void test_headers(void **state)
{
	static const struct {
		uint64_t count, offset;
		int rc;
	} rows[] = {
		{ 48, 4096, 0 },	   { 0, 0, 0 },
		{ SIF_COUNT_MAX, 128, 0 }, { SIF_COUNT_MAX + 1, 128, -1 },
		{ UINT64_MAX, 128, -1 },   { 1, UINT64_MAX, -1 },
		{ 1, 1ull << 63, -1 },
	};
	uint8_t head[SIF_HEAD];
	struct sif_table table;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		make_head(head, rows[i].count, rows[i].offset);
		assert_int_equal(sif_table(head, &table, &e), rows[i].rc);
	}
}

static void test_choice(void **state)
{
	static const struct {
		struct part parts[2];
		int64_t offset; /* -1: an error */
	} rows[] = {
		{ { { 0x4001, 0, 0, 1, 7 }, { 0x4004, 1, 2, 1, 9 } }, 9 },
		{ { { 0x4004, 1, 1, 1, 7 }, { 0x4004, 1, 2, 1, 9 } }, 9 },
		{ { { 0x4004, 1, 2, 0, 7 }, { 0x4004, 1, 2, 1, 9 } }, 9 },
		{ { { 0x4004, 1, 2, 1, 7 }, { 0x4004, 1, 2, 1, 9 } }, 7 },
		{ { { 0x4001, 1, 2, 1, 7 }, { 0x4003, 1, 2, 1, 9 } }, -1 },
		{ { { 0x4004, 5, 2, 1, 7 }, { 0x4003, 1, 2, 1, 9 } }, -1 },
		{ { { 0x4004, 2, 2, 1, 7 }, { 0x4003, 1, 2, 1, 9 } }, -1 },
		{ { { 0x4004, 1, 2, 1, UINT64_MAX }, { 0 } }, -1 },
	};
	uint8_t all[2 * SIF_DESCRIPTOR];
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t offset = 0;
		make_descriptor(all, &rows[i].parts[0]);
		make_descriptor(all + SIF_DESCRIPTOR, &rows[i].parts[1]);
		int rc = sif_choose(all, 2, &offset, &e);
		assert_int_equal(rc < 0 ? -1 : (int64_t)offset, rows[i].offset);
	}
	assert_int_equal(sif_choose(all, 0, &(uint64_t){ 0 }, &e), -1);
}

static void test_files(void **state)
{
	const struct part root = { 0x4004, 1, 2, 1, 32768 };
	uint8_t head[SIF_HEAD], d[SIF_DESCRIPTOR];
	uint64_t offset = 1;
	struct err e;

	(void)state;
	AUTO_CLOSE int fd = memfd_create("sif", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(sif_find(fd, &offset, &e), 0);
	make_head(head, 1, SIF_HEAD);
	make_descriptor(d, &root);
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(sif_find(fd, &offset, &e), -1);
	assert_non_null(strstr(e.text, "cut off"));
	assert_int_equal(write(fd, d, sizeof(d)), sizeof(d));
	assert_int_equal(sif_find(fd, &offset, &e), 1);
	assert_int_equal(offset, 32768);
	assert_int_equal(pwrite(fd, "hsqs", 4, 0), 4);
	assert_int_equal(sif_find(fd, &offset, &e), 1);
	assert_int_equal(offset, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
