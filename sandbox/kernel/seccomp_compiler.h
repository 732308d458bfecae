/* seccomp_compiler -- runs hutch-seccomp, once, on a profile. */
#pragma once
#include <stddef.h>

struct err;
struct sock_filter;

/* Runs argv[0] with `argv` and no environment, feeds it `len` bytes, and gives what it
 * printed as a program, to be freed by the caller.  Its sentence on stderr becomes the
 * error. */
struct sock_filter *seccomp_compiler_run(char *const *argv, const char *profile,
					 size_t len, size_t *ret_count, struct err *e);
