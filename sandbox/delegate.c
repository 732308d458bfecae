#include "sandbox/delegate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/scope.h"

#define FILE_MAX (64u << 10)
#define RUN_SCOPE "systemd-run --user --scope -p Delegate=yes hutch ..."

static const struct {
	enum controller bit;
	const char *name;
} controllers[] = {
	{ CONTROLLER_MEMORY, "memory" },
	{ CONTROLLER_PIDS, "pids" },
	{ CONTROLLER_CPU, "cpu" },
};

void delegate_init(struct delegate *d)
{
	*d = (struct delegate){ .fd = -1 };
}

void delegate_done(struct delegate *d)
{
	if (!d)
		return;
	own_close(&d->fd);
	own_free(&d->path);
}

void delegate_word(char word[16], char sign, enum controller which)
{
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (controllers[i].bit == which)
			(void)snprintf(word, 16, "%c%s", sign, controllers[i].name);
}

static char *read_text(int folder, const char *file)
{
	AUTO_CLOSE int fd = openat(folder, file, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len;

	return fd < 0 || io_read_file(fd, file, FILE_MAX, &text, &len, NULL) < 0 ? NULL : text;
}

unsigned delegate_controllers(int folder, const char *file)
{
	AUTO_FREE char *text = read_text(folder, file);
	char *rest = text;
	unsigned found = 0;

	for (char *word; rest && (word = strsep(&rest, " \n"));)
		for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
			if (!strcmp(word, controllers[i].name))
				found |= controllers[i].bit;
	return found;
}

/* Its files belong to whoever it was delegated to. */
static bool is_ours(int folder)
{
	static const char *const names[] = { ".", "cgroup.procs", "cgroup.subtree_control" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (faccessat(folder, names[i], W_OK, 0) < 0)
			return false;
	return true;
}

/* Whether somebody other than us lives right in it. */
static bool has_others(int folder)
{
	AUTO_FREE char *text = read_text(folder, "cgroup.procs");
	char *rest = text;

	if (!text)
		return true; /* too many to read, or not to be read */
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line && atoi(line) != getpid())
			return true;
	return false;
}

bool delegate_is_unit(const char *path)
{
	static const char *const endings[] = { ".scope", ".service", ".slice" };
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < ARRAY_LEN(endings); i++)
		if (!strcmp(dot, endings[i]))
			return true;
	return false;
}

bool delegate_is_marked(const char *path, const char *root)
{
	AUTO_FREE char *at = text_copy(path);
	char mark = 0;

	for (; strlen(at) > strlen(root); *strrchr(at, '/') = '\0')
		if (delegate_is_unit(at))
			return getxattr(at, "user.delegate", &mark, 1) == 1 && mark == '1';
	return true;
}

/* A folder of cgroup2, open; -1 with errno. */
static int open_folder(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -1;
	if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		errno = EMEDIUMTYPE;
		return -1;
	}
	return fd_take(&fd);
}

/* In the hybrid layout version 2 is mounted below the others. */
static const char *find_root(void)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_CLOSE int fd = open_folder(places[i]);
		if (fd >= 0)
			return places[i];
	}
	return NULL;
}

/* Where we live: the line "0::PATH" (cgroups(7)). */
static char *own_folder(const char *root)
{
	AUTO_FREE char *text = read_text(AT_FDCWD, "/proc/self/cgroup");
	const char *line = text ? strstr(text, "0::/") : NULL;

	/* "/..": outside of what this mount shows. */
	if (!line || (line != text && line[-1] != '\n') || !strncmp(line, "0::/..", 6))
		return NULL;
	int len = (int)strcspn(line + 3, "\n");
	if (len == 1)
		return text_copy(root);
	return text_format("%s%.*s", root, len, line + 3);
}

static void use(struct delegate *d, const char *path, int *fd, unsigned has)
{
	d->path = text_copy(path);
	d->fd = fd_take(fd);
	d->has = has;
}

/* Above us, in the unit that we live in: a folder that gives its children what is
 * needed, or can. */
static bool find_above(struct delegate *d, const char *own, const char *root,
		       unsigned needs)
{
	AUTO_FREE char *at = text_copy(own);

	while (!delegate_is_unit(at) && strlen(at) > strlen(root)) {
		*strrchr(at, '/') = '\0';
		AUTO_CLOSE int fd = open_folder(at);
		if (fd < 0 || !is_ours(fd))
			return false;
		unsigned has = delegate_controllers(fd, "cgroup.subtree_control");
		if ((needs & ~has) && !has_others(fd))
			has = delegate_controllers(fd, "cgroup.controllers");
		if (needs & ~has)
			continue;
		use(d, at, &fd, has);
		return true;
	}
	return false;
}

static int lacks(const char *path, unsigned missing, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		if (!(missing & controllers[i].bit))
			continue;
		(void)err_set(e, ERR_UNSUPPORTED, "the cgroup %.200s has no controller '%s'",
			      path, controllers[i].name);
		break;
	}
	return err_remedy(e, "as root: systemctl edit user@.service, with [Service] and "
			     "Delegate=cpu memory pids; then log in again; or add --best-effort");
}

static int find_own(struct delegate *d, const char *own, unsigned needs, struct err *e)
{
	AUTO_CLOSE int fd = open_folder(own);
	if (fd < 0)
		return err_sys(e, "open the cgroup %.300s", own);
	unsigned has = delegate_controllers(fd, "cgroup.controllers");

	if (!is_ours(fd))
		return err_set(e, ERR_REFUSED, "the cgroup %.300s, in which hutch was started, "
					       "is not delegated to you", own);
	if (needs & ~has)
		return lacks(own, needs & ~has, e);
	if (has_others(fd))
		return err_set(e, ERR_REFUSED, "the cgroup %.300s, in which hutch was started, "
					       "has other processes in it", own);
	use(d, own, &fd, has);
	d->is_own = true;
	return 0;
}

/* What the user named is the user's to give: no marks are looked for. */
static int find_named(struct delegate *d, const char *name, unsigned needs, struct err *e)
{
	AUTO_FREE char *path = realpath(name, NULL);
	AUTO_CLOSE int fd = path ? open_folder(path) : -1;

	if (fd < 0 && errno == EMEDIUMTYPE)
		return err_set(e, ERR_USAGE, "%.300s is no folder of a cgroup (version 2) file "
					     "system", name);
	if (fd < 0)
		return err_sys(e, "open the cgroup %.300s", name);
	if (!is_ours(fd)) {
		(void)err_set(e, ERR_REFUSED, "the cgroup %.300s is not delegated to you", name);
		return err_remedy(e, "as root: chown you it and its cgroup.procs and "
				     "cgroup.subtree_control");
	}
	const char *root = find_root();
	AUTO_FREE char *own = root ? own_folder(root) : NULL;
	if (own && !strcmp(own, path))
		return find_own(d, own, needs, e);
	unsigned has = delegate_controllers(fd, "cgroup.subtree_control");
	if ((needs & ~has) && has_others(fd))
		return err_set(e, ERR_REFUSED, "the cgroup %.300s has processes in it, so that "
					       "cgroups in it cannot have limits", name);
	has |= delegate_controllers(fd, "cgroup.controllers");
	if (needs & ~has)
		return lacks(path, needs & ~has, e);
	use(d, path, &fd, has);
	return 0;
}

static int find_in_scope(struct delegate *d, const char *root, unsigned needs,
			 struct err *e)
{
	if (scope_enter(e) < 0)
		return -1;
	AUTO_FREE char *own = own_folder(root);
	if (!own)
		return err_set(e, ERR_SYSTEM, "find the scope that was made for hutch");
	d->is_scope = true;
	return find_own(d, own, needs, e);
}

static int find(struct delegate *d, unsigned needs, struct err *e)
{
	const char *root = find_root();
	AUTO_FREE char *own = root ? own_folder(root) : NULL;

	if (!own)
		return err_set(e, ERR_UNSUPPORTED, "no cgroup file system of version 2 is "
						   "mounted at /sys/fs/cgroup that shows hutch's "
						   "own cgroup");
	if (!delegate_is_marked(own, root))
		(void)err_set(e, ERR_REFUSED, "the cgroup %.300s, in which hutch was started, "
					      "is systemd's own and not delegated", own);
	else if (find_above(d, own, root, needs) || find_own(d, own, needs, e) == 0)
		return 0;
	return scope_has_bus() ? find_in_scope(d, root, needs, e) : -1;
}

int delegate_find(struct delegate *d, const struct policy *policy, unsigned needs,
		  struct err *e)
{
	struct err why = { 0 };
	int found = policy->cgroup_parent ? find_named(d, policy->cgroup_parent, needs, &why)
					  : find(d, needs, &why);

	if (found == 0)
		return 0;
	delegate_done(d);
	delegate_init(d);
	if (policy->cgroup_parent)
		(void)err_from(&why, "--cgroup-parent");
	else if (!*why.remedy)
		(void)err_remedy(&why, RUN_SCOPE "; or add --best-effort, for limits that "
						  "are weaker");
	(void)err_in(&why, "limits need a cgroup");
	if (e)
		*e = why;
	return -1;
}
