/* bpf_eval -- what a seccomp program answers to a call, without the kernel.
 *
 * The kernel tells a listener which call it is about and not what the program would have
 * answered (seccomp_unotify(2)): so the program is asked again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seccomp_data;
struct sock_filter;

/* The SECCOMP_RET_... of a program that the kernel has taken, made of what bpf.h
 * writes: loads of a word, AND, jumps and returns of a constant.  False, with `ret`
 * untouched, for any other: it is then for the caller to refuse. */
bool bpf_eval(const struct sock_filter *insns, size_t count,
	      const struct seccomp_data *data, uint32_t *ret);
