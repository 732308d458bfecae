/* raw_call -- a system call without the C library.
 *
 * errno is a variable of the process's memory.  Two processes that share their memory
 * (CLONE_VM) share it, too: each could overwrite the errno that the other is about to
 * read.  raw_call() leaves it alone, and returns a negative errno on failure, as the
 * kernel does (syscall(2), the architecture's calling conventions). */
#pragma once

static inline long raw_call(long number, long a, long b, long c)
{
#ifdef __aarch64__
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
#endif
}
