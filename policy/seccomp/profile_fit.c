#include "policy/seccomp/profile_fit.h"

#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "policy/seccomp/profile.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static bool has(const char *const *names, const char *name)
{
	for (size_t i = 0; names && names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Returns the architecture's name in Go, which Docker's conditions use. */
static const char *arch_name(enum arch arch)
{
	static const char *const names[] = {
		[ARCH_X86_64] = "amd64",
		[ARCH_AARCH64] = "arm64",
	};
	_Static_assert(ARRAY_LEN(names) == ARCH_COUNT, "an architecture has no name");

	return names[arch];
}

static bool take_number(const char **p, unsigned *ret)
{
	const char *start = *p;

	*ret = 0;
	while (isdigit((unsigned char)**p) && *p - start < 5)
		*ret = *ret * 10 + (unsigned)(*(*p)++ - '0');
	return *p > start;
}

bool profile_kernel(const char *text, unsigned ret[2])
{
	unsigned major, minor;

	if (!take_number(&text, &major) || *text++ != '.' ||
	    !take_number(&text, &minor) || *text)
		return false;
	ret[0] = major;
	ret[1] = minor;
	return true;
}

/* Counts the strings of the array `key`: ret[1] is the number of all, and ret[0] that
 * of those among `names`. */
static int count_known(const struct json_at *at, const char *key,
		       const char *const *names, size_t ret[2], struct err *e)
{
	struct json_at list, item = { 0 };
	const char *text;

	ret[0] = ret[1] = 0;
	if (!json_member(at, key, &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, e))
		return -1;
	while (json_step(&list, &item)) {
		if (json_string(&item, &text, e))
			return -1;
		ret[0] += has(names, text);
		ret[1]++;
	}
	return 0;
}

/* Checks a condition on the kernel.  ret[1]: `at` has the key `minKernel`.  ret[0]: the
 * kernel is at least that new. */
static int check_kernel(const struct json_at *at, const struct profile_host *host,
			bool ret[2], struct err *e)
{
	struct json_at kernel;
	const char *text;
	unsigned least[2];

	ret[0] = ret[1] = json_member(at, "minKernel", &kernel);
	if (!ret[1])
		return 0;
	if (json_string(&kernel, &text, e))
		return -1;
	if (!profile_kernel(text, least))
		return err_set(e, ERR_USAGE, "%s: '%.32s' is no version such as 4.8",
			       kernel.place, text);
	if (!host->kernel[0])
		return err_set(e, ERR_USAGE, "%s: for which kernel? (--kernel X.Y)",
			       kernel.place);
	ret[0] = host->kernel[0] > least[0] ||
		 (host->kernel[0] == least[0] && host->kernel[1] >= least[1]);
	return 0;
}

/* The result for the conditions of each kind: [0] is how many hold, [1] how many there
 * are. */
struct holds {
	size_t caps[2], archs[2];
	bool kernel[2];
};

static int check_conditions(const struct json_at *at, const struct profile_host *host,
			    struct holds *ret, struct err *e)
{
	if (json_only(at, NAMES("caps", "arches", "minKernel"), e) ||
	    count_known(at, "caps", host->caps, ret->caps, e) ||
	    count_known(at, "arches", NAMES(arch_name(host->arch)), ret->archs, e))
		return -1;
	return check_kernel(at, host, ret->kernel, e);
}

int profile_fit(const struct json_at *block, const struct profile_host *host, bool *ret,
		struct err *e)
{
	struct json_at includes, excludes;
	struct holds in = { 0 }, ex = { 0 };

	if (json_member(block, "includes", &includes) &&
	    check_conditions(&includes, host, &in, e))
		return -1;
	if (json_member(block, "excludes", &excludes) &&
	    check_conditions(&excludes, host, &ex, e))
		return -1;
	*ret = in.caps[0] == in.caps[1] && (in.archs[0] || !in.archs[1]) &&
	       in.kernel[0] == in.kernel[1] && !ex.caps[0] && !ex.archs[0] &&
	       !ex.kernel[0];
	return 0;
}

/* Returns 0, or an error if the list has a name that is not among `known`. */
static int check_names(const struct json_at *at, const char *key,
		       const char *const *known, struct err *e)
{
	struct json_at list, item = { 0 };
	const char *name;

	if (!json_member(at, key, &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, e))
		return -1;
	while (json_step(&list, &item)) {
		if (json_string(&item, &name, e))
			return -1;
		if (!has(known, name))
			return err_set(e, ERR_USAGE, "%s: '%.64s' is not known here",
				       item.place, name);
	}
	return 0;
}

/* All architectures that the OCI specification lists; hutch itself supports two of
 * them. */
static const char *const architectures[] = {
	"SCMP_ARCH_X86",      "SCMP_ARCH_X86_64",      "SCMP_ARCH_X32",
	"SCMP_ARCH_ARM",      "SCMP_ARCH_AARCH64",     "SCMP_ARCH_MIPS",
	"SCMP_ARCH_MIPS64",   "SCMP_ARCH_MIPS64N32",   "SCMP_ARCH_MIPSEL",
	"SCMP_ARCH_MIPSEL64", "SCMP_ARCH_MIPSEL64N32", "SCMP_ARCH_PPC",
	"SCMP_ARCH_PPC64",    "SCMP_ARCH_PPC64LE",     "SCMP_ARCH_S390",
	"SCMP_ARCH_S390X",    "SCMP_ARCH_PARISC",      "SCMP_ARCH_PARISC64",
	"SCMP_ARCH_RISCV64",  "SCMP_ARCH_LOONGARCH64", "SCMP_ARCH_M68K",
	"SCMP_ARCH_SH",	      "SCMP_ARCH_SHEB",	       NULL,
};

static int check_arch_map(const struct json_at *map, struct err *e)
{
	struct json_at item = { 0 }, name;
	const char *text;

	if (json_expect(map, JSON_ARRAY, e))
		return -1;
	while (json_step(map, &item)) {
		if (json_only(&item, NAMES("architecture", "subArchitectures"), e) ||
		    check_names(&item, "subArchitectures", architectures, e))
			return -1;
		if (!json_member(&item, "architecture", &name))
			return err_set(e, ERR_USAGE, "%s: 'architecture' is missing",
				       item.place);
		if (json_string(&name, &text, e))
			return -1;
		if (!has(architectures, text))
			return err_set(e, ERR_USAGE, "%s: '%.64s' is not known here",
				       name.place, text);
	}
	return 0;
}

int profile_check_archs(const struct json_at *root, struct err *e)
{
	struct json_at map;

	if (check_names(root, "architectures", architectures, e))
		return -1;
	return json_member(root, "archMap", &map) ? check_arch_map(&map, e) : 0;
}

int profile_check_flags(const struct json_at *root, struct err *e)
{
	struct json_at list, item = { 0 }, listener;
	const char *flag;

	if (json_member(root, "listenerPath", &listener) ||
	    json_member(root, "listenerMetadata", &listener))
		return err_set(e, ERR_UNSUPPORTED, "%s: not supported yet",
			       listener.place);
	if (!json_member(root, "flags", &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, e))
		return -1;
	while (json_step(&list, &item)) {
		if (json_string(&item, &flag, e))
			return -1;
		if (strcmp(flag, "SECCOMP_FILTER_FLAG_LOG") == 0)
			return err_set(e, ERR_UNSUPPORTED,
				       "%s: %s: not supported yet; SCMP_ACT_LOG is",
				       item.place, flag);
		if (!has(NAMES("SECCOMP_FILTER_FLAG_TSYNC",
			       "SECCOMP_FILTER_FLAG_SPEC_ALLOW"),
			 flag))
			return err_set(e, ERR_USAGE, "%s: '%.64s' is not known here",
				       item.place, flag);
	}
	return 0;
}
