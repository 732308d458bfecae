#include "sandbox/kernel/caps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/capability.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "base/io.h"
#include "policy/policy.h"
#include "tests/unit/scene.h"

#define BIT(n) (1ull << (n))
#define ROOTS                                                                         \
	(BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER) | BIT(CAP_FSETID) | \
	 BIT(CAP_SETUID) | BIT(CAP_SETGID))

static void test_names_and_numbers(void **state)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {
		{ "CHOWN", 0 },		{ "cap_chown", 0 },	 { "CAP_net_Raw", 13 },
		{ "SYS_ADMIN", 21 },	{ "checkpoint_restore", 40 }, { "", -1 },
		{ "cap_", -1 },		{ "cap_cap_chown", -1 }, { "CHOW", -1 },
		{ "CHOWNS", -1 },	{ "0", -1 },		 { "?", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct err e;
		assert_int_equal(caps_parse(names[i].name, &e), names[i].number);
	}
	for (int n = 0; n <= CAP_LAST_CAP; n++)
		assert_int_equal(caps_parse(caps_name(n).text, NULL), n);
	assert_string_equal(caps_name(-1).text, "?");
	assert_string_equal(caps_name(64).text, "?");
}

static void test_commands_get_the_capabilities_of_their_user(void **state)
{
	static const struct {
		uint32_t uid;
		uint64_t add, drop;
		bool drops_all;
		uint64_t set;
	} cases[] = {
		{ 1000, 0, 0, false, 0 },
		{ 33, 0, 0, false, 0 },
		{ 0, 0, 0, false, ROOTS },
		{ 0, 0, BIT(CAP_CHOWN), false, ROOTS & ~BIT(CAP_CHOWN) },
		{ 0, 0, 0, true, 0 },
		{ 0, BIT(CAP_KILL), 0, true, BIT(CAP_KILL) },
		{ 1000, BIT(CAP_NET_RAW), 0, false, BIT(CAP_NET_RAW) },
		{ 0, BIT(CAP_CHOWN), BIT(CAP_CHOWN), false, ROOTS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct policy p = { .cap_add = cases[i].add,
					  .cap_drop = cases[i].drop,
					  .drops_all_caps = cases[i].drops_all };
		assert_int_equal(caps_for(&p, cases[i].uid), cases[i].set);
	}
}

/* Returns the hexadecimal number after NAME in /proc/self/status. */
static uint64_t status_of(const char *name)
{
	AUTO_CLOSE int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len;
	struct err e;

	CHECK(fd >= 0 && io_read_file(fd, "status", 1u << 16, &text, &len, &e) == 0);
	const char *at = strstr(text, name);
	CHECK(at);
	return strtoull(at + strlen(name), NULL, 16);
}

struct reduction {
	uint64_t kept, handed_on;
	bool is_root;
};

static void play_reduce(void *arg)
{
	const struct reduction *r = arg;
	struct err e;

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(caps_reduce(r->kept, r->handed_on, r->is_root, &e) == 0);
	CHECK(status_of("CapPrm:") == r->kept);
	CHECK(status_of("CapEff:") == r->kept);
	CHECK(status_of("CapInh:") == (r->is_root ? 0 : r->kept));
	CHECK(status_of("CapAmb:") == (r->is_root ? 0 : r->kept));
	CHECK(status_of("CapBnd:") == r->handed_on);
	/* Capabilities that were given up cannot be raised again. */
	CHECK(caps_reduce(r->kept | BIT(CAP_SYS_ADMIN), r->handed_on, r->is_root,
			  &e) < 0);
	CHECK(status_of("CapPrm:") == r->kept);
}

static void test_everything_else_is_gone_for_good(void **state)
{
	static const struct reduction reductions[] = {
		{ 0, 0, false },
		{ ROOTS, ROOTS, false },
		{ ROOTS, ROOTS, true },
		{ BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL), 0, false },
		{ ROOTS | BIT(CAP_KILL), ROOTS, false },
		{ BIT(CAP_CHECKPOINT_RESTORE), BIT(CAP_CHECKPOINT_RESTORE), false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(reductions); i++) {
		struct reduction r = reductions[i];
		scene_inside(0, 1000, play_reduce, &r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_and_numbers),
		cmocka_unit_test(test_commands_get_the_capabilities_of_their_user),
		cmocka_unit_test(test_everything_else_is_gone_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
