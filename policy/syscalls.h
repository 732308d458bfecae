/* syscalls -- what system calls of this machine are called, for whoever is told of one
 * by its number.
 *
 * Of some it is one argument that decides whether the filter refuses them: a socket's
 * family, the command of an ioctl.  Of these arguments the table has those that have a
 * name; all others are one, so that whoever chooses them cannot make more kinds of
 * calls than there are. */
#pragma once
#include <stdint.h>

struct seccomp_data;

struct syscall_kind {
	int nr;
	unsigned argument; /* the number of a row in the table, from 1; 0: none */
};

/* Of a call of this machine's own ABI. */
struct syscall_kind syscall_of(const struct seccomp_data *data);

/* Its name; NULL: none is known by this number. */
const char *syscall_name(int nr);

/* "mount", "socket(AF_PACKET)", "call 999"; allocated. */
char *syscall_text(struct syscall_kind call);

/* The question about it, "hutch why syscall socket 17", without flags; allocated. */
char *syscall_question(struct syscall_kind call);
