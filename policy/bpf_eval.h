/* bpf_eval -- evaluates a seccomp program for a call, without the kernel.
 *
 * The kernel tells a listener the call, but not the answer that another program would
 * have given (seccomp_unotify(2)), so that program is evaluated here. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seccomp_data;
struct sock_filter;

/* Gives the SECCOMP_RET_... of a program that the kernel has accepted and that
 * consists of the instructions which bpf.h writes: loads of a word, AND, jumps, and
 * returns of a constant.  False, with `ret` untouched, for any other program: the
 * caller then refuses the call. */
bool bpf_eval(const struct sock_filter *insns, size_t count,
	      const struct seccomp_data *data, uint32_t *ret);
