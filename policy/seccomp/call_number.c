#include "policy/seccomp/call_number.h"

#include <stdint.h>
#include <string.h>

#include <seccomp.h>

#include "base/list.h"
#include "base/own.h"

static const uint32_t scmp_archs[] = {
	[ARCH_X86_64] = SCMP_ARCH_X86_64,
	[ARCH_AARCH64] = SCMP_ARCH_AARCH64,
};
_Static_assert(ARRAY_LEN(scmp_archs) == ARCH_COUNT, "an architecture has no number");

/* System calls that libseccomp 2.5.4, the oldest version that hutch is built with, does
 * not know.  Calls added since Linux 5.1 have the same number on all architectures. */
static const struct newer {
	const char *name;
	int nr;
} newer[] = {
	{ "statmount", 457 },	 { "listmount", 458 },
	{ "setxattrat", 463 },	 { "getxattrat", 464 },
	{ "listxattrat", 465 },	 { "removexattrat", 466 },
	{ "file_getattr", 468 }, { "file_setattr", 469 },
};

int call_number(enum arch arch, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(newer); i++)
		if (!strcmp(newer[i].name, name))
			return newer[i].nr;
	const int nr = seccomp_syscall_resolve_name_arch(scmp_archs[arch], name);
	if (nr == __NR_SCMP_ERROR)
		return CALL_UNKNOWN;
	return nr < 0 ? CALL_ELSEWHERE : nr;
}

char *call_number_name(enum arch arch, int nr)
{
	for (size_t i = 0; i < ARRAY_LEN(newer); i++)
		if (newer[i].nr == nr)
			return text_copy(newer[i].name);
	return seccomp_syscall_resolve_num_arch(scmp_archs[arch], nr);
}
