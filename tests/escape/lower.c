/* Writing to read-only binds: by every call that writes, by links from a
 * writable folder, by reopening a descriptor that is open for reading. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Opens the file and, if that works, writes to it.  Outside of a sandbox (the
 * control run) the files are a copy, which may be changed. */
static void write_file(struct trial *t, const char *path, int flags)
{
	AUTO_CLOSE int fd = open(path, flags | O_CLOEXEC);

	trial_file(t, fd < 0 ? -1 : write(fd, "X", 1));
}

static void open_lower(struct trial *t, int flags)
{
	write_file(t, path_in(t->set->readonly, "marker").s, flags);
}

static void lower_write(struct trial *t)
{
	open_lower(t, O_WRONLY);
}

static void lower_append(struct trial *t)
{
	open_lower(t, O_WRONLY | O_APPEND);
}

/* "victim" is a second file, so that "marker" stays long enough to map. */
static void lower_open_truncate(struct trial *t)
{
	write_file(t, path_in(t->set->readonly, "victim").s, O_WRONLY | O_TRUNC);
}

static void lower_truncate(struct trial *t)
{
	trial_file(t, truncate(path_in(t->set->readonly, "victim").s, 1));
}

static void lower_create(struct trial *t)
{
	struct path path = path_in(t->set->readonly, "created");

	trial_file(t, file_make(path.s, "", 0600));
	(void)unlink(path.s); /* exists only if the probe ran outside of a sandbox */
}

static void lower_unlink(struct trial *t)
{
	trial_file(t, unlink(path_in(t->set->readonly, "removable").s));
}

static void lower_chmod(struct trial *t)
{
	trial_file(t, chmod(path_in(t->set->readonly, "victim").s, 0644));
}

static void lower_utimes(struct trial *t)
{
	struct path path = path_in(t->set->readonly, "victim");

	trial_file(t, utimensat(AT_FDCWD, path.s, NULL, 0));
}

/* Returns the best descriptor of a file that can be had: for writing, else for
 * reading. */
static int open_best(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC);
}

static void lower_copy_range(struct trial *t)
{
	AUTO_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int to = open_best(path_in(t->set->readonly, "victim").s);

	if (from < 0 || to < 0) {
		trial_error(t, "skip", errno);
		return;
	}
	/* EBADF: a descriptor that is not open for writing. */
	long ret = syscall(SYS_copy_file_range, from, NULL, to, NULL, 16, 0);
	if (ret < 0 && errno == EBADF)
		trial_error(t, "refused", EBADF);
	else
		trial_file(t, ret);
}

static void lower_clone(struct trial *t)
{
	struct path source = path_in(t->set->scratch, "probe-clone");

	/* If this fails, so does the open(2) below. */
	(void)file_make(source.s, "x", 0600);
	AUTO_CLOSE int from = open(source.s, O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int to = open_best(path_in(t->set->readonly, "victim").s);
	int ret = ioctl(to, FICLONE, from);

	if (from < 0 || to < 0)
		trial_error(t, "skip", errno);
	else if (ret < 0 && errno == EBADF)
		trial_error(t, "refused", EBADF);
	else
		trial_file(t, ret);
	(void)unlink(source.s); /* made above */
}

static void map_write(struct trial *t, int fd)
{
	char *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED) {
		trial_error(t, "skip", errno);
		return;
	}
	int ret = mprotect(map, 1, PROT_READ | PROT_WRITE);
	trial_file(t, ret);
	if (!ret)
		*(volatile char *)map = 'X';
}

static void lower_map(struct trial *t)
{
	AUTO_CLOSE int fd = open_best(path_in(t->set->readonly, "marker").s);

	map_write(t, fd);
}

static void link_write(struct trial *t)
{
	struct path from = path_in(t->set->readonly, "marker");
	struct path to = path_in(t->set->scratch, "probe-link");
	int ret = link(from.s, to.s);

	if (ret)
		trial_file(t, ret);
	else
		write_file(t, to.s, O_WRONLY);
	(void)unlink(to.s); /* exists only if the probe ran outside of a sandbox */
}

static void link_fd(struct trial *t)
{
	struct path to = path_in(t->set->scratch, "probe-link-fd");
	AUTO_CLOSE int fd = open(path_in(t->set->readonly, "marker").s,
				 O_RDONLY | O_CLOEXEC);
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	trial_file(t, linkat(AT_FDCWD, name, AT_FDCWD, to.s, AT_SYMLINK_FOLLOW));
	(void)unlink(to.s); /* exists only if the probe ran outside of a sandbox */
}

static void rename_out(struct trial *t)
{
	struct path from = path_in(t->set->readonly, "marker");
	struct path to = path_in(t->set->scratch, "probe-renamed");
	int ret = rename(from.s, to.s);

	trial_file(t, ret);
	if (!ret)
		(void)rename(to.s, from.s); /* back where it was */
}

/* A process that may read a file may make others wait for it: a lease stops the
 * next process that opens the file for writing for up to fs.lease-break-time, a
 * lock stops every other process that locks it. */
static void lower_lease(struct trial *t)
{
	AUTO_CLOSE int fd = open(path_in(t->set->readonly, "marker").s,
				 O_RDONLY | O_CLOEXEC);

	trial_file(t, fd < 0 ? -1 : fcntl(fd, F_SETLEASE, F_RDLCK));
}

static void lower_lock(struct trial *t)
{
	AUTO_CLOSE int fd = open(path_in(t->set->readonly, "marker").s,
				 O_RDONLY | O_CLOEXEC);

	trial_file(t, fd < 0 ? -1 : flock(fd, LOCK_EX | LOCK_NB));
}

static void single_write(struct trial *t)
{
	write_file(t, t->set->single, O_WRONLY);
}

/* A magic link is not resolved by path, so the kernel checks only the mount
 * through which the descriptor was opened. */
static void single_reopen(struct trial *t)
{
	AUTO_CLOSE int fd = open(t->set->single, O_RDONLY | O_CLOEXEC);
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	write_file(t, name, (int)t->probe->value);
}

static void single_map_files(struct trial *t)
{
	AUTO_CLOSE int fd = open(t->set->single, O_RDONLY | O_CLOEXEC);
	long page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	char name[96];

	if (map == MAP_FAILED) {
		trial_error(t, "skip", errno);
		return;
	}
	snprintf(name, sizeof(name), "/proc/self/map_files/%lx-%lx",
		 (unsigned long)map, (unsigned long)map + page);
	AUTO_CLOSE int again = open(name, O_RDWR | O_CLOEXEC);
	trial_file(t, again);
}

static void single_map(struct trial *t)
{
	AUTO_CLOSE int fd = open_best(t->set->single);

	map_write(t, fd);
}

/* Takes a descriptor of the running program while it is busy and opens it for
 * writing when it no longer is: the way in which a container runtime was
 * overwritten. */
static void exe_handed(struct trial *t, const char *role, const char *argument)
{
	struct path program = path_in(t->set->readonly, "second");
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
		trial_error(t, "skip", errno);
		return;
	}
	if (pair[0] == ROLE_SOCKET)
		pair[0] = dup(pair[0]);
	(void)dup2(pair[1], ROLE_SOCKET); /* if this fails, the role fails, too */
	int status = role_run(program.s, role, argument);
	int fd = socket_take_fd(pair[0]);

	if (fd < 0) {
		trial_says(t, "skip:not-handed", "exit %d", status);
		return;
	}
	char name[64];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	trial_file(t, open(name, O_WRONLY | O_CLOEXEC));
}

static void exe_reopen(struct trial *t)
{
	exe_handed(t, "hand-exe", NULL);
}

static void exe_reopen_script(struct trial *t)
{
	struct path script = path_in(t->set->scratch, "probe-script");

	if (file_make(script.s, "#!/proc/self/exe --role=hand-exe\n", 0755))
		trial_error(t, "skip", errno);
	else
		exe_handed(t, "exec", script.s);
	(void)unlink(script.s); /* made above */
}

const struct probe lower_probes[] = {
	{ "A19", "reopen-exe-handle", .run = exe_reopen },
	{ "A20", "reopen-exe-of-script", .run = exe_reopen_script },
	{ "A24", "hardlink-then-write", .run = link_write },
	{ "A24", "hardlink-by-fd", .run = link_fd },
	{ "A24", "rename-out", .run = rename_out },
	{ "A30", "lower-write", .run = lower_write },
	{ "A30", "lower-append", .run = lower_append },
	{ "A30", "lower-open-truncate", .run = lower_open_truncate },
	{ "A30", "lower-truncate", .run = lower_truncate },
	{ "A30", "lower-create", .run = lower_create },
	{ "A30", "lower-unlink", .run = lower_unlink },
	{ "A30", "lower-chmod", .run = lower_chmod },
	{ "A30", "lower-utimes", .run = lower_utimes },
	{ "A30", "lower-copy-file-range", .run = lower_copy_range },
	{ "A30", "lower-ficlone", .run = lower_clone },
	{ "A30", "lower-mmap-shared", .run = lower_map },
	{ "E74b", "lower-lease", .run = lower_lease },
	{ "E74b", "lower-lock", .run = lower_lock },
	{ "H99", "single-write", .run = single_write },
	{ "H99", "single-reopen-rdwr", .run = single_reopen, .value = O_RDWR },
	{ "H99", "single-map-files", .run = single_map_files },
	{ "H99", "single-mprotect", .run = single_map },
	{ "H99", "single-reopen-trunc", .run = single_reopen,
	  .value = O_WRONLY | O_TRUNC },
	{ 0 },
};
