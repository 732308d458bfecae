#include "sandbox/root/root_fuse_server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/program.h"
#include "sandbox/kernel/rlimits.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/plan/plan.h"
#include "sandbox/root/jail.h"
#include "sandbox/root/mounts.h"

#define LAYERS "layers"
#define DISK   "disk"
#define PROC   "proc"

#define MEMORY_MAX    JAIL_MEMORY_MAX
#define PROCESSES_MAX 16

/* The numbers of two descriptors in the server: standard error, which takes its
 * messages, and the one for the mount. */
#define WORDS_FD 2
#define MOUNT_FD 3

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* Where the dynamic loader looks for libraries. */
static const char *const libraries[] = {
	"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64",
	"/usr/libx32", "/usr/local/lib", "/usr/local/lib64",
};

struct server {
	const struct root_fuse_server *given;
	const struct step *step;
	int program; /* descriptor of the checked program (program_seal()) */
	int mount;   /* the descriptor of /dev/fuse by which the server serves the root */
	int words;
};

/* Needs: namespaces.  Leaves: a process that dies with its parent, and that gets no
 * signals from a terminal. */
static int stage_apart(struct server *s, struct err *e)
{
	sigset_t none;

	(void)s;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid(); /* setsid(2) cannot fail: pid 1 of a new namespace leads no
			 * group */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(e, "prctl PR_SET_PDEATHSIG");
	return 0;
}

static int stage_ids(struct server *s, struct err *e)
{
	const struct plan *p = s->given->plan;

	return idmap_write_both(&p->ids.uids[0], &p->ids.gids[0], e);
}

/* --- its files ------------------------------------------------------------------- */

/* Mounts `from` at `name` in the working directory. */
static int bind(const char *from, uint64_t attr, const char *name, struct err *e)
{
	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, from, true, e);

	if (mount < 0 || mount_api_set_attr(mount, attr, true, from, e) < 0)
		return -1;
	if (mkdir(name, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make %s", name);
	return mount_api_attach(mount, AT_FDCWD, name, from, e);
}

static int check_same(const struct step *s, const char *name, struct err *e)
{
	struct stat st;

	if (stat(name, &st) < 0)
		return err_sys(e, "look at the image %.300s", s->source);
	if (st.st_dev == s->dev && st.st_ino == s->ino)
		return 0;
	return err_set(e, ERR_REFUSED,
		       "the image %.300s was replaced while the sandbox was "
		       "being made",
		       s->source);
}

static int bind_layers(const struct step *s, struct err *e)
{
	const uint64_t attr = READ_ONLY | MOUNT_ATTR_NOEXEC;

	/* An empty layer is put below all others, so that an image without layers
	 * works too. */
	if (mkdir(LAYERS, 0755) < 0 || mkdir(LAYERS "/none", 0755) < 0)
		return err_sys(e, "make folders for the image");
	if (s->source)
		return bind(s->source, attr, LAYERS "/0", e) < 0
			       ? -1
			       : check_same(s, LAYERS "/0", e);
	for (size_t i = 0; i < s->lowers->count; i++) {
		AUTO_FREE char *name = text_format(LAYERS "/%zu", i);
		if (bind(s->lowers->items[i], attr, name, e) < 0)
			return -1;
	}
	return 0;
}

static int bind_libraries(struct err *e)
{
	struct stat st;

	if (mkdir("usr", 0755) < 0 || mkdir("usr/local", 0755) < 0 ||
	    mkdir("etc", 0755) < 0)
		return err_sys(e, "make folders for libraries");
	for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
		if (stat(libraries[i], &st) == 0 && S_ISDIR(st.st_mode) &&
		    bind(libraries[i], READ_ONLY, libraries[i] + 1, e) < 0)
			return -1;
	AUTO_CLOSE int cache = mount_api_clone_file("/etc/ld.so.cache", NULL);
	if (cache < 0)
		return 0; /* musl has no cache of libraries */
	AUTO_CLOSE int file =
		open("etc/ld.so.cache", O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
	if (file < 0)
		return err_sys(e, "make a file for libraries");
	return mount_api_attach(cache, AT_FDCWD, "etc/ld.so.cache", "/etc/ld.so.cache",
				e);
}

static int fill_root(const struct step *s, struct err *e)
{
	const uint64_t attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

	if (bind_layers(s, e) < 0 || bind(s->upper, attr, DISK, e) < 0 ||
	    bind_libraries(e) < 0)
		return -1;
	AUTO_CLOSE int proc = mounts_make_proc(e);
	if (proc < 0)
		return -1;
	if (mkdir(PROC, 0755) < 0)
		return err_sys(e, "make a folder for /proc");
	return mount_api_attach(proc, AT_FDCWD, PROC, "/proc", e);
}

/* Makes the new root the root.  Checks that "/.." is the new root, too: if the old
 * root still lay over it, "/.." would lead to the old one. */
static int leave_old(struct err *e)
{
	struct stat st, above;

	if (sys_pivot_root(".", ".") < 0 || sys_umount2(".", KERNEL_MNT_DETACH) < 0 ||
	    chdir("/") < 0)
		return err_sys(e, "pivot_root");
	if (stat("/", &st) < 0 || stat("/..", &above) < 0)
		return err_sys(e, "look at the root");
	if (st.st_dev != above.st_dev || st.st_ino != above.st_ino)
		return err_set(e, ERR_INTERNAL, "the old root is still in reach");
	return 0;
}

/* Needs: the host's paths.  Leaves: a root that has all files that the program needs,
 * and the program's descriptor. */
static int stage_root(struct server *s, struct err *e)
{
	s->program = program_seal(s->given->program, e);
	if (s->program < 0)
		return -1;
	AUTO_CLOSE int root = mount_api_make("tmpfs", "mode=0755,size=64k",
				      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	if (root < 0)
		return -1;
	/* The host's "/" stays below the new root, and absolute paths still
	 * begin there. */
	if (sys_move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    fchdir(root) < 0)
		return err_sys(e, "mount a root");
	if (fill_root(s->step, e) < 0 ||
	    mount_api_set_attr(root, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, false, "/",
			       e) < 0)
		return -1;
	return leave_old(e);
}

/* --- what it holds ---------------------------------------------------------------- */

/* Waits for the descriptor of /dev/fuse.  If the sandbox's child ended before it made
 * the mount, it has reported the reason itself, and the server just exits. */
static int stage_mount(struct server *s, struct err *e)
{
	struct pollfd p = { .fd = s->given->socket, .events = POLLIN };
	char byte;

	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for the mount");
	if (fd_pass_receive(s->given->socket, &byte, 1, &s->mount) != 1 || s->mount < 0)
		_exit(0);
	return 0;
}

static int stage_descriptors(struct server *s, struct err *e)
{
	const int from[] = { s->given->null, s->given->null, s->given->words, s->mount };
	int high[ARRAY_LEN(from)];
	int program = fcntl(s->program, F_DUPFD_CLOEXEC, 10);

	if (program < 0)
		return err_sys(e, "move a descriptor");
	for (size_t i = 0; i < ARRAY_LEN(from); i++)
		if ((high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 10)) < 0)
			return err_sys(e, "move a descriptor");
	if (sys_close_range(MOUNT_FD, 9, 0) < 0)
		return err_sys(e, "close descriptors");
	for (size_t i = 0; i < ARRAY_LEN(from); i++)
		if (dup2(high[i], (int)i) < 0)
			return err_sys(e, "set descriptor %zu", i);
	s->program = program;
	s->words = WORDS_FD;
	/* All descriptors with higher numbers than the mount's are closed at
	 * execve(2). */
	if (sys_close_range(MOUNT_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return err_sys(e, "close descriptors");
	return 0;
}

static int stage_limits(struct server *s, struct err *e)
{
	(void)s;
	if (rlimits_lower(RLIMIT_CORE, RLIMITS_NO_CORE, e) < 0 ||
	    rlimits_lower(RLIMIT_AS, MEMORY_MAX, e) < 0)
		return -1;
	return rlimits_lower(RLIMIT_NPROC, PROCESSES_MAX, e);
}

static int stage_privileges(struct server *s, struct err *e)
{
	const uint64_t kept = 1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE |
			      1ull << CAP_FOWNER | 1ull << CAP_FSETID;
	struct seccomp_program program;

	(void)s;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "prctl PR_SET_NO_NEW_PRIVS");
	if (caps_reduce(kept, kept, geteuid() == 0, e) < 0)
		return -1;
	seccomp_default(SECCOMP_FLAT, &program);
	return seccomp_install(&program, e);
}

/* --- the program ------------------------------------------------------------------ */

/* Lists the layers as fuse-overlayfs wants them: the topmost first. */
static char *list_layers(const struct step *s)
{
	size_t count = s->source ? 1 : s->lowers->count;
	char *names = text_copy("");

	for (size_t i = count; i-- > 0;) {
		char *more = text_format("%s/" LAYERS "/%zu:", names, i);
		free(names);
		names = more;
	}
	char *all = text_format("%s/" LAYERS "/none", names);
	free(names);
	return all;
}

/* Executes fuse-overlayfs, which shows every file as that of the sandbox's one
 * user: the other ids of an image are not mapped. */
static int stage_exec(struct server *s, struct err *e)
{
	const struct plan *p = s->given->plan;
	AUTO_FREE char *layers = list_layers(s->step);
	AUTO_FREE char *options = text_format("lowerdir=%s,upperdir=/" DISK "/upper,"
					      "workdir=/" DISK "/work,"
					      "squash_to_uid=%u,squash_to_gid=%u",
					      layers, p->ids.uids[0].inside,
					      p->ids.gids[0].inside);
	char name[] = "fuse-overlayfs", flag[] = "-f", o[] = "-o", at[] = "/dev/fd/3";
	char *argv[] = { name, flag, o, options, at, NULL }, *env[] = { NULL };

	(void)syscall(SYS_execveat, s->program, "", argv, env, AT_EMPTY_PATH);
	return err_sys(e, "execute %s", s->given->program->path);
}

static int (*const stages[])(struct server *, struct err *) = {
	stage_apart,	   stage_ids,	 stage_root,	   stage_mount,
	stage_descriptors, stage_limits, stage_privileges, stage_exec,
};

void root_fuse_server_run(struct root_fuse_server *given)
{
	struct server s = { .given = given, .step = &given->plan->steps[0], .program = -1,
			    .mount = -1, .words = given->words };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(stages); i++)
		if (stages[i](&s, &e) < 0)
			break;
	(void)io_write_all(s.words, e.text, strlen(e.text)); /* if the write fails, the
							      * message is lost */
	_exit(1);
}
