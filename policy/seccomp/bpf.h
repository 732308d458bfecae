/* bpf -- writes a classic BPF program from its end to its beginning.
 *
 * A jump of cBPF leads only forward and skips at most 255 instructions.  If the program
 * is written back to front, the target of a jump already exists when the jump is
 * written: a label names an instruction that has been written.  A target that is too
 * far away gets a trampoline, an unconditional BPF_JA with a 32-bit offset.
 *
 * 	size_t no = bpf_ret(b, SECCOMP_RET_ERRNO | EPERM);
 * 	size_t yes = bpf_ret(b, SECCOMP_RET_ALLOW);
 * 	size_t test = bpf_jump(b, BPF_JEQ, 39, yes, no);
 * 	(void)bpf_load(b, offsetof(struct seccomp_data, nr), test);
 *
 * The instruction that was written last is executed first.  When the program exceeds
 * BPF_MAXINSNS (linux/bpf_common.h), the functions still return labels; the caller asks
 * bpf_fits() once, at the end. */
#pragma once
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf {
	size_t count; /* number of instructions so far, also of those that no longer
		       * fit */
	struct sock_filter insns[BPF_MAXINSNS]; /* the instructions, filled from the
						 * last one down */
};

/* The target of a decision: the instruction at `label`, or, if label is 0,
 * `return ret`. */
struct bpf_target {
	size_t label;
	uint32_t ret;
};

/* One row of a table of ranges: the numbers from `first` up to, but without, the next
 * row's `first`.  The last row has no upper end. */
struct bpf_range {
	uint32_t first;
	struct bpf_target target;
};

/* Returns whether the program is short enough for the kernel. */
bool bpf_fits(const struct bpf *b);

/* Returns the finished program: bpf->count instructions, in their order of execution. */
const struct sock_filter *bpf_begin(const struct bpf *b);

/* Writes `return ret`, or gives the label of an equal instruction that is near enough
 * for a jump. */
size_t bpf_ret(struct bpf *b, uint32_t ret);

/* Returns the label of a target; a target without a label gets its `return` written. */
size_t bpf_settle(struct bpf *b, struct bpf_target target);

/* Writes A = the word at `offset` of struct seccomp_data; the program continues at
 * `next`. */
size_t bpf_load(struct bpf *b, uint32_t offset, size_t next);

/* Writes A &= mask; the program continues at `next`. */
size_t bpf_and(struct bpf *b, uint32_t mask, size_t next);

/* Writes a jump: if A `op` k holds to `yes`, otherwise to `no`.  `op` is BPF_JEQ,
 * BPF_JGT, BPF_JGE or BPF_JSET. */
size_t bpf_jump(struct bpf *b, uint16_t op, uint32_t k, size_t yes, size_t no);

/* Writes a binary search that jumps to the target of the range that contains A.  There
 * is at least one range; they are in ascending order, and the first one begins at 0.  A
 * single number between two ranges with the same target costs only one comparison. */
size_t bpf_search(struct bpf *b, const struct bpf_range *ranges, size_t count);
