#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

/* Tells whether this process has a capability.  Asks by capget(2), since
 * /proc/self/status cannot be opened everywhere.  An exec that the kernel marks with
 * AT_SECURE (it may have changed the privileges) proves nothing. */
static bool has_capability(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };

	return syscall(SYS_capget, &head, sets) == 0 &&
	       (sets[0].effective | sets[1].effective);
}

static int play_status(char **arguments)
{
	int bits = 0;

	(void)arguments; /* it needs none */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		bits |= ROLE_NNP;
	/* Reads the status file if it can be opened; otherwise asks by prctl(2),
	 * which a filter might forbid. */
	if (status_value("\nSeccomp:\t", 10) == 2 || prctl(PR_GET_SECCOMP) == 2)
		bits |= ROLE_FILTER;
	if (syscall(SYS_io_uring_setup, 0, NULL) < 0 &&
	    (errno == EPERM || errno == ENOSYS))
		bits |= ROLE_REFUSED;
	if (geteuid() != getuid() || getegid() != getgid())
		bits |= ROLE_RAISED;
	if (has_capability())
		bits |= ROLE_CAPABLE;
	return bits;
}

/* Hands out an O_PATH descriptor of the program file that this process runs. Opening
 * it for writing fails with ETXTBSY as long as this process runs, and no longer
 * after its exit. */
static int play_hand_exe(char **arguments)
{
	AUTO_CLOSE int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	(void)arguments; /* it needs none */
	return fd < 0 || socket_send_fd(ROLE_SOCKET, fd) ? 1 : 0;
}

static int play_exec(char **arguments)
{
	char *const argv[] = { arguments[0], NULL };

	execv(arguments[0], argv);
	return 126;
}

/* Runs a command in a new session keyring that has a key NAME in it. */
static int play_with_key(char **arguments)
{
	if (!arguments[0] || !arguments[1])
		return 125;
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		return 125;
	if (syscall(SYS_add_key, "user", arguments[0], "host", 4,
		    KEY_SPEC_SESSION_KEYRING) < 0)
		return 125;
	execvp(arguments[1], arguments + 1);
	return 126;
}

/* Gives a file CAP_NET_RAW, permitted and effective: vfs_cap_data, revision 2.
 * Used by root, since setcap is not installed everywhere. */
static int play_capable(char **arguments)
{
	static const uint32_t data[5] = { 0x02000001, 1u << 13, 0, 0, 0 };

	return setxattr(arguments[0], "security.capability", data, sizeof(data),
			0) ? 1 : 0;
}

int role_play(const char *name, char **arguments)
{
	static const struct {
		const char *name;
		int (*play)(char **arguments);
	} roles[] = {
		{ "status", play_status },
		{ "hand-exe", play_hand_exe },
		{ "exec", play_exec },
		{ "with-key", play_with_key },
		{ "capable", play_capable },
	};

	for (size_t i = 0; i < ARRAY_LEN(roles); i++)
		if (!strcmp(roles[i].name, name))
			return roles[i].play(arguments);
	return 125;
}

int role_run(const char *program, const char *role, const char *argument)
{
	char name[64];

	snprintf(name, sizeof(name), "--role=%s", role);
	pid_t pid = fork();
	if (pid < 0)
		return 126;
	if (!pid) {
		execl(program, program, name, argument, (char *)NULL);
		_exit(126);
	}
	return child_wait(pid);
}

int role_copy(const char *path)
{
	AUTO_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return -1;

	struct stat st;
	if (fstat(from, &st))
		return -1;
	(void)unlink(path); /* usually there is no such file */
	AUTO_CLOSE int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				 0755);
	if (to < 0)
		return -1;
	return sendfile(to, from, NULL, st.st_size) == st.st_size ? 0 : -1;
}
