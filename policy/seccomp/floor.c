#include "policy/seccomp/floor.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "base/own.h"

/* These numbers of the kernel's ABI are not taken from headers, so that the table does
 * not depend on the host that compiles it; they are the same on both architectures. */
enum {
	TIOCSTI_CMD = 0x5412,	/* inserts text into the terminal's input */
	TIOCLINUX_CMD = 0x541c, /* pastes the console's selection */
	TIOCCONS_CMD = 0x541d,	/* takes over the console's output */
	TIOCSETD_CMD = 0x5423,	/* attaches a line discipline, which can load kernel
				 * modules */
	F_SETSIG_CMD = 10,
	F_SETLEASE_CMD = 1024,
	F_SETPIPE_SZ_CMD = 1031,
	F_SETDELEG_CMD = 1040, /* a lease on a folder, in kernels that support it */
	LISTENER_FLAG = 1 << 3, /* SECCOMP_FILTER_FLAG_NEW_LISTENER */
	USER_PRIO = 2,		/* PRIO_USER: affects all processes of the uid, pid
				 * 1 too */
	USER_IOPRIO = 3,	/* IOPRIO_WHO_USER */
	NS_TIME = 0x80,		/* in clone(2) this bit belongs to the exit signal */
};

/* The flags CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
#define NS_FLAGS 0x7e020000u

#define ALWAYS .test_count = 0
#define TESTS(...)                                                             \
	.test_count = sizeof((struct floor_test[]){ __VA_ARGS__ }) /           \
		      sizeof(struct floor_test),                               \
	.tests = { __VA_ARGS__ }
#define ARG_IS(n, v)  { .arg = (n), .value = (v) }
#define ARG_HAS(n, v) { .arg = (n), .value = (v), .bits = true }

static const struct floor_row rows[] = {
	{ "ioctl",
	  { 16, 29 },
	  false,
	  EPERM,
	  TESTS(ARG_IS(1, TIOCSTI_CMD), /* layer: tiocsti */
		ARG_IS(1, TIOCLINUX_CMD), ARG_IS(1, TIOCSETD_CMD),
		ARG_IS(1, TIOCCONS_CMD)) },
	/* F_SETPIPE_SZ enlarges pipes, and pipe buffers are counted per user of the
	 * host.  A lease on a file of a read-only mount blocks writers on the host for
	 * fs.lease-break-time.  With F_SETSIG, a process inside could make the kernel
	 * send SIGKILL or SIGSTOP to the process that stops all others for a pause. */
	{ "fcntl",
	  { 72, 25 },
	  false,
	  EPERM,
	  TESTS(ARG_IS(1, F_SETPIPE_SZ_CMD), ARG_IS(1, F_SETLEASE_CMD),
		ARG_IS(1, F_SETDELEG_CMD), ARG_IS(1, F_SETSIG_CMD)) }, /* layer: setsig */

	/* Pid 1 is the executor.  The kernel allows these calls on any process of the
	 * same uid, even one that is not dumpable; a limit RLIMIT_CPU of 0 would kill
	 * it. */
	{ "prlimit64", { 302, 261 }, false, EPERM, TESTS(ARG_IS(0, 1)) },
	{ "sched_setparam", { 142, 118 }, false, EPERM, TESTS(ARG_IS(0, 1)) },
	{ "sched_setscheduler", { 144, 119 }, false, EPERM, TESTS(ARG_IS(0, 1)) },
	{ "sched_setattr", { 314, 274 }, false, EPERM, TESTS(ARG_IS(0, 1)) },
	{ "sched_setaffinity", { 203, 122 }, false, EPERM, TESTS(ARG_IS(0, 1)) },
	{ "setpriority",
	  { 141, 140 },
	  false,
	  EPERM,
	  TESTS(ARG_IS(0, USER_PRIO), ARG_IS(1, 1)) },
	{ "ioprio_set",
	  { 251, 30 },
	  false,
	  EPERM,
	  TESTS(ARG_IS(0, USER_IOPRIO), ARG_IS(1, 1)) },
	{ "migrate_pages", { 256, 238 }, false, EPERM, TESTS(ARG_IS(0, 1)) },
	{ "move_pages", { 279, 239 }, false, EPERM, TESTS(ARG_IS(0, 1)) },
	{ "kcmp", { 312, 272 }, false, EPERM, TESTS(ARG_IS(0, 1), ARG_IS(1, 1)) },

	/* A filter cannot read the flags of clone3, which are in memory.  C libraries
	 * use clone instead after ENOSYS. */
	/* --nesting lifts these three (is_nesting). */
	{ "clone", { 56, 220 }, true, EPERM, TESTS(ARG_HAS(0, NS_FLAGS)) },
	{ "unshare", { 272, 97 }, true, EPERM, TESTS(ARG_HAS(0, NS_FLAGS | NS_TIME)) },
	{ "setns", { 308, 268 }, true, EPERM, ALWAYS },
	{ "clone3", { 435, 435 }, false, ENOSYS, ALWAYS },

	/* A filter does not see the files and connections that io_uring opens.
	 * io_setup takes from a limit that all processes of the host share
	 * (fs.aio-max-nr). */
	{ "io_uring_setup", { 425, 425 }, false, ENOSYS, ALWAYS },
	{ "io_uring_enter", { 426, 426 }, false, ENOSYS, ALWAYS },
	{ "io_uring_register", { 427, 427 }, false, ENOSYS, ALWAYS },
	{ "io_setup", { 206, 0 }, false, ENOSYS, ALWAYS },

	/* Keyrings belong to the uid on the host, not to a namespace. */
	{ "add_key", { 248, 217 }, false, EPERM, ALWAYS },
	{ "request_key", { 249, 218 }, false, EPERM, ALWAYS },
	{ "keyctl", { 250, 219 }, false, EPERM, ALWAYS }, /* layer: seccomp-floor */

	{ "seccomp", { 317, 277 }, false, EPERM, TESTS(ARG_HAS(1, LISTENER_FLAG)) },
};

static const uint32_t audit_archs[] = {
	[ARCH_X86_64] = AUDIT_ARCH_X86_64,
	[ARCH_AARCH64] = AUDIT_ARCH_AARCH64,
};
_Static_assert(ARRAY_LEN(audit_archs) == ARCH_COUNT, "an architecture has no number");

#define X32_BIT 0x40000000u

const struct floor_row *floor_rows(size_t *ret_count)
{
	*ret_count = ARRAY_LEN(rows);
	return rows;
}

/* Returns the offset of the low 32 bits of an argument in struct seccomp_data.
 * Arguments have the machine's byte order; both architectures are little-endian, so the
 * low word comes first. */
static uint32_t low_word(unsigned arg)
{
	return (uint32_t)offsetof(struct seccomp_data, args) + 8 * arg;
}

struct bpf_target floor_guard(struct bpf *b, const struct floor_row *row,
			      struct bpf_target otherwise)
{
	const uint32_t refusal = SECCOMP_RET_ERRNO | (uint32_t)row->answer;

	if (!row->test_count)
		return (struct bpf_target){ .ret = refusal };

	const size_t refuse = bpf_ret(b, refusal);
	size_t next = bpf_settle(b, otherwise);

	for (size_t i = row->test_count; i-- > 0;) {
		const struct floor_test *t = &row->tests[i];
		const uint16_t op = t->bits ? BPF_JSET : BPF_JEQ;

		next = bpf_jump(b, op, t->value, refuse, next);
		if (i == 0 || t[-1].arg != t->arg)
			next = bpf_load(b, low_word(t->arg), next);
	}
	return (struct bpf_target){ .label = next };
}

void floor_enter(struct bpf *b, enum arch arch, size_t dispatch)
{
	const size_t absent = bpf_ret(b, SECCOMP_RET_ERRNO | ENOSYS);

	if (arch == ARCH_X86_64)
		dispatch = bpf_jump(b, BPF_JGE, X32_BIT, absent, dispatch);
	dispatch = bpf_load(b, offsetof(struct seccomp_data, nr), dispatch);
	dispatch = bpf_jump(b, BPF_JEQ, audit_archs[arch], dispatch, absent);
	(void)bpf_load(b, offsetof(struct seccomp_data, arch), dispatch);
}
