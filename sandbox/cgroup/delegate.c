#include "sandbox/cgroup/delegate.h"

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
#include "sandbox/cgroup/scope.h"

#define FILE_MAX (1u << 20)
#define WEAKER	 "; or add --best-effort, for limits that are weaker"

static const struct {
	enum controller bit;
	const char *name;
} controllers[] = {
	{ CONTROLLER_MEMORY, "memory" },
	{ CONTROLLER_CPU, "cpu" },
	{ CONTROLLER_PIDS, "pids" },
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

char *delegate_names(unsigned set)
{
	char *names = text_copy("");

	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		if (!(set & controllers[i].bit))
			continue;
		AUTO_FREE char *before = names;
		names = text_format("%s%s%s", before, *before ? ", " : "",
				    controllers[i].name);
	}
	return names;
}

static char *read_text(int folder, const char *file)
{
	AUTO_CLOSE int fd = openat(folder, file, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len;

	return fd < 0 || io_read_file(fd, file, FILE_MAX, &text, &len, NULL) < 0 ? NULL
										 : text;
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

/* Tells whether this user may write to the cgroup's files: they belong to the user
 * that the cgroup was delegated to. */
static bool is_ours(int folder)
{
	static const char *const names[] = { ".", "cgroup.procs",
					     "cgroup.subtree_control" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (faccessat(folder, names[i], W_OK, 0) < 0)
			return false;
	return true;
}

/* Counts the processes directly in the cgroup, except this process and `companion`,
 * another process of hutch's. */
static unsigned count_others(int folder, pid_t companion)
{
	AUTO_FREE char *text = read_text(folder, "cgroup.procs");
	char *rest = text;
	unsigned others = 0;

	if (!text)
		return 1; /* if the list cannot be read, assume that another process is
			   * in the cgroup */
	for (char *line; (line = strsep(&rest, "\n"));) {
		pid_t pid = (pid_t)atoi(line);
		/* cgroup.procs shows a process of a foreign pid namespace as 0. */
		others += *line && (!pid || (pid != getpid() && pid != companion));
	}
	return others;
}

static bool is_unit(const char *path)
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
		if (is_unit(at))
			return getxattr(at, "user.delegate", &mark, 1) == 1 &&
			       mark == '1';
	return true;
}

/* Opens a folder of a cgroup2 file system; returns -1 with errno set. */
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

/* Returns where version 2 of cgroups is mounted.  In systemd's hybrid layout that is
 * below the hierarchies of version 1. */
static const char *find_root(void)
{
	static const char *const places[] = { "/sys/fs/cgroup",
					      "/sys/fs/cgroup/unified" };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_CLOSE int fd = open_folder(places[i]);
		if (fd >= 0)
			return places[i];
	}
	return NULL;
}

/* Returns the folder of the cgroup that this process lives in, from the line
 * "0::PATH" of /proc/self/cgroup (cgroups(7)). */
static char *own_folder(const char *root)
{
	AUTO_FREE char *text = read_text(AT_FDCWD, "/proc/self/cgroup");
	const char *line = text ? strstr(text, "0::/") : NULL;

	/* A path that begins with "/.." says that this process's cgroup is outside of
	 * the subtree that the mount shows. */
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

/* Returns the controllers that the folder's children have, or could have: a folder
 * without processes can enable more controllers for its children. */
static unsigned hands_on(int folder, unsigned needs, pid_t companion)
{
	unsigned has = delegate_controllers(folder, "cgroup.subtree_control");

	if ((needs & ~has) && count_others(folder, companion) == 0)
		has = delegate_controllers(folder, "cgroup.controllers");
	return has;
}

/* Finds a folder above this process's cgroup, in the same systemd unit, whose
 * children have the needed controllers, or can get them. */
static char *find_above(const struct outlook *o, unsigned needs, pid_t companion)
{
	AUTO_FREE char *at = text_copy(o->own);

	while (!is_unit(at) && strlen(at) > strlen(o->root)) {
		*strrchr(at, '/') = '\0';
		AUTO_CLOSE int fd = open_folder(at);
		if (fd < 0 || !is_ours(fd))
			break;
		if (!(needs & ~hands_on(fd, needs, companion)))
			return text_copy(at);
	}
	return NULL;
}

void delegate_look(struct outlook *ret, unsigned needs, pid_t companion)
{
	struct outlook o = { .root = find_root() };

	o.own = o.root ? own_folder(o.root) : NULL;
	o.is_marked = o.own && delegate_is_marked(o.own, o.root);
	AUTO_CLOSE int fd = o.own ? open_folder(o.own) : -1;
	if (fd >= 0) {
		o.is_ours = is_ours(fd);
		o.missing = needs & ~delegate_controllers(fd, "cgroup.controllers");
		o.others = count_others(fd, companion);
	}
	if (o.is_marked)
		o.above = find_above(&o, needs, companion);
	*ret = o;
}

void outlook_done(struct outlook *o)
{
	own_free(&o->own);
	own_free(&o->above);
}

static int lacks(const char *path, unsigned missing, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		if (!(missing & controllers[i].bit))
			continue;
		(void)err_set(e, ERR_UNSUPPORTED,
			      "the cgroup %.200s has no controller '%s'", path,
			      controllers[i].name);
		break;
	}
	return -1;
}

static int use_own(struct delegate *d, const struct outlook *o, struct err *e)
{
	AUTO_CLOSE int fd = open_folder(o->own);
	if (fd < 0)
		return err_sys(e, "open the cgroup %.300s", o->own);

	if (!o->is_ours)
		return err_set(e, ERR_REFUSED,
			       "the cgroup %.300s, in which hutch was started, "
			       "is not delegated to you",
			       o->own);
	if (o->missing)
		return lacks(o->own, o->missing, e);
	if (o->others)
		return err_set(e, ERR_REFUSED,
			       "the cgroup %.300s, in which hutch was started, "
			       "has other processes in it",
			       o->own);
	use(d, o->own, &fd, delegate_controllers(fd, "cgroup.controllers"));
	d->is_own = true;
	return 0;
}

static int use_above(struct delegate *d, const struct outlook *o, unsigned needs,
		     struct err *e)
{
	AUTO_CLOSE int fd = open_folder(o->above);
	if (fd < 0)
		return err_sys(e, "open the cgroup %.300s", o->above);

	use(d, o->above, &fd, hands_on(fd, needs, 0));
	return 0;
}

/* Uses the cgroup that --cgroup-parent names.  The user has decided that hutch may
 * use it, so systemd's mark of delegation is not checked. */
static int find_named(struct delegate *d, const char *name, unsigned needs, pid_t waiter,
		      struct err *e)
{
	AUTO_FREE char *path = realpath(name, NULL);
	AUTO_CLOSE int fd = path ? open_folder(path) : -1;

	if (fd < 0 && errno == EMEDIUMTYPE)
		return err_set(e, ERR_USAGE,
			       "%.300s is no folder of a cgroup (version 2) file "
			       "system",
			       name);
	if (fd < 0)
		return err_sys(e, "open the cgroup %.300s", name);
	if (!is_ours(fd)) {
		(void)err_set(e, ERR_REFUSED, "the cgroup %.300s is not delegated to you",
			      name);
		return err_remedy(e, "as root: chown you it and its cgroup.procs and "
				     "cgroup.subtree_control");
	}
	AUTO_OUTLOOK struct outlook o;
	delegate_look(&o, needs, waiter);
	if (o.own && !strcmp(o.own, path))
		return use_own(d, &o, e);
	unsigned has = delegate_controllers(fd, "cgroup.subtree_control");
	if ((needs & ~has) && count_others(fd, 0))
		return err_set(e, ERR_REFUSED,
			       "the cgroup %.300s has processes in it, so that "
			       "cgroups in it cannot have limits",
			       name);
	has |= delegate_controllers(fd, "cgroup.controllers");
	if (needs & ~has) {
		(void)lacks(path, needs & ~has, e);
		return err_remedy(e, "hutch doctor says how hutch gets cgroups with it");
	}
	use(d, path, &fd, has);
	return 0;
}

static int find_in_scope(struct delegate *d, unsigned needs, struct err *e)
{
	if (scope_enter(e) < 0)
		return -1;
	AUTO_OUTLOOK struct outlook o;
	delegate_look(&o, needs, 0);
	if (!o.own)
		return err_set(e, ERR_SYSTEM, "find the scope that was made for hutch");
	d->is_scope = true;
	return use_own(d, &o, e);
}

static int find(struct delegate *d, unsigned needs, pid_t waiter, struct err *e)
{
	AUTO_OUTLOOK struct outlook o;

	delegate_look(&o, needs, waiter);
	if (!o.own)
		return err_set(e, ERR_UNSUPPORTED,
			       "no cgroup file system of version 2 is "
			       "mounted at /sys/fs/cgroup that shows hutch's "
			       "own cgroup");
	if (o.above)
		return use_above(d, &o, needs, e);
	if (!o.is_marked)
		(void)err_set(e, ERR_REFUSED,
			      "the cgroup %.300s, in which hutch was started, "
			      "is systemd's own and not delegated",
			      o.own);
	else if (use_own(d, &o, e) == 0)
		return 0;
	return scope_has_bus() ? find_in_scope(d, needs, e) : -1;
}

/* Adds the remedy that `hutch doctor` has for this host.  A command line that is too
 * long for the error would be cut, so the remedy then names hutch doctor. */
static void advise(unsigned needs, pid_t waiter, struct err *e)
{
	AUTO_OUTLOOK struct outlook o;

	delegate_look(&o, needs, waiter);
	AUTO_FREE char *remedy = delegate_remedy(&o, waiter ? waiter : getpid());
	bool fits = remedy && strlen(remedy) + sizeof(WEAKER) <= ERR_REMEDY_MAX;
	(void)err_remedy(e, "%s" WEAKER, fits ? remedy : "hutch doctor says more");
}

int delegate_find(struct delegate *d, const struct policy *policy, unsigned needs,
		  pid_t waiter, struct err *e)
{
	struct err why = { 0 };
	int found = policy->cgroup_parent
			? find_named(d, policy->cgroup_parent, needs, waiter, &why)
			: find(d, needs, waiter, &why);

	if (found == 0)
		return 0;
	delegate_done(d);
	delegate_init(d);
	if (policy->cgroup_parent)
		(void)err_from(&why, "--cgroup-parent");
	else if (!*why.remedy)
		advise(needs, waiter, &why);
	(void)err_in(&why, "limits need a cgroup");
	if (e)
		*e = why;
	return -1;
}
