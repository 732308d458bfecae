/* bpf_run -- computes what a seccomp program answers, without a kernel.
 *
 * An interpreter for the part of cBPF that seccomp filters use.  It fails the test on
 * anything the kernel's checker would refuse or that would not end. */
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static inline int bpf_run_jumps(const struct sock_filter *f, uint32_t a)
{
	switch (BPF_OP(f->code)) {
	case BPF_JA:
		return (int)f->k;
	case BPF_JEQ:
		return a == f->k ? f->jt : f->jf;
	case BPF_JGT:
		return a > f->k ? f->jt : f->jf;
	case BPF_JGE:
		return a >= f->k ? f->jt : f->jf;
	case BPF_JSET:
		return a & f->k ? f->jt : f->jf;
	default:
		fail_msg("jump %#x", f->code);
		return 0;
	}
}

static inline uint32_t bpf_run_load(const struct sock_filter *f,
				    const struct seccomp_data *data)
{
	uint32_t word;

	if (f->code != (BPF_LD | BPF_W | BPF_ABS) || f->k % 4 || f->k + 4 > sizeof(*data))
		fail_msg("load %#x of %u", f->code, f->k);
	memcpy(&word, (const char *)data + f->k, sizeof(word));
	return word;
}

static inline uint32_t bpf_run(const struct sock_filter *insns, size_t count,
			       const struct seccomp_data *data)
{
	/* The kernel starts with 0, but no filter may rely on that. */
	uint32_t a = 0xdeadbeef;

	for (size_t pc = 0; pc < count; pc++) {
		const struct sock_filter *f = &insns[pc];

		switch (BPF_CLASS(f->code)) {
		case BPF_RET:
			return f->k;
		case BPF_JMP:
			pc += (size_t)bpf_run_jumps(f, a);
			break;
		case BPF_LD:
			a = bpf_run_load(f, data);
			break;
		default:
			if (f->code != (BPF_ALU | BPF_AND | BPF_K))
				fail_msg("instruction %#x", f->code);
			a &= f->k;
		}
	}
	fail_msg("the program has no end");
	return 0;
}

/* A reproducible source of numbers (xorshift64). */
static inline uint64_t bpf_run_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
