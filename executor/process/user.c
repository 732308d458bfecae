#include "executor/process/user.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/process/terminal.h"
#include "protocol/message.h"

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

/* Makes the process undumpable again, so that no process inside can trace it: each change
 * of ids sets dumpable to the value of fs.suid_dumpable, which may be 1.  Dumpable is an
 * attribute of the memory, which a child of vfork(2) shares with the executor. */
static int stay_undumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* The ids are changed by system call.  libc's functions of these names also make the
 * other threads of the process change theirs, and use shared memory for that, which may
 * be the executor's (vfork(2)). */
static int change_ids(const struct exec *x)
{
	/* setgroups(2) fails with EPERM if the user namespace has setgroups denied: then
	 * no group can be dropped (user_namespaces(7)). */
	if (syscall(SYS_setgroups, x->group_count, x->groups) < 0 &&
	    (errno != EPERM || x->group_count > 0))
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

int user_stay(const struct user *self, uint32_t uid)
{
	return caps_use(&self->caps, uid) < 0 ? -1 : stay_undumpable();
}

/* Undoes the side effects of a change of the file system ids: the kernel changes dumpable
 * and the effective capabilities, and clears the signal that we get when the supervisor
 * dies (PR_SET_PDEATHSIG). */
static int settle(const struct user *self, int death_signal)
{
	if (prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) < 0 || stay_undumpable() < 0)
		return -1;
	return caps_settle(&self->caps);
}

static void set_file_ids(uint32_t uid, uint32_t gid)
{
	(void)setfsgid(gid); /* setfsuid(2) and setfsgid(2) return no error;
			      * is_file_user() checks the result */
	(void)setfsuid(uid);
}

static bool is_file_user(uint32_t uid, uint32_t gid)
{
	return setfsuid((uid_t)-1) == (int)uid && setfsgid((gid_t)-1) == (int)gid;
}

static int leave(const struct user *self, const struct user_role *role)
{
	if (role->is_other) {
		set_file_ids(self->uid, self->gid);
		return settle(self, role->death_signal);
	}
	return role->has_more ? caps_settle(&self->caps) : 0;
}

int user_leave(const struct user *self, const struct user_role *role)
{
	int sys = errno, left = leave(self, role);

	if (left == 0)
		errno = sys;
	return left;
}

static int become_file_user(const struct user *self, uint32_t uid, uint32_t gid,
			    struct user_role *role)
{
	if (prctl(PR_GET_PDEATHSIG, &role->death_signal, 0, 0, 0) < 0)
		return -1;
	role->is_other = true;
	set_file_ids(uid, gid);
	if (!is_file_user(uid, gid)) {
		errno = EPERM;
		return -1;
	}
	return settle(self, role->death_signal);
}

int user_enter(const struct user *self, uint32_t uid, uint32_t gid,
	       struct user_role *ret)
{
	struct user_role role = { .has_more = self->caps.handed_on != 0 };

	if ((uid != self->uid || gid != self->gid) &&
	    become_file_user(self, uid, gid, &role) < 0) {
		(void)user_leave(self, &role); /* it has failed already */
		return -1;
	}
	if (role.has_more && caps_wear(&self->caps, uid) < 0) {
		(void)user_leave(self, &role);
		return -1;
	}
	*ret = role;
	return 0;
}

int user_open_terminal(const struct user *self, const struct exec *x,
		       struct terminal *ret)
{
	struct terminal t = { -1, -1 };
	struct user_role role;

	if (is_self(self, x))
		return terminal_open(ret, x->rows, x->cols);
	/* devpts makes the file system ids of the process that opens a new terminal its
	 * owner, so these ids are changed to the command's. */
	if (user_enter(self, x->uid, x->gid, &role) < 0)
		return -1;
	int opened = terminal_open(&t, x->rows, x->cols);
	if (user_leave(self, &role) < 0)
		opened = -1;
	if (opened < 0)
		terminal_close(&t);
	else
		*ret = t;
	return opened;
}
