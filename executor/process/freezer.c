#include "executor/process/freezer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/own.h"
#include "executor/process/caps.h"
#include "executor/process/seize.h"

/* How long the freezer waits for all processes to stop.  A process that has not stopped
 * by then is in an uninterruptible call; on a busy machine it may take a while until all
 * have stopped. */
#define SEIZE_MS 8000
/* The freezer's time ends this long before the executor's deadline, so that it can still
 * report FREEZE_LATE itself; at the deadline the executor kills the freezer. */
#define WORD_MS 1000

void freezer_init(struct freezer *f, int proc, const struct caps *caps)
{
	*f = (struct freezer){ .said = -1, .hold = -1, .proc = proc, .caps = caps };
}

void freezer_done(struct freezer *f)
{
	own_close(&f->said);
	own_close(&f->hold);
}

/* --- in the freezer --------------------------------------------------------------- */

/* Moves the procfs, the pipe for reports and the pipe `hold` to 0, 1 and 2, and closes
 * all other descriptors: the channel, and the pipes and terminals of commands.  No
 * dup2(2) overwrites one of the three, since the executor's own descriptors are all above
 * 2. */
static void take_descriptors(int proc, int said, int hold)
{
	(void)dup2(proc, 0); /* valid descriptors */
	(void)dup2(said, 1);
	(void)dup2(hold, 2);
	(void)sys_close_range(3u, ~0u, 0);
}

static _Noreturn void run(const struct freezer *f)
{
	struct frozen what = { .why = FREEZE_FAILED };

	if (caps_trace(f->caps) < 0) {
		(void)!write(1, &what, sizeof(what));
		_exit(1);
	}
	struct seized *s = seize_all(0, f->due - WORD_MS, &what);
	bool is_said = write(1, &what, sizeof(what)) == sizeof(what);
	char heard;
	if (is_said && what.why == FREEZE_STANDS && read(2, &heard, 1) == 1 &&
	    !seize_hold(s, 2))
		_exit(1); /* `hold` is at its end, since pid 1 has died, and all tracees
			   * were killed: this process exits at once, so that it lets none
			   * of them go on */
	seize_disarm(s);
	(void)!write(1, "", 1); /* tells the executor that this process's death no longer
				 * kills the tracees; the pipe has room */
	seize_release(s);
	_exit(0);
}

/* --- in the executor -------------------------------------------------------------- */

/* Forks the freezer, with every signal blocked from the child's first moment on.  A
 * process inside can guess the new pid and signal it; a signal that arrived before the
 * child could block it would kill the child. */
static pid_t fork_deaf(void)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before); /* valid arguments */
	pid_t pid = fork();
	if (pid != 0)
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static int begin(struct freezer *f)
{
	int says[2], holds[2];

	if (pipe2(says, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	AUTO_CLOSE int said = says[0];
	AUTO_CLOSE int to = says[1];
	if (pipe2(holds, O_CLOEXEC) < 0) /* this pipe is blocking, since the freezer waits
					  * in a read from `hold`; the executor's few
					  * bytes always have room */
		return -1;
	AUTO_CLOSE int from = holds[0];
	AUTO_CLOSE int hold = holds[1];
	pid_t pid = fork_deaf();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		take_descriptors(f->proc, to, from);
		run(f);
	}
	f->pid = pid;
	f->said = fd_take(&said);
	f->hold = fd_take(&hold);
	return 0;
}

/* Begins a pause with a new freezer.  If the freezer cannot be started, `due` is set to
 * now, and freezer_serve() reports FREEZE_FAILED. */
void freezer_start(struct freezer *f, uint32_t number, int64_t now)
{
	f->wanted = f->pid ? number : 0;
	if (f->pid)
		return;
	f->number = number;
	f->due = now + SEIZE_MS + WORD_MS;
	if (f->proc < 0 || begin(f) < 0)
		f->due = now;
}

void freezer_release(struct freezer *f)
{
	if (f->pid && f->number && !f->due) {
		(void)!write(f->hold, "", 1); /* the pipe has room; if the write fails,
					       * the freezer has ended */
		own_close(&f->hold);
	} else if (f->number || !f->pid) {
		if (f->pid)
			(void)kill(f->pid, SIGKILL); /* the freezer is not reaped yet, so
						      * its pid cannot have been reused;
						      * SIGKILL, since it may be stuck in
						      * a system call */
		freezer_done(f);
		f->due = 0;
	}
	f->wanted = f->number = 0;
}

void freezer_watch(const struct freezer *f, struct pollfd *w)
{
	bool is_heard = f->due || !f->number;

	*w = (struct pollfd){ .fd = is_heard ? f->said : -1, .events = POLLIN };
}

/* Waits for the exit of a released freezer.  The deadline starts when the freezer reports
 * that its death would no longer kill its tracees.  Until then no tracee runs, so none
 * can delay the freezer. */
static void see_off(struct freezer *f, int64_t now)
{
	char byte;
	ssize_t len = f->said >= 0 ? read(f->said, &byte, 1) : -1;

	if (len >= 0) {
		own_close(&f->said);
		f->due = now + WORD_MS;
	} else if (f->due && clock_is_due(f->due, now)) {
		(void)kill(f->pid, SIGKILL); /* the freezer is not reaped yet, so its pid
					      * cannot have been reused */
		f->due = 0;
	}
}

static bool is_word(const struct frozen *said, ssize_t len)
{
	return len == sizeof(*said) && said->why < FREEZE_WHY_COUNT;
}

/* Tells the freezer that its report was read: from then on the kernel kills the tracees
 * if the freezer dies.  Returns false if the freezer has died; pid 1 is not ended by
 * SIGPIPE. */
static bool is_heard(const struct freezer *f)
{
	return f->pid && write(f->hold, "", 1) == 1;
}

bool freezer_serve(struct freezer *f, int64_t now, struct frozen *ret)
{
	struct frozen said = { .why = FREEZE_FAILED };

	if (f->pid && !f->number)
		see_off(f, now);
	if (!f->number || !f->due)
		return false;
	ssize_t len = f->said >= 0 ? read(f->said, &said, sizeof(said)) : 0;
	bool is_late = clock_is_due(f->due, now);
	if (len < 0 && errno == EAGAIN && !is_late)
		return false;
	if (!is_word(&said, len))
		said = (struct frozen){ .why = len < 0 && f->pid ? FREEZE_LATE
								 : FREEZE_FAILED };
	/* If the freezer has died since its report, the kernel has detached its tracees:
	 * they run again, and the pause has failed. */
	if (said.why == FREEZE_STANDS && !is_heard(f))
		said.why = FREEZE_FAILED;
	said.number = f->number;
	if (said.why == FREEZE_STANDS)
		f->due = 0;
	else
		freezer_release(f);
	*ret = said;
	return true;
}

bool freezer_reaped(struct freezer *f, pid_t pid, int64_t now)
{
	const uint32_t wanted = f->wanted;

	if (!f->pid || pid != f->pid)
		return false;
	f->is_lost = f->number && !f->due;
	f->pid = 0;
	if (!f->number) {
		freezer_done(f);
		f->due = 0;
	}
	if (wanted) {
		f->wanted = 0;
		freezer_start(f, wanted, now);
	}
	return true;
}
