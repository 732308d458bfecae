/* bpf_eval -- evaluates a seccomp program for a call, without the kernel.
 *
 * A seccomp listener learns from the kernel which call was made, but not which errno
 * the filter without the listener would return (seccomp_unotify(2)).  So this module
 * runs that filter program itself. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seccomp_data;
struct sock_filter;

/* Gives the SECCOMP_RET_... value that the program returns for a call.  The kernel must
 * have accepted the program, and it may contain only the instructions that bpf.h
 * writes: loads of a word, AND, jumps, and returns of a constant.  For any other
 * program returns false and leaves `ret` untouched; the caller then refuses the call. */
bool bpf_eval(const struct sock_filter *insns, size_t count,
	      const struct seccomp_data *data, uint32_t *ret);
