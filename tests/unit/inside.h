/* inside -- the processes of an executor that is a pid namespace's init, seen from
 * outside.  Include it behind cmocka.h. */
#pragma once
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/patience.h"
#include "tests/unit/supervisor.h"

static inline bool inside_is(pid_t pid, const char *namespace)
{
	char path[64], link[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	ssize_t len = readlink(path, link, sizeof(link) - 1);
	link[len > 0 ? len : 0] = '\0';
	return strcmp(link, namespace) == 0;
}

/* Returns the state letter of a process ('T', 'S', ...), or 0 if there is no
 * such process. */
static inline char inside_state(pid_t pid)
{
	char path[64], text[512];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	size_t len = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		(void)fclose(f);
	text[len] = '\0';
	const char *name_end = strrchr(text, ')');
	return (char)(name_end ? name_end[2] : 0);
}

/* Number of processes besides the executor, and how many of them are stopped. */
struct inside {
	unsigned count, stopped;
	pid_t one; /* one of these processes; 0: there are none */
};

static inline struct inside inside_look(const struct supervisor *s)
{
	struct inside found = { 0 };
	char path[64], namespace[64];
	struct dirent *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", s->pid);
	ssize_t len = readlink(path, namespace, sizeof(namespace) - 1);
	assert_true(len > 0);
	namespace[len] = '\0';
	DIR *dir = opendir("/proc");
	assert_non_null(dir);
	while ((d = readdir(dir))) {
		pid_t pid = isdigit(d->d_name[0]) ? atoi(d->d_name) : 0;
		if (!pid || pid == s->pid || !inside_is(pid, namespace))
			continue;
		char state = inside_state(pid);
		if (state == 0 || state == 'Z')
			continue;
		found.count++;
		found.one = pid;
		found.stopped += state == 'T';
	}
	(void)closedir(dir);
	return found;
}

struct inside_wish {
	const struct supervisor *s;
	unsigned count, stopped;
};

static inline bool inside_is_as_wished(void *wish)
{
	const struct inside_wish *w = wish;
	struct inside now = inside_look(w->s);

	return now.count == w->count && now.stopped == w->stopped;
}

/* Waits until there are `count` processes, and all or none of them are
 * stopped.  It polls: no event reports that. */
static inline void inside_wait(const struct supervisor *s, unsigned count,
			       bool is_stopped)
{
	struct inside_wish w = { s, count, is_stopped ? count : 0 };

	patience_wait(inside_is_as_wished, &w);
}
