/* supervisor -- the other end of the protocol, for tests of the executor.
 *
 * The executor runs in a forked process that is a subreaper instead of a pid
 * namespace's init, so that no privilege is needed.  Everything waits for at
 * most PATIENCE_S, then fails the test; nothing sleeps. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "protocol/message.h"
#include "tests/patience.h"

/* Arguments of a command, from constant texts that are never written to. */
#define TEXT(text) ((char *)(uintptr_t)(text))
#define ARGV(...)  ((char *[]){ __VA_ARGS__, NULL })
#define SH(script) ARGV(TEXT("/bin/sh"), TEXT("-c"), TEXT(script))

struct supervisor {
	pid_t pid; /* of the executor */
	int socket;
	struct buffer in;
	/* Number of the last pause (SIGSTOP to all) that the executor confirmed. */
	uint32_t paused;
};

/* One answer, decoded. */
struct answer {
	uint32_t type; /* MSG_NONE: the executor has closed the channel */
	uint32_t id;
	struct hello hello;
	uint32_t pid;
	struct failed failed;
	struct exited exited;
};

/* A command to ask for; zero fields take the defaults of supervisor_exec(). */
struct ask {
	uint32_t id, flags;
	char **argv;
	char **env;
	const char *cwd;
	int fds[3]; /* 0 stands for /dev/null */
	uint32_t uid, gid;
	bool is_other_user; /* run as uid and gid instead of the test's own */
	uint32_t rows, cols;
	struct exec_rlimit rlimit; /* with has_rlimit */
	bool has_rlimit;
	const void *filter;
	uint32_t filter_len;
};

/* Starts the executor and takes its hello. */
void supervisor_start(struct supervisor *s);
/* The same, with an executor that is the init of a pid namespace, for tests of
 * signals to all processes.  The user namespace maps our own id, unless the
 * test is root. */
void supervisor_start_init(struct supervisor *s);
/* The same as supervisor_start_init(), with a procfs of that namespace, which shows
 * its pids. */
void supervisor_start_seeing(struct supervisor *s);
/* Makes a supervisor for an executor that the caller has started as `pid` with the
 * other end of `socket`; takes its hello. */
void supervisor_adopt(struct supervisor *s, pid_t pid, int socket);
/* Runs the executor on this socket; for the process that is passed to
 * supervisor_adopt(). */
_Noreturn void supervisor_play_init(int socket);
/* Closes the channel and waits for the executor.  Returns the status of waitpid(2):
 * the exit code is 1, as after a broken rule, unless the executor has ended properly
 * before. */
int supervisor_end(struct supervisor *s);
/* Waits for the executor to end by itself. */
int supervisor_wait(struct supervisor *s);
/* Waits until the executor has ended because the test broke a rule of the protocol.
 * Answers to earlier requests may come before that. */
void supervisor_expect_violation(struct supervisor *s);

/* Setup and teardown of a test: *state is a supervisor with an executor.  The
 * teardown ends the executor, unless the test has waited for its end already. */
int supervisor_setup(void **state);
int supervisor_teardown(void **state);

/* The executor's private and touched memory in KiB, and the entries of its
 * /proc/PID/fd, which are two more than its descriptors. */
unsigned long supervisor_memory(const struct supervisor *s);
unsigned supervisor_fds(const struct supervisor *s);

/* Sends all of `frame` with these descriptors beside its first byte. */
void supervisor_send(struct supervisor *s, const struct buffer *frame, const int *fds,
		     unsigned count);
/* The same as supervisor_send(), but does not fail if the executor has ended
 * already. */
bool supervisor_try(struct supervisor *s, const void *data, size_t len, const int *fds,
		    unsigned count);

void supervisor_ask(struct supervisor *s, const struct ask *a);
void supervisor_signal(struct supervisor *s, uint32_t id, int signo);
void supervisor_end_tree(struct supervisor *s, uint32_t id);
void supervisor_hold(struct supervisor *s, bool is_held);
/* Freezes all processes; number 0 lets them run again. */
void supervisor_freeze(struct supervisor *s, uint32_t number);
void supervisor_stop(struct supervisor *s, uint32_t grace_ms);
void supervisor_resize(struct supervisor *s, uint32_t id, uint32_t rows, uint32_t cols);

struct answer supervisor_answer(struct supervisor *s);

/* Notes `f` if it is MSG_PAUSED, or MSG_FROZEN that reports all processes as
 * stopped: both may come at any time.  Returns whether `f` was one of these. */
struct frame;
bool supervisor_pass_over(struct supervisor *s, const struct frame *f);
void supervisor_await_paused(struct supervisor *s, uint32_t number);

/* Waits until the executor has done all its work and sleeps: it was seen asleep
 * twice and has not woken up in between. */
void supervisor_await_rest(const struct supervisor *s);
/* Fails the test unless the next answer is of this type and id. */
struct answer supervisor_expect(struct supervisor *s, uint32_t type, uint32_t id);
/* Asks for a command, and expects that it starts and exits. */
struct exited supervisor_run(struct supervisor *s, const struct ask *a);

/* Reads `fd` to its end as a string; the caller frees it. */
char *read_all(int fd);
/* Reads until `text` came; fails the test if it does not come. */
void read_until(int fd, const char *text);

/* pipe2(2) with CLOEXEC. */
void make_pipe(int ends[2]);

/* A command on a terminal, and the pipes of the supervisor to and from the terminal. */
struct on_terminal {
	struct supervisor s;
	int in, out;
	pid_t pid; /* of the command */
};

/* Starts an executor, and one command on a terminal in it. */
void terminal_begin(struct on_terminal *t, char **argv);
/* Waits for the command's end, and ends the executor. */
struct exited terminal_finish(struct on_terminal *t);
void terminal_type(struct on_terminal *t, const char *text);
/* Compares all output from here to the end. */
void terminal_expect(struct on_terminal *t, const char *expected);
