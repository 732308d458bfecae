#include "policy/syscalls.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/list.h"
#include "base/own.h"

/* The names in the order of their numbers, "read\0write\0...".  One string, unlike an
 * array of pointers, needs no relocation when the program starts. */
static const char names[] =
#include "gen/syscalls.h"
	;

/* Arguments that have names.  The numbers are written out, since they are part of the
 * kernel's ABI and the same on both architectures. */
static const struct argument {
	int nr;
	uint8_t index;
	bool bits; /* true: any bit of `value` must be set; false: equality */
	uint32_t value;
	char name[20];
} arguments[] = {
	{ SYS_ioctl, 1, false, 0x5412, "TIOCSTI" },
	{ SYS_ioctl, 1, false, 0x541c, "TIOCLINUX" },
	{ SYS_ioctl, 1, false, 0x541d, "TIOCCONS" },
	{ SYS_ioctl, 1, false, 0x5423, "TIOCSETD" },
	{ SYS_fcntl, 1, false, 10, "F_SETSIG" },
	{ SYS_fcntl, 1, false, 1024, "F_SETLEASE" },
	{ SYS_fcntl, 1, false, 1031, "F_SETPIPE_SZ" },
	{ SYS_fcntl, 1, false, 1040, "F_SETDELEG" },
	{ SYS_clone, 0, true, CLONE_NEWUSER, "CLONE_NEWUSER" },
	{ SYS_clone, 0, true, CLONE_NEWNS, "CLONE_NEWNS" },
	{ SYS_clone, 0, true, CLONE_NEWPID, "CLONE_NEWPID" },
	{ SYS_clone, 0, true, CLONE_NEWNET, "CLONE_NEWNET" },
	{ SYS_clone, 0, true, CLONE_NEWIPC, "CLONE_NEWIPC" },
	{ SYS_clone, 0, true, CLONE_NEWUTS, "CLONE_NEWUTS" },
	{ SYS_clone, 0, true, CLONE_NEWCGROUP, "CLONE_NEWCGROUP" },
	{ SYS_unshare, 0, true, CLONE_NEWUSER, "CLONE_NEWUSER" },
	{ SYS_unshare, 0, true, CLONE_NEWNS, "CLONE_NEWNS" },
	{ SYS_unshare, 0, true, CLONE_NEWPID, "CLONE_NEWPID" },
	{ SYS_unshare, 0, true, CLONE_NEWNET, "CLONE_NEWNET" },
	{ SYS_unshare, 0, true, CLONE_NEWIPC, "CLONE_NEWIPC" },
	{ SYS_unshare, 0, true, CLONE_NEWUTS, "CLONE_NEWUTS" },
	{ SYS_unshare, 0, true, CLONE_NEWCGROUP, "CLONE_NEWCGROUP" },
	{ SYS_unshare, 0, true, 0x80, "CLONE_NEWTIME" },
	{ SYS_personality, 0, true, 0x0040000, "ADDR_NO_RANDOMIZE" },
	{ SYS_personality, 0, true, 0x0400000, "READ_IMPLIES_EXEC" },
	{ SYS_seccomp, 1, true, 1 << 3, "NEW_LISTENER" },
	{ SYS_socket, 0, false, 2, "AF_INET" },
	{ SYS_socket, 0, false, 10, "AF_INET6" },
	{ SYS_socket, 0, false, 15, "AF_KEY" },
	{ SYS_socket, 0, false, 16, "AF_NETLINK" },
	{ SYS_socket, 0, false, 17, "AF_PACKET" },
	{ SYS_socket, 0, false, 21, "AF_RDS" },
	{ SYS_socket, 0, false, 29, "AF_CAN" },
	{ SYS_socket, 0, false, 30, "AF_TIPC" },
	{ SYS_socket, 0, false, 31, "AF_BLUETOOTH" },
	{ SYS_socket, 0, false, 38, "AF_ALG" },
	{ SYS_socket, 0, false, 40, "AF_VSOCK" },
	{ SYS_socket, 0, false, 44, "AF_XDP" },
};

struct syscall_kind syscall_of(const struct seccomp_data *data)
{
	for (unsigned i = 0; i < ARRAY_LEN(arguments); i++) {
		const struct argument *a = &arguments[i];
		/* The kernel and the filter look only at the low 32 bits. */
		const uint32_t value = (uint32_t)data->args[a->index];

		if (a->nr == data->nr && (a->bits ? value & a->value : value == a->value))
			return (struct syscall_kind){ data->nr, i + 1 };
	}
	return (struct syscall_kind){ data->nr, 0 };
}

const char *syscall_name(int nr)
{
	const char *name = names, *end = names + sizeof(names) - 1;

	for (; nr > 0 && name < end; nr--)
		name += strlen(name) + 1;
	return nr == 0 && name < end && *name ? name : NULL;
}

static const struct argument *argument_of(struct syscall_kind call)
{
	return call.argument ? &arguments[call.argument - 1] : NULL;
}

char *syscall_text(struct syscall_kind call)
{
	const struct argument *a = argument_of(call);
	const char *name = syscall_name(call.nr);

	if (!name)
		return text_format("call %d", call.nr);
	return a ? text_format("%s(%s)", name, a->name) : text_copy(name);
}

char *syscall_question(struct syscall_kind call)
{
	const struct argument *a = argument_of(call);
	const char *name = syscall_name(call.nr);

	if (!name)
		return text_copy("hutch why");
	if (!a)
		return text_format("hutch why syscall %s", name);
	return text_format("hutch why syscall %s %s%#x", name, a->index ? "0 " : "",
			   a->value);
}
