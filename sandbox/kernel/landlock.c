#include "sandbox/kernel/landlock.h"

#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static int make(const struct landlock_scopes *attr, struct err *e)
{
	int rules = (int)syscall(SYS_landlock_create_ruleset, attr, sizeof(*attr), 0);

	return rules < 0 ? err_sys(e, "make a Landlock ruleset") : rules;
}

static int restrict_self(int rules, struct err *e)
{
	if (syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return err_sys(e, "enter the Landlock domain");
	return 0;
}

static int enter(const struct landlock_scopes *attr, struct err *e)
{
	AUTO_CLOSE int rules = make(attr, e);

	return rules < 0 ? -1 : restrict_self(rules, e);
}

int landlock_scope(struct err *e)
{
	static const struct landlock_scopes attr = {
		.scoped = LANDLOCK_SCOPED_ABSTRACT_SOCKET | LANDLOCK_SCOPED_SIGNAL,
	};

	return enter(&attr, e);
}

int landlock_try(struct err *e)
{
	/* A kernel accepts fields that it does not know, as long as they are
	 * zero. */
	static const struct landlock_scopes oldest = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK,
	};

	return landlock_abi() >= LANDLOCK_ABI_SCOPES ? landlock_scope(e)
						     : enter(&oldest, e);
}

/* Makes a ruleset that handles every right that this ABI knows: an access that no
 * rule allows is refused.  An older kernel accepts zeros behind the end of its
 * struct. */
static struct landlock_scopes all_of(int abi, unsigned spares)
{
	/* Rights on files are bits 0 to 12 in ABI 1 (landlock(7)); REFER is bit 13,
	 * TRUNCATE bit 14, IOCTL_DEV bit 15. */
	unsigned bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
	uint64_t scopes = (spares & LANDLOCK_SPARES_ABSTRACT
				   ? 0
				   : LANDLOCK_SCOPED_ABSTRACT_SOCKET) |
			  (spares & LANDLOCK_SPARES_SIGNALS ? 0 : LANDLOCK_SCOPED_SIGNAL);

	return (struct landlock_scopes){
		.handled_access_fs = (1ull << bits) - 1,
		/* 3: LANDLOCK_ACCESS_NET_BIND_TCP and _CONNECT_TCP */
		.handled_access_net = abi >= 4 && !(spares & LANDLOCK_SPARES_TCP) ? 3 : 0,
		.scoped = abi >= LANDLOCK_ABI_SCOPES ? scopes : 0,
	};
}

/* Adds a rule.  EBADFD is no failure: the descriptor is of a pipe, a socket or a
 * memfd, which needs no rule (landlock_add_rule(2)). */
static int add_rule(int set, const struct landlock_path_beneath_attr *beneath)
{
	long added = syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH,
			     beneath, 0);

	return added < 0 && errno != EBADFD ? -1 : 0;
}

int landlock_confine(const struct landlock_rule *rules, size_t count, unsigned spares,
		     struct err *e)
{
	const struct landlock_scopes all = all_of(landlock_abi(), spares);
	AUTO_CLOSE int set = make(&all, e);

	if (set < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct landlock_path_beneath_attr beneath = {
			.allowed_access = rules[i].allowed & all.handled_access_fs,
			.parent_fd = rules[i].fd,
		};
		if (rules[i].fd >= 0 && add_rule(set, &beneath) < 0)
			return err_sys(e, "add a Landlock rule");
	}
	return restrict_self(set, e);
}
