/* hutch-scope PID: moves its caller, a hutch process, into a cgroup of the caller's
 * own.
 *
 * hutch-scope asks the systemd user manager, over the user's bus, for a transient
 * scope with the caller in it and Delegate=yes: from then on the manager leaves the
 * cgroups below the scope alone, and removes the scope when its last process is
 * gone.  hutch-scope returns when the manager reports the end of the job
 * (JobRemoved), since the process is not moved before that.  On failure it prints
 * one sentence on stderr.
 *
 * For hutch-oci, with BUS "system" or "user":
 *
 *	hutch-scope start BUS PID SLICE NAME [PROPERTY]...	makes a scope of that name with
 *								a child of the caller in it
 *	hutch-scope set BUS NAME [PROPERTY]...			changes properties of it
 *	hutch-scope stop BUS NAME				stops it, if it is there */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "sandbox/cgroup/scope_bus.h"

static int misused(void)
{
	(void)fprintf(stderr, "hutch-scope is run by hutch, with its process id\n");
	return 1;
}

/* Reads the parent of a process from /proc/PID/stat, where the name in parentheses may hold
 * anything; 0: there is no such process. */
static int parent_of(int pid)
{
	char path[32], text[1024];
	int parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid); /* fits */
	FILE *file = fopen(path, "re");
	const size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[n] = '\0';
	if (file)
		(void)fclose(file); /* it was only read */
	const char *end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* Only the parent process or a child of it may be moved, which the parent has not waited for
 * yet: any other pid could be stale, and belong to another process by now. */
static int read_pid(const char *text)
{
	const int pid = atoi(text);

	if (getppid() == 1 || pid <= 1)
		return 0;
	return pid == getppid() || parent_of(pid) == getppid() ? pid : 0;
}

/* hutch-scope PID */
static int enter_own(const char *pid)
{
	struct scope_unit u = { .description = "a sandbox of hutch",
				.pid = (uint32_t)read_pid(pid) };
	uint64_t random;
	char name[64];

	if (!u.pid)
		return misused();
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return misused();
	(void)snprintf(name, sizeof(name), "hutch-%u-%016llx.scope", u.pid,
		       (unsigned long long)random);
	u.name = name;
	return scope_bus_act(false, SCOPE_START, &u);
}

static bool is_system(const char *bus)
{
	return !strcmp(bus, "system");
}

/* hutch-scope start BUS PID SLICE NAME [PROPERTY]... */
static int start(char **words)
{
	const struct scope_unit u = { .name = words[3],
				      .description = "a container of hutch-oci",
				      .slice = words[2],
				      .pid = (uint32_t)read_pid(words[1]),
				      .properties = words + 4 };

	return u.pid ? scope_bus_act(is_system(words[0]), SCOPE_START, &u) : misused();
}

int main(int argc, char **argv)
{
	const struct scope_unit named = { .name = argc > 3 ? argv[3] : "",
					  .properties = argc > 3 ? argv + 4 : NULL };

	if (argc == 2)
		return enter_own(argv[1]);
	if (argc > 5 && !strcmp(argv[1], "start"))
		return start(argv + 2);
	if (argc > 3 && !strcmp(argv[1], "set"))
		return scope_bus_act(is_system(argv[2]), SCOPE_SET, &named);
	if (argc == 4 && !strcmp(argv[1], "stop"))
		return scope_bus_act(is_system(argv[2]), SCOPE_STOP, &named);
	return misused();
}
