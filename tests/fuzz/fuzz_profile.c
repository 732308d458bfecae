/* A seccomp profile is an arbitrary file.  It is refused with an error text, or
 * becomes a program that the kernel accepts. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>

#include "base/err.h"
#include "policy/seccomp/bpf.h"
#include "policy/seccomp/compile.h"
#include "policy/seccomp/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The conditions of the kernel's checker: no jump beyond the end, and a return
 * there. */
static void check(const struct bpf *b)
{
	const struct sock_filter *insns = bpf_begin(b);

	for (size_t i = 0; i < b->count; i++) {
		const struct sock_filter *f = &insns[i];
		size_t far = f->jt > f->jf ? f->jt : f->jf;

		if (BPF_CLASS(f->code) != BPF_JMP)
			continue;
		if (BPF_OP(f->code) == BPF_JA)
			far = f->k;
		if (i + 1 + far >= b->count)
			abort();
	}
	if (b->count == 0 || insns[b->count - 1].code != (BPF_RET | BPF_K))
		abort();
}

static void compile(const struct profile *p, enum arch arch)
{
	struct bpf *b = calloc(1, sizeof(*b));
	struct err e = { 0 };

	if (!b)
		abort();
	if (!compile_profile(p, arch, b, &e))
		check(b);
	else if (!e.text[0])
		abort();
	free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const caps[] = { "CAP_SYS_ADMIN", NULL };
	const struct profile_host host = { ARCH_X86_64, { 5, 14 }, caps, FLOOR_FULL };
	struct profile p = { 0 };
	struct err e = { 0 };

	if (profile_parse((const char *)data, size, &host, &p, &e)) {
		if (!e.text[0])
			abort();
		return 0;
	}
	for (int a = 0; a < ARCH_COUNT; a++)
		compile(&p, (enum arch)a);
	profile_done(&p);
	return 0;
}
