/* Runs the seccomp filters of --isolation landlock in an interpreter instead of the
 * kernel. */
#include <errno.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/own.h"
#include "sandbox/kernel/seccomp.h"
#include "tests/unit/bpf_run.h"

#ifdef __aarch64__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH AUDIT_ARCH_X86_64
#endif

#define PASSES 0

/* Returns the errno with which the filter refuses the call, or PASSES. */
static int answer(enum seccomp_landlock which, long nr, uint64_t a, uint64_t b,
		  uint64_t c)
{
	const struct seccomp_data data = { .nr = (int)nr,
					   .arch = OUR_ARCH,
					   .args = { a, b, c } };
	struct seccomp_program p;

	seccomp_landlock(which, &p);
	uint32_t ret = bpf_run(p.insns, p.count, &data);
	return ret == SECCOMP_RET_ALLOW ? PASSES : (int)(ret & SECCOMP_RET_DATA);
}

#define HIGH (1ull << 32)

static void test_others_are_out_of_reach(void **state)
{
	static const long first[] = { SYS_prlimit64,	      SYS_sched_setaffinity,
				      SYS_sched_setattr,      SYS_sched_setparam,
				      SYS_sched_setscheduler, SYS_migrate_pages,
				      SYS_move_pages };
	static const long second[] = { SYS_setpriority, SYS_ioprio_set };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		assert_int_equal(answer(SECCOMP_LANDLOCK, first[i], 0, 0, 0), PASSES);
		assert_int_equal(answer(SECCOMP_LANDLOCK, first[i], 4242, 0, 0), EPERM);
		assert_int_equal(answer(SECCOMP_LANDLOCK, first[i], HIGH | 4242, 0, 0),
				 EPERM);
	}
	for (size_t i = 0; i < ARRAY_LEN(second); i++) {
		assert_int_equal(answer(SECCOMP_LANDLOCK, second[i], 0, 0, 0), PASSES);
		assert_int_equal(answer(SECCOMP_LANDLOCK, second[i], 0, 4242, 0), EPERM);
	}
	/* Setting the priority of the caller's process group passes, of all
	 * processes of a user it does not. */
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_setpriority, 1, 0, 0), PASSES);
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_setpriority, 2, 0, 0), EPERM);
}

static void test_calls_that_landlock_does_not_see_are_refused(void **state)
{
	static const long absent[] = { SYS_shmget,  SYS_shmat,	      SYS_semget,
				       SYS_semop,   SYS_msgget,	      SYS_msgsnd,
				       SYS_mq_open, SYS_inotify_init1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		assert_int_equal(answer(SECCOMP_LANDLOCK, absent[i], 0, 0, 0), ENOSYS);
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_fchownat, 0, 0, 0), EPERM);
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_setxattr, 0, 0, 0), EOPNOTSUPP);
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_fchown, 0, 0, 0), PASSES);
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_fgetxattr, 0, 0, 0), PASSES);
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_fchmod, 0, 0, 0), PASSES);
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_openat, 0, 0, 0), PASSES);
}

/* System calls of Linux 6.8 to 6.17, which have the same numbers on both
 * architectures. */
enum { SETXATTRAT = 463, GETXATTRAT, LISTXATTRAT, REMOVEXATTRAT,
       STATMOUNT = 457, LISTMOUNT, FILE_GETATTR = 468, FILE_SETATTR };

static void test_attributes_by_path_are_refused(void **state)
{
	static const long by_path[] = { SYS_getxattr,	 SYS_lgetxattr,	   SYS_listxattr,
					SYS_llistxattr,	 SYS_setxattr,	   SYS_lsetxattr,
					SYS_removexattr, SYS_lremovexattr, SETXATTRAT,
					GETXATTRAT,	 LISTXATTRAT,	   REMOVEXATTRAT,
					FILE_GETATTR,	 FILE_SETATTR };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(by_path); i++)
		assert_int_equal(answer(SECCOMP_LANDLOCK, by_path[i], 0, 0, 0),
				 EOPNOTSUPP);
	assert_int_equal(answer(SECCOMP_LANDLOCK, STATMOUNT, 0, 0, 0), EPERM);
	assert_int_equal(answer(SECCOMP_LANDLOCK, LISTMOUNT, 0, 0, 0), EPERM);
}

/* A pair of stream or packet sockets stays connected.  A datagram socket sends
 * to any name, and so does one that SOCK_RAW makes. */
static void test_pairs_reach_nobody_else(void **state)
{
	enum { UNIX = 1, STREAM = 1, SEQPACKET = 5 };

	(void)state;
	for (uint64_t type = 0; type < 16; type++)
		for (uint64_t flags = 0; flags <= 0x80800; flags += 0x800) {
			const bool is_tied = type == STREAM || type == SEQPACKET;
			const int wanted = is_tied ? PASSES : EACCES;

			assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_socketpair, UNIX,
						type | flags, 0),
					 wanted);
			assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_socketpair, UNIX,
						HIGH | type | flags, 0), wanted);
		}
	assert_int_equal(answer(SECCOMP_LANDLOCK_OFFLINE, SYS_bind, 3, 0, 0), EACCES);
	assert_int_equal(answer(SECCOMP_LANDLOCK_ONLINE, SYS_bind, 3, 0, 0), PASSES);
}

static void test_sockets(void **state)
{
	enum { UNIX = 1, INET = 2, INET6 = 10, NETLINK = 16, PACKET = 17 };
	const uint64_t stream = 1 | 0x80000 | 0x800; /* CLOEXEC, NONBLOCK */

	(void)state;
	assert_int_equal(answer(SECCOMP_LANDLOCK_OFFLINE, SYS_socket, INET, 1, 0),
			 EACCES);
	assert_int_equal(answer(SECCOMP_LANDLOCK_OFFLINE, SYS_socket, UNIX, 1, 0),
			 EACCES);
	assert_int_equal(answer(SECCOMP_LANDLOCK_OFFLINE, SYS_socketpair, UNIX, 1, 0),
			 PASSES);
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_socketpair, UNIX, 1, 0), PASSES);
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_socketpair, 30, 1, 0),
			 EAFNOSUPPORT);
	assert_int_equal(answer(SECCOMP_LANDLOCK_ONLINE, SYS_socket, INET, stream, 0),
			 PASSES);
	assert_int_equal(answer(SECCOMP_LANDLOCK_ONLINE, SYS_socket, INET6, stream, 6),
			 PASSES);
	for (uint64_t domain = 0; domain < 64; domain++)
		for (uint64_t high = 0; high <= HIGH; high += HIGH)
			if ((domain != INET && domain != INET6) || high)
				assert_int_equal(answer(SECCOMP_LANDLOCK_ONLINE,
							SYS_socket, domain | high, 1, 0),
						 EACCES);
	for (uint64_t type = 0; type < 16; type++)
		if (type != 1)
			assert_int_equal(answer(SECCOMP_LANDLOCK_ONLINE, SYS_socket, INET,
						type | 0x80000 | HIGH, 0), EACCES);
	for (uint64_t protocol = 1; protocol < 300; protocol++)
		if (protocol != 6)
			assert_int_equal(answer(SECCOMP_LANDLOCK_ONLINE, SYS_socket, INET,
						1, protocol),
					 EACCES);
	assert_int_equal(answer(SECCOMP_LANDLOCK_ONLINE, SYS_socket, INET, 1, HIGH | 6),
			 EACCES);
}

static void test_before_scopes_signals_reach_the_own_group_alone(void **state)
{
	static const long refused[] = { SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo,
					SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal,
					SYS_truncate };

	(void)state;
	assert_int_equal(answer(SECCOMP_LANDLOCK_EARLY, SYS_kill, 0, 15, 0), PASSES);
	assert_int_equal(answer(SECCOMP_LANDLOCK_EARLY, SYS_kill, 1, 15, 0), EPERM);
	assert_int_equal(answer(SECCOMP_LANDLOCK_EARLY, SYS_kill, UINT64_MAX, 15, 0),
			 EPERM);
	assert_int_equal(answer(SECCOMP_LANDLOCK_EARLY, SYS_kill, UINT32_MAX, 15, 0),
			 EPERM);
	assert_int_equal(answer(SECCOMP_LANDLOCK_EARLY, SYS_kill, HIGH, 15, 0), EPERM);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		assert_int_equal(answer(SECCOMP_LANDLOCK_EARLY, refused[i], 0, 0, 0),
				 EPERM);
	assert_int_equal(answer(SECCOMP_LANDLOCK_EARLY, SYS_fcntl, 3, 8, 1), EPERM);
	assert_int_equal(answer(SECCOMP_LANDLOCK_EARLY, SYS_fcntl, 3, HIGH | 15, 1),
			 EPERM);
	assert_int_equal(answer(SECCOMP_LANDLOCK_EARLY, SYS_fcntl, 3, 1, 1), PASSES);
	assert_int_equal(answer(SECCOMP_LANDLOCK_EARLY, SYS_ioctl, 3, 0x8901, 0), EPERM);
	assert_int_equal(answer(SECCOMP_LANDLOCK, SYS_kill, 1, 15, 0), PASSES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_others_are_out_of_reach),
		cmocka_unit_test(test_calls_that_landlock_does_not_see_are_refused),
		cmocka_unit_test(test_attributes_by_path_are_refused),
		cmocka_unit_test(test_pairs_reach_nobody_else),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_before_scopes_signals_reach_the_own_group_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
