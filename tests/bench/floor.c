/* floor -- the kernel's own cost of a launch.
 *
 *	floor [--beside] TABLE CMD [ARG...]
 *
 * Makes the namespaces, mounts and files of `hutch run`, loads its default
 * filter and does as many execs (itself, an executor, the command), in the
 * plainest order, and nothing else: it parses nothing, checks nothing about the
 * host, moves no data, limits nothing, reports nothing.  The launcher's time
 * divided by this program's shows what the launcher adds to the kernel.
 *
 * TABLE is the output of `hutch run --dry-run`, made binary by plan.py: a
 * header, the steps, and then the text that the steps point at.  It is taken
 * with one read(2).
 *
 * All namespaces come from one clone3(2). --beside makes the network namespace
 * in a separate process beside the mounts, as hutch does: the difference of the
 * two shows what that saves.
 *
 * Three processes, as in hutch: the launcher; pid 1, which sets up and then becomes
 * the executor (this same file under another name, through a read-only mount of its
 * own); and the command. */
#include <err.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/own.h"

#define EXECUTOR  "floor-executor"
#define TABLE_MAX (1u << 20)
#define MAGIC	  0x726f6c66u

/* In step with KINDS in plan.py. */
enum kind {
	FOLDER,	  /* mode */
	NODE,	  /* an empty file to mount upon */
	LINK,	  /* data: its target */
	CONTENT,  /* a file; data: its content */
	BIND,	  /* bind mount of a host folder with its submounts; attr: mount flags */
	CLONE,	  /* source below the new root, with attr if not 0 */
	INSTANCE, /* source: the type; data: pairs of option and value */
	SEAL,	  /* the root's own mount becomes read-only */
	KIND_COUNT
};

/* Texts are offsets into the table. */
struct step {
	uint32_t kind, attr, mode;
	uint32_t source, target, data;
};

struct table {
	uint32_t magic, count;
	uint64_t namespaces;
	uint32_t inside_uid, inside_gid, outside_uid, outside_gid;
	/* Whether this process still has to change its ids to the outside ids. */
	uint32_t becomes;
	uint32_t executor; /* path of this program */
	/* Whether a Landlock domain around the root is entered. */
	uint32_t has_landlock_root;
	struct step steps[];
};

static const struct sock_filter filter[] = {
#include "gen/seccomp_default.h"
};

static const char *text(const struct table *t, uint32_t at)
{
	return (const char *)t + at;
}

/* Ends the program if a call fails: there is nothing to measure then. */
static int must(long result, const char *what, const char *on)
{
	if (result < 0)
		err(125, "%s %s", what, on);
	return (int)result;
}

static void set_attr(int mount, uint64_t set, unsigned flags, const char *of)
{
	struct mount_attr attr = { .attr_set = set, .propagation = MS_PRIVATE };

	must(sys_mount_setattr(mount, "", AT_EMPTY_PATH | flags, &attr), "set flags of",
	     of);
}

/* Attaches and closes `mount`. */
static void attach(int mount, int root, const char *target)
{
	must(sys_move_mount(mount, "", root, target, MOVE_MOUNT_F_EMPTY_PATH), "mount at",
	     target);
	close(mount);
}

static void make_folder(int root, const struct table *t, const struct step *s)
{
	must(mkdirat(root, text(t, s->target), s->mode), "make", text(t, s->target));
}

static void make_node(int root, const struct table *t, const struct step *s)
{
	must(mknodat(root, text(t, s->target), S_IFREG | 0755, 0), "make",
	     text(t, s->target));
}

static void make_link(int root, const struct table *t, const struct step *s)
{
	must(symlinkat(text(t, s->data), root, text(t, s->target)), "link",
	     text(t, s->target));
}

static void make_content(int root, const struct table *t, const struct step *s)
{
	const char *path = text(t, s->target), *content = text(t, s->data);
	AUTO_CLOSE int fd = must(openat(root, path, O_WRONLY | O_CREAT | O_CLOEXEC,
					(mode_t)s->mode), "make", path);

	must(write(fd, content, strlen(content)), "write", path);
}

static void mount_bind(int root, const struct table *t, const struct step *s)
{
	const char *source = text(t, s->source);
	int mount =
		must(sys_open_tree(AT_FDCWD, source,
				   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE),
		     "clone", source);

	set_attr(mount, s->attr, AT_RECURSIVE, source);
	attach(mount, root, text(t, s->target));
}

static void mount_clone(int root, const struct table *t, const struct step *s)
{
	const char *source = text(t, s->source);
	int mount = must(sys_open_tree(root, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC),
			 "clone", source);

	if (s->attr)
		set_attr(mount, s->attr, 0, source);
	attach(mount, root, text(t, s->target));
}

static int make_instance(const struct table *t, const struct step *s)
{
	const char *type = text(t, s->source), *option = text(t, s->data);
	AUTO_CLOSE int fs = must(sys_fsopen(type, FSOPEN_CLOEXEC), "open a new", type);

	while (*option) {
		const char *value = option + strlen(option) + 1;
		must(sys_fsconfig(fs, FSCONFIG_SET_STRING, option, value), "set", option);
		option = value + strlen(value) + 1;
	}
	must(sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL), "create", type);
	return must(sys_fsmount(fs, FSMOUNT_CLOEXEC, s->attr), "mount", type);
}

static void mount_instance(int root, const struct table *t, const struct step *s)
{
	attach(make_instance(t, s), root, text(t, s->target));
}

static void seal(int root, const struct table *t, const struct step *s)
{
	set_attr(root, s->attr, 0, text(t, s->target));
}

static void (*const actions[])(int, const struct table *, const struct step *) = {
	[FOLDER] = make_folder,	    [NODE] = make_node,	   [LINK] = make_link,
	[CONTENT] = make_content,   [BIND] = mount_bind,   [CLONE] = mount_clone,
	[INSTANCE] = mount_instance, [SEAL] = seal,
};
_Static_assert(ARRAY_LEN(actions) == KIND_COUNT, "a kind has no action");

/* The first step is the root itself.  It is mounted over the old one: "/" still
 * means the old one, since a lookup that starts at the root does not step onto
 * a mount there. */
static void build_tree(const struct table *t)
{
	AUTO_CLOSE int root = make_instance(t, &t->steps[0]);

	must(sys_move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH), "attach",
	     "the new root");
	umask(0);
	for (uint32_t i = 1; i < t->count; i++)
		actions[t->steps[i].kind](root, t, &t->steps[i]);
	must(fchdir(root), "enter", "the new root");
	must(sys_pivot_root(".", "."), "pivot to", "the new root");
	must(sys_umount2(".", KERNEL_MNT_DETACH), "unmount", "the old root");
	must(chdir("/"), "enter", "/");
}

static void write_proc(const char *path, const char *line)
{
	AUTO_CLOSE int fd = must(open(path, O_WRONLY | O_CLOEXEC), "open", path);

	must(write(fd, line, strlen(line)), "write", path);
}

/* user_namespaces(7): a process may map its own id itself.  That takes one
 * write for each map and no exchange with the parent. */
static void map_own_id(const struct table *t)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u 1\n", t->inside_uid, t->outside_uid);
	write_proc("/proc/self/uid_map", line);
	write_proc("/proc/self/setgroups", "deny");
	snprintf(line, sizeof(line), "%u %u 1\n", t->inside_gid, t->outside_gid);
	write_proc("/proc/self/gid_map", line);
}

/* Sets the loopback device up.  Returns the socket that was used for the ioctl. */
static int raise_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "open", "a socket");

	must(ioctl(fd, SIOCSIFFLAGS, &lo), "raise", lo.ifr_name);
	return fd;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	must(waitpid(pid, &status, 0), "wait for", "a child");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A network namespace that a helper process makes while the mounts are made.  The two
 * processes share their descriptors, so the namespace's descriptor gets the number
 * `place` in both. */
struct beside {
	int place;
	pid_t helper;
};

static struct beside begin_network(void)
{
	struct clone_args args = { .flags = CLONE_FILES, .exit_signal = SIGCHLD };
	struct beside b = { .place = must(open("/dev/null", O_RDONLY | O_CLOEXEC),
					  "open", "/dev/null") };

	b.helper = must(syscall(SYS_clone3, &args, sizeof(args)), "clone", "a helper");
	if (b.helper)
		return b;
	must(unshare(CLONE_NEWNET), "make", "a network namespace");
	int made = must(ioctl(raise_loopback(), SIOCGSKNS), "take", "the namespace");
	must(dup3(made, b.place, O_CLOEXEC), "hand over", "the namespace");
	_exit(0);
}

static void end_network(const struct beside *b)
{
	if (wait_for(b->helper) != 0)
		errx(125, "the network helper failed");
	must(setns(b->place, CLONE_NEWNET), "enter", "the network namespace");
}

/* All rights that Landlock has had since ABI 2, and those of them that a file has. */
#define LANDLOCK_ROOT_ALL  0x3fffu
#define LANDLOCK_ROOT_FILE 0x7u

static void add_rule(int set, int fd, uint64_t allowed)
{
	const struct landlock_path_beneath_attr rule = { .allowed_access = allowed,
							 .parent_fd = fd };

	must(syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule, 0),
	     "add", "a rule");
}

static void restrict_root(int executor)
{
	const uint64_t handled = LANDLOCK_ROOT_ALL;
	AUTO_CLOSE int root = must(open("/", O_PATH | O_CLOEXEC), "open", "/");
	AUTO_CLOSE int set = must(syscall(SYS_landlock_create_ruleset, &handled,
					  sizeof(handled), 0), "make", "a ruleset");

	add_rule(set, root, LANDLOCK_ROOT_ALL);
	add_rule(set, executor, LANDLOCK_ROOT_FILE);
	must(syscall(SYS_landlock_restrict_self, set, 0), "enter", "the domain");
}

static void load_filter(void)
{
	struct sock_fprog program = { ARRAY_LEN(filter), (struct sock_filter *)filter };

	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "load",
	     "the filter");
}

/* Sets up the sandbox as pid 1 of the new namespaces, and then executes this program
 * as the executor, with its own name in argv[0] instead of the caller's. */
static void set_up(const struct table *t, char **argv, int is_beside)
{
	const uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	const char *self = text(t, t->executor);
	struct beside network = { 0 };
	char *none[] = { NULL };

	if (is_beside)
		network = begin_network();
	map_own_id(t);
	int executor = must(sys_open_tree(AT_FDCWD, self, OPEN_TREE_CLONE |
					  OPEN_TREE_CLOEXEC), "clone", self);
	set_attr(executor, attr, 0, self);
	build_tree(t);
	if (is_beside)
		end_network(&network);
	else
		close(raise_loopback());
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "set", "no_new_privs");
	if (t->has_landlock_root)
		restrict_root(executor);
	load_filter();
	argv[0] = (char *)EXECUTOR;
	must(syscall(SYS_execveat, executor, "", argv, none, AT_EMPTY_PATH), "exec",
	     self);
}

static int be_executor(char **argv)
{
	char *none[] = { NULL };
	pid_t pid = vfork();

	if (pid == 0) {
		execve(argv[0], argv, none);
		_exit(127);
	}
	return wait_for(must(pid, "start", argv[0]));
}

/* prctl(2): a change of ids gives /proc/self, and the maps in it, to root. */
static void become(const struct table *t)
{
	must(syscall(SYS_setgroups, 0, NULL), "drop", "the groups");
	must(syscall(SYS_setresgid, t->outside_gid, t->outside_gid, t->outside_gid),
	     "set", "the group");
	must(syscall(SYS_setresuid, t->outside_uid, t->outside_uid, t->outside_uid),
	     "set", "the user");
	must(prctl(PR_SET_DUMPABLE, 1), "become", "dumpable");
}

static int launch(const struct table *t, char **argv, int is_beside)
{
	struct clone_args args = {
		.flags = is_beside ? t->namespaces & ~(uint64_t)CLONE_NEWNET
				   : t->namespaces,
		.exit_signal = SIGCHLD,
	};

	if (t->becomes)
		become(t);
	pid_t pid = must(syscall(SYS_clone3, &args, sizeof(args)), "clone into",
			 "new namespaces");
	if (pid == 0)
		set_up(t, argv, is_beside);
	return wait_for(pid);
}

static const struct table *read_table(const char *path)
{
	static _Alignas(struct table) char bytes[TABLE_MAX];
	AUTO_CLOSE int fd = must(open(path, O_RDONLY | O_CLOEXEC), "open", path);
	const struct table *t = (const void *)bytes;

	must(read(fd, bytes, sizeof(bytes)), "read", path);
	if (t->magic != MAGIC)
		errx(125, "%s is no table", path);
	return t;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[0], EXECUTOR) == 0)
		return be_executor(argv + 1);
	int is_beside = argc > 1 && strcmp(argv[1], "--beside") == 0;
	if (argc < 3 + is_beside)
		errx(125, "usage: floor [--beside] TABLE CMD [ARG...]");
	argv += 1 + is_beside;
	return launch(read_table(argv[0]), argv, is_beside);
}
