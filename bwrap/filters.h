/* filters -- seccomp programs of the caller's, read from descriptors.
 *
 * A program is classic BPF as seccomp(2) takes it: an array of struct sock_filter.  hutch
 * adds none of its own.  The kernel checks a program when it is installed. */
#pragma once
#include <linux/filter.h>
#include <stddef.h>

struct err;

struct filters {
	struct sock_fprog *programs; /* owned, and so is each filter */
	size_t count, room;
};

void filters_done(struct filters *f);

/* Reads one program from `fd` to its end, and closes `fd`. */
int filters_read(struct filters *f, int fd, struct err *e);

/* Puts this process under all programs, in order.  Needs no_new_privs.  Each program but
 * the last must allow prctl(2). */
int filters_install(const struct filters *f, struct err *e);
