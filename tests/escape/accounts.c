/* Resources that the kernel counts per user, not per sandbox: a sandbox that
 * takes all of one leaves none for the user's own programs.  Each probe asks
 * for the number in `value`, which is less than an ordinary host allows, and
 * reports how many it got.  The kernel takes all of them back when the trial's
 * process ends. */
#include "tests/escape/probe.h"

#include "base/own.h"
#include "tests/patience.h"

#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

/* Raises RLIMIT_NOFILE to its hard limit, so that the number of descriptors
 * does not end the measurement. */
static void raise_nofile(void)
{
	struct rlimit limit;

	(void)getrlimit(RLIMIT_NOFILE, &limit); /* cannot fail */
	limit.rlim_cur = limit.rlim_max;
	/* A process may raise its soft limit up to the hard one. */
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* RLIMIT_NOFILE is per process, so a probe whose table is full continues in a
 * child with an empty one.  The trial's memory is shared with the child; the
 * last result written counts. */
static void in_child_without_files(struct trial *t, long got,
				   void (*go_on)(struct trial *t, long got))
{
	pid_t pid = fork();

	if (!pid) {
		/* The parent process keeps these descriptors open. */
		(void)close_range(3, ~0U, 0);
		go_on(t, got);
		_exit(0);
	}
	if (pid > 0)
		(void)child_wait(pid); /* the child has stored the result */
}

static void inotify_instances(struct trial *t)
{
	long got = 0;

	raise_nofile();
	while (got < t->probe->value && inotify_init1(IN_CLOEXEC) >= 0)
		got++;
	trial_count(t, got, t->probe->value, errno);
}

/* The kernel keeps one watch per inode, so each watch takes a file of its own.
 * Returns the number of watches before one was refused, for the reason in
 * errno. */
static long watch_files(const char *dir, long wanted)
{
	AUTO_CLOSE int fd = inotify_init1(IN_CLOEXEC);
	char name[560];
	long got = 0;

	(void)mkdir(dir, 0700); /* if this fails, making the first file fails, too */
	for (; got < wanted; got++) {
		snprintf(name, sizeof(name), "%s/%ld", dir, got);
		if (mknod(name, S_IFREG | 0600, 0) ||
		    inotify_add_watch(fd, name, IN_OPEN) < 0)
			break;
	}
	int error = errno;
	for (long i = 0; i <= got; i++) {
		snprintf(name, sizeof(name), "%s/%ld", dir, i);
		(void)unlink(name); /* the last file may not exist */
	}
	(void)rmdir(dir); /* empty now */
	errno = error;
	return got;
}

/* The sandbox's limit counts as a refusal if it leaves half of the user's watches.
 * The probe does not try to reach such a limit: some hosts have a default of a
 * million. */
static void inotify_watches(struct trial *t)
{
	char text[32] = "";

	if (file_read("/proc/sys/user/max_inotify_watches", text, sizeof(text)) > 0 &&
	    atoi(text) <= t->set->watches / 2) {
		trial_says(t, "refused:share", "%d of the user's %d", atoi(text),
			   t->set->watches);
		return;
	}
	long got = watch_files(path_in(t->set->scratch, "probe-watches").s,
			       t->probe->value);
	trial_count(t, got, t->probe->value, errno);
}

static void timers(struct trial *t)
{
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	int id;
	long got = 0;

	/* Uses the system call itself: the C library's timer_create() starts a
	 * thread for some kinds of timers. */
	while (got < t->probe->value &&
	       !syscall(SYS_timer_create, CLOCK_MONOTONIC, &none, &id))
		got++;
	trial_count(t, got, t->probe->value, errno);
}

/* Signals queued to this process and blocked, which RLIMIT_SIGPENDING bounds. */
static void pending_signals(struct trial *t)
{
	union sigval value = { .sival_int = 0 };
	sigset_t set;
	long got = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	(void)sigprocmask(SIG_BLOCK, &set, NULL); /* arguments are good */
	while (got < t->probe->value && !sigqueue(getpid(), SIGRTMIN, value))
		got++;
	trial_count(t, got, t->probe->value, errno);
}

/* Makes one pipe as large as an ordinary user may. */
static void pipe_size(struct trial *t)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		trial_error(t, "skip", errno);
	else
		trial_call(t, fcntl(ends[1], F_SETPIPE_SZ, (int)t->probe->value));
}

/* Pipes of the default size are counted per user, too: beyond 16,384 pages of
 * them (fs.pipe-user-pages-soft) each new pipe of that user gets one or two
 * pages. */
static void open_pipes(struct trial *t, long got)
{
	int ends[2];
	int size = 1 << 16;

	while (got < t->probe->value && size == 1 << 16 &&
	       !pipe2(ends, O_CLOEXEC)) {
		size = fcntl(ends[0], F_GETPIPE_SZ);
		got++;
	}
	if (size != 1 << 16)
		trial_says(t, "allowed", "pipe %ld has %d bytes", got, size);
	else
		trial_says(t, "refused:enough-left", "%ld pipes", got);
	if (got == t->probe->value || size != 1 << 16 || errno != EMFILE)
		return;
	in_child_without_files(t, got, open_pipes);
}

static void pipe_pages(struct trial *t)
{
	raise_nofile();
	open_pipes(t, 0);
}

/* Sends descriptors in batches of 200.  The kernel counts descriptors in flight
 * per sending user, up to the sender's RLIMIT_NOFILE (unix(7): ETOOMANYREFS). */
static long send_batch(int sock)
{
	enum { BATCH = 200 };
	static const int stdins[BATCH];

	return socket_send_fds(sock, stdins, BATCH) ? -1 : BATCH;
}

static void rights_in_flight(struct trial *t)
{
	int pair[2];
	long got = 0, sent = 0;
	int error = 0;

	raise_nofile();
	while (got < t->probe->value) {
		if (sent <= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
			error = errno;
			break;
		}
		sent = send_batch(pair[0]);
		if (sent < 0 && errno != EAGAIN) {
			error = errno;
			break;
		}
		got += sent > 0 ? sent : 0;
	}
	trial_count(t, got, t->probe->value, error);
}

/* Makes a receiver of datagrams and a sender that is connected to it.  The
 * receiver stays unconnected: only then does a sender wait when the receiver's
 * queue is full (net.unix.max_dgram_qlen). */
static bool datagram_pair(int pair[2])
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(name);

	pair[0] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	pair[1] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* A name that the kernel chooses (unix(7), autobind). */
	return pair[0] >= 0 && pair[1] >= 0 &&
	       !bind(pair[0], (void *)&name, sizeof(sa_family_t)) &&
	       !getsockname(pair[0], (void *)&name, &len) &&
	       !connect(pair[1], (void *)&name, len);
}

static bool is_asleep_or_over(void *context)
{
	char text[200] = "";

	(void)file_read(path_of_pid(*(pid_t *)context, "stat").s, text, sizeof(text));
	const char *state = strrchr(text, ')');
	return !state || state[2] == 'S' || state[2] == 'Z';
}

/* Forks a process that waits to send as many descriptors as fit into one
 * message.  Returns how many messages are in the queue before it, or -1. */
static int start_waiter(int pair[2], pid_t *ret_pid)
{
	static const int stdins[SEND_MOST];
	int full = 0;

	if (!datagram_pair(pair))
		return -1;
	while (send(pair[1], "", 1, MSG_DONTWAIT) == 1)
		full++;
	*ret_pid = fork();
	if (!*ret_pid) {
		if (socket_wait_send_fds(pair[1], stdins, SEND_MOST))
			_exit(errno);
		_exit(0);
	}
	patience_wait(is_asleep_or_over, ret_pid);
	return full;
}

/* Senders of datagrams that wait together and go on together: a kernel from
 * 6.10 on counts descriptors when they are queued, and checks the limit before
 * the sender waits.  The trial lowers its own limit, so that few senders are
 * enough. */
static void rights_of_waiters(struct trial *t)
{
	enum { WAITERS = 16, LOW = SEND_MOST };
	const struct rlimit low = { LOW, LOW };
	int pairs[WAITERS][2], full[WAITERS], error = 0;
	pid_t pids[WAITERS];
	char byte;
	long got = 0;

	(void)setrlimit(RLIMIT_NOFILE, &low); /* lower: may */
	for (int i = 0; i < WAITERS; i++) {
		full[i] = start_waiter(pairs[i], &pids[i]);
		if (full[i] < 0) {
			trial_call(t, -1);
			return;
		}
	}
	for (int i = 0; i < WAITERS; i++)
		while (full[i]-- > 0)
			(void)recv(pairs[i][0], &byte, 1, 0); /* was sent before */
	for (int i = 0; i < WAITERS; i++) {
		int ended = child_wait(pids[i]);
		got += ended ? 0 : SEND_MOST;
		error = ended ? ended : error;
	}
	trial_count(t, got, (long)WAITERS * SEND_MOST, error);
}

static void posix_queues(struct trial *t)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 1024 };
	char name[32];
	long got = 0;
	int error = 0;

	for (; got < t->probe->value; got++) {
		snprintf(name, sizeof(name), "/probe-%d-%ld", getpid(), got);
		if (mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr) < 0) {
			error = errno;
			break;
		}
		/* The queue stays open, and so counts until this process ends. */
		(void)mq_unlink(name);
	}
	trial_count(t, got, t->probe->value, error);
}

static void open_terminals(struct trial *t, long got)
{
	while (got < t->probe->value &&
	       open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0)
		got++;
	trial_count(t, got, t->probe->value, errno);
	if (got < t->probe->value && errno == EMFILE)
		in_child_without_files(t, got, open_terminals);
}

static void terminals(struct trial *t)
{
	raise_nofile();
	open_terminals(t, 0);
}

static void aio_contexts(struct trial *t)
{
	unsigned long context = 0;

	trial_call(t, syscall(SYS_io_setup, (unsigned int)t->probe->value,
			      &context));
}

static void fanotify_groups(struct trial *t)
{
	long got = 0;

	raise_nofile();
	while (got < t->probe->value &&
	       syscall(SYS_fanotify_init, 0x200 /* FAN_REPORT_FID */, 0) >= 0)
		got++;
	if (!got)
		trial_call(t, -1);
	else
		trial_count(t, got, t->probe->value, errno);
}

#define ACCOUNT(nm, function, wanted) \
	{ "E74b", nm, .run = function, .value = wanted }

const struct probe accounts_probes[] = {
	ACCOUNT("inotify-instances", inotify_instances, 100),
	ACCOUNT("inotify-watches", inotify_watches, 2000),
	ACCOUNT("timers", timers, 20000),
	ACCOUNT("pending-signals", pending_signals, 20000),
	ACCOUNT("pipe-buffers", pipe_size, 1 << 20),
	ACCOUNT("pipe-pages", pipe_pages, 2000),
	ACCOUNT("rights-in-flight", rights_in_flight, 20000),
	ACCOUNT("rights-of-waiters", rights_of_waiters, 0),
	ACCOUNT("posix-queues", posix_queues, 40),
	ACCOUNT("terminals", terminals, 1000),
	ACCOUNT("aio-contexts", aio_contexts, 4096),
	ACCOUNT("fanotify-groups", fanotify_groups, 100),
	{ 0 },
};
