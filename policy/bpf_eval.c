#include "policy/bpf_eval.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>

/* Gives the number of instructions that a jump skips.  Returns false for a jump
 * instruction that bpf.h never writes. */
static bool jump(const struct sock_filter *f, uint32_t a, size_t *ret)
{
	switch (f->code) {
	case BPF_JMP | BPF_JA:
		*ret = f->k;
		return true;
	case BPF_JMP | BPF_JEQ | BPF_K:
		*ret = a == f->k ? f->jt : f->jf;
		return true;
	case BPF_JMP | BPF_JGT | BPF_K:
		*ret = a > f->k ? f->jt : f->jf;
		return true;
	case BPF_JMP | BPF_JGE | BPF_K:
		*ret = a >= f->k ? f->jt : f->jf;
		return true;
	case BPF_JMP | BPF_JSET | BPF_K:
		*ret = a & f->k ? f->jt : f->jf;
		return true;
	default:
		return false;
	}
}

static bool load(const struct sock_filter *f, const struct seccomp_data *data,
		 uint32_t *ret)
{
	if (f->k % sizeof(*ret) || f->k > sizeof(*data) - sizeof(*ret))
		return false;
	memcpy(ret, (const char *)data + f->k, sizeof(*ret));
	return true;
}

bool bpf_eval(const struct sock_filter *insns, size_t count,
	      const struct seccomp_data *data, uint32_t *ret)
{
	uint32_t a = 0;

	/* The loop ends because jumps lead only forward. */
	for (size_t pc = 0; pc < count; pc++) {
		const struct sock_filter *f = &insns[pc];
		size_t skip = 0;

		if (f->code == (BPF_RET | BPF_K)) {
			*ret = f->k;
			return true;
		}
		if (f->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= f->k;
		else if (f->code == (BPF_LD | BPF_W | BPF_ABS) ? !load(f, data, &a)
								: !jump(f, a, &skip))
			return false;
		if (skip >= count - pc)
			return false;
		pc += skip;
	}
	return false;
}
