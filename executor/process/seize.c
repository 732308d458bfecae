#include "executor/process/seize.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/own.h"

/* The kernel reports no event when a process begins to wait in vfork(2), so the state of
 * such processes is read this often. */
#define LOOK_MS 10

/* The search for processes ends after this many readings of /proc in a row in which no
 * new one was found (seize.h). */
#define READINGS 2

/* A thread that the kernel does not let us trace fails the pause only after this many
 * readings: the kernel also refuses for a moment while execve(2) ends a thread and the
 * surviving thread takes over its id. */
#define DENIALS 20

/* One reading of /proc lists processes again so often, where some have ended since they
 * were listed. */
#define GONE_MOST 1000

/* A blocked PTRACE_SEIZE is interrupted after this time, or after twice this time at
 * most. */
#define SEIZE_US 10000

#define OPTIONS (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE)

struct tracee {
	pid_t tid;
	int stop; /* how the tracee has stopped, a wait status from waitid(2); 0: it has
		   * not stopped yet */
	bool is_zombie; /* no tracee, but a zombie that was not traced */
};

/* The result of a look at a thread that /proc has listed, and of several the last of
 * these that comes up. */
enum taking {
	TAKE_KNOWN, /* it is a tracee or a zombie already */
	TAKE_NEW,   /* it is a new tracee, or must be checked again */
	TAKE_GONE,  /* it has ended since it was listed, maybe after a fork(2) */
};

struct seized {
	int proc; /* borrowed; the procfs, as in tree.h */
	pid_t self;
	struct tracee *all; /* owned; the tracees and zombies, ordered by tid */
	size_t count, room;
	pid_t denied;	   /* a thread that the kernel did not let us trace at the last
			    * reading of /proc; 0: none */
	unsigned denials;  /* in how many readings of /proc in a row `denied` was
			    * refused */
	bool is_denied;	   /* `denied` was refused in the present reading, too */
	struct frozen why; /* the reason for a failure; FREEZE_STANDS: none so far */
};

/* --- /proc --------------------------------------------------------------------- */

/* Reads the file `name` of a process in /proc.  Returns false if the process is gone, or
 * the file is empty. */
static bool read_about(const struct seized *s, pid_t tid, const char *name, char *to,
		       size_t room)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%d/%s", (int)tid, name);
	AUTO_CLOSE int fd = openat(s->proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, to, room - 1);
	to[len < 0 ? 0 : len] = '\0';
	return len > 0;
}

static long number_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

enum seize_verdict seize_judge(const char *text, int self)
{
	const char *state = strstr(text, "\nState:\t");
	long tracer = number_of(text, "\nTracerPid:\t");

	if (!state || state[8] == 'Z' || state[8] == 'X')
		return SEIZE_IS_GONE;
	if (tracer > 0)
		return tracer == self ? SEIZE_IS_OURS : SEIZE_IS_TRACED;
	return number_of(text, "\nPPid:\t") == 0 ? SEIZE_IS_ENTERED : SEIZE_IS_DENIED;
}

/* Returns the letter of the process's state, such as 'D' or 'Z'; 0: the process has
 * ended. */
static char state_of(const struct seized *s, pid_t tid)
{
	char text[512];

	if (!read_about(s, tid, "stat", text, sizeof(text)))
		return 0;
	const char *at = strrchr(text, ')');
	return at && at[1] == ' ' ? at[2] : 0;
}

/* Returns true if the thread waits for its child in vfork(2).  The kernel function in
 * which it waits had several names: wait_for_vfork_done() is mostly inlined into the
 * function that forks. */
static bool waits_in_vfork(const struct seized *s, pid_t tid)
{
	char at[64];

	if (state_of(s, tid) != 'D' || !read_about(s, tid, "wchan", at, sizeof(at)))
		return false;
	return strcmp(at, "kernel_clone") == 0 || strcmp(at, "_do_fork") == 0 ||
	       strcmp(at, "wait_for_vfork_done") == 0;
}

/* --- the tracees -------------------------------------------------------------- */

/* Returns the index of the thread, or the one that it would have. */
static size_t place_of(const struct seized *s, pid_t tid)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (s->all[mid].tid < tid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct tracee *find(const struct seized *s, pid_t tid)
{
	const size_t at = place_of(s, tid);

	return at < s->count && s->all[at].tid == tid ? &s->all[at] : NULL;
}

/* Adds a thread that is not there yet.  /proc lists threads by their tids, so most come
 * last. */
static struct tracee *add(struct seized *s, pid_t tid)
{
	const size_t at = place_of(s, tid);

	if (s->count == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->all = mem_resize(s->all, s->room, sizeof(*s->all));
	}
	memmove(&s->all[at + 1], &s->all[at], (s->count - at) * sizeof(*s->all));
	s->all[at] = (struct tracee){ .tid = tid };
	s->count++;
	return &s->all[at];
}

static void refuse(struct seized *s, uint32_t why, pid_t pid)
{
	if (s->why.why == FREEZE_STANDS)
		s->why = (struct frozen){ .why = why, .pid = (uint32_t)pid };
}

/* Global, since a signal handler can reach only global variables. */
static sigjmp_buf way_out;
static volatile sig_atomic_t is_waiting;

/* Leaves the handler by siglongjmp(3): if the handler returned, the kernel would go on
 * waiting in PTRACE_SEIZE (ERESTARTNOINTR).  A process inside can send SIGALRM, too; that
 * only makes us repeat a PTRACE_SEIZE. */
static void on_alarm(int signo)
{
	(void)signo;
	if (is_waiting)
		siglongjmp(way_out, 1);
}

static void set_alarm(bool is_set)
{
	const struct itimerval every = { { 0, is_set ? SEIZE_US : 0 },
					 { 0, is_set ? SEIZE_US : 0 } };
	const struct sigaction how = { .sa_handler = on_alarm,
				       .sa_flags = SA_RESTART | SA_NODEFER };
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM); /* cannot fail: the arguments are valid; the same
					 * holds for the next calls */
	(void)sigaction(SIGALRM, &how, NULL);
	(void)setitimer(ITIMER_REAL, &every, NULL);
	(void)sigprocmask(is_set ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

/* Seizes one thread, with an alarm running.  Returns -1 with errno set; EAGAIN: the alarm
 * interrupted the call. */
static int seize(pid_t tid)
{
	if (sigsetjmp(way_out, 0)) {
		is_waiting = 0;
		errno = EAGAIN;
		return -1;
	}
	is_waiting = 1;
	long done = ptrace(PTRACE_SEIZE, tid, NULL, OPTIONS);
	is_waiting = 0;
	return (int)done;
}

static void begin_stop(struct seized *s, pid_t tid)
{
	(void)add(s, tid);
	(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL); /* fails if the thread has
							  * died */
}

/* Records that the kernel did not let us trace this thread.  Only the first such thread
 * is counted; when it was refused in DENIALS readings of /proc in a row, the pause
 * fails. */
static void deny(struct seized *s, pid_t tid)
{
	if (s->denied && s->denied != tid)
		return;
	s->denied = tid;
	s->is_denied = true;
	if (++s->denials == DENIALS)
		refuse(s, FREEZE_DENIED, tid);
}

static void end_reading(struct seized *s)
{
	s->denied = s->is_denied ? s->denied : 0;
	s->denials = s->is_denied ? s->denials : 0;
	s->is_denied = false;
}

/* Finds out why a thread could not be seized, from its /proc/PID/status.  The errno does
 * not say: EPERM also comes for a thread that has ended, that is the child of a tracee
 * and so traced already, or that has entered the sandbox from outside. */
static enum taking look_closer(struct seized *s, pid_t tid)
{
	char text[4096];

	if (!read_about(s, tid, "status", text, sizeof(text)))
		return TAKE_GONE;
	switch (seize_judge(text, s->self)) {
	case SEIZE_IS_GONE:
		/* A zombie is remembered, so that it counts only once as one that has ended
		 * since it was listed. */
		add(s, tid)->is_zombie = true;
		return TAKE_GONE;
	case SEIZE_IS_OURS:
		begin_stop(s, tid);
		break;
	case SEIZE_IS_TRACED:
		refuse(s, FREEZE_TRACED, tid);
		break;
	case SEIZE_IS_ENTERED:
		break;
	case SEIZE_IS_DENIED:
		deny(s, tid);
	}
	return TAKE_NEW;
}

/* Seizes a thread, unless it is a tracee already. */
static enum taking take(struct seized *s, pid_t tid)
{
	if (find(s, tid))
		return TAKE_KNOWN;
	if (seize(tid) == 0) {
		begin_stop(s, tid);
		return TAKE_NEW;
	}
	return errno == EAGAIN	? TAKE_NEW
	       : errno == ESRCH ? TAKE_GONE
				: look_closer(s, tid);
}

static DIR *open_folder(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		own_close(&fd);
	return dir;
}

static pid_t next_number(DIR *dir)
{
	for (struct dirent *d; dir && (d = readdir(dir));)
		if (*d->d_name >= '1' && *d->d_name <= '9')
			return atoi(d->d_name);
	return 0;
}

static enum taking take_threads(struct seized *s, pid_t pid)
{
	enum taking result = TAKE_KNOWN;
	size_t count = 0;
	char name[32];
	pid_t tid;

	(void)snprintf(name, sizeof(name), "%d/task", (int)pid);
	DIR *dir = open_folder(s->proc, name);
	for (; dir && (tid = next_number(dir)) > 0; count++) {
		const enum taking taken = take(s, tid);
		result = taken > result ? taken : result;
	}
	if (dir)
		(void)closedir(dir); /* the folder was only read, so an error of
				      * closedir(3) does not matter */
	return count ? result : TAKE_GONE;
}

/* Seizes the threads of all processes that `dir`, the top of /proc, lists.  Returns true
 * if there was one that was not known before.
 *
 * The kernel lists many processes by one call, up to the end, which the folder then
 * keeps.  A process that ends between the listing and the look at it may have left a
 * child that is not in this list; so the list is made again from its place on. */
static bool take_listed(struct seized *s, DIR *dir)
{
	bool is_new = false;
	size_t gone = 0;
	pid_t pid;

	for (long at = telldir(dir); (pid = next_number(dir)) > 0; at = telldir(dir)) {
		if (pid == 1 || pid == s->self)
			continue;
		const enum taking taken = take_threads(s, pid);
		is_new |= taken != TAKE_KNOWN;
		if (taken == TAKE_GONE && gone++ < GONE_MOST)
			seekdir(dir, at);
	}
	return is_new;
}

/* Reads /proc once, and seizes each thread that is no tracee yet.  Returns true if there
 * was a new thread, one that must be checked again, or one that has ended. */
static bool take_all(struct seized *s)
{
	DIR *dir = open_folder(s->proc, ".");
	bool is_new = false;

	if (!dir)
		refuse(s, FREEZE_FAILED, 0);
	set_alarm(true);
	if (dir)
		is_new = take_listed(s, dir);
	set_alarm(false);
	if (dir)
		(void)closedir(dir); /* the folder was only read, so an error of
				      * closedir(3) does not matter */
	end_reading(s);
	return is_new;
}

/* --- their stops ---------------------------------------------------------------- */

enum look { LOOK_RUNS, LOOK_STANDS, LOOK_IS_GONE };

/* Reads whether a tracee has stopped.  WNOWAIT does not use the stop up, so that the
 * signal of a thread that has stopped for one is not lost if we die.  A stopped thread
 * may still die if another thread of its process calls execve(2). */
static enum look look_at(const struct seized *s, struct tracee *t)
{
	const int any = WEXITED | WSTOPPED | WNOHANG | __WALL;
	siginfo_t info = { 0 };

	if (t->is_zombie)
		return state_of(s, t->tid) == 'Z' ? LOOK_STANDS : LOOK_IS_GONE;
	if (waitid(P_PID, (id_t)t->tid, &info, any | WNOWAIT) < 0)
		return LOOK_IS_GONE;
	if (info.si_pid == 0) {
		/* A thread-group leader that ended before its other threads is a zombie
		 * until these have ended, and cannot be reaped yet.  It counts as
		 * stopped. */
		bool stands = waits_in_vfork(s, t->tid) || state_of(s, t->tid) == 'Z';
		return stands ? LOOK_STANDS : LOOK_RUNS;
	}
	if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED) {
		t->stop = info.si_status;
		return LOOK_STANDS;
	}
	(void)waitid(P_PID, (id_t)t->tid, &info, any); /* reaps the tracee; the kernel
						        * tells its parent of the death
						        * only then */
	return LOOK_IS_GONE;
}

/* Reads the state of all tracees, and returns how many still run.  Sets *ret_lost if some
 * have ended: those are forgotten, since the kernel may give their tids to new
 * threads. */
static size_t look_at_all(struct seized *s, bool *ret_lost)
{
	size_t kept = 0, running = 0;

	for (size_t i = 0; i < s->count; i++) {
		enum look seen = look_at(s, &s->all[i]);
		if (seen == LOOK_IS_GONE)
			continue;
		running += seen == LOOK_RUNS;
		s->why.pid = seen == LOOK_RUNS ? (uint32_t)s->all[i].tid : s->why.pid;
		s->all[kept++] = s->all[i];
	}
	*ret_lost |= kept < s->count;
	s->count = kept;
	return running;
}

static void wait_for_stop(void)
{
	const struct timespec most = { .tv_nsec = LOOK_MS * 1000000L };
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD); /* the arguments are valid; SIGCHLD is blocked */
	(void)sigtimedwait(&set, NULL, &most);
}

/* Waits until all known tracees have stopped, or until `due`.  Returns true if some have
 * ended. */
static bool wait_for_all(struct seized *s, int64_t due)
{
	bool is_lost = false;

	while (s->why.why == FREEZE_STANDS && look_at_all(s, &is_lost) > 0) {
		if (clock_is_due(due, clock_ms()))
			refuse(s, FREEZE_LATE, (pid_t)s->why.pid);
		else
			wait_for_stop();
	}
	return is_lost;
}

/* --- interface ---------------------------------------------------------------- */

static void end_with_us(const struct tracee *t)
{
	if (t->stop) /* a tracee that has not stopped waits for its child in vfork(2), and
		      * stops when that child is killed */
		(void)ptrace(PTRACE_SETOPTIONS, t->tid, NULL,
			     OPTIONS | PTRACE_O_EXITKILL);
}

struct seized *seize_all(int proc, int64_t due, struct frozen *ret)
{
	struct seized *s = mem_zeroed(1, sizeof(*s));

	s->proc = proc;
	s->self = getpid();
	for (int quiet = 0; quiet < READINGS && s->why.why == FREEZE_STANDS;) {
		const size_t before = s->count;
		bool is_new = take_all(s);
		bool is_lost = wait_for_all(s, due);
		quiet = is_new || is_lost ? 0 : quiet + 1;
		if (is_new && s->count == before)
			wait_for_stop(); /* a thread must be checked again, after a short
					  * time */
		if (quiet < READINGS && clock_is_due(due, clock_ms()))
			refuse(s, FREEZE_LATE, s->denied);
	}
	*ret = s->why;
	ret->pid = ret->why == FREEZE_STANDS ? 0 : ret->pid;
	return s;
}

/* Reaps killed tracees, since the kernel tells their parents of the death only then.
 * Records the stop of each tracee that had not stopped before. */
static void take_stops(struct seized *s)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		struct tracee *t = find(s, tid);
		if (t && WIFSTOPPED(status) && !t->stop) {
			t->stop = status >> 8;
			end_with_us(t);
		}
	}
}

bool seize_hold(struct seized *s, int hold)
{
	struct signalfd_siginfo info;
	sigset_t set;

	for (size_t i = 0; i < s->count; i++)
		end_with_us(&s->all[i]);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD); /* the arguments are valid */
	AUTO_CLOSE int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	struct pollfd fds[] = { { .fd = hold }, { .fd = signals, .events = POLLIN } };
	do {
		(void)!read(signals, &info, sizeof(info)); /* only empties the
							    * descriptor */
		take_stops(s);
	} while (poll(fds, ARRAY_LEN(fds), -1) >= 0 && !fds[0].revents);
	char byte;
	if (read(hold, &byte, 1) == 1)
		return true;
	(void)kill(-1, SIGKILL); /* also reaches the processes that wait in vfork(2),
				  * which do not have PTRACE_O_EXITKILL */
	return false;
}

/* Returns the signal to deliver when a tracee goes on, from the wait status of its stop:
 * the signal for which it has stopped, or 0 for a ptrace event, which is in the upper
 * bits. */
static int signal_of(int stop)
{
	return stop >> 8 ? 0 : stop & 0x7f;
}

void seize_disarm(const struct seized *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i].stop)
			(void)ptrace(PTRACE_SETOPTIONS, s->all[i].tid, NULL, OPTIONS);
}

void seize_release(struct seized *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i].stop)
			(void)ptrace(PTRACE_DETACH, s->all[i].tid, NULL,
				     (long)signal_of(s->all[i].stop));
	free(s->all);
	free(s);
}
