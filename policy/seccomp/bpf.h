/* bpf -- writes a classic BPF program from its end to its beginning.
 *
 * A jump of cBPF leads forward only and reaches 255 instructions.  Written back to
 * front, a program's jump targets exist before the jumps to them do: a label is the
 * place of an instruction that is written already, and a target too far away gets a
 * trampoline (BPF_JA has 32 bits) in between.
 *
 *	size_t no = bpf_ret(b, SECCOMP_RET_ERRNO | EPERM);
 *	size_t yes = bpf_ret(b, SECCOMP_RET_ALLOW);
 *	size_t test = bpf_jump(b, BPF_JEQ, 39, yes, no);
 *	(void)bpf_load(b, offsetof(struct seccomp_data, nr), test);
 *
 * The instruction that was written last is the first to be executed.  If the program
 * exceeds BPF_MAXINSNS (linux/bpf_common.h), the calls go on giving labels, and the
 * caller asks bpf_fits() once, at the end. */
#pragma once
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf {
	size_t count; /* number of instructions so far; counted on when they no longer
		       * fit */
	struct sock_filter insns[BPF_MAXINSNS]; /* the instructions, filled from the
						 * last one down */
};

/* The place to which a decision leads: a label, or, with label 0, `return ret`. */
struct bpf_target {
	size_t label;
	uint32_t ret;
};

/* One row of a table of ranges: the numbers from `first` to the next row's; the last
 * row has no end. */
struct bpf_range {
	uint32_t first;
	struct bpf_target target;
};

/* Returns whether the program is short enough for the kernel. */
bool bpf_fits(const struct bpf *b);

/* Returns the finished program: bpf->count instructions, in their order of execution. */
const struct sock_filter *bpf_begin(const struct bpf *b);

/* Writes `return ret`; an equal instruction that a jump can still reach is used again. */
size_t bpf_ret(struct bpf *b, uint32_t ret);

/* Gives the label of a target; for a `return`, the instruction may be written now. */
size_t bpf_settle(struct bpf *b, struct bpf_target target);

/* Writes A = the word at `offset` of struct seccomp_data; the program continues at
 * `next`. */
size_t bpf_load(struct bpf *b, uint32_t offset, size_t next);

/* Writes A &= mask; the program continues at `next`. */
size_t bpf_and(struct bpf *b, uint32_t mask, size_t next);

/* Writes a jump: if A `op` k then to `yes` else to `no`; op is BPF_JEQ, BPF_JGT,
 * BPF_JGE or BPF_JSET. */
size_t bpf_jump(struct bpf *b, uint16_t op, uint32_t k, size_t yes, size_t no);

/* Writes a binary search that finds A in `ranges` (`count` >= 1, ascending, the first
 * one from 0).  A range of one number between two of the same target costs one test. */
size_t bpf_search(struct bpf *b, const struct bpf_range *ranges, size_t count);
