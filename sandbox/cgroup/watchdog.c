#include "sandbox/cgroup/watchdog.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"

/* The most processes, and the most threads, that one measurement looks at;
 * RLIMIT_NPROC's default is lower. */
#define PIDS_MAX 8192
#define FILE_MAX (128u << 10)

struct herd {
	pid_t pids[PIDS_MAX];
	size_t count, threads;
};

static char *read_proc(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len;

	return fd < 0 || io_read_file(fd, path, FILE_MAX, &text, &len, NULL) < 0 ? NULL
										 : text;
}

/* Adds the children that a thread has made (/proc/PID/task/TID/children, proc(5)). */
static void add_children(struct herd *h, pid_t pid, const char *thread)
{
	char path[300];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, thread);
	AUTO_FREE char *text = read_proc(path);
	char *rest = text;
	for (char *word; rest && (word = strsep(&rest, " "));)
		if (*word && h->count < PIDS_MAX)
			h->pids[h->count++] = (pid_t)atoi(word);
}

static void look_at(struct herd *h, pid_t pid)
{
	struct dirent *entry;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	while (dir && (entry = readdir(dir)) && h->threads < PIDS_MAX) {
		if (entry->d_name[0] == '.')
			continue;
		h->threads++;
		add_children(h, pid, entry->d_name);
	}
	if (dir)
		(void)closedir(dir); /* an error is harmless: the folder was only read */
}

/* Collects `init` and all its descendants.  If a process ends meanwhile and another
 * process gets its pid, this one measurement counts a foreign process. */
static void gather(struct herd *h, pid_t init)
{
	h->pids[h->count++] = init;
	for (size_t i = 0; i < h->count; i++)
		look_at(h, h->pids[i]);
}

/* Returns the resident memory in bytes, from the second number of /proc/PID/statm. */
static uint64_t resident(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	AUTO_FREE char *text = read_proc(path);
	const char *blank = text ? strchr(text, ' ') : NULL;
	return blank ? strtoull(blank, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Returns in bytes the process's share of the memory that it has mapped and of its
 * memory that is swapped out.  A page that N processes share counts as 1/N page. */
static uint64_t proportional(pid_t pid)
{
	static const char *const keys[] = { "\nPss:", "\nSwapPss:" };
	uint64_t kib = 0;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	AUTO_FREE char *text = read_proc(path);
	if (!text)
		return resident(pid);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *at = strstr(text, keys[i]);
		kib += at ? strtoull(at + strlen(keys[i]), NULL, 10) : 0;
	}
	return kib << 10;
}

uint64_t watchdog_measure(pid_t init, uint64_t limit)
{
	AUTO_FREE struct herd *h = mem_zeroed(1, sizeof(*h));
	uint64_t rough = 0, exact = 0;
	gather(h, init);
	for (size_t i = 0; i < h->count; i++)
		rough += resident(h->pids[i]);
	for (size_t i = 0; rough > limit && i < h->count; i++)
		exact += proportional(h->pids[i]);
	return rough > limit ? exact : rough;
}

/* Returns the processor time in microseconds, from fields 14 to 17 of
 * /proc/PID/stat: the process's own time, and that of the children that it has
 * waited for.  The process's name, field 2, may hold anything, so the parsing begins
 * behind the last parenthesis. */
static uint64_t cpu_of(pid_t pid, bool is_init)
{
	unsigned long own[2] = { 0 }, waited[2] = { 0 };
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	AUTO_FREE char *text = read_proc(path);
	const char *at = text ? strrchr(text, ')') : NULL;
	if (!at ||
	    sscanf(at, ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu %lu %lu",
		   &own[0], &own[1], &waited[0], &waited[1]) != 4)
		return 0;
	uint64_t ticks = waited[0] + waited[1] + (is_init ? 0 : own[0] + own[1]);
	return ticks * (1000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

void watchdog_consumption(pid_t init, struct consumption *ret)
{
	AUTO_FREE struct herd *h = mem_zeroed(1, sizeof(*h));

	*ret = (struct consumption){ 0 };
	gather(h, init);
	for (size_t i = 0; i < h->count; i++) {
		ret->cpu_us += cpu_of(h->pids[i], i == 0);
		ret->memory += i ? resident(h->pids[i]) : 0;
	}
	ret->pids = h->count - 1;
}
