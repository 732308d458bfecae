/* free_memory: numbers in the kernel's texts, and the lesser of what a host and a container
 * have left. */
#include "gateway/free_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "base/own.h"

static void numbers_are_found_by_the_beginning_of_a_line(void **state)
{
	static const char text[] = "a 1\nab 22\nlimit max\nneg -3\n b 4\nlast 5";

	(void)state;
	assert_int_equal(free_memory_line(text, "a "), 1);
	assert_int_equal(free_memory_line(text, "ab "), 22);
	assert_int_equal(free_memory_line(text, "last "), 5);
	assert_true(free_memory_line(text, "b ") == UINT64_MAX);
	assert_true(free_memory_line(text, "limit ") == UINT64_MAX);
	assert_true(free_memory_line(text, "neg ") == UINT64_MAX);
	assert_true(free_memory_line("max\n", "") == UINT64_MAX);
	assert_true(free_memory_line("", "a") == UINT64_MAX);
}

static int file(const char *text)
{
	const int fd = memfd_create("text", MFD_CLOEXEC);

	if (!text || fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return -1;
	return fd;
}

static void the_lesser_of_host_and_container_counts(void **state)
{
	static const char host[] = "MemTotal: 4096 kB\nMemAvailable: 100 kB\n";
	static const struct {
		const char *host, *limit, *used, *parts;
		uint64_t bytes;
	} rows[] = {
		{ host, NULL, NULL, NULL, 102400 },
		{ host, "max\n", "5\n", NULL, 102400 },
		{ host, "1000\n", "400\n", NULL, 600 },
		{ host, "1000\n", "400\n", "anon 1\ninactive_file 300\n", 900 },
		{ host, "1000\n", "2000\n", NULL, 0 },
		{ host, "900000\n", "100\n", NULL, 102400 },
		{ NULL, "1000\n", "400\n", NULL, 600 },
		{ NULL, NULL, NULL, NULL, UINT64_MAX },
		{ "MemAvailable: x\n", NULL, NULL, NULL, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct free_memory m = { { file(rows[i].host), file(rows[i].limit),
					   file(rows[i].used), file(rows[i].parts) } };

		assert_true(free_memory_bytes(&m) == rows[i].bytes);
		free_memory_close(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_found_by_the_beginning_of_a_line),
		cmocka_unit_test(the_lesser_of_host_and_container_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
