#include "sandbox/kernel/rlimits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/io.h"

int rlimits_lower(int resource, uint64_t most, struct err *e)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return err_sys(e, "read limit %d", resource);
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) < 0 ? err_sys(e, "set limit %d", resource) : 0;
}

int rlimits_apply_sysctls(int folder, const struct sysctl *sysctls, size_t count,
			  struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		const struct sysctl *s = &sysctls[i];
		char value[32];
		struct err why;
		(void)snprintf(value, sizeof(value), "%llu",
			       (unsigned long long)s->value);
		if (io_write_proc(folder, s->name, value, &why) == 0 ||
		    (s->may_lack && why.sys == ENOENT))
			continue;
		*e = why;
		return err_in(e, "limit what the namespaces may use");
	}
	return 0;
}
