/* Host files that a sandbox must not find: by absolute path, by "..", through a
 * descriptor that was left open, and in the folders that all users share. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/xattr.h>

/* Enough levels to leave any working directory.  More do no harm, since ".." of
 * the root is the root. */
#define UP_10 "../../../../../../../../../../"
#define UP    UP_10 UP_10 UP_10 UP_10

static void read_one(struct trial *t, const char *path)
{
	char byte[2];
	ssize_t len = file_read(path, byte, sizeof(byte));

	if (len)
		trial_file(t, len);
	else
		trial_says(t, "allowed:empty", "%s", path);
}

static void read_path(struct trial *t)
{
	read_one(t, t->probe->text);
}

static void read_secret(struct trial *t)
{
	read_one(t, t->set->secret);
}

/* Reads attributes of a file that cannot be opened. place.bash sets one on it. */
static void attribute_of_host(struct trial *t)
{
	char value[64];

	trial_file(t, getxattr(t->set->secret, "user.probe", value, sizeof(value)));
}

static void attributes_of_host(struct trial *t)
{
	char names[256];

	trial_file(t, llistxattr(t->set->secret, names, sizeof(names)));
}

static void read_source(struct trial *t)
{
	read_one(t, t->set->source);
}

static void read_shm(struct trial *t)
{
	read_one(t, t->set->shm);
}

/* System V shared memory has no name in a file system: the ipc namespace alone
 * decides which segments of the host are visible. */
static void sysv_of_host(struct trial *t)
{
	int id = shmget(PROBE_SHM_KEY(t->set->tcp), 0, 0);
	char *at = id < 0 ? NULL : shmat(id, NULL, SHM_RDONLY);

	trial_file(t, at && at != (void *)-1 ? 0 : -1);
	if (at && at != (void *)-1)
		trial_note(t, "%.20s", at);
}

static void read_run(struct trial *t)
{
	read_one(t, t->set->run);
}

static void list_path(struct trial *t)
{
	DIR *dir = opendir(t->probe->text);

	trial_file(t, dir ? 0 : -1);
}

/* Reads the host's secret through ".."; `from` is the folder where the walk
 * starts. */
static void read_upwards(struct trial *t, const char *from)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s" UP "%s", from, t->set->secret + 1);
	read_one(t, path);
}

static void dotdot_inherited(struct trial *t)
{
	read_upwards(t, "");
	trial_note(t, "from the working directory at start");
}

static void dotdot_scratch(struct trial *t)
{
	if (chdir(t->set->scratch))
		trial_error(t, "skip", errno);
	else
		read_upwards(t, "");
}

static void dotdot_proc_cwd(struct trial *t)
{
	read_upwards(t, "/proc/self/cwd/");
}

static void dotdot_proc_root(struct trial *t)
{
	read_upwards(t, "/proc/self/root/");
}

/* A working directory outside the root reads "(unreachable)/...". */
static void cwd_reachable(struct trial *t)
{
	char cwd[512] = "";
	ssize_t len = readlink("/proc/self/cwd", cwd, sizeof(cwd) - 1);

	if (len < 0)
		trial_file(t, len);
	else if (cwd[0] != '/')
		trial_says(t, "allowed", "%s", cwd);
	else
		trial_says(t, "refused:inside", "%s", cwd);
}

/* A second chroot does not confine a process whose working directory is outside
 * the new root. */
static void chroot_twice(struct trial *t)
{
	struct path jail = path_in(t->set->scratch, "probe-jail");

	(void)mkdir(jail.s, 0755); /* EEXIST is as good */
	int ret = chroot(jail.s);
	if (ret) {
		trial_call(t, ret);
	} else {
		read_upwards(t, "");
		trial_note(t, "chroot worked");
	}
	/* Fails with ENOENT if the chroot worked, since it hides this path. */
	(void)rmdir(jail.s);
}

/* Reports each open descriptor above 2: a trial opens none of its own, so it was
 * leaked into the sandbox. */
static void leaked_fds(struct trial *t)
{
	struct stat st;

	trial_says(t, "absent", "no descriptor in 3..1023");
	for (int fd = 3; fd < 1024; fd++) {
		if (fstat(fd, &st))
			continue;
		trial_says(t, "allowed", "descriptor %d, mode %o", fd, st.st_mode);
		if (!fchdir(fd))
			trial_says(t, "allowed", "descriptor %d is a folder", fd);
	}
}

static void list_fds(struct trial *t)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir) {
		trial_file(t, -1);
		return;
	}
	trial_says(t, "absent", "0, 1 and 2 only");
	while ((entry = readdir(dir))) {
		char link[128] = "";

		if (atoi(entry->d_name) < 3 || atoi(entry->d_name) == dirfd(dir))
			continue;
		(void)readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		trial_says(t, "allowed", "%s -> %s", entry->d_name, link);
	}
}

/* Reads a file of the host where the sandbox binds the host's whole root on purpose
 * (numbers H102 and H103 of expect.tsv). */
static void read_bound(struct trial *t)
{
	read_one(t, path_in(t->set->prefix, t->probe->text).s);
}

/* Shows that the host is bound at all; without that the other probes of the
 * bound host prove nothing. */
static void read_bound_source(struct trial *t)
{
	read_one(t, path_in(t->set->prefix, t->set->source).s);
}

static void write_bound(struct trial *t)
{
	struct path path = path_in(t->set->prefix, t->probe->text);
	AUTO_CLOSE int fd = open(path.s, O_WRONLY | O_CLOEXEC);

	trial_file(t, fd);
}

/* Reads the environment of a host process through the host's procfs, which
 * is bound with everything else: the kernel permits that to the same user, although
 * the sandbox's own /proc hides the process. */
static void read_bound_proc(struct trial *t)
{
	char path[512], byte[2];

	snprintf(path, sizeof(path), "%s/proc/%d/environ", t->set->prefix,
		 t->set->host_pid);
	trial_file(t, file_read(path, byte, sizeof(byte)));
}

/* Opens the host's disk.  For reading only: outside of a sandbox (the control run)
 * that is the real disk. */
static void read_bound_disk(struct trial *t)
{
	static const char *const names[] = {
		"/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/mmcblk0", "/dev/mem",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO_CLOSE int fd = open(path_in(t->set->prefix, names[i]).s,
					 O_RDONLY | O_CLOEXEC);

		trial_file(t, fd);
		trial_note(t, "%s", names[i]);
		if (fd >= 0 || errno != ENOENT)
			return;
	}
}

const struct probe files_probes[] = {
	{ "A1", "read-shadow", .run = read_path, .text = "/etc/shadow" },
	{ "A1", "read-gshadow", .run = read_path, .text = "/etc/gshadow" },
	{ "A1", "read-host-secret", .run = read_secret },
	{ "A1", "attribute-of-host", .run = attribute_of_host },
	{ "A1", "attributes-of-host", .run = attributes_of_host },
	{ "A1", "read-host-source", .run = read_source },
	{ "A1", "list-root-home", .run = list_path, .text = "/root" },
	{ "A2", "dotdot-inherited-cwd", .run = dotdot_inherited },
	{ "A2", "dotdot-scratch-cwd", .run = dotdot_scratch },
	{ "A2", "dotdot-proc-self-cwd", .run = dotdot_proc_cwd },
	{ "A2", "dotdot-proc-self-root", .run = dotdot_proc_root },
	{ "A2", "cwd-unreachable", .run = cwd_reachable },
	{ "A3", "chroot-twice", .run = chroot_twice },
	{ "A4", "fchdir-leaked-fds", .run = leaked_fds },
	{ "A5", "list-leaked-fds", .run = list_fds },
	{ "A29", "tmp-of-host", .run = read_secret },
	{ "A29", "shm-of-host", .run = read_shm },
	{ "A29", "sysv-shm-of-host", .run = sysv_of_host },
	{ "A29", "run-of-host", .run = read_run },
	{ "H103", "bound-source", .run = read_bound_source, .flags = PROBE_WIDE },
	{ "H103", "bound-shadow", .run = read_bound, .text = "/etc/shadow",
	  .flags = PROBE_WIDE },
	{ "H103", "bound-core-pattern", .run = write_bound,
	  .text = "/proc/sys/kernel/core_pattern", .flags = PROBE_WIDE },
	{ "H103", "bound-disk", .run = read_bound_disk, .flags = PROBE_WIDE },
	{ "H103", "bound-proc-environ", .run = read_bound_proc, .flags = PROBE_WIDE },
	{ 0 },
};
