#include "sandbox/kernel/seccomp_compiler.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/worker.h"

#define PROGRAM_MAX (BPF_MAXINSNS * sizeof(struct sock_filter))

enum stream { TO_STDIN, FROM_STDOUT, FROM_STDERR, STREAM_COUNT };

/* One run of the compiler.  A stream that has ended has descriptor -1, which
 * poll skips. */
struct talk {
	int fds[STREAM_COUNT]; /* the launcher's ends */
	const char *profile;
	size_t len, sent;
	char program[PROGRAM_MAX + 1]; /* one byte more, to see that a program is too
					* long */
	size_t program_len;
	char sentence[ERR_TEXT_MAX];
	size_t sentence_len;
};

static void end_stream(struct talk *t, enum stream s)
{
	own_close(&t->fds[s]);
}

static void end_talk(struct talk *t)
{
	for (int s = 0; s < STREAM_COUNT; s++)
		end_stream(t, (enum stream)s);
}

/* Writes a part of the profile to the compiler.  Its stdin is a socket, so that
 * writing to a compiler that has stopped reading gives EPIPE, and no SIGPIPE. */
static void feed(struct talk *t)
{
	const ssize_t n = send(t->fds[TO_STDIN], t->profile + t->sent,
			       t->len - t->sent, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	t->sent += n > 0 ? (size_t)n : 0;
	if (n < 0 || t->sent == t->len)
		end_stream(t, TO_STDIN);
}

/* Reads the bytes that the compiler has written; bytes for which there is no room
 * are dropped. */
static void drain(struct talk *t, enum stream s)
{
	const bool is_program = s == FROM_STDOUT;
	char *to = is_program ? t->program : t->sentence;
	size_t *have = is_program ? &t->program_len : &t->sentence_len;
	const size_t room =
		(is_program ? sizeof(t->program) : sizeof(t->sentence) - 1) - *have;
	char spill[512];
	const ssize_t n = room ? read(t->fds[s], to + *have, room)
			       : read(t->fds[s], spill, sizeof(spill));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		end_stream(t, s);
	else if (room)
		*have += (size_t)n;
}

static bool is_open(const struct talk *t)
{
	return t->fds[TO_STDIN] >= 0 || t->fds[FROM_STDOUT] >= 0 ||
	       t->fds[FROM_STDERR] >= 0;
}

static int talk(struct talk *t, struct err *e)
{
	while (is_open(t)) {
		struct pollfd polls[STREAM_COUNT] = {
			[TO_STDIN] = { .fd = t->fds[TO_STDIN], .events = POLLOUT },
			[FROM_STDOUT] = { .fd = t->fds[FROM_STDOUT], .events = POLLIN },
			[FROM_STDERR] = { .fd = t->fds[FROM_STDERR], .events = POLLIN },
		};

		if (poll(polls, STREAM_COUNT, -1) < 0 && errno != EINTR)
			return err_sys(e, "wait for the seccomp compiler");
		if (polls[TO_STDIN].revents)
			feed(t);
		for (int s = FROM_STDOUT; s <= FROM_STDERR; s++)
			if (polls[s].revents)
				drain(t, (enum stream)s);
	}
	return 0;
}

/* Makes the three streams: the launcher's ends go into `t`, the compiler's into
 * `theirs`. */
static int open_streams(struct talk *t, int theirs[STREAM_COUNT], struct err *e)
{
	int in[2], out[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in))
		return err_sys(e, "make a socketpair");
	t->fds[TO_STDIN] = in[0];
	theirs[TO_STDIN] = in[1];
	for (int s = FROM_STDOUT; s <= FROM_STDERR; s++) {
		if (pipe2(out, O_CLOEXEC))
			return err_sys(e, "make a pipe");
		t->fds[s] = out[0];
		theirs[s] = out[1];
	}
	for (int s = 0; s < STREAM_COUNT; s++)
		if (fcntl(t->fds[s], F_SETFL, O_NONBLOCK))
			return err_sys(e, "set a pipe non-blocking");
	return 0;
}

/* Makes the compiler start with all signals unblocked and at their defaults,
 * whatever the launcher blocks or ignores. */
static int set_signals(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;

	(void)sigemptyset(&none); /* can't fail */
	(void)sigfillset(&all);	  /* can't fail */
	return posix_spawnattr_setsigmask(attr, &none) ||
	       posix_spawnattr_setsigdefault(attr, &all) ||
	       posix_spawnattr_setflags(attr, flags);
}

static int start(char *const *argv, const int theirs[STREAM_COUNT], pid_t *ret,
		 struct err *e)
{
	char *const no_environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;

	if (posix_spawn_file_actions_init(&actions) || posix_spawnattr_init(&attr) ||
	    set_signals(&attr))
		abort(); /* both fail only for want of memory */
	for (int s = 0; s < STREAM_COUNT; s++)
		if (posix_spawn_file_actions_adddup2(&actions, theirs[s], s))
			abort(); /* fails only for want of memory */
	errno = posix_spawn(ret, argv[0], &actions, &attr, argv, no_environment);
	const int rc = errno ? err_sys(e, "run the seccomp compiler %s", argv[0]) : 0;

	(void)posix_spawn_file_actions_destroy(&actions); /* can't fail */
	(void)posix_spawnattr_destroy(&attr);		  /* can't fail */
	return rc;
}

static int finish(pid_t pid, struct talk *t, struct err *e)
{
	static const char prefix[] = "hutch-seccomp: ";
	const char *text = t->sentence;
	const int status = worker_reap(pid);

	t->sentence[strcspn(t->sentence, "\n")] = '\0';
	if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
		text += sizeof(prefix) - 1;
	if (WIFSIGNALED(status))
		return err_set(e, ERR_INTERNAL, "the seccomp compiler died of signal %d",
			       WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return err_set(e, ERR_USAGE, "%s",
			       *text ? text : "the seccomp compiler failed silently");
	if (t->program_len == 0 || t->program_len > PROGRAM_MAX ||
	    t->program_len % sizeof(struct sock_filter) != 0)
		return err_set(e, ERR_INTERNAL,
			       "the seccomp compiler printed no program");
	return 0;
}

static int converse(char *const *argv, struct talk *t, struct err *e)
{
	int theirs[STREAM_COUNT] = { -1, -1, -1 };
	pid_t pid;
	int rc = open_streams(t, theirs, e);

	rc = rc ? rc : start(argv, theirs, &pid, e);
	for (int s = 0; s < STREAM_COUNT; s++)
		own_close(&theirs[s]);
	if (rc)
		return -1;
	rc = talk(t, e);
	end_talk(t); /* ends the compiler's input and output even if talk() failed, so
		      * that the compiler does not wait for the launcher */
	return finish(pid, t, rc ? NULL : e) || rc ? -1 : 0;
}

struct sock_filter *seccomp_compiler_run(char *const *argv, const char *profile,
					 size_t len, size_t *ret_count, struct err *e)
{
	AUTO_FREE struct talk *t = mem_zeroed(1, sizeof(*t));

	for (int s = 0; s < STREAM_COUNT; s++)
		t->fds[s] = -1;
	t->profile = profile;
	t->len = len;

	const int rc = converse(argv, t, e);
	end_talk(t);
	if (rc)
		return NULL;

	*ret_count = t->program_len / sizeof(struct sock_filter);
	return mem_copy(t->program, t->program_len);
}
