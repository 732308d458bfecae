/* Other ways into the kernel than the one that a filter was written for: the
 * 32-bit calls through int 0x80, the x32 numbers, and calls that only x86 has. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifdef __x86_64__

/* System call numbers of 32-bit x86, from asm/unistd_32.h, which cannot be included
 * together with the 64-bit ones. */
enum ia32_call {
	IA32_GETPID = 20, IA32_MKDIR = 39,
	IA32_SOCKETCALL = 102, IA32_IPC = 117, IA32_PERSONALITY = 136,
	IA32_ADD_KEY = 286, IA32_UNSHARE = 310, IA32_PERF_EVENT_OPEN = 336,
	IA32_BPF = 357, IA32_USERFAULTFD = 374, IA32_IO_URING_SETUP = 425,
	IA32_OPEN_TREE = 428,
};

struct ia32_args {
	uint32_t b, c, d;
};

static long ia32(uint32_t number, const struct ia32_args *args)
{
	uint32_t ret = number;

	__asm__ volatile("int $0x80"
			 : "+a"(ret)
			 : "b"(args->b), "c"(args->c), "d"(args->d)
			 : "memory", "r8", "r9", "r10", "r11");
	if (ret > (uint32_t)-4096) {
		errno = -(int32_t)ret;
		return -1;
	}
	return ret;
}

/* Returns memory that a 32-bit pointer can address. */
static void *low_memory(void)
{
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

static void ia32_plain(struct trial *t)
{
	struct ia32_args args = { .b = (uint32_t)t->probe->value2 };

	trial_call(t, ia32((uint32_t)t->probe->value, &args));
}

static void ia32_mkdir(struct trial *t)
{
	struct path path = path_in(t->set->scratch, "probe-ia32");
	char *low = low_memory();
	struct ia32_args args = { .b = (uint32_t)(uintptr_t)low, .c = 0700 };

	if (!low) {
		trial_error(t, "skip", errno);
		return;
	}
	memcpy(low, path.s, strlen(path.s) + 1);
	trial_call(t, ia32(IA32_MKDIR, &args));
	/* Fails with ENOENT if the probe could not make the folder. */
	(void)rmdir(path.s);
}

/* socket(family, SOCK_DGRAM, 0) through socketcall(2), which multiplexes all
 * socket calls. */
static void ia32_socket(struct trial *t)
{
	uint32_t *low = low_memory();
	struct ia32_args args = { .b = 1, .c = (uint32_t)(uintptr_t)low };

	if (!low) {
		trial_error(t, "skip", errno);
		return;
	}
	low[0] = (uint32_t)t->probe->value;
	low[1] = 2; /* SOCK_DGRAM */
	trial_call(t, ia32(IA32_SOCKETCALL, &args));
}

/* msgget(IPC_PRIVATE) and the queue's removal, both through ipc(2). */
static void ia32_ipc(struct trial *t)
{
	struct ia32_args get = { .b = 13, .c = 0, .d = 0600 };
	long id = ia32(IA32_IPC, &get);
	struct ia32_args remove = { .b = 14, .c = (uint32_t)id, .d = 0 };

	trial_call(t, id);
	if (id >= 0)
		(void)ia32(IA32_IPC, &remove); /* it is ours */
}

static void x32_call(struct trial *t)
{
	trial_call(t, syscall(0x40000000 | t->probe->value, 0, 0, 0, 0, 0, 0));
}

static void port_call(struct trial *t)
{
	trial_call(t, syscall(t->probe->value, t->probe->value2, 1, 1));
}

#define IA32(nm, call, first) \
	{ "C49", nm, .run = ia32_plain, .value = call, .value2 = first }
#define X32(nm, call) { "C49", nm, .run = x32_call, .value = call }

const struct probe foreign_probes[] = {
	IA32("ia32-getpid", IA32_GETPID, 0),
	{ "C49", "ia32-mkdir", .run = ia32_mkdir },
	{ "C49", "ia32-socketcall", .run = ia32_socket, .value = 16 /* AF_NETLINK */ },
	{ "C49", "ia32-ipc", .run = ia32_ipc },
	IA32("ia32-unshare", IA32_UNSHARE, CLONE_NEWUSER),
	IA32("ia32-add-key", IA32_ADD_KEY, 0),
	IA32("ia32-perf-event-open", IA32_PERF_EVENT_OPEN, 0),
	IA32("ia32-bpf", IA32_BPF, 0),
	IA32("ia32-userfaultfd", IA32_USERFAULTFD, 1),
	IA32("ia32-io-uring-setup", IA32_IO_URING_SETUP, 1),
	IA32("ia32-open-tree", IA32_OPEN_TREE, -1),
	IA32("ia32-personality", IA32_PERSONALITY, 0x0040000),
	X32("x32-getpid", SYS_getpid),
	X32("x32-mkdir", SYS_mkdir),
	X32("x32-unknown", 700),
	{ "C52", "iopl", .run = port_call, .value = SYS_iopl, .value2 = 3 },
	{ "C52", "ioperm", .run = port_call, .value = SYS_ioperm, .value2 = 0x80 },
	{ 0 },
};

#else

/* Empty: an arm64 kernel runs 32-bit code only as whole programs, so seccomp's
 * architecture check, which these probes test, first matters at execve. */
const struct probe foreign_probes[] = {
	{ 0 },
};

#endif
