/* forbid: runs a command behind a seccomp filter, as an outer container would.
 *
 *	forbid MODE COMMAND [ARG...]
 *
 * The modes refuse:
 *	container	as docker's default profile does without
 *			CAP_SYS_ADMIN: clone3 is ENOSYS, clone with namespaces, unshare,
 *			setns and the mount calls are EPERM
 *	eperm		clone3, clone with namespaces, unshare: EPERM
 *	mounts		the mount calls alone: EPERM
 *	newcalls	the mount calls of Linux 5.2 alone: ENOSYS
 *	overlay		mount(2) of a new file system, which hutch calls for overlays
 *			alone: ENODEV, as where the kernel has no overlayfs
 *	oldoverlay	the same with EPERM, as where user namespaces may not mount it
 *	xattr		user attributes: EOPNOTSUPP
 *	rename		renameat(2): EPERM, as in an overlay that does not work
 *	rights		chroot(2): EPERM, as for a process without capabilities
 *	landlock	Landlock: EOPNOTSUPP, as where it was not enabled at boot
 *	seccomp		seccomp(2): EPERM
 *	netfilter	netlink sockets of netfilter: EPROTONOSUPPORT, as where the kernel
 *			has no nf_tables
 *	listener	nothing, but it has the only listener that is possible
 *	none		nothing: a filter that allows everything */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MAX	 64

#define NAMESPACES                                                             \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | \
	 CLONE_NEWUTS | CLONE_NEWCGROUP)

struct code {
	struct sock_filter insns[MAX];
	unsigned short len;
};

static void add(struct code *c, struct sock_filter insn)
{
	c->insns[c->len++] = insn;
}

static void add_refusal(struct code *c, long number, int error)
{
	add(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number,
					    0, 1));
	add(c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					    SECCOMP_RET_ERRNO | (unsigned)error));
}

static void refuse_namespaces(struct code *c, int clone3_error)
{
	add_refusal(c, SYS_clone3, clone3_error);
	add_refusal(c, SYS_unshare, EPERM);
	add_refusal(c, SYS_setns, EPERM);
	add(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
	add(c, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, args[0])));
	add(c,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1));
	add(c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
	add(c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void refuse_mounts(struct code *c, int error, int with_old)
{
	static const long calls[] = { SYS_open_tree, SYS_move_mount, SYS_fsopen,
				      SYS_fsconfig, SYS_fsmount, SYS_mount_setattr };
	static const long old[] = { SYS_mount, SYS_umount2, SYS_pivot_root };

	for (size_t i = 0; i < COUNT(calls); i++)
		add_refusal(c, calls[i], error);
	for (size_t i = 0; with_old && i < COUNT(old); i++)
		add_refusal(c, old[i], error);
}

static const struct {
	const char *mode;
	long number;
	int error;
} single[] = {
	{ "xattr", SYS_fsetxattr, EOPNOTSUPP },
	{ "rename", SYS_renameat, EPERM },
	{ "rights", SYS_chroot, EPERM },
	{ "landlock", SYS_landlock_create_ruleset, EOPNOTSUPP },
	{ "seccomp", SYS_seccomp, EPERM },
};

/* Recognises the call by its flags, since a filter cannot read the type of the file
 * system, a string; every call of mount(2) that changes a mount has one of these
 * flags, and one for a new file system has none. */
static void refuse_new(struct code *c, int error)
{
	add(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 3));
	add(c, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, args[3])));
	add(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
					    MS_BIND | MS_MOVE | MS_REMOUNT | MS_PRIVATE |
						    MS_SLAVE | MS_SHARED,
					    1, 0));
	add(c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					    SECCOMP_RET_ERRNO | (unsigned)error));
}

/* Recognises the socket by its protocol, 12, which no other family of sockets has. */
static void refuse_netfilter(struct code *c)
{
	add(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3));
	add(c, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, args[2])));
	add(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_NETFILTER,
					    0, 1));
	add(c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					    SECCOMP_RET_ERRNO | EPROTONOSUPPORT));
}

static int refuse_single(struct code *c, const char *mode)
{
	for (size_t i = 0; i < COUNT(single); i++) {
		if (strcmp(mode, single[i].mode))
			continue;
		add_refusal(c, single[i].number, single[i].error);
		return 0;
	}
	return strcmp(mode, "none") && strcmp(mode, "listener") ? -1 : 0;
}

static int fill(struct code *c, const char *mode)
{
	add(c, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, nr)));
	if (!strcmp(mode, "container") || !strcmp(mode, "mounts"))
		refuse_mounts(c, EPERM, 1);
	else if (!strcmp(mode, "newcalls"))
		refuse_mounts(c, ENOSYS, 0);
	else if (!strcmp(mode, "overlay") || !strcmp(mode, "oldoverlay"))
		refuse_new(c, *mode == 'o' && mode[1] == 'v' ? ENODEV : EPERM);
	else if (!strcmp(mode, "netfilter"))
		refuse_netfilter(c);
	else if (strcmp(mode, "eperm") && refuse_single(c, mode) < 0)
		return -1;
	/* The filter for namespaces is added last, since it ends by loading another
	 * field of seccomp_data. */
	if (!strcmp(mode, "container") || !strcmp(mode, "eperm"))
		refuse_namespaces(c, *mode == 'c' ? ENOSYS : EPERM);
	add(c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	return 0;
}

/* Installs the filter.  The descriptor of the listener is not closed: without it the
 * filter would have no listener. */
static int install(const struct sock_fprog *program, int with_listener)
{
	const unsigned flags = with_listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);

	return fd < 0 || (with_listener && fcntl((int)fd, F_SETFD, 0) < 0) ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct code c = { .len = 0 };

	if (argc < 3 || fill(&c, argv[1]) < 0) {
		(void)fprintf(stderr, "usage: forbid MODE COMMAND [ARG...]\n");
		return 2;
	}
	struct sock_fprog program = { .len = c.len, .filter = c.insns };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    install(&program, !strcmp(argv[1], "listener")) < 0) {
		perror("forbid: install the filter");
		return 2;
	}
	(void)execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
