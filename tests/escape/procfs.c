/* Files of /proc and /sys: those that control the whole machine must not open
 * for writing, those that describe it must not be readable, and a hidden file
 * must not look empty. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* Opening is the check (sysctls and most of /proc refuse at open).  If it opens
 * and `value` is set, the bytes that were read are written back. */
static void write_path(struct trial *t)
{
	char text[512];
	ssize_t len = file_read(t->probe->text, text, sizeof(text));
	AUTO_CLOSE int fd = open(t->probe->text, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || !t->probe->value || len <= 0) {
		trial_file(t, fd);
		return;
	}
	trial_file(t, write(fd, text, len));
	trial_note(t, "wrote back what was there");
}

/* An empty file of procfs or sysfs is empty on the host, too; an empty file of
 * another file system was put there to hide something. */
static void empty_result(struct trial *t, int fd)
{
	struct statfs fs;
	bool is_own = !fstatfs(fd, &fs) && (fs.f_type == PROC_SUPER_MAGIC ||
					    fs.f_type == SYSFS_MAGIC);

	trial_says(t, is_own ? "allowed:nothing" : "allowed:empty", "%s",
		   t->probe->text);
}

/* Reads a folder that opened: like an empty file, an empty folder misleads. */
static void read_folder(struct trial *t, int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;

	empty_result(t, fd);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			trial_says(t, "allowed", "has %s", entry->d_name);
	if (dir)
		closedir(dir);
}

/* With `value` the file is only opened, since reading it would consume data. */
static void read_path(struct trial *t)
{
	int fd = open(t->probe->text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char byte[64];

	if (fd < 0 || fstat(fd, &st)) {
		trial_file(t, -1);
		return;
	}
	if (S_ISDIR(st.st_mode)) {
		read_folder(t, fd); /* which closes it */
		return;
	}
	ssize_t len = t->probe->value ? 1 : read(fd, byte, sizeof(byte));
	if (len == 0)
		empty_result(t, fd);
	else if (len < 0 && errno == EAGAIN)
		trial_says(t, "allowed", "opened, nothing new to read");
	else
		trial_file(t, len);
	close(fd);
}

/* Checks all files that container runtimes usually mask. */
static void masked_not_empty(struct trial *t)
{
	static const char *const paths[] = {
		"/proc/kcore", "/proc/keys", "/proc/timer_list",
		"/proc/timer_stats", "/proc/sched_debug", "/proc/kallsyms",
		"/proc/scsi", "/proc/acpi", "/proc/asound", "/proc/kmsg",
		"/proc/latency_stats", "/proc/sysrq-trigger", "/sys/firmware",
		"/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup",
		"/sys/devices/virtual/powercap", "/sys/kernel/debug",
		"/sys/kernel/security", "/proc/interrupts",
	};
	struct probe one = { 0 };
	struct trial each = { .probe = &one, .set = t->set };
	int opened = 0;

	/* Outside of a sandbox (the control run) a file is masked as other container
	 * runtimes do, so that the probe finds one. */
	if (!unshare(CLONE_NEWNS))
		(void)mount("/dev/null", "/proc/kallsyms", NULL, MS_BIND, NULL);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		one.text = paths[i];
		read_path(&each);
		if (!strcmp(each.result, "allowed:empty")) {
			trial_says(t, each.result, "%s", paths[i]);
			return;
		}
		opened += !strcmp(each.result, "allowed");
	}
	trial_says(t, opened ? "allowed" : "absent", "%d of %zu readable", opened,
		   ARRAY_LEN(paths));
}

/* Opens for writing the first file that matches the pattern DIR/ANY/NAME. */
static void write_below(struct trial *t)
{
	DIR *dir = opendir(t->probe->text);
	struct dirent *entry;

	if (!dir) {
		trial_file(t, -1);
		return;
	}
	trial_says(t, "absent", "%s has no such file", t->probe->text);
	while ((entry = readdir(dir))) {
		char name[320];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/smp_affinity", entry->d_name);
		AUTO_CLOSE int fd = openat(dirfd(dir), name, O_WRONLY | O_CLOEXEC);
		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
			continue;
		trial_file(t, fd);
		trial_note(t, "%s", name);
		break;
	}
	closedir(dir);
}

/* Opens the configuration space of a PCI device; never writes it. */
static void write_bus(struct trial *t)
{
	static const char *const paths[] = {
		"/proc/bus/pci/00/00.0", "/proc/bus/pci/0000:00/00.0",
		"/proc/bus/pci/00/01.0", "/proc/bus/pci/devices",
		"/proc/bus/input/devices",
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		AUTO_CLOSE int fd = open(paths[i], O_WRONLY | O_CLOEXEC);

		trial_file(t, fd);
		trial_note(t, "%s", paths[i]);
		if (fd >= 0 || errno != ENOENT)
			return;
	}
}

/* Reads a link of the target: the root and cwd of pid 1 must be the same as ours. */
static void target_link(struct trial *t)
{
	struct path path = path_of_pid(t->set->target, t->probe->text);
	struct stat theirs, ours;
	int ret = stat(path.s, &theirs);

	trial_file(t, ret);
	if (ret || stat("/", &ours))
		return;
	if (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino)
		trial_says(t, "allowed:own-root", "the same folder as /");
}

static void target_visible(struct trial *t)
{
	struct stat st;

	trial_file(t, stat(path_of_pid(t->set->target, "").s, &st));
}

static void target_open(struct trial *t)
{
	AUTO_CLOSE int fd = open(path_of_pid(t->set->target, t->probe->text).s,
				 (int)t->probe->value | O_CLOEXEC);

	trial_file(t, fd);
}

static void host_environ(struct trial *t)
{
	char text[4096];
	ssize_t len = file_read(path_of_pid(t->set->host_pid, "environ").s, text,
				sizeof(text));

	if (len < 0)
		trial_file(t, len);
	else if (memmem(text, len, "HUTCH_HOST_PROCESS", 18))
		trial_says(t, "allowed", "the host's process");
	else
		trial_says(t, "absent", "another process of that number");
}

/* Every pid in /proc must be one that we could trace: a command like ourselves. */
static void list_pids(struct trial *t)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int pids = 0, foreign = 0;

	if (!dir) {
		trial_file(t, -1);
		return;
	}
	while ((entry = readdir(dir))) {
		int pid = atoi(entry->d_name);

		if (pid < 1)
			continue;
		pids++;
		if (access(path_of_pid(pid, "root").s, F_OK))
			foreign++;
	}
	closedir(dir);
	trial_says(t, foreign ? "allowed" : "absent",
		   "%d processes, %d of them not ours", pids, foreign);
}

#define WRITE(num, nm, path, back) \
	{ num, nm, .run = write_path, .text = path, .value = back }
#define READ(nm, path) { "A17", nm, .run = read_path, .text = path }

const struct probe procfs_probes[] = {
	WRITE("A15", "write-core-pattern", "/proc/sys/kernel/core_pattern", 1),
	WRITE("A15", "write-modprobe", "/proc/sys/kernel/modprobe", 1),
	WRITE("A15", "write-vm-overcommit", "/proc/sys/vm/overcommit_memory", 1),
	WRITE("A15", "write-vm-swappiness", "/proc/sys/vm/swappiness", 1),
	WRITE("A15", "write-drop-caches", "/proc/sys/vm/drop_caches", 0),
	WRITE("A15", "write-panic", "/proc/sys/kernel/panic", 1),
	WRITE("A15", "write-ns-last-pid", "/proc/sys/kernel/ns_last_pid", 1),
	WRITE("A15", "write-max-user-namespaces",
	      "/proc/sys/user/max_user_namespaces", 1),
	WRITE("A15", "write-binfmt", "/proc/sys/fs/binfmt_misc/register", 0),
	WRITE("A15", "write-uevent-helper", "/sys/kernel/uevent_helper", 0),
	WRITE("A16", "write-sysrq", "/proc/sysrq-trigger", 0),
	WRITE("A16", "write-irq-default", "/proc/irq/default_smp_affinity", 1),
	{ "A16", "write-irq", .run = write_below, .text = "/proc/irq" },
	{ "A16", "write-bus", .run = write_bus },
	READ("read-kcore", "/proc/kcore"),
	READ("read-keys", "/proc/keys"),
	READ("read-key-users", "/proc/key-users"),
	READ("read-timer-list", "/proc/timer_list"),
	READ("read-sched-debug", "/proc/sched_debug"),
	READ("read-kallsyms", "/proc/kallsyms"),
	{ "A17", "read-kmsg", .run = read_path, .text = "/proc/kmsg",
	  .value = 1 },
	{ "A17", "read-dev-kmsg", .run = read_path, .text = "/dev/kmsg",
	  .value = 1 },
	READ("read-kpagecount", "/proc/kpagecount"),
	READ("read-scsi", "/proc/scsi"),
	READ("read-acpi", "/proc/acpi"),
	READ("read-sys-firmware", "/sys/firmware"),
	{ "A18", "see-pid1", .run = target_visible },
	{ "A18", "see-foreign-pids", .run = list_pids },
	{ "A18", "pid1-root", .run = target_link, .text = "root" },
	{ "A18", "pid1-cwd", .run = target_link, .text = "cwd" },
	{ "A18", "host-pid-environ", .run = host_environ },
	{ "A19", "pid1-exe-open", .run = target_open, .text = "exe", .value = O_PATH },
	{ "A19", "pid1-exe-write", .run = target_open, .text = "exe", .value = O_WRONLY },
	{ "A28", "masked-not-empty", .run = masked_not_empty },
	{ "B36", "pid1-environ", .run = target_open, .text = "environ",
	  .value = O_RDONLY },
	{ "B36", "pid1-mem", .run = target_open, .text = "mem", .value = O_RDWR },
	{ "F81", "pid1-fd", .run = target_open, .text = "fd", .value = O_RDONLY },
	{ "F81", "pid1-fd-0", .run = target_open, .text = "fd/0", .value = O_PATH },
	{ 0 },
};
