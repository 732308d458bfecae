#include "executor/process/caps.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The capability calls do not use libcap: a child of vfork(2) makes them in the
 * executor's own memory, and any process inside may kill that child at any moment.
 * libcap allocates its sets, and takes a lock to change one; a child that dies in between
 * would leave pid 1 with a broken heap, or with a lock that is never released. */
#define CAP_BIT(n) (UINT64_C(1) << (n))
#define CAP_END	   64

static int set(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct halves[2] = {
		{ (uint32_t)effective, (uint32_t)permitted, (uint32_t)inheritable },
		{ (uint32_t)(effective >> 32), (uint32_t)(permitted >> 32),
		  (uint32_t)(inheritable >> 32) },
	};

	return (int)syscall(SYS_capset, &header, halves);
}

static int get(struct caps *ret)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct halves[2] = { { 0 } };

	if (syscall(SYS_capget, &header, halves) < 0)
		return -1;
	ret->permitted = halves[0].permitted | (uint64_t)halves[1].permitted << 32;
	ret->inherited = halves[0].inheritable | (uint64_t)halves[1].inheritable << 32;
	return 0;
}

/* Returns the part of `permitted` that commands get: the capabilities that are in the
 * bounding set, too. */
static uint64_t get_handed_on(uint64_t permitted)
{
	uint64_t found = 0;

	for (unsigned long n = 0; n < CAP_END; n++)
		if ((permitted & CAP_BIT(n)) && prctl(PR_CAPBSET_READ, n, 0, 0, 0) == 1)
			found |= CAP_BIT(n);
	return found;
}

#define USED (CAP_BIT(CAP_KILL) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SETUID))

int caps_settle(const struct caps *c)
{
	return c->permitted ? set(c->permitted & USED, c->permitted, c->inherited) : 0;
}

static uint64_t handed_on_to(const struct caps *c, uint32_t uid)
{
	return uid == 0 ? c->handed_on : c->handed_on & c->others;
}

int caps_wear(const struct caps *c, uint32_t uid)
{
	uint64_t effective = (c->permitted & USED) | handed_on_to(c, uid);

	return c->permitted ? set(effective, c->permitted, c->inherited) : 0;
}

int caps_use(const struct caps *c, uint32_t uid)
{
	uint64_t mine = handed_on_to(c, uid);

	return c->permitted ? set(mine, mine, 0) : 0;
}

int caps_trace(const struct caps *c)
{
	const uint64_t mine = c->permitted & CAP_BIT(CAP_SYS_PTRACE);

	return set(mine, mine, 0);
}

int caps_init(struct caps *ret)
{
	struct caps c = { 0 };

	if (get(&c) < 0)
		return -1;
	c.handed_on = get_handed_on(c.permitted);
	c.others = c.handed_on;
	c.inherited &= c.handed_on;
	c.own = c.permitted & ~c.handed_on;
	/* Lowering the inheritable set lowers the ambient set with it
	 * (capabilities(7)). */
	if (caps_settle(&c) < 0)
		return -1;
	*ret = c;
	return 0;
}

bool caps_are_plain(const struct caps *c)
{
	return c->own == 0;
}

int caps_keep(const struct caps *c)
{
	/* Without KEEPCAPS the kernel would empty the permitted set when the process
	 * leaves uid 0, and no capability would be left to hand on. */
	return c->permitted ? prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) : 0;
}

int caps_hand_on(const struct caps *c, uint32_t uid)
{
	/* On execve(2) root gets its bounding set, and that is exactly the set that is
	 * handed on.  Root's inheritable and ambient sets stay empty: otherwise a process
	 * that changes from root to another user would keep them. */
	uint64_t mine = handed_on_to(c, uid), inherited = uid == 0 ? 0 : mine;

	if (!c->permitted)
		return 0;
	if (set(0, mine, inherited) < 0)
		return -1;
	/* The kernel emptied the ambient set when the process left uid 0, even with
	 * KEEPCAPS, so each capability is raised again. */
	for (unsigned long n = 0; n < CAP_END; n++)
		if ((inherited & CAP_BIT(n)) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, n, 0, 0) < 0)
			return -1;
	return 0;
}
