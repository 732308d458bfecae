#include "oci/cgroups.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/cgroups_v1.h"
#include "oci/resources.h"
#include "oci/systemd.h"

#define FILE_MAX (1u << 20)

const char *cgroups_root(void)
{
	static const char *const places[] = { "/sys/fs/cgroup",
					      "/sys/fs/cgroup/unified" };
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			return places[i];
	return NULL;
}

/* Returns the path of a process's cgroup of v2, as "/a/b", allocated, or NULL. */
static char *path_of(const char *process)
{
	AUTO_FREE char *file = text_format("/proc/%s/cgroup", process);
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len;

	if (fd < 0 || io_read_file(fd, file, FILE_MAX, &text, &len, NULL))
		return NULL;
	const char *at = !strncmp(text, "0::", 3) ? text : strstr(text, "\n0::");
	if (!at)
		return NULL;
	at += *at == '\n' ? 4 : 3;
	return text_format("%.*s", (int)strcspn(at, "\n"), at);
}

char *cgroups_own(void)
{
	const char *root = cgroups_root();
	AUTO_FREE char *path = root ? path_of("self") : NULL;

	return path ? text_format("%s%s", root, path) : NULL;
}

/* Reads a small file of the cgroup. */
static char *read_file(const char *path, const char *name, struct err *e)
{
	AUTO_FREE char *file = text_format("%s/%s", path, name);
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len;

	if (fd < 0) {
		(void)err_sys(e, "open %s", file);
		return NULL;
	}
	return io_read_file(fd, file, FILE_MAX, &text, &len, e) ? NULL : text;
}

/* Makes the folders of `path` below `root`. */
static int make_folders(const char *root, const char *path)
{
	char part[PATH_MAX];

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (char *p = part + strlen(root) + 1;; p++) {
		const char c = *p;
		if (c && c != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0755) && errno != EEXIST)
			return -1;
		if (!c)
			return 0;
		*p = c;
	}
}

/* Refuses a path that leads upwards.  `name` is that of the member or flag. */
static int check_path(const char *name, const char *path, struct err *e)
{
	for (const char *at = path; *at; at += strcspn(at, "/")) {
		at += strspn(at, "/");
		if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2]))
			return err_set(e, ERR_USAGE, "%s: '..' leads out of it", name);
	}
	return 0;
}

int cgroups_choose(const struct cgroups_order *o, char **ret, struct err *e)
{
	AUTO_FREE char *own = text_format("hutch-oci/%s", o->name);
	const char *path = o->path && *o->path ? o->path : own;
	const char *colon = strchr(path, ':');

	*ret = NULL;
	if (o->manager == CGROUPS_DISABLED || o->manager == CGROUPS_SYSTEMD)
		return 0; /* systemd chooses the path of a scope */
	if (check_path("linux.cgroupsPath", path, e))
		return -1;
	if (colon && strchr(colon + 1, ':')) {
		(void)err_set(e, ERR_USAGE,
			      "linux.cgroupsPath '%.200s': this is the form of the "
			      "systemd cgroup manager",
			      path);
		return err_remedy(e, "--systemd-cgroup asks systemd for the cgroup");
	}
	*ret = text_format("/%s", path + strspn(path, "/"));
	return 0;
}

static bool is_no_right(int sys)
{
	return sys == EACCES || sys == EPERM || sys == EROFS;
}

/* Tells whether processes live there or below, which would be killed with the container. */
static bool is_used(const char *folder)
{
	AUTO_FREE char *events = read_file(folder, "cgroup.events", NULL);
	/* the root of the hierarchy has no events */
	AUTO_FREE char *procs = read_file(folder, "cgroup.procs", NULL);

	return (events && strstr(events, "populated 1")) || (procs && *procs);
}

/* Makes the cgroup in the v2 hierarchy.  *ret is NULL where there is none, or where this
 * user may make none. */
static int make_v2(const struct cgroups_order *o, const char *path, char **ret,
		   struct err *e)
{
	const char *root = cgroups_root();
	AUTO_FREE char *folder = root ? text_format("%s%s", root, path) : NULL;

	if (!root)
		return 0;
	if (make_folders(root, folder))
		return is_no_right(errno) ? 0 : err_sys(e, "make the cgroup %s", folder);
	if (is_used(folder))
		return err_set(e, ERR_BUSY, "the cgroup %s has processes already",
			       folder);
	resources_enable(o->resources, root, folder);
	*ret = folder;
	folder = NULL;
	return 0;
}

int cgroups_make(const struct cgroups_order *o, struct cgroups_place *ret, struct err *e)
{
	AUTO_FREE char *path = NULL;

	*ret = (struct cgroups_place){ NULL, NULL, NULL };
	if (o->manager != CGROUPS_FS)
		return 0; /* there is none, or systemd makes it for a process */
	if (cgroups_choose(o, &path, e) || make_v2(o, path, &ret->folder, e))
		return -1;
	ret->v1 = path;
	path = NULL;
	return 0;
}

/* Tells whether the process is in the cgroup of v2 already. */
static bool is_inside(const char *folder, pid_t pid)
{
	AUTO_FREE char *process = text_format("%d", (int)pid);
	AUTO_FREE char *path = path_of(process);
	const char *root = cgroups_root();

	return path && root && !strcmp(folder + strlen(root), path);
}

/* Moves the process to the cgroup of v2; place->folder is NULL then where this user may not. */
static int join_v2(struct cgroups_place *place, pid_t pid, struct err *e)
{
	struct err why = { 0 };

	if (!place->folder || cgroups_join(place->folder, pid, &why) == 0)
		return 0;
	*e = why;
	if (!is_no_right(why.sys))
		return -1;
	(void)rmdir(place->folder); /* it may be the engine's, and in use */
	free(place->folder);
	place->folder = NULL;
	return 0;
}

/* Notes the cgroup of a process that systemd has moved to its scope. */
static int note_scope(const char *name, pid_t pid, struct cgroups_place *ret,
		      struct err *e)
{
	AUTO_FREE char *process = text_format("%d", (int)pid);
	AUTO_FREE char *path = path_of(process);
	const char *root = cgroups_root(), *last = path ? strrchr(path, '/') : NULL;

	if (!root || !last || strcmp(last + 1, name) != 0)
		return err_set(
			e, ERR_UNSUPPORTED,
			"systemd has made the scope %s, but process %d is not in its "
			"cgroup of version 2",
			name, (int)pid);
	ret->folder = text_format("%s%s", root, path);
	ret->v1 = path;
	path = NULL;
	return 0;
}

static int enter_scope(const struct cgroups_order *o, pid_t pid,
		       struct cgroups_place *ret, struct err *e)
{
	struct systemd_scope s = { NULL, NULL };

	if (systemd_read(o->path, o->id, &s, e))
		return -1;
	int rc = systemd_start(&s, o->resources, pid, e);
	if (!rc) {
		ret->scope = text_copy(s.name);
		rc = note_scope(s.name, pid, ret, e);
	}
	systemd_done(&s);
	return rc || resources_apply(o->resources, ret->folder, ret->v1, e) ? -1 : 0;
}

int cgroups_enter(const struct cgroups_order *o, pid_t pid, struct cgroups_place *place,
		  struct err *e)
{
	if (o->manager == CGROUPS_DISABLED)
		return resources_apply(o->resources, NULL, NULL, e);
	if (o->manager == CGROUPS_SYSTEMD)
		return enter_scope(o, pid, place, e);
	/* Cgroups of v1 are made where they are needed. */
	if (join_v2(place, pid, e) ||
	    resources_apply(o->resources, place->folder, place->v1, e))
		return -1;
	if (!place->folder)
		place->folder = cgroups_v1_make_freezer(place->v1);
	return 0;
}

bool cgroups_is_v2(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

int cgroups_open(const char *path)
{
	return path ? open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
}

int cgroups_join(const char *path, pid_t pid, struct err *e)
{
	char text[24];

	if (is_inside(path, pid))
		return 0;
	AUTO_FREE char *file = text_format("%s/cgroup.procs", path);
	(void)snprintf(text, sizeof(text), "%d", (int)pid); /* fits */
	return io_write_proc(AT_FDCWD, file, text, e);
}

/* Returns the folder of a process's cgroup if that is below `top`, allocated, or NULL. */
static char *folder_below(const char *top, pid_t pid)
{
	const char *root = cgroups_root();
	AUTO_FREE char *process = text_format("%d", (int)pid);
	AUTO_FREE char *path = root ? path_of(process) : NULL;
	AUTO_FREE char *folder = path ? text_format("%s%s", root, path) : NULL;
	const size_t len = strlen(top);

	if (!folder || strncmp(folder, top, len) != 0 || folder[len] != '/')
		return NULL;
	char *ret = folder;
	folder = NULL;
	return ret;
}

int cgroups_follow(const char *path, pid_t first, pid_t pid, struct err *e)
{
	struct err why = { 0 };

	if (cgroups_join(path, pid, &why) == 0)
		return 0;
	AUTO_FREE char *folder = why.sys == EBUSY ? folder_below(path, first) : NULL;
	if (folder)
		return cgroups_join(folder, pid, e);
	*e = why;
	return -1;
}

static int find_v1(const char *folder, struct err *e)
{
	AUTO_FREE char *file = text_format("%s/cgroup.procs", folder);

	return access(file, F_OK) < 0 ? err_sys(e, "%s", file) : 0;
}

int cgroups_join_below(const char *path, const char *below, pid_t pid, struct err *e)
{
	if (check_path("--cgroup", below, e))
		return -1;
	if (!path)
		return err_set(e, ERR_UNSUPPORTED,
			       "the container has no cgroup, which --cgroup needs");
	AUTO_FREE char *folder = text_format("%s/%s", path, below + strspn(below, "/"));
	if (cgroups_is_v2(path) ? cgroups_join(folder, pid, e) : find_v1(folder, e))
		return err_in(e, "--cgroup %.200s", below);
	return 0;
}
