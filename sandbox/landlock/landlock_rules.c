#include "sandbox/landlock/landlock_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/term_escape.h"
#include "policy/policy.h"
#include "sandbox/plan/image.h"
#include "sandbox/plan/volumes.h"

/* The kinds of rights that a path can be granted.  Even WRITES does not allow a
 * command to make sockets or device nodes. */
enum right { READS, WRITES, DEVICE, RIGHT_COUNT };
static const uint64_t rights[RIGHT_COUNT] = {
	[READS] = LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR,
	[WRITES] = LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR |
		   LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_REMOVE_DIR |
		   LANDLOCK_REMOVE_FILE | LANDLOCK_MAKE_DIR | LANDLOCK_MAKE_REG |
		   LANDLOCK_MAKE_FIFO | LANDLOCK_MAKE_SYM | LANDLOCK_REFER,
	[DEVICE] = LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | LANDLOCK_IOCTL_DEV,
};

/* Adds a rule, which owns `fd` from then on. */
static void add_rule(struct landlock_rules *g, int fd, uint64_t allowed, const char *path)
{
	if (g->count == g->room) {
		g->room = g->room ? 2 * g->room : 64;
		g->rules = mem_resize(g->rules, g->room, sizeof(*g->rules));
		g->paths = mem_resize(g->paths, g->room, sizeof(*g->paths));
	}
	g->rules[g->count] = (struct landlock_rule){ .fd = fd, .allowed = allowed };
	g->paths[g->count++] = text_copy(path);
}

/* Grants a right on `path`; returns -1 with errno set on failure.  A file that is
 * neither a folder nor a plain file is granted only as a DEVICE. */
static int grant(struct landlock_rules *g, const char *path, enum right right)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	bool is_plain = S_ISDIR(st.st_mode) || S_ISREG(st.st_mode);
	if (right != DEVICE && !is_plain) { /* layer: landlock-devices */
		errno = EINVAL;
		return -1;
	}
	uint64_t allowed = rights[right] &
			   (S_ISDIR(st.st_mode) ? LANDLOCK_ALL : LANDLOCK_OF_FILES);
	add_rule(g, fd_take(&fd), allowed, path);
	return 0;
}

/* --- the host's -------------------------------------------------------------------- */

/* Tells whether an earlier rule covers the path already.  /bin, for example, is a
 * link to /usr/bin on most hosts. */
static bool is_granted(const struct landlock_rules *g, const char *path)
{
	for (size_t i = 0; i < g->count; i++)
		if (path_below(path, g->paths[i]))
			return true;
	return false;
}

static int grant_host_path(struct landlock_rules *g, const char *path, struct err *e)
{
	const struct volume of_host = { .source = (char *)(uintptr_t)path };
	AUTO_FREE char *real = realpath(path, NULL);

	if (!real || is_granted(g, real))
		return 0;
	if (volumes_check_apart(&of_host, real, g->own, e) < 0)
		return -1;
	(void)grant(g, real, READS); /* on failure (this user cannot open the path) the
				      * path is left out */
	return 0;
}

/* Lists the files of /etc that commands may read.  Users' names are no secret among
 * users, and programs ask for them.  resolv.conf is needed only by a command that has
 * a network. */
static void list_etc(struct list *ret, const struct policy *policy)
{
	static const char *const always[] = { "/etc/passwd", "/etc/group",
					      "/etc/nsswitch.conf", "/etc/hosts" };

	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		list_add(ret, always[i]);
	if (policy->network == NETWORK_HOST)
		list_add(ret, "/etc/resolv.conf");
}

/* Lists files of /proc that describe the machine.  Files of processes (/proc/PID) are
 * left out: a Landlock rule names one inode, so no rule can grant the files of just
 * one user's processes. */
static void list_proc(struct list *ret)
{
	static const char *const names[] = { "cpuinfo", "filesystems", "loadavg",
					     "meminfo", "stat",	       "uptime",
					     "version" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		list_addf(ret, "/proc/%s", names[i]);
}

static int grant_host(struct landlock_rules *g, const struct policy *policy,
		      struct err *e)
{
	struct list paths = { 0 };
	int result = image_list_host(0, &paths, e);

	list_etc(&paths, policy);
	list_proc(&paths);
	for (size_t i = 0; result == 0 && i < paths.count; i++)
		result = grant_host_path(g, paths.items[i], e);
	list_done(&paths);
	return result;
}

static int grant_devices(struct landlock_rules *g, struct err *e)
{
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full",
					       "/dev/random", "/dev/urandom" };

	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		if (grant(g, devices[i], DEVICE) < 0)
			return err_sys(e, "look at %s of the host", devices[i]);
	return 0;
}

/* --- the user's -------------------------------------------------------------------- */

/* Refuses a volume that is to be at another path inside than on the host: without
 * namespaces, a path leads to the same file inside and outside. */
static int check_place(const struct volume *v, const char *source, struct err *e)
{
	AUTO_FREE char *target = realpath(v->target, NULL);

	if (v->kind == VOLUME_WORKSPACE || (target && !strcmp(source, target)))
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "mount %.200s at %.200s: another path than its own needs "
		      "namespaces",
		      v->source, v->target);
	(void)err_from(e, v->from);
	return err_remedy(e, "-v %.100s:%.100s shows it where it is", source, source);
}

static int grant_volume(struct landlock_rules *g, const struct volume *v, struct err *e)
{
	AUTO_FREE char *source = realpath(v->source, NULL);
	struct stat st;

	if (!source || stat(source, &st) < 0)
		return volumes_source_missing(v, e);
	if (v->kind != VOLUME_BIND && !S_ISDIR(st.st_mode)) {
		(void)err_set(e, ERR_USAGE, "%.200s is not a folder", v->source);
		return err_from(e, v->from);
	}
	if (check_place(v, source, e) < 0 ||
	    volumes_check_apart(v, source, g->own, e) < 0)
		return -1;
	if (grant(g, source, v->is_writable ? WRITES : READS) < 0)
		return volumes_source_missing(v, e);
	if (v->kind == VOLUME_WORKSPACE)
		g->workspace = text_copy(source);
	return 0;
}

/* Refuses a read-only volume inside a writable one: Landlock's rights beneath a
 * folder add up, so every file below a writable folder is writable. */
static int check_nesting(const struct policy *policy, const struct volume *inner,
			 struct err *e)
{
	AUTO_FREE char *path = realpath(inner->source, NULL);

	for (size_t i = 0; !inner->is_writable && path && i < policy->volume_count; i++) {
		const struct volume *outer = &policy->volumes[i];
		AUTO_FREE char *around = realpath(outer->source, NULL);
		if (!outer->is_writable || !around || !path_below(path, around))
			continue;
		(void)err_set(e, ERR_UNSUPPORTED,
			      "mount %.200s: a path in a writable folder "
			      "can be read-only only where there are "
			      "namespaces",
			      inner->source);
		return err_from(e, inner->from);
	}
	return 0;
}

static int grant_volumes(struct landlock_rules *g, const struct policy *policy,
			 struct err *e)
{
	for (size_t i = 0; i < policy->volume_count; i++)
		if (grant_volume(g, &policy->volumes[i], e) < 0 ||
		    check_nesting(policy, &policy->volumes[i], e) < 0)
			return -1;
	return 0;
}

int landlock_rules_add_private(struct landlock_rules *g, const char *path, struct err *e)
{
	return grant(g, path, WRITES) < 0 ? err_sys(e, "open %s", path) : 0;
}

int landlock_rules_build(struct landlock_rules *g, const struct policy *policy,
			 struct err *e)
{
	if (grant_host(g, policy, e) < 0 || grant_devices(g, e) < 0)
		return -1;
	return grant_volumes(g, policy, e);
}

void landlock_rules_done(struct landlock_rules *g)
{
	for (size_t i = 0; i < g->count; i++) {
		own_close(&g->rules[i].fd);
		free(g->paths[i]);
	}
	free(g->rules);
	free(g->paths);
	free(g->workspace);
	list_done(&g->own[0]);
	list_done(&g->own[1]);
	*g = (struct landlock_rules){ 0 };
}

void landlock_rules_print(const struct landlock_rules *g, FILE *to)
{
	for (size_t i = 0; i < g->count; i++) {
		AUTO_FREE char *path = term_escape_line(g->paths[i]);
		(void)fprintf(to, "%-9s %s\n",
			      g->rules[i].allowed & LANDLOCK_WRITE_FILE ? "write"
									: "read",
			      path);
	}
}
