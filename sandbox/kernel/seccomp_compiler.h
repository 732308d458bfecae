/* seccomp_compiler -- runs hutch-seccomp, the compiler of seccomp profiles, once. */
#pragma once
#include <stddef.h>

struct err;
struct sock_filter;

/* Runs the compiler argv[0] with `argv` and no environment, and feeds it `len` bytes of
 * the profile.  Returns the program that the compiler printed, to be freed by the
 * caller.  On failure, the error is the line that the compiler wrote to stderr. */
struct sock_filter *seccomp_compiler_run(char *const *argv, const char *profile,
					 size_t len, size_t *ret_count, struct err *e);
