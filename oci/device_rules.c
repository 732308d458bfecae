#include "oci/device_rules.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "oci/resources.h"
#include "oci/spaces.h"

#define RULE_INSNS 10
#define RULES_MAX  256

/* The program keeps the type in R2, the access in R3, major in R4 and minor in R5. */
struct program {
	struct bpf_insn *insns;
	size_t count;
};

static void put(struct program *p, uint8_t code, uint8_t dst, uint8_t src, int16_t off,
		int32_t imm)
{
	p->insns[p->count++] = (struct bpf_insn){
		.code = code,
		.dst_reg = dst & 0xf,
		.src_reg = src & 0xf,
		.off = off,
		.imm = imm,
	};
}

static void put_return(struct program *p, bool is_allowed)
{
	put(p, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, is_allowed);
	put(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Loads the words of struct bpf_cgroup_dev_ctx. */
static void put_head(struct program *p)
{
	put(p, BPF_LDX | BPF_W | BPF_MEM, 2, 1, 0, 0);
	put(p, BPF_ALU | BPF_MOV | BPF_X, 3, 2, 0, 0);
	put(p, BPF_ALU | BPF_AND | BPF_K, 2, 0, 0, 0xffff);
	put(p, BPF_ALU | BPF_RSH | BPF_K, 3, 0, 0, 16);
	put(p, BPF_LDX | BPF_W | BPF_MEM, 4, 1, 4, 0);
	put(p, BPF_LDX | BPF_W | BPF_MEM, 5, 1, 8, 0);
}

/* Writes one rule: an allowing one matches if it has all accesses that are asked for, a
 * denying one if it has one of them. */
static void put_rule(struct program *p, const struct resources_device *d)
{
	const int32_t access = (d->makes ? BPF_DEVCG_ACC_MKNOD : 0) |
			       (d->reads ? BPF_DEVCG_ACC_READ : 0) |
			       (d->writes ? BPF_DEVCG_ACC_WRITE : 0);
	size_t jumps[4], count = 0;
	const size_t first = p->count;

	if (d->type != 'a') {
		jumps[count++] = p->count;
		put(p, BPF_JMP | BPF_JNE | BPF_K, 2, 0, 0,
		    d->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR);
	}
	put(p, BPF_ALU | BPF_MOV | BPF_X, 1, 3, 0, 0);
	put(p, BPF_ALU | BPF_AND | BPF_K, 1, 0, 0, access);
	jumps[count++] = p->count;
	if (d->is_allowed)
		put(p, BPF_JMP | BPF_JNE | BPF_X, 1, 3, 0, 0);
	else
		put(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0, 0);
	if (d->major >= 0) {
		jumps[count++] = p->count;
		put(p, BPF_JMP | BPF_JNE | BPF_K, 4, 0, 0, (int32_t)d->major);
	}
	if (d->minor >= 0) {
		jumps[count++] = p->count;
		put(p, BPF_JMP | BPF_JNE | BPF_K, 5, 0, 0, (int32_t)d->minor);
	}
	put_return(p, d->is_allowed);
	for (size_t i = 0; i < count; i++)
		p->insns[jumps[i]].off = (int16_t)(p->count - jumps[i] - 1);
	(void)first;
}

static int load(const struct program *p, struct err *e)
{
	static const char license[] = "GPL";
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr)); /* the kernel wants zeroes in all of it */
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insn_cnt = (uint32_t)p->count;
	attr.insns = (uint64_t)(uintptr_t)p->insns;
	attr.license = (uint64_t)(uintptr_t)license;
	const int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	return fd < 0 ? err_sys(e, "load the device rules") : fd;
}

static int attach(int folder, int program, struct err *e)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr)); /* the kernel wants zeroes in all of it */
	attr.target_fd = (uint32_t)folder;
	attr.attach_bpf_fd = (uint32_t)program;
	attr.attach_type = BPF_CGROUP_DEVICE;
	attr.attach_flags = BPF_F_ALLOW_MULTI;
	return syscall(SYS_bpf, BPF_PROG_ATTACH, &attr, sizeof(attr))
		       ? err_sys(e, "attach the device rules to the cgroup")
		       : 0;
}

int device_rules_attach(int folder, const struct resources_device *rules, size_t count,
			struct err *e)
{
	if (count > RULES_MAX)
		return err_set(e, ERR_LIMIT,
			       "linux.resources.devices: more than %d rules", RULES_MAX);
	if (!count || spaces_in_userns())
		return 0;
	AUTO_FREE struct bpf_insn *insns =
		mem_zeroed((count + RESOURCES_ALWAYS) * RULE_INSNS + 16, sizeof(*insns));
	struct program p = { insns, 0 };
	put_head(&p);
	/* The last rule decides, so it is asked first. */
	for (size_t i = count; i-- > 0;)
		if (rules[i].type != 'a' || rules[i].is_allowed)
			put_rule(&p, &rules[i]);
		else
			break; /* "a" denied: nothing before it counts */
	for (size_t i = 0; i < RESOURCES_ALWAYS; i++)
		put_rule(&p, &resources_always[i]);
	bool denies = false;
	for (size_t i = 0; i < count; i++)
		denies = rules[i].type == 'a' ? !rules[i].is_allowed : denies;
	put_return(&p, !denies);
	AUTO_CLOSE int program = load(&p, e);
	return program < 0 ? -1 : attach(folder, program, e);
}
