#include "sandbox/cgroup_limits.h"

#include <errno.h>
#include <stdint.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"

/* The period of cpu.max, in microseconds: the kernel's default. */
#define PERIOD_US 100000

static int set_number(int cmds, const char *file, uint64_t value, struct err *e)
{
	AUTO_FREE char *text = text_format("%llu", (unsigned long long)value);

	return io_write_proc(cmds, file, text, e);
}

/* A kernel without swap has no file to forbid it in. */
static int set_memory(int cmds, uint64_t bytes, struct err *e)
{
	struct err absent = { 0 };

	if (io_write_proc(cmds, "memory.swap.max", "0", &absent) < 0 && absent.sys != ENOENT) {
		*e = absent;
		return -1;
	}
	return set_number(cmds, "memory.max", bytes, e) < 0
		       ? -1
		       : io_write_proc(cmds, "memory.oom.group", "1", e);
}

static int set_cpus(int cmds, uint32_t thousandths, struct err *e)
{
	AUTO_FREE char *quota = text_format("%llu %d",
					    (unsigned long long)thousandths * (PERIOD_US / 1000),
					    PERIOD_US);

	return io_write_proc(cmds, "cpu.max", quota, e);
}

int cgroup_limits_set(int cmds, const struct limits *l, unsigned own, struct err *e)
{
	if (l->memory && set_memory(cmds, l->memory, e) < 0)
		return -1;
	if (l->pids && set_number(cmds, "pids.max", l->pids + own, e) < 0)
		return -1;
	return l->cpus ? set_cpus(cmds, l->cpus, e) : 0;
}
