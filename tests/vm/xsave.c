/* Preloaded into user-mode-linux: a ptrace(2) that always sets the whole xsave
 * area.
 *
 * user-mode-linux has less than 4 KiB for the area.  On a processor with AMX
 * the area has 11 KiB; PTRACE_SETREGSET accepts no smaller one (EFAULT), and
 * the machine would panic with its first process.  The bytes that
 * user-mode-linux does not hold get their initial values, which is correct:
 * none of its processes has asked for AMX (arch_prctl(2)). */
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
static size_t size; /* bytes in use; 0: not known yet */

static long call(long request, pid_t pid, void *address, void *data)
{
	return syscall(SYS_ptrace, request, pid, address, data);
}

static long set(pid_t pid, const struct iovec *some)
{
	struct iovec all = { .iov_base = area, .iov_len = size ? size : sizeof(area) };

	if (!size && call(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &all) < 0)
		return -1;
	size = all.iov_len;
	memcpy(area, some->iov_base, some->iov_len < size ? some->iov_len : size);
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
	if (address == (void *)NT_X86_XSTATE && request == PTRACE_SETREGSET)
		return set(pid, data);
	/* The C library returns the word; the system call writes it to memory. */
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA ||
	    request == PTRACE_PEEKUSER) {
		long word = 0;
		return call((long)request, pid, address, &word) < 0 ? -1 : word;
	}
	return call((long)request, pid, address, data);
}
