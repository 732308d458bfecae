#include "policy/seccomp/bpf.h"

/* A conditional jump can skip 255 instructions.  The margin is for the trampolines and
 * returns that may be inserted between a jump and its target. */
#define REACH 250

bool bpf_fits(const struct bpf *b)
{
	return b->count <= BPF_MAXINSNS;
}

const struct sock_filter *bpf_begin(const struct bpf *b)
{
	return b->insns + BPF_MAXINSNS - b->count;
}

/* Writes an instruction in front of the others and returns its label.  Labels count
 * from the end of the program: the last instruction has label 1. */
static size_t emit(struct bpf *b, struct sock_filter insn)
{
	b->count++;
	if (bpf_fits(b))
		b->insns[BPF_MAXINSNS - b->count] = insn;
	return b->count;
}

size_t bpf_ret(struct bpf *b, uint32_t ret)
{
	const size_t oldest = b->count > REACH ? b->count - REACH : 0;

	for (size_t label = b->count; bpf_fits(b) && label > oldest; label--) {
		const struct sock_filter *old = &b->insns[BPF_MAXINSNS - label];

		if (old->code == (BPF_RET | BPF_K) && old->k == ret)
			return label;
	}
	return emit(b, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, ret));
}

static size_t go(struct bpf *b, size_t label)
{
	const uint32_t skip = (uint32_t)(b->count - label);

	return emit(b, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, skip));
}

/* Makes the next instruction that is written continue at `next`.  The newest
 * instruction follows it anyway, so a jump is needed only if `next` is another one. */
static void fall_into(struct bpf *b, size_t next)
{
	if (next != b->count)
		(void)go(b, next);
}

size_t bpf_load(struct bpf *b, uint32_t offset, size_t next)
{
	fall_into(b, next);
	return emit(b, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

size_t bpf_and(struct bpf *b, uint32_t mask, size_t next)
{
	fall_into(b, next);
	return emit(b, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
}

static size_t near(struct bpf *b, size_t label)
{
	return b->count - label > REACH ? go(b, label) : label;
}

size_t bpf_jump(struct bpf *b, uint16_t op, uint32_t k, size_t yes, size_t no)
{
	yes = near(b, yes);
	no = near(b, no);

	const uint8_t jt = (uint8_t)(b->count - yes), jf = (uint8_t)(b->count - no);
	const uint16_t code = BPF_JMP | BPF_K | op;

	return emit(b, (struct sock_filter)BPF_JUMP(code, k, jt, jf));
}

size_t bpf_settle(struct bpf *b, struct bpf_target target)
{
	return target.label ? target.label : bpf_ret(b, target.ret);
}

static bool is_same(struct bpf_target a, struct bpf_target b)
{
	return a.label == b.label && a.ret == b.ret;
}

static bool is_island(const struct bpf_range *r)
{
	return r[2].first - r[1].first == 1 && is_same(r[0].target, r[2].target);
}

size_t bpf_search(struct bpf *b, const struct bpf_range *ranges, size_t count)
{
	if (count == 1)
		return bpf_settle(b, ranges[0].target);
	if (count == 3 && is_island(ranges)) {
		const size_t shore = bpf_settle(b, ranges[0].target);
		const size_t island = bpf_settle(b, ranges[1].target);

		return bpf_jump(b, BPF_JEQ, ranges[1].first, island, shore);
	}

	const size_t mid = count / 2;
	const size_t above = bpf_search(b, ranges + mid, count - mid);
	const size_t below = bpf_search(b, ranges, mid);

	return bpf_jump(b, BPF_JGE, ranges[mid].first, above, below);
}
