#include "bwrap/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

#define BIT(n) (1ull << (n))
#define HALF   32 /* the bits of one word of a set (capget(2)) */

struct sets {
	uint64_t effective, permitted, inheritable;
};

static int get_sets(struct sets *ret)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct words[2] = { 0 };

	if (syscall(SYS_capget, &header, words) < 0)
		return -1;
	ret->effective = words[0].effective | (uint64_t)words[1].effective << HALF;
	ret->permitted = words[0].permitted | (uint64_t)words[1].permitted << HALF;
	ret->inheritable = words[0].inheritable | (uint64_t)words[1].inheritable << HALF;
	return 0;
}

static int set_all(uint64_t caps)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	const uint32_t low = (uint32_t)caps, high = (uint32_t)(caps >> HALF);
	const struct __user_cap_data_struct words[2] = { { low, low, low },
							 { high, high, high } };

	return (int)syscall(SYS_capset, &header, words);
}

uint64_t privileges_default(void)
{
	struct sets sets = { 0 };

	if (getuid() != 0)
		return 0;
	(void)get_sets(&sets); /* cannot fail: the arguments are valid */
	return sets.effective;
}

int privileges_freeze(struct err *e)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		       ? err_sys(e, "prctl(PR_SET_NO_NEW_PRIVS) failed")
		       : 0;
}

int privileges_bound(uint64_t kept, struct err *e)
{
	for (unsigned n = 0; n < 64; n++) {
		if (kept & BIT(n))
			continue;
		if (prctl(PR_CAPBSET_DROP, n, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL) /* the kernel has no more capabilities */
			return 0;
		return err_sys(e, "Dropping capability %u from bounds", n);
	}
	return 0;
}

int privileges_reduce(uint64_t kept, struct err *e)
{
	struct sets sets = { 0 };

	(void)get_sets(&sets); /* cannot fail: the arguments are valid */
	return set_all(kept & sets.permitted) < 0 ? err_sys(e, "capset failed") : 0;
}

int privileges_hand_on(uint64_t kept, struct err *e)
{
	for (unsigned n = 0; n < 64 && (kept >> n) != 0; n++) {
		if (!(kept & BIT(n)) ||
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, n, 0, 0) == 0)
			continue;
		/* EINVAL: the kernel has no such capability.  EPERM: it is not permitted
		 * or not inheritable; root's command gets it by being root. */
		if (errno != EINVAL && errno != EPERM)
			return err_sys(e, "Adding ambient capability %u", n);
	}
	return 0;
}

int privileges_show(struct err *e)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? err_sys(e, "can't set dumpable")
						      : 0;
}
