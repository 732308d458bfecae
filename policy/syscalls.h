/* syscalls -- names for system calls of this machine that are known by their numbers.
 *
 * For some calls, one argument decides whether the filter refuses them: a socket's
 * family, the command of an ioctl.  The table has the values of these arguments that
 * have a name; all other values count as one kind, so that a hostile process cannot
 * make more kinds of calls than the table has rows. */
#pragma once
#include <stdint.h>

struct seccomp_data;

struct syscall_kind {
	int nr;
	unsigned argument; /* the number of a row in the table, from 1; 0: none */
};

/* Returns the kind of a call of this machine's own ABI. */
struct syscall_kind syscall_of(const struct seccomp_data *data);

/* Returns the call's name; NULL: none is known for this number. */
const char *syscall_name(int nr);

/* Returns the kind as text: "mount", "socket(AF_PACKET)", "call 999"; allocated. */
char *syscall_text(struct syscall_kind call);

/* Returns the command that explains the refusal of the call, "hutch why syscall socket
 * 17", without flags; allocated. */
char *syscall_question(struct syscall_kind call);
