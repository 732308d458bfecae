#include "sandbox/launch/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/lean.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/kernel/listener.h"
#include "sandbox/kernel/log_level.h"
#include "sandbox/kernel/terminal.h"
#include "sandbox/root/overlay_upper.h"
#include "sandbox/state/holder.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/state_dir.h"

/* The numbers of the descriptors that the janitor keeps.  It closes all others, so that
 * it does not hold open a pipe of the caller's. */
enum { TERMINAL, LAUNCHER, DISMISS, LOCK, CGROUP, STATE, FOLDER, ENTRY, IMAGE, HELD };
_Static_assert(HELD < 10, "keep_only() moves what is held up to 10 first");

void janitor_init(struct janitor *j)
{
	*j = (struct janitor){ .dismiss = -1 };
}

/* Moves the descriptors in `held` to the numbers above, and closes all others.  If
 * held[i] is -1, no descriptor gets the number i. */
static void keep_only(const int held[HELD])
{
	int high[HELD];

	for (int i = 0; i < HELD; i++)
		high[i] = fcntl(held[i], F_DUPFD, 10);
	(void)sys_close_range(0, 9, 0);
	for (int i = 0; i < HELD; i++)
		if (high[i] >= 0)
			(void)dup2(high[i], i);
	(void)sys_close_range(HELD, ~0u, 0);
}

/* The bytes that the launcher writes to the janitor: there is nothing to undo, or undo
 * everything. */
#define ALL_IS_WELL '\0'
#define DO_IT	    'w'

enum news { DISMISSED, HEIR, DEAD };

static void wait_until(struct pollfd *waits, nfds_t count)
{
	while (poll(waits, count, -1) < 0 && errno == EINTR)
		;
}

/* Waits until the launcher writes a byte or ends.  The byte says what to do.  If the
 * pipe closes without a byte, the launcher is ending, killed perhaps.  The janitor then
 * waits until the launcher's pidfd is readable: the kernel closes the pipe of a killed
 * process before its other descriptors, so its sockets would still look as if a process
 * listened. */
static enum news hear(void)
{
	struct pollfd waits[] = { { .fd = LAUNCHER, .events = POLLIN },
				  { .fd = DISMISS, .events = POLLIN } };
	char byte;

	wait_until(waits, ARRAY_LEN(waits));
	/* The pipe is checked before the pidfd: the launcher may have written its byte
	 * and then ended. */
	if (waits[1].revents && io_read_full(DISMISS, &byte, 1) == 1)
		return byte == ALL_IS_WELL ? DISMISSED : HEIR;
	wait_until(waits, 1);
	return DEAD;
}

/* Returns the registry entry without its descriptor of the lock that says that the
 * supervisor lives. */
static struct registry_entry entry_of(const struct chores *chores)
{
	struct registry_entry r;

	registry_init(&r);
	if (chores->entry)
		r = *chores->entry;
	r.alive = -1;
	return r;
}

/* Appends a line to the log.  If a killed supervisor left an incomplete line there, that
 * line is ended first.  No other process writes to the log any more. */
static void put_line(int log, const char *line)
{
	const off_t end = lseek(log, 0, SEEK_END);
	char last = '\n';

	if (end > 0 && pread(log, &last, 1, end - 1) == 1 && last != '\n')
		/* a failure, as on a full disk, does not stop the janitor */
		(void)io_write_all(log, "\n", 1);
	(void)io_write_all(log, line, strlen(line));
}

/* Writes to the supervisor's log (supervisor/supervisor_log.h) that the supervisor
 * was killed, which it cannot do itself. */
static void tell_of_death(const struct registry_entry *r)
{
	const int flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
	const struct log_level_entry x = {
		.level = LOG_LEVEL_ERROR,
		.sandbox = r->name,
		.component = "janitor",
		.message = "the supervisor was killed; what it left is "
			   "tidied up"
	};

	if (!r->name[0])
		return;
	AUTO_CLOSE int log =
		openat(FOLDER, STATE_DIR_LOG "/" LOG_LEVEL_FILE, flags, 0600);
	AUTO_FREE char *line = log_level_line(&x);
	AUTO_FREE char *whole = text_format("%s\n", line);
	if (log >= 0)
		put_line(log, whole);
}

/* Takes copies of all that is on the launcher's stack, and gives the stack back. */
__attribute__((noreturn, noinline)) static void watch(const struct chores *chores,
						      const int held[HELD])
{
	struct terminal t = *chores->terminal;
	struct overlay_upper u = *chores->upper;
	struct cgroup g = *chores->cgroup;
	struct registry_entry r = entry_of(chores);
	const struct list none = { 0 };
	const struct list sockets = chores->sockets ? *chores->sockets : none;
	int mine[HELD];

	memcpy(mine, held, sizeof(mine));
	lean_stack(__builtin_frame_address(0));
	/* The launcher goes on as soon as the descriptors are closed. */
	keep_only(mine);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "hutch-janitor");
	/* keep_only() has closed a descriptor of the lock file, so this comes after it. */
	if (r.name[0])
		holder_become(ENTRY, HOLDER_JANITOR);
	const enum news news = hear();
	if (news == DISMISSED)
		_exit(0);
	if (news == DEAD)
		tell_of_death(&r);
	t.is_raw = t.fd >= 0;
	t.fd = TERMINAL;
	terminal_restore(&t);
	u.lock = LOCK;
	overlay_upper_remove(&u);
	listener_remove_all(&sockets);
	listener_remove_listed(FOLDER);
	g.parent.fd = CGROUP;
	cgroup_remove(&g, 0);
	/* The registry entry is removed last: a process that waits for the sandbox's
	 * end, or for its name to become free, then finds everything else gone. */
	r.state = STATE;
	r.folder = FOLDER;
	r.lock = ENTRY;
	registry_end_killed(&r);
	_exit(0);
}

static int has_nothing(const struct chores *c)
{
	return c->terminal->fd < 0 && (!c->upper->path || c->upper->is_kept) &&
	       !c->cgroup->parent.path && !entry_of(c).name[0] &&
	       !(c->sockets && c->sockets->count);
}

/* Forks the janitor and returns in the launcher; `held` are the descriptors that the
 * janitor holds. */
static int fork_janitor(struct janitor *j, const struct chores *chores,
			const int held[HELD], struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int started = ends[0];
	j->pid = fork();
	if (j->pid == 0)
		watch(chores, held);
	(void)close(ends[1]);
	if (j->pid < 0)
		return err_sys(e, "start the janitor");
	/* Waits until the janitor has closed all descriptors that it does not need.
	 * Until then it also holds the lock that says that the launcher lives: if the
	 * launcher were killed now, another process would take the janitor's lock for
	 * that of a living supervisor. */
	if (entry_of(chores).name[0])
		while (read(started, ends, 1) < 0 && errno == EINTR)
			;
	return 0;
}

int janitor_start(struct janitor *j, const struct chores *chores, struct err *e)
{
	const struct registry_entry r = entry_of(chores);
	int ends[2];

	if (has_nothing(chores))
		return 0;
	AUTO_CLOSE int launcher = sys_pidfd_open(getpid(), 0);
	if (launcher < 0)
		return err_sys(e, "pidfd_open");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int listen = ends[0];
	j->dismiss = ends[1];
	const int held[HELD] = {
		chores->terminal->fd, launcher, listen, chores->upper->lock,
		chores->cgroup->parent.fd, r.state, r.folder, r.lock,
		chores->image > 0 ? chores->image : -1,
	};
	return fork_janitor(j, chores, held, e);
}

static void wait_for(struct janitor *j)
{
	if (j->pid > 0)
		(void)worker_reap(j->pid);
	j->pid = 0;
}

static void tell(const struct janitor *j, char what)
{
	/* fails if the janitor was killed, which does not matter */
	(void)io_write_all(j->dismiss, &what, 1);
}

void janitor_dismiss(struct janitor *j)
{
	if (j->pid > 0)
		tell(j, ALL_IS_WELL);
	own_close(&j->dismiss);
	wait_for(j);
}

void janitor_work(struct janitor *j)
{
	if (j->pid > 0)
		tell(j, DO_IT);
	own_close(&j->dismiss);
	wait_for(j);
}
