/* pretend: the filter answers 0 to calls that pretend to succeed, and to no others. */
#include <errno.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/own.h"
#include "policy/seccomp/floor.h"
#include "sandbox/kernel/seccomp.h"
#include "tests/unit/bpf_run.h"

#ifdef __aarch64__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#define ARCH	   ARCH_AARCH64
#else
#define OUR_ARCH AUDIT_ARCH_X86_64
#define ARCH	   ARCH_X86_64
#endif

/* The filter returns an errno of 0, so the call seems to succeed. */
#define PRETENDS  SECCOMP_RET_ERRNO
#define CALLS_MAX 1024

static uint32_t answer(const struct seccomp_program *p, long nr, uint64_t second,
		       uint64_t third)
{
	const struct seccomp_data data = { .nr = (int)nr, .arch = OUR_ARCH,
					   .args = { 0, second, third } };

	return bpf_run(p->insns, p->count, &data);
}

static void test_owners_and_ids_pretend(void **state)
{
	static const long calls[] = {
		SYS_fchown,    SYS_fchownat,  SYS_capset,   SYS_setuid,
		SYS_setgid,    SYS_setreuid,  SYS_setregid, SYS_setresuid,
		SYS_setresgid, SYS_setgroups, SYS_setfsuid, SYS_setfsgid,
#ifdef SYS_chown
		SYS_chown,     SYS_lchown,
#endif
	};
	struct seccomp_program p;

	(void)state;
	seccomp_pretend(&p);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		assert_int_equal(answer(&p, calls[i], 1, 1), PRETENDS);
}

static void test_devices_pretend_and_other_nodes_do_not(void **state)
{
	struct seccomp_program p;

	(void)state;
	seccomp_pretend(&p);
	assert_int_equal(answer(&p, SYS_mknodat, 0, S_IFCHR | 0600), PRETENDS);
	assert_int_equal(answer(&p, SYS_mknodat, 0, S_IFBLK), PRETENDS);
	assert_int_equal(answer(&p, SYS_mknodat, 0, S_IFIFO | 0600), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&p, SYS_mknodat, 0, S_IFREG), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&p, SYS_mknodat, 0, S_IFSOCK), SECCOMP_RET_ALLOW);
#ifdef SYS_mknod
	assert_int_equal(answer(&p, SYS_mknod, S_IFCHR | 0600, 0), PRETENDS);
	assert_int_equal(answer(&p, SYS_mknod, S_IFIFO | 0600, 0), SECCOMP_RET_ALLOW);
#endif
}

/* If two filters return errors, the last filter's counts: a pretending one of
 * ours would hide the other's refusal. */
static void test_no_refusal_is_hidden(void **state)
{
	struct seccomp_program pretend, below[2];

	(void)state;
	seccomp_pretend(&pretend);
	seccomp_default(SECCOMP_FLAT, &below[0]);
	seccomp_floor(SECCOMP_FLAT, &below[1]);
	for (long nr = 0; nr < CALLS_MAX; nr++)
		for (size_t i = 0; i < ARRAY_LEN(below); i++)
			if (answer(&pretend, nr, S_IFCHR, S_IFCHR) == PRETENDS)
				assert_int_equal(answer(&below[i], nr, S_IFCHR, S_IFCHR),
						 SECCOMP_RET_ALLOW);
}

/* The program that pretends also has the floor: it refuses the same calls for any
 * arguments, to protect pid 1. */
static void test_the_floor_is_in_it(void **state)
{
	size_t count;
	const struct floor_row *rows = floor_rows(&count);
	struct seccomp_program p;

	(void)state;
	seccomp_pretend(&p);
	for (size_t i = 0; i < count; i++)
		if (rows[i].nr[ARCH] && !rows[i].test_count)
			assert_int_equal(answer(&p, rows[i].nr[ARCH], 0, 0),
					 SECCOMP_RET_ERRNO | (uint32_t)rows[i].answer);
	assert_int_equal(answer(&p, SYS_setpriority, 1, 0), SECCOMP_RET_ERRNO | EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owners_and_ids_pretend),
		cmocka_unit_test(test_devices_pretend_and_other_nodes_do_not),
		cmocka_unit_test(test_no_refusal_is_hidden),
		cmocka_unit_test(test_the_floor_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
