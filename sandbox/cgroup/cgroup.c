#include "sandbox/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/cgroup/cgroup_limits.h"
#include "sandbox/cgroup/cgroup_remove.h"
#include "sandbox/cgroup/watchdog.h"

#define LEAF "sup"

/* The controllers that count memory and processes for the result; they are enabled,
 * where available, even without a limit. */
#define TELLING (CONTROLLER_MEMORY | CONTROLLER_PIDS)

static const enum controller all_controllers[] = { CONTROLLER_MEMORY, CONTROLLER_PIDS,
						   CONTROLLER_CPU };

void cgroup_init(struct cgroup *c)
{
	*c = (struct cgroup){ .folder = -1, .cmds = -1, .into = -1, .procs = -1 };
	delegate_init(&c->parent);
}

static unsigned needed(const struct limits *l)
{
	return (l->memory ? CONTROLLER_MEMORY : 0u) | (l->pids ? CONTROLLER_PIDS : 0u) |
	       (l->cpus ? CONTROLLER_CPU : 0u);
}

int cgroup_place(struct cgroup *c, const struct policy *policy, struct err *e)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, "getrandom");
	(void)snprintf(c->name, sizeof(c->name), CGROUP_PREFIX "%d-%016llx",
		       (int)getpid(), (unsigned long long)random);
	return delegate_find(&c->parent, policy, needed(&policy->limits), c->waiter, e);
}

/* Returns a descriptor that holds the lock of `folder` while it is open.  A process
 * takes the parent's lock to make, remove or look for cgroups there. */
static int lock_folder(int folder, struct err *e)
{
	AUTO_CLOSE int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (fd >= 0 && flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			own_close(&fd);
	return fd < 0 ? err_sys(e, "lock a cgroup's folder") : fd_take(&fd);
}

static int move_process(int folder, const char *leaf, pid_t pid, struct err *e)
{
	AUTO_FREE char *file = text_format("%s/cgroup.procs", leaf);
	AUTO_FREE char *number = text_format("%d", (int)pid);

	return io_write_proc(folder, file, number, e);
}

/* Moves hutch into a child of its own cgroup.  While a cgroup has processes in it, it
 * cannot enable controllers for its children (cgroups(7), "no internal processes"
 * rule). */
static int enter_leaf(const struct cgroup *c, pid_t companion, struct err *e)
{
	if (!c->parent.is_own)
		return 0;
	if (mkdirat(c->parent.fd, LEAF, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make %.300s/" LEAF, c->parent.path);
	if (move_process(c->parent.fd, LEAF, getpid(), e) < 0 ||
	    (companion && move_process(c->parent.fd, LEAF, companion, e) < 0) ||
	    (c->waiter && !c->parent.is_scope &&
	     move_process(c->parent.fd, LEAF, c->waiter, e) < 0))
		return err_in(e, "move to %.300s/" LEAF, c->parent.path);
	return 0;
}

/* Undoes enter_leaf() after the last sandbox.  While cgroups of other sandboxes use
 * the controllers, the write that disables them fails, and hutch stays in the leaf. */
static void leave_leaf(const struct cgroup *c, pid_t companion)
{
	unsigned has = delegate_controllers(c->parent.fd, "cgroup.subtree_control");
	char word[16];

	for (size_t i = 0; i < ARRAY_LEN(all_controllers); i++) {
		if (!(has & all_controllers[i]))
			continue;
		delegate_word(word, '-', all_controllers[i]);
		if (io_write_proc(c->parent.fd, "cgroup.subtree_control", word, NULL) < 0)
			return;
	}
	if (companion)
		/* If a process cannot be moved, cgroup_remove_leaf() fails too, and the leaf
		 * stays. */
		(void)move_process(c->parent.fd, ".", companion, NULL);
	if (c->waiter && getppid() == c->waiter)
		(void)move_process(c->parent.fd, ".", c->waiter, NULL);
	(void)move_process(c->parent.fd, ".", getpid(), NULL);
	/* cgroup_remove_leaf() waits until the leaf is empty: a launcher that was killed
	 * stays in it until the kernel has removed its process. */
	cgroup_remove_leaf(c->parent.fd, LEAF);
}

/* Enables the controllers `wanted`.  Only those that are also in `needs` must
 * succeed. */
static int enable(int folder, unsigned wanted, unsigned needs, struct err *e)
{
	unsigned missing = wanted &
			   ~delegate_controllers(folder, "cgroup.subtree_control");
	char word[16];

	for (size_t i = 0; i < ARRAY_LEN(all_controllers); i++) {
		if (!(missing & all_controllers[i]))
			continue;
		delegate_word(word, '+', all_controllers[i]);
		if (io_write_proc(folder, "cgroup.subtree_control", word, e) < 0 &&
		    (needs & all_controllers[i]))
			return -1;
	}
	return 0;
}

static int make_leaf(int folder, const char *name, int *ret_fd, struct err *e)
{
	if (mkdirat(folder, name, 0755) < 0)
		return err_sys(e, "make a cgroup");
	*ret_fd = cgroup_open_below(folder, name);
	return *ret_fd < 0 ? err_sys(e, "open a cgroup") : 0;
}

static int make_leaves(struct cgroup *c, struct err *e)
{
	if (make_leaf(c->folder, CGROUP_CMDS, &c->cmds, e) < 0)
		return -1;
	if (!c->is_split) {
		c->into = fcntl(c->cmds, F_DUPFD_CLOEXEC, 0);
		return c->into < 0 ? err_sys(e, "duplicate a descriptor") : 0;
	}
	c->procs = openat(c->cmds, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (c->procs < 0)
		return err_sys(e, "open cgroup.procs");
	return make_leaf(c->folder, CGROUP_EXEC, &c->into, e);
}

static int make(struct cgroup *c, const struct limits *l, pid_t companion, struct err *e)
{
	unsigned needs = needed(l), wanted = needs | (c->parent.has & TELLING);

	AUTO_CLOSE int lock = lock_folder(c->parent.fd, e);
	if (lock < 0)
		return -1;
	cgroup_sweep(c->parent.fd);
	if (enter_leaf(c, companion, e) < 0 || enable(c->parent.fd, wanted, needs, e) < 0)
		return -1;
	if (make_leaf(c->parent.fd, c->name, &c->folder, e) < 0)
		return -1;
	if (flock(c->folder, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, "lock a cgroup's folder");
	return enable(c->folder, wanted, needs, e) < 0 || make_leaves(c, e) < 0 ? -1 : 0;
}

int cgroup_make(struct cgroup *c, const struct limits *limits, pid_t companion,
		struct err *e)
{
	/* An executor that lives in the cgroup of its command counts in pids.max, so
	 * the limit is raised by one for it. */
	if (make(c, limits, companion, e) == 0 &&
	    cgroup_limits_set(c->cmds, limits, !c->is_split, e) == 0)
		return 0;
	return err_in(e, "make a cgroup in %.300s", c->parent.path);
}

/* Enables controllers that the cgroup was made without, if the parent has them.
 * Other launches make and remove cgroups in the parent meanwhile, so its lock is
 * held. */
static int enable_more(const struct cgroup *c, unsigned more, struct err *e)
{
	unsigned missing = more &
			   ~delegate_controllers(c->parent.fd, "cgroup.controllers");

	if (missing) {
		AUTO_FREE char *names = delegate_names(missing);
		(void)err_set(e, ERR_UNSUPPORTED,
			      "its cgroup was made in %.300s, which has no "
			      "controller for it: %s",
			      c->parent.path, names);
		return err_remedy(e, "hutch doctor says how hutch gets cgroups with it");
	}
	AUTO_CLOSE int lock = lock_folder(c->parent.fd, e);
	if (lock < 0)
		return -1;
	if (enable(c->parent.fd, more, more, e) < 0 ||
	    enable(c->folder, more, more, e) < 0)
		return err_in(e, "give the sandbox's cgroup in %.300s more controllers",
			      c->parent.path);
	return 0;
}

int cgroup_update(const struct cgroup *c, const struct limits *was,
		  const struct limits *now, struct err *e)
{
	unsigned has = delegate_controllers(c->folder, "cgroup.subtree_control");
	unsigned more = needed(now) & ~has;

	if ((more && enable_more(c, more, e) < 0) ||
	    cgroup_limits_change(c->cmds, was, now, e) < 0)
		return -1;
	return 0;
}

char *cgroup_commands_path(const struct cgroup *c)
{
	return text_format("%s/%s/" CGROUP_CMDS, c->parent.path, c->name);
}

/* Returns the number behind `key` in a file of the cgroup, or 0 if there is no such
 * file or key.  The key "" is for files that contain one number and no key. */
static uint64_t read_count(int folder, const char *file, const char *key)
{
	AUTO_CLOSE int fd = openat(folder, file, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len, key_len = strlen(key);

	if (fd < 0 || io_read_file(fd, file, 4096, &text, &len, NULL) < 0)
		return 0;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (!strncmp(line, key, key_len) && (!key_len || line[key_len] == ' '))
			return strtoull(line + key_len, NULL, 10);
	return 0;
}

void cgroup_usage(const struct cgroup *c, struct usage *ret)
{
	*ret = (struct usage){ 0 };
	if (c->cmds < 0)
		return;
	ret->memory_peak = read_count(c->cmds, "memory.peak", "");
	ret->pids_peak = read_count(c->cmds, "pids.peak", "");
	if (ret->pids_peak && !c->is_split)
		ret->pids_peak--; /* do not count the executor, which is hutch's own
				   * process */
	ret->oom_kills = read_count(c->cmds, "memory.events", "oom_kill");
	ret->is_over_limit = read_count(c->cmds, "memory.events", "oom") > 0;
	ret->pids_refused = read_count(c->cmds, "pids.events", "max");
}

static void read_consumption(int cmds, bool has_cpu, struct consumption *ret)
{
	*ret = (struct consumption){
		.memory = read_count(cmds, "memory.current", ""),
		.cpu_us = has_cpu ? read_count(cmds, "cpu.stat", "usage_usec") : 0,
		.pids = read_count(cmds, "pids.current", ""),
	};
}

void cgroup_consumption(const struct cgroup *c, struct consumption *ret)
{
	read_consumption(c->cmds, true, ret);
}

bool cgroup_look(const char *commands, bool has_cpu, struct consumption *ret)
{
	AUTO_CLOSE int cmds = open(commands, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (cmds < 0)
		return false;
	read_consumption(cmds, has_cpu, ret);
	return true;
}

int cgroup_freeze(const struct cgroup *c, bool is_frozen, struct err *e)
{
	return io_write_proc(c->cmds, "cgroup.freeze", is_frozen ? "1" : "0", e);
}

int cgroup_events(const struct cgroup *c, struct err *e)
{
	int fd = openat(c->cmds, "cgroup.events", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open cgroup.events") : fd;
}

int cgroup_is_frozen(int events, struct err *e)
{
	char text[256];
	ssize_t n = pread(events, text, sizeof(text) - 1, 0);

	if (n < 0)
		return err_sys(e, "read cgroup.events");
	text[n] = '\0';
	return strstr(text, "frozen 1") != NULL;
}

void cgroup_remove(struct cgroup *c, pid_t companion)
{
	if (!c || !c->parent.path)
		return;
	own_close(&c->procs);
	own_close(&c->into);
	own_close(&c->cmds);
	AUTO_CLOSE int lock = lock_folder(c->parent.fd, NULL);
	(void)lock; /* without the lock another launch may remove the same folder,
		     * which does no harm */
	cgroup_remove_folder(c->parent.fd, c->name);
	own_close(&c->folder);
	if (c->parent.is_own && !c->parent.is_scope)
		leave_leaf(c, companion);
	delegate_done(&c->parent);
}
