/* profile_build -- a profile, compiled, for tests that run or compare the result. */
#pragma once
#include <fcntl.h>
#include <linux/audit.h>
#include <stdlib.h>

#include <seccomp.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "policy/seccomp/bpf.h"
#include "policy/seccomp/compile.h"
#include "policy/seccomp/profile.h"
#include "tests/unit/bpf_run.h"

#define DEFAULT_PROFILE "policy/seccomp/default.json"
#define NUMBERS		1024 /* greater than any number of a system call */

static const uint32_t audit_archs[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };
static const uint32_t scmp_archs[] = { SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64 };

struct build {
	struct profile profile;
	struct bpf bpf;
	enum arch arch;
};

static inline struct build *build(const char *text, size_t len, enum arch arch)
{
	const struct profile_host host = { .arch = arch, .kernel = { 5, 14 } };
	struct build *b = calloc(1, sizeof(*b));
	struct err e = { 0 };

	assert_non_null(b);
	b->arch = arch;
	if (profile_parse(text, len, &host, &b->profile, &e) ||
	    compile_profile(&b->profile, arch, &b->bpf, &e))
		fail_msg("%s", e.text);
	return b;
}

/* Builds the default profile.  Tests run from the top of the tree. */
static inline struct build *build_default(enum arch arch)
{
	AUTO_CLOSE int fd = open(DEFAULT_PROFILE, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len = 0;
	struct err e = { 0 };

	if (fd < 0 ||
	    io_read_file(fd, DEFAULT_PROFILE, PROFILE_BYTES_MAX, &text, &len, &e))
		fail_msg("no %s here", DEFAULT_PROFILE);
	return build(text, len, arch);
}

static inline void build_free(struct build *b)
{
	profile_done(&b->profile);
	free(b);
}

static inline uint32_t build_run(const struct build *b, const struct seccomp_data *data)
{
	return bpf_run(bpf_begin(&b->bpf), b->bpf.count, data);
}
