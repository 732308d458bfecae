#include "gateway/free_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

#define TEXT_MAX 8192

enum file { HOST, LIMIT, USED, PARTS };

/* A container sees its own cgroup at the root of the file system cgroup2
 * (cgroup_namespaces(7)); the root of a host has no such files. */
static const char *const paths[FREE_MEMORY_FILES] = {
	[HOST] = "/proc/meminfo",
	[LIMIT] = "/sys/fs/cgroup/memory.max",
	[USED] = "/sys/fs/cgroup/memory.current",
	[PARTS] = "/sys/fs/cgroup/memory.stat",
};

void free_memory_open(struct free_memory *m)
{
	for (int i = 0; i < FREE_MEMORY_FILES; i++)
		m->fds[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
}

void free_memory_close(struct free_memory *m)
{
	for (int i = 0; i < FREE_MEMORY_FILES; i++)
		own_close(&m->fds[i]);
}

uint64_t free_memory_line(const char *text, const char *name)
{
	const size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		char *end;

		line += *line == '\n';
		if (strncmp(line, name, len) != 0)
			continue;
		const char *digits = line + len + strspn(line + len, " \t");
		const unsigned long long n = strtoull(digits, &end, 10);
		return end > digits && *digits != '-' ? n : UINT64_MAX;
	}
	return UINT64_MAX;
}

static uint64_t figure(const struct free_memory *m, enum file f, const char *name)
{
	char text[TEXT_MAX];
	const ssize_t n = m->fds[f] < 0 ? -1
					: pread(m->fds[f], text, sizeof(text) - 1, 0);

	if (n <= 0)
		return UINT64_MAX;
	text[n] = '\0';
	return free_memory_line(text, name);
}

uint64_t free_memory_bytes(const struct free_memory *m)
{
	const uint64_t host = figure(m, HOST, "MemAvailable:");
	const uint64_t limit = figure(m, LIMIT, ""), used = figure(m, USED, "");
	const uint64_t cached = figure(m, PARTS, "inactive_file ");
	const uint64_t host_bytes = host > UINT64_MAX / 1024 ? UINT64_MAX : host * 1024;

	if (limit == UINT64_MAX || used == UINT64_MAX)
		return host_bytes;
	/* The kernel takes back what it caches of files before it kills. */
	const uint64_t busy = cached < used ? used - cached : used;
	const uint64_t left = busy < limit ? limit - busy : 0;
	return left < host_bytes ? left : host_bytes;
}
