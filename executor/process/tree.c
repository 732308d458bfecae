#include "executor/process/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/own.h"

#define PROC_MAGIC 0x9fa0 /* the type of procfs in statfs(2) */

/* A list of processes, ordered by pid. */
struct people {
	struct tree_process *all; /* owned; the array of processes */
	size_t count, room;
};

struct tree {
	int proc; /* borrowed; the procfs */
	pid_t root;
	struct people members; /* the processes that were found to belong to the tree and
			        * were stopped */
	int64_t due;	       /* the deadline of the search, in ms of clock.h */
	bool is_late;	       /* the deadline had passed when the clock was last read */
};

bool tree_can_look(int proc)
{
	struct statfs fs;
	char self[16] = { 0 };

	if (fstatfs(proc, &fs) < 0 || fs.f_type != PROC_MAGIC)
		return false;
	return readlinkat(proc, "self", self, sizeof(self) - 1) > 0 &&
	       atoi(self) == getpid();
}

/* --- what /proc says ------------------------------------------------------- */

/* The numbers of fields of /proc/PID/stat (proc(5)), counted from the one after the
 * process's name. */
enum { STAT_PARENT = 1, STAT_GROUP, STAT_SESSION, STAT_BIRTH = 19, STAT_FIELDS };

/* Parses /proc/PID/stat from its last ')' on.  The process's name may contain ')' and
 * blanks, but no field after the name contains a ')'. */
bool tree_parse(const char *text, struct tree_process *ret)
{
	const char *at = strrchr(text, ')');
	uint64_t fields[STAT_FIELDS] = { 0 };
	char *end;

	if (!at || at[1] != ' ' || !at[2])
		return false;
	const char state = at[2];
	at += 3;
	for (size_t i = STAT_PARENT; i < STAT_FIELDS; i++, at = end) {
		errno = 0;
		fields[i] = strtoull(at, &end, 10); /* strtoull(3) also accepts a '-', and
						     * some fields before the last are
						     * negative */
		if (end == at || errno)
			return false;
	}
	*ret = (struct tree_process){
		.pid = atoi(text),
		.parent = (pid_t)fields[STAT_PARENT],
		.group = (pid_t)fields[STAT_GROUP],
		.session = (pid_t)fields[STAT_SESSION],
		.birth = fields[STAT_BIRTH],
		.is_asleep = state == 'S',
	};
	return true;
}

/* Reads one process's state from /proc.  Returns false if there is no such process. */
static bool look_at(int proc, const char *pid, struct tree_process *ret)
{
	char name[32], text[1024]; /* `text` has room for the fields up to the start time,
				    * and more */

	(void)snprintf(name, sizeof(name), "%.20s/stat", pid);
	AUTO_CLOSE int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	return tree_parse(text, ret);
}

bool tree_look(int proc, pid_t pid, struct tree_process *ret)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "%d", (int)pid);
	return look_at(proc, name, ret);
}

static ssize_t read_about(int proc, pid_t pid, const char *what, char *to, size_t room)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%d/%s", (int)pid, what);
	AUTO_CLOSE int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : read(fd, to, room);
}

enum tree_arguments tree_compare_arguments(int proc, pid_t a, pid_t b)
{
	char one[512], other[512];
	ssize_t len = read_about(proc, a, "cmdline", one, sizeof(one));
	ssize_t other_len = read_about(proc, b, "cmdline", other, sizeof(other));

	if (len <= 0 || other_len <= 0)
		return TREE_HAS_ENDED;
	return len == other_len && memcmp(one, other, (size_t)len) == 0
		       ? TREE_SAME_ARGUMENTS
		       : TREE_OTHER_ARGUMENTS;
}

/* Returns true if the signal is in the set, which is a line of /proc/PID/status.  That
 * file begins with the process's name, in which the kernel escapes newlines, so a name
 * cannot look like such a line. */
static bool has_signal(const char *status, const char *set, int signo)
{
	const char *at = strstr(status, set);

	return at && (strtoull(at + strlen(set), NULL, 16) >> (signo - 1)) & 1;
}

bool tree_minds_signal(int proc, pid_t pid, int signo)
{
	char text[8192]; /* large, since the file has a line for supplementary groups,
			  * which may be many */
	ssize_t len = read_about(proc, pid, "status", text, sizeof(text) - 1);

	if (len <= 0)
		return false;
	text[len] = '\0';
	return has_signal(text, "\nSigIgn:", signo) ||
	       has_signal(text, "\nSigCgt:", signo);
}

/* --- sets of processes ------------------------------------------------------- */

/* Returns the index of `pid`, or the index at which it would be inserted. */
static size_t place_of(const struct people *p, pid_t pid)
{
	size_t first = 0, end = p->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (p->all[middle].pid < pid)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static const struct tree_process *find(const struct people *p, pid_t pid)
{
	size_t at = place_of(p, pid);

	return at < p->count && p->all[at].pid == pid ? &p->all[at] : NULL;
}

/* Adds a process to the list, or replaces the process of the same pid. */
static void add(struct people *p, const struct tree_process *one)
{
	size_t at = place_of(p, one->pid);

	if (at == p->count || p->all[at].pid != one->pid) {
		if (p->count == p->room) {
			p->room = p->room ? p->room * 2 : 64;
			p->all = mem_resize(p->all, p->room, sizeof(*p->all));
		}
		memmove(&p->all[at + 1], &p->all[at], (p->count - at) * sizeof(*p->all));
		p->count++;
	}
	p->all[at] = *one;
}

/* Reads all processes that /proc shows now. */
static void look_around(int proc, struct people *to)
{
	int again = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct tree_process one;
	struct dirent *d;

	to->count = 0;
	while (dir && (d = readdir(dir)))
		if (*d->d_name >= '1' && *d->d_name <= '9' &&
		    look_at(proc, d->d_name, &one))
			add(to, &one);
	if (dir)
		(void)closedir(dir); /* the folder was only read, so an error of
				      * closedir(3) does not matter */
	else
		own_close(&again);
}

/* --- which processes belong -------------------------------------------------- */

/* Returns the member of the tree that is the parent or session leader of a process; NULL:
 * the process does not belong to the tree.  The two were read from /proc at different
 * times, so stop() checks the answer again. */
static const struct tree_process *belongs_by(const struct tree *t,
					     const struct tree_process *one)
{
	const struct tree_process *by = find(&t->members, one->parent);

	return by ? by : find(&t->members, one->session);
}

static bool is_known(const struct tree *t, const struct tree_process *one)
{
	const struct tree_process *known = find(&t->members, one->pid);

	return known && known->birth == one->birth;
}

static void signal_by(int pidfd, int signo)
{
	/* The call fails only if the process has died. */
	(void)sys_pidfd_send_signal(pidfd, signo);
}

/* Returns true if the pid of `by` has not been reused: the start time is the same. */
static bool still_is(const struct tree *t, const struct tree_process *by)
{
	struct tree_process now;

	return by->pid == t->root ||
	       (tree_look(t->proc, by->pid, &now) && now.birth == by->birth);
}

/* Stops a process group.  This must come before any signal to a single member.  The
 * kernel passes a group's signal on to a child that a member is just forking, but not if
 * the same signal is already pending for that member (__send_signal_locked()). */
static int stop_group(pid_t group)
{
	return group > 1 ? kill(-group, SIGSTOP) : 0;
}

/* Stops a process that seems to belong to the tree.  Returns false if the process has
 * died, or does not belong to the tree. */
static bool stop(struct tree *t, const struct tree_process *one)
{
	struct tree_process now;

	AUTO_CLOSE int pidfd = sys_pidfd_open(one->pid, 0);
	if (pidfd < 0 || !tree_look(t->proc, one->pid, &now) || now.birth != one->birth)
		return false;
	const struct tree_process *by = belongs_by(t, &now);
	if (!by || !still_is(t, by))
		return false;
	stop_group(now.group);
	signal_by(pidfd, SIGSTOP);
	add(&t->members, &now);
	return true;
}

/* Stops the processes in `seen` that belong to the tree and are not members yet; repeats
 * that, since each new member may have children in `seen`.  Returns how many it
 * stopped. */
static size_t gather(struct tree *t, const struct people *seen)
{
	size_t count = 0, before;

	do {
		before = count;
		for (size_t i = 0; i < seen->count; i++) {
			const struct tree_process *one = &seen->all[i];
			if (!is_known(t, one) && belongs_by(t, one))
				count += stop(t, one);
		}
	} while (count > before);
	return count;
}

/* Stops processes until no new member of the tree is found.  The executor does nothing
 * else meanwhile, so this loop reads the clock itself, once in each round. */
static void stop_all(struct tree *t)
{
	struct people seen = { 0 };
	size_t fresh;

	do {
		look_around(t->proc, &seen);
		fresh = gather(t, &seen);
		t->is_late = clock_is_due(t->due, clock_ms());
	} while (fresh > 0 && !t->is_late);
	free(seen.all);
}

static void kill_one(const struct tree *t, const struct tree_process *one)
{
	struct tree_process now;

	AUTO_CLOSE int pidfd = sys_pidfd_open(one->pid, 0);
	if (pidfd >= 0 && tree_look(t->proc, one->pid, &now) && now.birth == one->birth)
		signal_by(pidfd, SIGKILL);
}

/* Kills all members but the root, in descending order of pid, so that a shell usually
 * dies after its jobs: when a shell dies, the kernel continues a stopped group that it
 * leaves orphaned (kill_orphaned_pgrp()). */
static void kill_all(const struct tree *t)
{
	for (size_t i = t->members.count; i-- > 0;)
		if (t->members.all[i].pid != t->root)
			kill_one(t, &t->members.all[i]);
}

void tree_end(int proc, pid_t root)
{
	struct tree t = { .proc = proc, .root = root, .due = clock_ms() + TREE_MS };
	struct tree_process first;
	size_t killed = 0;

	/* A root that has not called setsid(2) yet leads no group, so it is stopped
	 * alone; it has no children yet. */
	if (stop_group(root) < 0)
		(void)kill(root, SIGSTOP);
	if (tree_look(proc, root, &first))
		add(&t.members, &first);
	/* Stops and kills until no new member is found: another process may have
	 * continued members that were stopped, and these may have forked. */
	for (stop_all(&t); killed < t.members.count && !t.is_late; stop_all(&t)) {
		killed = t.members.count;
		kill_all(&t);
	}
	kill_all(&t);
	(void)kill(-root, SIGKILL);
	(void)kill(root, SIGKILL);
	free(t.members.all);
}
