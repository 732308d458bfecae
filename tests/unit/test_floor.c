#include "policy/seccomp/floor.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>

#include <seccomp.h>

#include "base/own.h"
#include "policy/seccomp/compile.h"
#include "policy/seccomp/profile.h"
#include "tests/unit/bpf_run.h"

static const uint32_t audit_archs[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };
static const uint32_t scmp_archs[] = { SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64 };

#define HIGH	0xdead000100000000u
#define ALLOWED SECCOMP_RET_ALLOW

/* Setup: compiles the floor together with a profile that allows everything. */
static int set_up(void **state)
{
	struct bpf *both = calloc(ARCH_COUNT, sizeof(*both));
	struct profile p;

	assert_non_null(both);
	for (int a = 0; a < ARCH_COUNT; a++) {
		static const char text[] = "{\"defaultAction\":\"SCMP_ACT_ALLOW\"}";
		const struct profile_host host = { .arch = (enum arch)a };

		assert_int_equal(profile_parse(text, sizeof(text) - 1, &host, &p, NULL),
				 0);
		assert_int_equal(compile_profile(&p, host.arch, &both[a], NULL), 0);
		profile_done(&p);
	}
	*state = both;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static uint32_t run(void **state, int arch, const struct seccomp_data *data)
{
	const struct bpf *b = (const struct bpf *)*state + arch;

	return bpf_run(bpf_begin(b), b->count, data);
}

static uint32_t refusal(int sys)
{
	return SECCOMP_RET_ERRNO | (uint32_t)sys;
}

static void its_numbers_are_libseccomps(void **state)
{
	size_t count;
	const struct floor_row *rows = floor_rows(&count);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (int a = 0; a < ARCH_COUNT; a++)
			assert_int_equal(rows[i].nr[a],
					 seccomp_syscall_resolve_name_arch(scmp_archs[a],
									   rows[i].name));
}

static void foreign_abis_are_absent(void **state)
{
	for (int a = 0; a < ARCH_COUNT; a++)
		for (int nr = 0; nr < 512; nr++) {
			struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_I386 };

			assert_int_equal(run(state, a, &data), refusal(ENOSYS));
			data.arch = AUDIT_ARCH_ARM;
			assert_int_equal(run(state, a, &data), refusal(ENOSYS));
			data.arch = audit_archs[!a];
			assert_int_equal(run(state, a, &data), refusal(ENOSYS));
		}
}

static void x32_is_absent(void **state)
{
	static const uint32_t nrs[] = { 0x40000000, 0x40000027, 0x40000208,
					0x7fffffff, 0x80000000, 0xffffffff };

	for (size_t i = 0; i < ARRAY_LEN(nrs); i++) {
		const struct seccomp_data data = { .nr = (int)nrs[i],
						   .arch = AUDIT_ARCH_X86_64 };

		assert_int_equal(run(state, ARCH_X86_64, &data), refusal(ENOSYS));
	}
}

/* Tries the value, or each single bit, that a test of the row names, in an
 * argument whose high half is set: the kernel ignores that half. */
static void refuses(void **state, int arch, const struct floor_row *row,
		    const struct floor_test *t)
{
	for (uint32_t bit = 1; bit; bit <<= 1) {
		struct seccomp_data data = { .nr = (int)row->nr[arch],
					     .arch = audit_archs[arch] };

		if (t->bits && !(t->value & bit))
			continue;
		data.args[t->arg] = t->bits ? bit : t->value;
		assert_int_equal(run(state, arch, &data), refusal(row->answer));
		data.args[t->arg] |= HIGH;
		assert_int_equal(run(state, arch, &data), refusal(row->answer));
	}
}

static void every_row_refuses_what_it_names(void **state)
{
	size_t count;
	const struct floor_row *rows = floor_rows(&count);

	for (int a = 0; a < ARCH_COUNT; a++)
		for (size_t i = 0; i < count; i++) {
			const struct seccomp_data data = { .nr = (int)rows[i].nr[a],
							   .arch = audit_archs[a] };

			for (size_t t = 0; t < rows[i].test_count; t++)
				refuses(state, a, &rows[i], &rows[i].tests[t]);
			assert_int_equal(run(state, a, &data),
					 rows[i].test_count ? ALLOWED
							    : refusal(rows[i].answer));
		}
}

static bool is_in_floor(int arch, uint32_t nr)
{
	size_t count;
	const struct floor_row *rows = floor_rows(&count);

	for (size_t i = 0; i < count; i++)
		if (rows[i].nr[arch] == nr)
			return true;
	return false;
}

static void other_calls_reach_the_profile(void **state)
{
	uint64_t seed = 1;

	for (int a = 0; a < ARCH_COUNT; a++)
		for (uint32_t nr = 0; nr < 1024; nr++) {
			struct seccomp_data data = { .nr = (int)nr,
						     .arch = audit_archs[a] };

			for (int i = 0; i < 6; i++)
				data.args[i] = bpf_run_random(&seed);
			if (!is_in_floor(a, nr))
				assert_int_equal(run(state, a, &data), ALLOWED);
		}
}

struct sample {
	const char *name;
	uint64_t args[3];
	uint32_t ret;
};

/* Some calls, and the answers that the table requires. */
static const struct sample samples[] = {
	{ "ioctl", { 0, 0x5412 }, SECCOMP_RET_ERRNO | EPERM },	    /* TIOCSTI */
	{ "ioctl", { 0, 0x100005412 }, SECCOMP_RET_ERRNO | EPERM }, /* high bits set */
	{ "ioctl", { 0, 0x541c }, SECCOMP_RET_ERRNO | EPERM },	    /* TIOCLINUX */
	{ "ioctl", { 0, 0x5401 }, ALLOWED },			    /* TCGETS */
	{ "ioctl", { 0x5412, 0 }, ALLOWED },
	{ "fcntl", { 1, 1031, 1 << 20 }, SECCOMP_RET_ERRNO | EPERM }, /* F_SETPIPE_SZ */
	{ "fcntl", { 1, 1024, 0 }, SECCOMP_RET_ERRNO | EPERM }, /* F_SETLEASE */
	{ "fcntl", { 1, 1040, 0 }, SECCOMP_RET_ERRNO | EPERM }, /* F_SETDELEG */
	{ "fcntl", { 1, 10, 9 }, SECCOMP_RET_ERRNO | EPERM },	/* F_SETSIG */
	{ "fcntl", { 1, 8, 9 }, ALLOWED },			/* F_SETOWN */
	{ "fcntl", { 1, 1032 }, ALLOWED },			      /* F_GETPIPE_SZ */
	{ "prlimit64", { 1, 0 }, SECCOMP_RET_ERRNO | EPERM },
	{ "prlimit64", { 0, 1 }, ALLOWED },
	{ "prlimit64", { 2, 1 }, ALLOWED },
	{ "sched_setaffinity", { 0x100000001, 8 }, SECCOMP_RET_ERRNO | EPERM },
	{ "sched_setaffinity", { 17, 8 }, ALLOWED },
	{ "setpriority", { 0, 1, 19 }, SECCOMP_RET_ERRNO | EPERM }, /* PRIO_PROCESS */
	{ "setpriority", { 1, 1, 19 }, SECCOMP_RET_ERRNO | EPERM }, /* PRIO_PGRP */
	{ "setpriority", { 2, 0, 19 }, SECCOMP_RET_ERRNO | EPERM }, /* PRIO_USER */
	{ "setpriority", { 2, 1000, 19 }, SECCOMP_RET_ERRNO | EPERM },
	{ "setpriority", { 0, 0, 19 }, ALLOWED },
	{ "setpriority", { 1, 2, 1 }, ALLOWED },
	{ "ioprio_set", { 1, 1, 0 }, SECCOMP_RET_ERRNO | EPERM },
	{ "ioprio_set", { 2, 1, 0 }, SECCOMP_RET_ERRNO | EPERM },
	{ "ioprio_set", { 3, 1000, 0 }, SECCOMP_RET_ERRNO | EPERM },
	{ "ioprio_set", { 1, 0, 1 }, ALLOWED },
	{ "kcmp", { 5, 1, 0 }, SECCOMP_RET_ERRNO | EPERM },
	{ "kcmp", { 1, 5, 0 }, SECCOMP_RET_ERRNO | EPERM },
	{ "kcmp", { 5, 6, 1 }, ALLOWED },
	{ "clone", { 0x01200011 }, ALLOWED },			/* fork */
	{ "clone", { 0x003d0f00 }, ALLOWED },			/* a thread */
	{ "clone", { 0x10000011 }, SECCOMP_RET_ERRNO | EPERM }, /* NEWUSER */
	{ "clone", { 0x00020011 }, SECCOMP_RET_ERRNO | EPERM }, /* NEWNS */
	{ "clone", { 0x80 }, ALLOWED },				/* a signal */
	{ "unshare", { 0x80 }, SECCOMP_RET_ERRNO | EPERM },	/* NEWTIME */
	{ "unshare", { 0x600 }, ALLOWED },			/* FS, FILES */
	{ "setns", { 3, 0 }, SECCOMP_RET_ERRNO | EPERM },
	{ "clone3", { 0 }, SECCOMP_RET_ERRNO | ENOSYS },
	{ "io_uring_setup", { 0 }, SECCOMP_RET_ERRNO | ENOSYS },
	{ "io_setup", { 0 }, SECCOMP_RET_ERRNO | ENOSYS },
	{ "keyctl", { 0 }, SECCOMP_RET_ERRNO | EPERM },
	{ "seccomp", { 1, 8 }, SECCOMP_RET_ERRNO | EPERM }, /* NEW_LISTENER */
	{ "seccomp", { 1, 0xffffffff00000018 }, SECCOMP_RET_ERRNO | EPERM },
	{ "seccomp", { 1, 1 }, ALLOWED }, /* TSYNC */
	{ "kill", { 1, 9 }, ALLOWED }, /* the kernel itself protects pid 1 from signals */
	{ "rt_sigqueueinfo", { 1, 34 }, ALLOWED },
};

static void it_means_what_it_should(void **state)
{
	for (int a = 0; a < ARCH_COUNT; a++)
		for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
			const struct sample *s = &samples[i];
			struct seccomp_data data = { .arch = audit_archs[a] };

			data.nr =
				seccomp_syscall_resolve_name_arch(scmp_archs[a], s->name);
			memcpy(data.args, s->args, sizeof(s->args));
			if (run(state, a, &data) != s->ret)
				fail_msg("%s, sample %zu, arch %d", s->name, i, a);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_numbers_are_libseccomps),
		cmocka_unit_test(foreign_abis_are_absent),
		cmocka_unit_test(x32_is_absent),
		cmocka_unit_test(every_row_refuses_what_it_names),
		cmocka_unit_test(other_calls_reach_the_profile),
		cmocka_unit_test(it_means_what_it_should),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
