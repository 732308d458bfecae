#include "sandbox/cgroup/cgroup_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"

/* The period of cpu.max, in microseconds: the kernel's default. */
#define PERIOD_US 100000

#define KIB(bytes) ((unsigned long long)(bytes) >> 10)

/* Writes a limit into a file of the cgroup; a value of 0 stands for no limit ("max"). */
static int set_number(int cmds, const char *file, uint64_t value, struct err *e)
{
	AUTO_FREE char *text = value ? text_format("%llu", (unsigned long long)value)
				     : text_copy("max");

	return io_write_proc(cmds, file, text, e);
}

/* --- of a new cgroup ------------------------------------------------------------------
 */

/* Limits swap.  A kernel that was built without swap has no memory.swap.max and no
 * swap to limit, so a missing file is no error. */
static int set_swap(int cmds, const char *text, struct err *e)
{
	struct err absent = { 0 };

	if (io_write_proc(cmds, "memory.swap.max", text, &absent) == 0 ||
	    absent.sys == ENOENT)
		return 0;
	*e = absent;
	return -1;
}

static int set_memory(int cmds, uint64_t bytes, struct err *e)
{
	if (set_swap(cmds, "0", e) < 0 ||
	    io_write_proc(cmds, "memory.oom.group", "1", e) < 0)
		return -1;
	return set_number(cmds, "memory.max", bytes, e);
}

static int set_cpus(int cmds, uint32_t thousandths, struct err *e)
{
	AUTO_FREE char *quota = thousandths
					? text_format("%llu %d",
						      (unsigned long long)thousandths *
							      (PERIOD_US / 1000),
						      PERIOD_US)
					: text_format("max %d", PERIOD_US);

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

/* --- of a living cgroup ---------------------------------------------------------------
 */

static int memory_in_use(int cmds, uint64_t *ret, struct err *e)
{
	AUTO_CLOSE int fd = openat(cmds, "memory.current", O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len;

	if (fd < 0)
		return err_sys(e, "open memory.current");
	if (io_read_file(fd, "memory.current", 64, &text, &len, e) < 0)
		return -1;
	*ret = strtoull(text, NULL, 10);
	return 0;
}

/* Lowers memory.max only if the memory in use is not above the new value, since the
 * kernel would kill processes.  Therefore memory.high is lowered first: above it, the
 * kernel only gives caches back and slows allocations down (cgroup-v2).  Then the
 * memory that is still in use is read. */
static int lower_memory(int cmds, uint64_t bytes, struct err *e)
{
	uint64_t used = 0;

	if (set_swap(cmds, "0", e) < 0 || set_number(cmds, "memory.high", bytes, e) < 0 ||
	    memory_in_use(cmds, &used, e) < 0)
		return -1;
	if (used <= bytes)
		return set_memory(cmds, bytes, e);
	(void)err_set(e, ERR_LIMIT, "%llu KiB of memory are in use, and with a limit of "
				    "%llu KiB the kernel would kill everything inside",
		      KIB(used), KIB(bytes));
	return err_remedy(
		e, "end something inside, or remove files from its folders in memory, "
		   "such as /tmp; or ask for more");
}

static int change_memory(int cmds, uint64_t was, uint64_t now, struct err *e)
{
	struct err undone;

	if (was && now > was)
		return set_memory(cmds, now, e);
	int rc = lower_memory(cmds, now, e);
	if (set_number(cmds, "memory.high", 0, &undone) < 0 && rc == 0) {
		*e = undone;
		return -1;
	}
	return rc;
}

/* Changes CPU and processes first and memory last: undoing a change of memory may
 * kill processes, undoing the others does not. */
static int change(int cmds, const struct limits *was, const struct limits *now,
		  struct err *e)
{
	if (now->cpus != was->cpus && set_cpus(cmds, now->cpus, e) < 0)
		return -1;
	if (now->pids != was->pids && set_number(cmds, "pids.max", now->pids, e) < 0)
		return -1;
	return now->memory != was->memory
		       ? change_memory(cmds, was->memory, now->memory, e)
		       : 0;
}

/* Restores the limits `was` after a failed change.  Failures are ignored: the kernel
 * has accepted each of these values before. */
static void put_back(int cmds, const struct limits *was, const struct limits *now)
{
	if (now->memory != was->memory)
		(void)set_number(cmds, "memory.max", was->memory, NULL);
	if (now->memory && !was->memory) {
		(void)io_write_proc(cmds, "memory.oom.group", "0", NULL);
		(void)io_write_proc(cmds, "memory.swap.max", "max", NULL);
	}
	if (now->pids != was->pids)
		(void)set_number(cmds, "pids.max", was->pids, NULL);
	if (now->cpus != was->cpus)
		(void)set_cpus(cmds, was->cpus, NULL);
}

int cgroup_limits_change(int cmds, const struct limits *was, const struct limits *now,
			 struct err *e)
{
	if (change(cmds, was, now, e) == 0)
		return 0;
	put_back(cmds, was, now);
	return -1;
}
