/* Theory of operation.
 *
 * A limit needs a cgroup that hutch may make, and the kernel lets an ordinary user
 * move a process only within a subtree that is his and that the process is in
 * already (cgroups(7), "Delegation containment").  What systemd manages is
 * systemd's alone, though the user may write there, except where a unit was marked
 * with Delegate=yes.  So there are three ways, in this order: a cgroup above ours,
 * in our unit, in which no process lives; our own, if nobody else lives in it; a
 * new scope of systemd's user manager.
 *
 * Anything that was made to try this would be seen by everybody on the host.  So
 * the kernel is asked whether we may write (access(2), which knows read-only mounts
 * too), and the user's bus whether it answers. */
#include "sandbox/probes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/checks.h"
#include "sandbox/delegate.h"

#define CGROUP2_MAGIC 0x63677270 /* statfs(2), linux/magic.h */
#define FILE_MAX      (1u << 20)

static const char *const wanted[] = { "memory", "cpu", "pids" };

/* All that the search knows. */
struct place {
	const char *mount;
	char *own;   /* owned: the folder of the cgroup that we are in */
	char *above; /* owned: one above it that can be used as it is; or NULL */
	bool is_ours; /* own */
};

static char *read_file(const char *folder, const char *name)
{
	AUTO_FREE char *path = text_format("%s/%s", folder, name);
	char *text = NULL;
	size_t len;

	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_file(fd, path, FILE_MAX, &text, &len, NULL) < 0)
		return text_copy("");
	return text;
}

static const char *find_mount(void)
{
	/* The second is where systemd puts it beside cgroup v1. */
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_MAGIC)
			return places[i];
	return NULL;
}

/* The line "0::/PATH" is cgroup v2's (cgroups(7)). */
static char *find_own(const char *mount)
{
	AUTO_FREE char *text = read_file("/proc/self", "cgroup");
	char *line = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text;

	if (!line)
		return text_copy(mount);
	line = strstr(line, "::") + 2;
	line[strcspn(line, "\n")] = '\0';
	return text_format("%s%s", mount, strcmp(line, "/") ? line : "");
}

static bool is_writable(const char *folder, const char *name)
{
	AUTO_FREE char *path = text_format("%s/%s", folder, name);

	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static bool is_delegated(const char *folder)
{
	return is_writable(folder, "") && is_writable(folder, "cgroup.procs") &&
	       is_writable(folder, "cgroup.subtree_control");
}

/* How many processes live in it that are none of ours: each has a line, and of
 * hutch there are two, the one that was called and this one. */
static unsigned count_others(const char *folder)
{
	AUTO_FREE char *text = read_file(folder, "cgroup.procs");
	unsigned others = 0;
	char *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));) {
		pid_t pid = (pid_t)strtol(line, NULL, 10);
		others += *line && pid != getpid() && pid != getppid();
	}
	return others;
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += len)
		if ((at == text || at[-1] == ' ') && strchr(" \n", at[len]))
			return true;
	return false;
}

/* What of the wanted controllers a folder's file does not name: "memory, cpu", or
 * "".  Allocated. */
static char *missing_controllers(const char *folder, const char *file)
{
	AUTO_FREE char *have = read_file(folder, file);
	char *missing = text_copy("");

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		if (has_word(have, wanted[i]))
			continue;
		AUTO_FREE char *before = missing;
		missing = text_format("%s%s%s", before, *before ? ", " : "", wanted[i]);
	}
	return missing;
}

/* One that hands on all that is wanted, or could, since nobody lives in it. */
static bool hands_on(const char *folder)
{
	AUTO_FREE char *now = missing_controllers(folder, "cgroup.subtree_control");
	AUTO_FREE char *then = missing_controllers(folder, "cgroup.controllers");

	return !*now || (!*then && count_others(folder) == 0);
}

static char *find_above(const struct place *p)
{
	AUTO_FREE char *at = text_copy(p->own);

	while (!delegate_is_unit(at) && strlen(at) > strlen(p->mount)) {
		*strrchr(at, '/') = '\0';
		if (!is_delegated(at))
			break;
		if (hands_on(at))
			return text_copy(at);
	}
	return NULL;
}

/* Does somebody answer at the socket, who is the user? */
static bool is_listening(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat st;

	if (strlen(path) >= sizeof(at.sun_path) || stat(path, &st) < 0 ||
	    st.st_uid != geteuid())
		return false;
	memcpy(at.sun_path, path, strlen(path));
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
}

/* The user's bus, through which systemd's user manager is spoken to. */
static bool has_manager(void)
{
	const char *named = getenv("XDG_RUNTIME_DIR");
	AUTO_FREE char *usual = text_format("/run/user/%u/bus", geteuid());
	AUTO_FREE char *path = text_format("%s/bus", named && *named == '/' ? named : "");

	return is_listening(path) || is_listening(usual);
}

/* The manager's own cgroup, from whose controllers its scopes get theirs. */
static char *manager_folder(const struct place *p)
{
	return text_format("%s/user.slice/user-%u.slice/user@%u.service", p->mount, geteuid(),
			   geteuid());
}

static void advise_boot(struct trial *t)
{
	trial_remedy(t, "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command "
			"line");
}

static void explain_no_mount(struct trial *t)
{
	trial_found(t, CHECK_MISSING, "cgroup v2 is not mounted at /sys/fs/cgroup");
	if (access("/sys/fs/cgroup/memory", F_OK) == 0)
		advise_boot(t);
	else if (access("/sys/fs/cgroup", F_OK) < 0)
		trial_remedy(t, "start the outer container with its /sys/fs/cgroup mounted");
	else
		trial_remedy(t, "as root: mount -t cgroup2 cgroup2 /sys/fs/cgroup");
}

static void explain_version_1(struct trial *t, const struct place *p)
{
	trial_found(t, CHECK_MISSING, "cgroup v2 is at %s, but memory, cpu and pids are bound "
				      "to v1", p->mount);
	advise_boot(t);
}

/* Who called hutch, this process' parent: most often a shell. */
static int find_caller(void)
{
	AUTO_FREE char *folder = text_format("/proc/%d", (int)getppid());
	AUTO_FREE char *status = read_file(folder, "status");
	const char *line = strstr(status, "\nPPid:\t");

	return line ? atoi(line + strlen("\nPPid:\t")) : 0;
}

/* Without a manager root makes the subtree by hand, and puts the caller's shell in
 * a leaf of it, since a cgroup with processes in it hands no controllers on. */
static void advise_by_hand(struct trial *t, const struct place *p)
{
	unsigned uid = geteuid();

	trial_remedy(t, "as root: cd %s; g=hutch-%u; echo '+memory +cpu +pids' "
			">cgroup.subtree_control; mkdir -p $g/shell; chown %u $g "
			"$g/cgroup.procs $g/cgroup.subtree_control; echo %d "
			">$g/shell/cgroup.procs", p->mount, uid, uid, find_caller());
}

static void explain_none(struct trial *t, const struct place *p)
{
	trial_found(t, CHECK_MISSING, "%.300s is not delegated to user %u, and no user manager "
				      "of systemd answers", p->own, geteuid());
	if (access("/run/systemd/system", F_OK) == 0)
		trial_remedy(t, "as root: loginctl enable-linger %u", geteuid());
	else
		advise_by_hand(t, p);
}

/* Who hands controllers on: the service manager, or whoever made the folders. */
static void advise_controllers(struct trial *t, const struct place *p, const char *folder)
{
	if (access("/run/systemd/system", F_OK) == 0) {
		trial_remedy(t, "as root: mkdir -p /etc/systemd/system/user@.service.d; printf "
				"'[Service]\\nDelegate=cpu cpuset io memory pids\\n' "
				">/etc/systemd/system/user@.service.d/delegate.conf; systemctl "
				"daemon-reload; then log in anew");
		return;
	}
	AUTO_FREE char *below = text_copy(folder + strlen(p->mount));
	for (char *slash = below; (slash = strchr(slash, '/'));)
		*slash = ' ';
	trial_remedy(t, "as root: g=%s; for d in%.300s; do echo '+memory +cpu +pids' "
			">$g/cgroup.subtree_control; g=$g/$d; done", p->mount, below);
}

static void explain_manager(struct trial *t, const struct place *p)
{
	AUTO_FREE char *folder = manager_folder(p);
	AUTO_FREE char *missing = missing_controllers(folder, "cgroup.controllers");

	if (*missing) {
		trial_found(t, CHECK_LIMITED, "systemd's user manager makes one for each sandbox "
					      "with a limit, without %s", missing);
		trial_means(t, "limits by %s fail unless --best-effort is given", missing);
		advise_controllers(t, p, folder);
	} else {
		trial_found(t, CHECK_OK, "systemd's user manager makes one for each sandbox with "
					 "a limit");
	}
}

static void explain_lack(struct trial *t, const struct place *p, const char *missing)
{
	trial_found(t, CHECK_LIMITED, "%.300s is delegated to user %u, without %s", p->own,
		    geteuid(), missing);
	trial_means(t, "limits by %s fail unless --best-effort is given", missing);
	advise_controllers(t, p, p->own);
}

static void explain_others(struct trial *t, const struct place *p)
{
	trial_found(t, CHECK_LIMITED, "%.300s is delegated to user %u, but %u other processes "
				      "live in it", p->own, geteuid(), count_others(p->own));
	trial_means(t, "limits fail: a cgroup with processes in it hands no controllers on");
	trial_remedy(t, "g=%.300s; mkdir -p $g/shell; for p in $(cat $g/cgroup.procs); do "
			"echo $p >$g/shell/cgroup.procs; done 2>/dev/null", p->own);
}

/* A remedy is copied into a shell, that of root maybe. */
static bool is_plain(const char *path)
{
	return path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789/@._:-")] == '\0';
}

/* There is a version 2 with controllers: how do we get at it? */
static void explain_place(struct trial *t, const struct place *p)
{
	AUTO_FREE char *missing = missing_controllers(p->own, "cgroup.controllers");
	bool is_usable = p->is_ours && !*missing && count_others(p->own) == 0;

	if (p->above)
		trial_found(t, CHECK_OK, "%.300s, above our own, is delegated to user %u",
			    p->above, geteuid());
	else if (is_usable)
		trial_found(t, CHECK_OK, "%.300s is delegated to user %u", p->own, geteuid());
	else if (has_manager())
		explain_manager(t, p);
	else if (!p->is_ours)
		explain_none(t, p);
	else if (*missing)
		explain_lack(t, p, missing);
	else
		explain_others(t, p);
	if (!is_plain(p->own))
		t->check.remedy[0] = '\0';
}

void probe_cgroup(struct trial *t)
{
	struct place p = { .mount = find_mount() };

	if (!p.mount) {
		explain_no_mount(t);
		return;
	}
	AUTO_FREE char *missing = missing_controllers(p.mount, "cgroup.controllers");
	if (!strcmp(missing, "memory, cpu, pids")) {
		explain_version_1(t, &p);
		return;
	}
	p.own = find_own(p.mount);
	if (delegate_is_marked(p.own, p.mount)) {
		p.is_ours = is_delegated(p.own);
		p.above = find_above(&p);
	}
	explain_place(t, &p);
	free(p.own);
	free(p.above);
}
