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

/* One process by its /proc/PID/stat; all is 0 if that cannot be read. */
struct member {
	pid_t pid;
	uint64_t threads, resident, own_us, waited_us;
};

struct herd {
	struct member *members; /* owned */
	size_t count, room, threads;
};

/* openat(2), since musl's open() costs a system call more for O_CLOEXEC. */
static char *read_proc(const char *path)
{
	AUTO_CLOSE int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len;

	return fd < 0 || io_read_file(fd, path, FILE_MAX, &text, &len, NULL) < 0 ? NULL
										 : text;
}

/* Reads /proc/PID/stat, a line of at most 52 numbers and a name, by one read(2). */
static char *read_stat(pid_t pid)
{
	char path[64], line[2048];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	AUTO_CLOSE int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	const ssize_t len = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	if (len <= 0)
		return NULL;
	line[len] = '\0';
	return mem_copy(line, (size_t)len + 1);
}

/* Reads fields 14 to 17, 20 and 24 (proc(5)): the process's own time of the processor, that
 * of the children that it has waited for, its threads, and its resident pages.  The name,
 * field 2, may hold anything, so the parsing begins behind the last parenthesis, and all
 * fields from 4 on are numbers. */
static struct member parse_stat(pid_t pid, const char *text)
{
	enum { OWN = 14, WAITED = 16, THREADS = 20, PAGES = 24 };
	const char *state = text ? strrchr(text, ')') : NULL;
	const uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t fields[PAGES + 1] = { 0 };

	if (!state || strlen(state) < 4)
		return (struct member){ .pid = pid };
	char *at = (char *)state + 3;
	for (int i = 4; i <= PAGES; i++)
		fields[i] = strtoull(at, &at, 10);
	return (struct member){
		.pid = pid,
		.threads = fields[THREADS],
		.resident = fields[PAGES] * (uint64_t)sysconf(_SC_PAGESIZE),
		.own_us = (fields[OWN] + fields[OWN + 1]) * tick_us,
		.waited_us = (fields[WAITED] + fields[WAITED + 1]) * tick_us,
	};
}

static void add(struct herd *h, pid_t pid, const char *stat)
{
	if (h->count == h->room) {
		h->room = h->room ? h->room * 2 : 8;
		h->members = mem_resize(h->members, h->room, sizeof(*h->members));
	}
	h->members[h->count++] = parse_stat(pid, stat);
}

/* Adds the children that a thread has made (/proc/PID/task/TID/children, proc(5)). */
static void add_children(struct herd *h, pid_t pid, const char *thread)
{
	char path[300];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, thread);
	AUTO_FREE char *text = read_proc(path);
	char *rest = text;
	h->threads++;
	for (char *word; rest && (word = strsep(&rest, " "));) {
		if (!*word || h->count == PIDS_MAX)
			continue;
		AUTO_FREE char *stat = read_stat((pid_t)atoi(word));
		add(h, (pid_t)atoi(word), stat);
	}
}

static void look_at(struct herd *h, const struct member *m)
{
	const pid_t pid = m->pid;
	struct dirent *entry;
	char path[64];

	/* The only thread has the process's number. */
	(void)snprintf(path, sizeof(path), "%d", (int)pid);
	if (m->threads == 1)
		return add_children(h, pid, path);
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	while (dir && (entry = readdir(dir)) && h->threads < PIDS_MAX)
		if (entry->d_name[0] != '.')
			add_children(h, pid, entry->d_name);
	if (dir)
		(void)closedir(dir); /* an error is harmless: the folder was only read */
}

/* Collects `init`, whose /proc/PID/stat is `stat`, and all its descendants.  If a process
 * ends meanwhile and another process gets its pid, this one measurement counts a foreign
 * process. */
static void gather(struct herd *h, pid_t init, const char *stat)
{
	add(h, init, stat);
	for (size_t i = 0; i < h->count; i++)
		look_at(h, &h->members[i]);
}

/* Returns in bytes the process's share of the memory that it has mapped and of its
 * memory that is swapped out.  A page that N processes share counts as 1/N page. */
static uint64_t proportional(const struct member *m)
{
	static const char *const keys[] = { "\nPss:", "\nSwapPss:" };
	uint64_t kib = 0;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)m->pid);
	AUTO_FREE char *text = read_proc(path);
	if (!text)
		return m->resident;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *at = strstr(text, keys[i]);
		kib += at ? strtoull(at + strlen(keys[i]), NULL, 10) : 0;
	}
	return kib << 10;
}

uint64_t watchdog_measure(pid_t init, uint64_t limit)
{
	AUTO_FREE char *stat = read_stat(init);
	uint64_t rough = 0, exact = 0;
	struct herd h = { 0 };

	gather(&h, init, stat);
	for (size_t i = 0; i < h.count; i++)
		rough += h.members[i].resident;
	for (size_t i = 0; rough > limit && i < h.count; i++)
		exact += proportional(&h.members[i]);
	free(h.members);
	return rough > limit ? exact : rough;
}

/* Adds up what the descendants of `init` use. */
static void add_up(pid_t init, const char *stat, struct consumption *ret)
{
	struct herd h = { 0 };

	gather(&h, init, stat);
	*ret = (struct consumption){ .cpu_us = h.members[0].waited_us,
				     .pids = h.count - 1 };
	for (size_t i = 1; i < h.count; i++) {
		ret->cpu_us += h.members[i].own_us + h.members[i].waited_us;
		ret->memory += h.members[i].resident;
	}
	free(h.members);
}

void watchdog_consumption(pid_t init, struct consumption *ret)
{
	AUTO_FREE char *stat = read_stat(init);

	add_up(init, stat, ret);
}

bool watchdog_look(pid_t init, struct consumption *ret)
{
	AUTO_FREE char *stat = read_stat(init);
	const char *name = stat ? strchr(stat, '(') : NULL;

	if (!name || strncmp(name, "(hutch-executor)", 16) != 0)
		return false;
	add_up(init, stat, ret);
	return true;
}
