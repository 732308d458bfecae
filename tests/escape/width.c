/* Arguments that are wider than the part the kernel reads: a filter that
 * compares 64 bits misses them.  Each probe is an attack of another file with
 * one more bit set.  Also calls that are newer than most filters. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define HIGH (1UL << 32)

/* Numbers that the headers of a build machine may not have yet; they are the
 * same on all architectures since 5.1. */
enum new_call {
	NEW_LISTMOUNT = 458, NEW_GETXATTRAT = 464, NEW_LISTXATTRAT = 465,
	NEW_OPEN_TREE_ATTR = 467, NEW_FILE_GETATTR = 468, NEW_FILE_SETATTR = 469,
};

static void wide_prlimit(struct trial *t)
{
	struct rlimit limit;

	trial_file(t, syscall(SYS_prlimit64, (unsigned long)t->set->target | HIGH,
			      RLIMIT_NOFILE, NULL, &limit));
}

static void wide_affinity(struct trial *t)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		trial_error(t, "skip", errno);
	else
		trial_file(t, syscall(SYS_sched_setaffinity,
				      (unsigned long)t->set->target | HIGH,
				      sizeof(set), &set));
}

static void wide_priority(struct trial *t)
{
	trial_file(t, syscall(SYS_setpriority, PRIO_PROCESS | HIGH,
			      (unsigned long)t->set->target | HIGH, 19));
}

static void wide_clone(struct trial *t)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD | HIGH, NULL, NULL,
			   NULL, NULL);

	trial_clone(t, pid);
}

static void wide_unshare(struct trial *t)
{
	trial_call(t, syscall(SYS_unshare, CLONE_NEWUSER | HIGH));
}

static void wide_pipe_size(struct trial *t)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		trial_error(t, "skip", errno);
	else
		trial_call(t, syscall(SYS_fcntl, ends[1], F_SETPIPE_SZ | HIGH,
				      1UL << 20));
}

static void wide_socket(struct trial *t)
{
	long fd = syscall(SYS_socket, (unsigned long)t->probe->value | HIGH,
			  SOCK_RAW | HIGH, (unsigned long)t->probe->value2 | HIGH);

	if (fd < 0 && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT))
		trial_error(t, "refused", errno);
	else
		trial_call(t, fd);
}

static void wide_personality(struct trial *t)
{
	trial_call(t, syscall(SYS_personality, ADDR_NO_RANDOMIZE | HIGH));
}

static void wide_listener(struct trial *t)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* cannot fail */
	trial_call(t, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER | HIGH,
			      SECCOMP_FILTER_FLAG_NEW_LISTENER | HIGH, &program));
}

static void new_open_tree_attr(struct trial *t)
{
	trial_call(t, syscall(NEW_OPEN_TREE_ATTR, AT_FDCWD, "/", 0, NULL, 0));
}

/* struct file_attr, version 0: 24 bytes that begin with the flags. 0x8 is
 * FS_XFLAG_IMMUTABLE, whose number differs from the flag of the old ioctl. */
static void new_file_setattr(struct trial *t)
{
	struct path path = path_in(t->set->scratch, "probe-attr");
	uint64_t attr[3] = { 0x8, 0, 0 };

	(void)file_make(path.s, "", 0600); /* if this fails, so does the system call */
	long ret = syscall(NEW_FILE_SETATTR, AT_FDCWD, path.s, attr, sizeof(attr),
			   0);
	trial_call(t, ret);
	attr[0] = 0;
	if (!ret)
		(void)syscall(NEW_FILE_SETATTR, AT_FDCWD, path.s, attr,
			      sizeof(attr), 0); /* set a moment ago */
	(void)unlink(path.s); /* made above */
}

/* struct xattr_args: the value's address, its size, flags. */
static void new_get_attribute(struct trial *t)
{
	char value[64];
	struct {
		uint64_t value;
		uint32_t size, flags;
	} request = { .value = (uintptr_t)value, .size = sizeof(value) };

	trial_file(t, syscall(NEW_GETXATTRAT, AT_FDCWD, t->set->secret, 0, "user.probe",
			      &request, sizeof(request)));
}

static void new_list_attributes(struct trial *t)
{
	char names[256];

	trial_file(t, syscall(NEW_LISTXATTRAT, AT_FDCWD, t->set->secret, 0, names,
			      sizeof(names)));
}

static void new_file_flags(struct trial *t)
{
	uint64_t attr[3];

	trial_file(t, syscall(NEW_FILE_GETATTR, AT_FDCWD, t->set->secret, attr,
			      sizeof(attr), 0));
}

/* Lists the mounts by number and asks for the details of each: the content of
 * mountinfo without /proc. struct mnt_id_req: size, spare, id (all ones: the
 * root), param. */
static void new_list_mounts(struct trial *t)
{
	struct {
		uint32_t size, spare;
		uint64_t id, param;
	} request = { .size = 24, .id = UINT64_MAX };
	uint64_t ids[64];

	trial_call(t, syscall(NEW_LISTMOUNT, &request, ids, 64UL, 0));
}

#define WIDE(number, nm, function) { number, nm, .run = function }

const struct probe width_probes[] = {
	WIDE("B36b", "pid1-prlimit-wide", wide_prlimit),
	WIDE("B36b", "pid1-sched-setaffinity-wide", wide_affinity),
	WIDE("B36b", "pid1-setpriority-wide", wide_priority),
	WIDE("B32", "clone-user-wide", wide_clone),
	WIDE("B32", "unshare-user-wide", wide_unshare),
	WIDE("E74b", "pipe-buffers-wide", wide_pipe_size),
	WIDE("C53", "personality-wide", wide_personality),
	WIDE("C55", "filter-new-listener-wide", wide_listener),
	{ "D62", "netlink-generic-wide", .run = wide_socket, .value = AF_NETLINK,
	  .value2 = NETLINK_GENERIC },
	{ "D62", "socket-packet-wide", .run = wide_socket, .value = AF_PACKET },
	{ "A13", "open-tree-attr", .run = new_open_tree_attr },
	{ "A13", "listmount", .run = new_list_mounts },
	{ "A1", "getxattrat-of-host", .run = new_get_attribute },
	{ "A1", "listxattrat-of-host", .run = new_list_attributes },
	{ "A1", "file-getattr-of-host", .run = new_file_flags },
	{ "A31", "file-setattr-immutable", .run = new_file_setattr },
	{ 0 },
};
