/* Privilege that comes from a file: device nodes, set-uid bits, capabilities,
 * handles, flags and attributes that only root may set. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <signal.h>

static void make_node(struct trial *t)
{
	struct path path = path_in(t->set->scratch, "probe-node");
	int ret = mknod(path.s, (mode_t)t->probe->value | 0600,
			(dev_t)t->probe->value2);

	trial_call(t, ret);
	/* Exists only outside of a sandbox; the probe never opens it. */
	(void)unlink(path.s);
}

/* Opens a device node that the host's root has put into the bound folder. */
static void open_node(struct trial *t)
{
	AUTO_CLOSE int fd = open(path_in(t->set->readonly, "node-null").s,
				 O_RDWR | O_CLOEXEC);

	trial_file(t, fd);
}

/* Returns the effective uid with which a program of the image ran; the status
 * file of a zombie still has it. */
static long long uid_of_run(const char *program)
{
	char text[4096];
	long long uid = -1;
	siginfo_t info;
	pid_t pid = fork();

	if (!pid) {
		(void)close(1); /* drop its output */
		(void)close(2); /* as above */
		execl(program, program, "--help", (char *)NULL);
		_exit(126);
	}
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) ||
	    file_read(path_of_pid(pid, "status").s, text, sizeof(text)) < 0)
		return -1;
	const char *line = strstr(text, "\nUid:");
	if (line && sscanf(line, "\nUid: %*d %lld", &uid) != 1)
		uid = -1;
	(void)child_wait(pid); /* reaps a process that is already a zombie */
	return uid;
}

static void setuid_of_image(struct trial *t)
{
	static const char *const programs[] = {
		"/usr/bin/mount", "/usr/bin/su", "/usr/bin/passwd",
	};
	struct stat st;

	trial_says(t, "absent", "no set-uid program of the usual ones");
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		if (stat(programs[i], &st) || !(st.st_mode & S_ISUID))
			continue;
		long long uid = uid_of_run(programs[i]);
		bool raised = uid >= 0 && uid != (long long)getuid();

		trial_says(t, raised ? "allowed" : "refused:ignored",
			   "%s runs as %lld", programs[i], uid);
		return;
	}
}

/* Runs a copy of this program that the host's root made set-uid, or gave a
 * capability. */
static void privileged_copy(struct trial *t)
{
	struct path path = path_in(t->set->readonly, t->probe->text);
	struct stat st;

	if (stat(path.s, &st)) {
		trial_file(t, -1);
		return;
	}
	int bits = role_run(path.s, "status", NULL);
	if (bits < 0 || bits > 63)
		trial_says(t, "refused:not-run", "exit %d", bits);
	else if (bits & ROLE_RAISED || (bits & ROLE_CAPABLE && getuid()))
		trial_says(t, "allowed", "owner %u, status %d", st.st_uid, bits);
	else
		trial_says(t, "refused:ignored", "owner %u, status %d", st.st_uid,
			   bits);
}

/* vfs_cap_data of revision 2: effective, and permitted = CAP_NET_RAW. */
static void give_capability(struct trial *t)
{
	static const uint32_t data[5] = { 0x02000001, 1u << 13, 0, 0, 0 };
	struct path path = path_in(t->set->scratch, "probe-capable");

	if (role_copy(path.s)) {
		trial_error(t, "skip", errno);
		return;
	}
	trial_call(t, setxattr(path.s, "security.capability", data, sizeof(data),
			       0));
	(void)unlink(path.s); /* made above */
}

static void make_setuid(struct trial *t)
{
	struct path path = path_in(t->set->scratch, "probe-setuid");

	if (role_copy(path.s)) {
		trial_error(t, "skip", errno);
		return;
	}
	/* chown(2) clears the set-uid bit, so the bit is set after it. */
	int ret = chown(path.s, 0, 0);
	trial_call(t, ret);
	if (!ret)
		trial_call(t, chmod(path.s, 04755));
	(void)unlink(path.s); /* made above */
}

/* Opens a file by handle: the handle that the kernel gives for a path or, if it
 * gives none, a guess at the handle of ext4's root folder (type 1: inode number 2
 * and generation). */
static void open_handle(struct trial *t)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };
	int mount_id;
	const char *how = "own";

	if (name_to_handle_at(AT_FDCWD, "/usr", &handle.head, &mount_id, 0)) {
		static const uint32_t root[2] = { 2, 0 };

		how = "guessed";
		handle.head.handle_bytes = sizeof(root);
		handle.head.handle_type = 1;
		memcpy(handle.head.f_handle, root, sizeof(root));
	}
	AUTO_CLOSE int dir = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	trial_call(t, open_by_handle_at(dir, &handle.head, O_RDONLY | O_CLOEXEC));
	trial_note(t, "%s handle", how);
}

static void set_immutable(struct trial *t)
{
	struct path path = path_in(t->set->scratch, "probe-flags");

	(void)file_make(path.s, "", 0600); /* if this fails, so does the open(2) below */
	AUTO_CLOSE int fd = open(path.s, O_RDONLY | O_CLOEXEC);
	int flags = 0;
	int ret = ioctl(fd, FS_IOC_GETFLAGS, &flags);

	if (!ret) {
		int wanted = flags | (int)t->probe->value;

		ret = ioctl(fd, FS_IOC_SETFLAGS, &wanted);
	}
	trial_call(t, ret);
	if (!ret)
		(void)ioctl(fd, FS_IOC_SETFLAGS, &flags); /* what was there */
	(void)unlink(path.s); /* made above */
}

static void set_attribute(struct trial *t)
{
	struct path path = path_in(t->set->scratch, "probe-xattr");

	(void)file_make(path.s, "", 0600); /* if this fails, so does setxattr(2) */
	trial_call(t, setxattr(path.s, t->probe->text, "y", 1, 0));
	(void)unlink(path.s); /* made above */
}

#define NODE(nm, type, major, minor)                    \
	{ "A22", nm, .run = make_node, .value = type,          \
	  .value2 = (major) << 8 | (minor) }

const struct probe nodes_probes[] = {
	{ "A21", "open-by-handle", .run = open_handle },
	NODE("mknod-mem", S_IFCHR, 1, 1),
	NODE("mknod-kmsg", S_IFCHR, 1, 11),
	NODE("mknod-sda", S_IFBLK, 8, 0),
	{ "A22", "open-bound-node", .run = open_node },
	{ "A23", "setuid-of-image", .run = setuid_of_image },
	{ "A23", "setuid-copy", .run = privileged_copy, .text = "setuid" },
	{ "A23", "capable-copy", .run = privileged_copy, .text = "capable" },
	{ "A23", "make-setuid-root", .run = make_setuid },
	{ "A23", "give-capability", .run = give_capability },
	{ "A31", "set-immutable", .run = set_immutable, .value = FS_IMMUTABLE_FL },
	{ "A31", "set-append-only", .run = set_immutable, .value = FS_APPEND_FL },
	{ "A31", "setxattr-overlay-opaque", .run = set_attribute,
	  .text = "trusted.overlay.opaque" },
	{ "A31", "setxattr-overlay-redirect", .run = set_attribute,
	  .text = "trusted.overlay.redirect" },
	{ 0 },
};
