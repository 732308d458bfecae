/* syscalls -- names for system calls of this machine that are known by their numbers.
 *
 * For some calls, one argument decides whether the filter refuses them, such as a
 * socket's family or the command of an ioctl.  A table names the known values of these
 * arguments; all other values count as one kind, so that a hostile process can produce
 * only a bounded number of different kinds. */
#pragma once
#include <stdint.h>

struct seccomp_data;

struct syscall_kind {
	int nr;
	unsigned argument; /* row of the table of arguments, counted from 1; 0: none */
};

/* Returns the kind of a call, which must be of this machine's own ABI. */
struct syscall_kind syscall_of(const struct seccomp_data *data);

/* Returns the name of the call `nr`; NULL: the number is unknown. */
const char *syscall_name(int nr);

/* Returns the kind as text: "mount", "socket(AF_PACKET)", "call 999"; allocated. */
char *syscall_text(struct syscall_kind call);

/* Returns the command line that explains why the call is refused, such as "hutch why
 * syscall socket 17", without flags; allocated. */
char *syscall_question(struct syscall_kind call);
