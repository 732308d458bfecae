#include "sandbox/landlock.h"

#include <linux/landlock.h>
#include <stdint.h>
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

static int enter(const struct landlock_scopes *attr, struct err *e)
{
	AUTO_CLOSE int rules =
		(int)syscall(SYS_landlock_create_ruleset, attr, sizeof(*attr), 0);
	if (rules < 0)
		return err_sys(e, "make a Landlock ruleset");
	if (syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return err_sys(e, "enter the Landlock domain");
	return 0;
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
	/* What is zero behind that an older kernel does not know may be there. */
	static const struct landlock_scopes oldest = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK,
	};

	return landlock_abi() >= LANDLOCK_ABI_SCOPES ? landlock_scope(e) : enter(&oldest, e);
}
