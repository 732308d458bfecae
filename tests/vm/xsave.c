/* Preloaded into user-mode-linux: ptrace(2) with as much room as the xsave area needs.
 *
 * user-mode-linux has less than 4 KiB for it.  Where the processor has AMX it is of 11 KiB;
 * PTRACE_SETREGSET takes no less (EFAULT), and the machine panics with its first process.
 * What it has no room for stays as it is, and is nobody's: none of its processes has
 * asked for AMX (arch_prctl(2)). */
#include <linux/elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static uint8_t area[1 << 16] __attribute__((aligned(64)));

static long call(long request, pid_t pid, void *address, void *data)
{
	return syscall(SYS_ptrace, request, pid, address, data);
}

/* The whole of it; its size, or 0. */
static size_t get(pid_t pid)
{
	struct iovec all = { .iov_base = area, .iov_len = sizeof(area) };

	return call(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &all) < 0 ? 0 : all.iov_len;
}

static long get_some(pid_t pid, struct iovec *some)
{
	const size_t size = get(pid);

	if (!size)
		return -1;
	if (some->iov_len > size)
		some->iov_len = size;
	memcpy(some->iov_base, area, some->iov_len);
	return 0;
}

static long set_some(pid_t pid, const struct iovec *some)
{
	struct iovec all = { .iov_base = area, .iov_len = get(pid) };

	if (!all.iov_len)
		return -1;
	memcpy(area, some->iov_base, some->iov_len < all.iov_len ? some->iov_len : all.iov_len);
	return call(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &all);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list ap;

	va_start(ap, request);
	const pid_t pid = va_arg(ap, pid_t);
	void *const address = va_arg(ap, void *);
	void *const data = va_arg(ap, void *);
	va_end(ap);
	if (address == (void *)NT_X86_XSTATE && request == PTRACE_GETREGSET)
		return get_some(pid, data);
	if (address == (void *)NT_X86_XSTATE && request == PTRACE_SETREGSET)
		return set_some(pid, data);
	/* It returns a word where the system call writes one. */
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
		long word = 0;
		return call((long)request, pid, address, &word) < 0 ? -1 : word;
	}
	return call((long)request, pid, address, data);
}
