/* scene -- surroundings of a unit test: a temporary folder, a child process,
 * new namespaces.
 *
 * A failed assertion of cmocka jumps back to the runner, which must not happen
 * in a child.  A child uses CHECK(), which prints the place and ends the
 * child.  Include it behind cmocka.h. */
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/kernel/idmap.h"
#include "tests/patience.h"

#define SCENE_SECONDS	    PATIENCE_S
#define SCENE_NO_NAMESPACES 77 /* exit code of a child that was refused a namespace */

#define CHECK(claim) ((claim) ? (void)0 : scene_child_failed(__FILE__, __LINE__, #claim))

__attribute__((noreturn)) static inline void
scene_child_failed(const char *file, int line, const char *claim)
{
	(void)dprintf(2, "%s:%d: in a child: %s (errno: %s)\n", file, line, claim,
		      strerror(errno));
	_exit(1);
}

/* Setup and teardown of a test that needs a folder below /tmp, mode 0755;
 * *state is its path. */
static inline int scene_setup(void **state)
{
	char *path = text_copy("/tmp/hutch-unit-XXXXXX");

	*state = path;
	return mkdtemp(path) && chmod(path, 0755) == 0 ? 0 : -1;
}

static inline int scene_remove_one(const char *path, const struct stat *st, int type,
				   struct FTW *where)
{
	(void)st, (void)where;
	return type == FTW_DP ? rmdir(path) : unlink(path);
}

/* Gives the owner all rights to a folder again, so that a folder whose mode a test
 * has changed can be removed. */
static inline int scene_open_up(const char *path, const struct stat *st, int type,
				struct FTW *where)
{
	(void)st, (void)where;
	if (type == FTW_D || type == FTW_DNR)
		(void)chmod(path, 0700); /* if this fails, the removal below fails, too */
	return 0;
}

static inline int scene_teardown(void **state)
{
	(void)nftw(*state, scene_open_up, 16, FTW_PHYS | FTW_MOUNT);
	int result = nftw(*state, scene_remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);

	free(*state);
	return result;
}

/* Returns "FOLDER/NAME", allocated. */
static inline char *scene_path(void **state, const char *name)
{
	return text_format("%s/%s", (const char *)*state, name);
}

/* Makes a folder, a file with this content, or a link.  Parents must exist. */
static inline void scene_dir(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);

	assert_int_equal(mkdir(path, 0755), 0);
}

static inline void scene_file(void **state, const char *name, const char *content)
{
	AUTO_FREE char *path = scene_path(state, name);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
}

static inline void scene_link(void **state, const char *name, const char *to)
{
	AUTO_FREE char *path = scene_path(state, name);

	assert_int_equal(symlink(to, path), 0);
}

static inline int scene_child_code(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs `play` in a child process, and fails the test unless `play` returns. */
static inline void scene_child(void (*play)(void *), void *arg)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)alarm(PATIENCE_S);
		play(arg);
		_exit(0);
	}
	assert_int_equal(scene_child_code(pid), 0);
}

static inline void scene_enter(int flags, unsigned id)
{
	const struct idmap uid = { id, geteuid(), 1 }, gid = { id, getegid(), 1 };
	struct err e;

	if (unshare(CLONE_NEWUSER | flags) < 0)
		_exit(SCENE_NO_NAMESPACES);
	CHECK(idmap_write_both(&uid, &gid, &e) == 0);
}

/* Runs `play` in a child in a new user namespace with this id, and in the other new
 * namespaces of `flags` (CLONE_NEW*).  Skips the test where the host does not allow
 * that. */
static inline void scene_inside(int flags, unsigned id, void (*play)(void *), void *arg)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)alarm(PATIENCE_S);
		scene_enter(flags, id);
		play(arg);
		_exit(0);
	}
	int code = scene_child_code(pid);
	if (code == SCENE_NO_NAMESPACES) {
		print_message("skipped: this host allows no user namespace\n");
		skip();
	}
	assert_int_equal(code, 0);
}

struct scene_first {
	void (*play)(void *);
	void *arg;
};

static inline void scene_fork_first(void *first)
{
	const struct scene_first *f = first;
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		f->play(f->arg);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Runs `play` so in new mount and pid namespaces, as pid 1, which mounting a new procfs
 * requires. */
static inline void scene_first(void (*play)(void *), void *arg)
{
	struct scene_first f = { play, arg };

	scene_inside(CLONE_NEWNS | CLONE_NEWPID, 1000, scene_fork_first, &f);
}

/* Tells whether a file has this short text, and no more. */
static inline bool scene_holds(const char *path, const char *text)
{
	char got[64] = { 0 };
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, got, sizeof(got) - 1) >= 0 && !strcmp(got, text);
}

/* A process as /proc/PID/status shows it. */
struct scene_process {
	char state; /* a letter of proc_pid_stat(5); 0: there is no such process */
	unsigned long sleeps; /* how often the process has gone to sleep */
};

static inline struct scene_process scene_process(pid_t pid)
{
	AUTO_FREE char *path = text_format("/proc/%d/status", (int)pid);
	struct scene_process p = { 0 };
	char line[256];
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f)) {
		(void)sscanf(line, "State: %c", &p.state);
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &p.sleeps);
	}
	if (f)
		(void)fclose(f);
	return p;
}

/* For patience_wait(): true if the child *context sleeps in a system call, or has
 * ended. */
static inline bool scene_sleeps_or_ended(void *context)
{
	const char state = scene_process(*(const pid_t *)context).state;

	return state == 'S' || state == 'Z';
}

/* Called as root, becomes user 65534 for good, as hutch itself becomes an
 * ordinary user.  For the start of a main(). */
static inline void scene_leave_root(void)
{
	if (geteuid() != 0)
		return;
	if (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
	    setresuid(65534, 65534, 65534) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
		abort();
}

/* Returns the number of descriptors that this process has open. */
static inline unsigned scene_open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

/* Tells whether something can be read from `fd` within `ms`. */
static inline bool scene_readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}
