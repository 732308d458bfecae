#include "oci/cgroups_v1.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/log.h"
#include "oci/resources.h"
#include "sandbox/kernel/cgroup_tree.h"

#define ROOT	     "/sys/fs/cgroup"
#define TEXT_MAX     4096
#define FREEZE_TRIES 5000 /* a millisecond each */

static const char *const controllers[] = { "memory",  "cpu",	  "cpuset",  "pids",
					   "blkio",   "devices",  "freezer", "hugetlb",
					   "net_cls", "net_prio", "rdma" };

static bool is_v1(const char *controller)
{
	AUTO_FREE char *path = text_format(ROOT "/%s", controller);
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == CGROUP_SUPER_MAGIC;
}

bool cgroups_v1_has(const struct resources_write *w)
{
	if (!w->v1)
		return false;
	AUTO_FREE char *controller = text_format("%.*s", (int)strcspn(w->v1, "/"), w->v1);
	return is_v1(controller);
}

bool cgroups_v1_is_made(const struct resources_write *w, const char *path)
{
	const size_t len = strcspn(w->v1, "/");
	AUTO_FREE char *folder = text_format(ROOT "/%.*s%s", (int)len, w->v1, path);

	return access(folder, F_OK) == 0;
}

bool cgroups_v1_has_devices(void)
{
	return is_v1("devices");
}

/* Copies a file of the parent: a new cpuset takes no process before it has these. */
static void inherit(const char *folder, const char *file)
{
	AUTO_FREE char *from = text_format("%s/../%s", folder, file);
	AUTO_FREE char *to = text_format("%s/%s", folder, file);
	char text[TEXT_MAX];

	AUTO_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int out = open(to, O_WRONLY | O_CLOEXEC);
	const ssize_t n = in < 0 ? -1 : io_read_full(in, text, sizeof(text));
	if (n > 1 && out >= 0)
		(void)!write(out, text, (size_t)n); /* joining fails then, and says so */
}

static int make_folder(const char *folder, bool is_cpuset, struct err *e)
{
	if (mkdir(folder, 0755) == 0) {
		if (is_cpuset) {
			inherit(folder, "cpuset.cpus");
			inherit(folder, "cpuset.mems");
		}
		return 0;
	}
	return errno == EEXIST ? 0 : err_sys(e, "make the cgroup %s", folder);
}

/* Makes the folder of a container in a hierarchy, with its parents. */
static int make(const char *controller, const char *path, struct err *e)
{
	AUTO_FREE char *folder = text_format(ROOT "/%s%s", controller, path);
	const bool is_cpuset = !strcmp(controller, "cpuset");

	for (char *p = folder + sizeof(ROOT) + strlen(controller) + 1;; p++) {
		const char c = *p;
		if (c && c != '/')
			continue;
		*p = '\0';
		if (make_folder(folder, is_cpuset, e))
			return -1;
		if (!c)
			return 0;
		*p = c;
	}
}

static int write_file(const char *file, const char *text, const char *member,
		      struct err *e)
{
	return io_write_proc(AT_FDCWD, file, text, e) ? err_in(e, "%s", member) : 0;
}

void cgroups_v1_make(const struct resources_write *w, const char *path)
{
	AUTO_FREE char *controller = text_format("%.*s", (int)strcspn(w->v1, "/"), w->v1);
	struct err ignored; /* the container has asked for no limit */

	(void)make(controller, path, &ignored);
}

/* Warns of a limit that the kernel has taken and forgotten: the file then has the largest
 * number of bytes, which means no limit. */
static void warn_if_lost(const struct resources_write *w, const char *file)
{
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	char text[24] = "";
	struct err e;

	if (strcmp(w->v1, RESOURCES_KERNEL_MEMORY) != 0 || w->is_no_limit || fd < 0 ||
	    io_read_full(fd, text, sizeof(text) - 1) <= 0 ||
	    strtoull(text, NULL, 10) <= strtoull(w->v1_text, NULL, 10))
		return;
	(void)err_set(&e, ERR_UNSUPPORTED,
		      "%s: this kernel takes the limit and limits nothing", w->member);
	log_warning(&e);
}

int cgroups_v1_apply(const struct resources_write *w, const char *path, struct err *e)
{
	const size_t len = strcspn(w->v1, "/");
	AUTO_FREE char *controller = text_format("%.*s", (int)len, w->v1);
	AUTO_FREE char *file = text_format(ROOT "/%s%s%s", controller, path, w->v1 + len);

	if (make(controller, path, e))
		return err_in(e, "%s", w->member);
	if (write_file(file, w->v1_text, w->member, e))
		return -1;
	warn_if_lost(w, file);
	return 0;
}

/* Writes one rule as "TYPE MAJOR:MINOR ACCESS". */
static int write_rule(const struct resources_device *d, const char *folder, struct err *e)
{
	char major[24] = "*", minor[24] = "*";
	AUTO_FREE char *file =
		text_format("%s/devices.%s", folder, d->is_allowed ? "allow" : "deny");

	if (d->major >= 0)
		(void)snprintf(major, sizeof(major), "%" PRId64, d->major); /* fits */
	if (d->minor >= 0)
		(void)snprintf(minor, sizeof(minor), "%" PRId64, d->minor); /* fits */
	AUTO_FREE char *text = text_format("%c %s:%s %s%s%s", d->type, major, minor,
					   d->reads ? "r" : "", d->writes ? "w" : "",
					   d->makes ? "m" : "");
	return write_file(file, text, "linux.resources.devices", e);
}

int cgroups_v1_set_devices(const struct resources *r, const char *path, struct err *e)
{
	AUTO_FREE char *folder = text_format(ROOT "/devices%s", path);

	if (make("devices", path, e))
		return -1;
	for (size_t i = 0; i < r->device_count; i++)
		if (write_rule(&r->devices[i], folder, e))
			return -1;
	for (size_t i = 0; i < RESOURCES_ALWAYS; i++)
		if (write_rule(&resources_always[i], folder, e))
			return -1;
	return 0;
}

char *cgroups_v1_make_freezer(const char *path)
{
	return is_v1("freezer") && make("freezer", path, NULL) == 0
		       ? text_format(ROOT "/freezer%s", path)
		       : NULL;
}

/* The kernel freezes each process when that comes by, and tells of the end by no event. */
int cgroups_v1_freeze(const char *folder, bool is_frozen, struct err *e)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const char *word = is_frozen ? "FROZEN" : "THAWED";
	AUTO_FREE char *file = text_format("%s/freezer.state", folder);
	char text[16] = "";

	if (io_write_proc(AT_FDCWD, file, word, e))
		return -1;
	for (int i = 0; i < FREEZE_TRIES; i++) {
		AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
		const ssize_t n = fd < 0 ? -1 : io_read_full(fd, text, sizeof(text) - 1);
		if (n < 0)
			return err_sys(e, "read %s", file);
		if (!strncmp(text, word, strlen(word)))
			return 0;
		(void)nanosleep(&pause, NULL); /* a shorter wait is as good */
	}
	return err_set(e, ERR_BUSY, "%s has not become %s in time", file, word);
}

static int thaw(int folder, void *arg, struct err *e)
{
	struct err why = { 0 };

	(void)arg;
	/* A folder that was removed meanwhile holds no process back. */
	if (io_write_proc(folder, "freezer.state", "THAWED", &why) == 0 ||
	    why.sys == ENOENT || why.sys == ENODEV)
		return 0;
	*e = why;
	return -1;
}

int cgroups_v1_thaw(const char *folder, struct err *e)
{
	AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	struct err why = { 0 };

	if (fd < 0)
		return err_sys(e, "open %s", folder);
	if (cgroup_tree_visit(fd, thaw, NULL, &why) == 0)
		return 0;
	if (e)
		*e = why;
	return err_in(e, "%s", folder);
}

void cgroups_v1_each(const char *path,
		     void (*does)(const char *controller, const char *folder, void *arg),
		     void *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		AUTO_FREE char *folder = text_format(ROOT "/%s%s", controllers[i], path);
		if (is_v1(controllers[i]) && access(folder, F_OK) == 0)
			does(controllers[i], folder, arg);
	}
}

/* `tasks` moves one thread.  Since 5.5 the kernel takes no lock against forks of others for a
 * thread that moves itself, and checks the rights of the process that opened the file. */
int cgroups_v1_open_each(const char *path,
			 int (*does)(int entry, void *arg, struct err *e), void *arg,
			 struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		AUTO_FREE char *file =
			text_format(ROOT "/%s%s/tasks", controllers[i], path);
		AUTO_CLOSE int fd = open(file, O_WRONLY | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT && errno != EACCES && errno != EROFS)
			return err_sys(e, "open %s", file);
		if (fd >= 0 && is_v1(controllers[i]) && does(fd, arg, e))
			return -1;
	}
	return 0;
}

int cgroups_v1_enter(int entry, struct err *e)
{
	return write(entry, "0", 1) == 1 ? 0 : err_sys(e, "enter a cgroup of version 1");
}

int cgroups_v1_remove(const char *path, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		AUTO_FREE char *folder = text_format(ROOT "/%s%s", controllers[i], path);
		if (access(folder, F_OK) == 0 && is_v1(controllers[i]) &&
		    cgroup_tree_remove(AT_FDCWD, folder, e))
			return -1;
	}
	return 0;
}
