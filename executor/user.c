#include "executor/user.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/message.h"
#include "executor/terminal.h"

int user_init(struct user *ret)
{
	struct user u = { .uid = getuid(), .gid = getgid() };

	if (caps_init(&u.caps) < 0)
		return -1;
	*ret = u;
	return 0;
}

static bool is_self(const struct user *self, const struct exec *x)
{
	return x->uid == self->uid && x->gid == self->gid;
}

/* Every change of ids sets dumpable to fs.suid_dumpable, which may be 1, and it
 * belongs to the memory, which a child of vfork shares with the executor. */
static int stay_undumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* By system call: libc's functions of these names tell other threads of the
 * process, and the memory for that may be the executor's. */
static int change_ids(const struct exec *x)
{
	/* EPERM where the user namespace has setgroups denied: then there is
	 * nothing that could be dropped (user_namespaces(7)). */
	if (syscall(SYS_setgroups, 0, NULL) < 0 && errno != EPERM)
		return -1;
	if (syscall(SYS_setresgid, x->gid, x->gid, x->gid) < 0)
		return -1;
	return (int)syscall(SYS_setresuid, x->uid, x->uid, x->uid);
}

int user_become(const struct user *self, const struct exec *x)
{
	if (is_self(self, x) && caps_are_plain(&self->caps))
		return 0;
	if (is_self(self, x))
		return caps_hand_on(&self->caps, x->uid);
	if (caps_keep(&self->caps) < 0 || change_ids(x) < 0 || stay_undumpable() < 0)
		return -1;
	return caps_hand_on(&self->caps, x->uid);
}

/* What a change of the file system ids does beside that: it sets dumpable,
 * shifts effective capabilities, and clears the signal that the supervisor's
 * death sends us (PR_SET_PDEATHSIG). */
static int settle(const struct user *self, int death_signal)
{
	if (prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) < 0 || stay_undumpable() < 0)
		return -1;
	return caps_settle(&self->caps);
}

/* devpts gives a new terminal to the file system ids of its opener. */
static int open_as(const struct user *self, const struct exec *x, struct terminal *ret)
{
	/* Where these may not be changed, user_become fails too and says so. */
	(void)setfsgid(x->gid);
	(void)setfsuid(x->uid);
	int opened = terminal_open(ret, x->rows, x->cols), sys = errno;
	(void)setfsuid(self->uid);
	(void)setfsgid(self->gid);
	errno = sys;
	return opened;
}

int user_open_terminal(const struct user *self, const struct exec *x,
		       struct terminal *ret)
{
	struct terminal t = { -1, -1 };
	int death_signal = 0;

	if (is_self(self, x))
		return terminal_open(ret, x->rows, x->cols);
	if (prctl(PR_GET_PDEATHSIG, &death_signal, 0, 0, 0) < 0)
		return -1;
	int opened = open_as(self, x, &t), sys = errno;
	if (settle(self, death_signal) < 0) {
		sys = errno;
		opened = -1;
	}
	if (opened < 0)
		terminal_close(&t);
	else
		*ret = t;
	errno = sys;
	return opened;
}
