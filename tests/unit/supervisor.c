#include "tests/unit/supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "executor/executor.h"
#include "executor/process/tree.h"

/* With AddressSanitizer: keeps freed memory only briefly, so that a test can
 * show that memory does not grow. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1";
}

/* Mounts a procfs with the options that the launcher uses for a named sandbox. */
static int make_proc(void)
{
	AUTO_CLOSE int fs = sys_fsopen("proc", FSOPEN_CLOEXEC);

	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_SET_STRING, "subset", "pid") < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		_exit(2);
	AUTO_CLOSE int proc = sys_fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (!tree_can_look(proc))
		_exit(2);
	return fd_take(&proc);
}

/* Runs the executor in the process that stands for the sandbox's pid 1. */
static _Noreturn void play_init(int socket, int proc)
{
	struct err e = { 0 };
	sigset_t set;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* Sets all signals to their defaults, as executor_protect() does,
	 * whatever the caller of the test ignores. */
	static const unsigned long defaults[8] = { 0 };
	for (int signo = 1; signo < NSIG; signo++)
		(void)syscall(SYS_rt_sigaction, signo, defaults, NULL, (NSIG - 1) / 8);
	(void)setsid();
	/* The kernel drops these two signals for a real pid 1; here they are blocked
	 * instead. */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGPIPE);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	int served = executor_serve(socket, proc, -1, UINT64_MAX, &e);
	if (served < 0 && getenv("SUPERVISOR_VERBOSE"))
		(void)dprintf(2, "# executor: %s\n", e.text);
	_exit(served < 0 ? 1 : 0);
}

_Noreturn void supervisor_play_init(int socket)
{
	play_init(socket, -1);
}

static void write_to(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(2);
}

/* A process that makes a user namespace may map its own id (user_namespaces(7)). */
static void map_self(uid_t uid, gid_t gid)
{
	char map[64];

	write_to("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	write_to("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	write_to("/proc/self/gid_map", map);
}

/* Forks into these namespaces. */
static void start(struct supervisor *s, unsigned long namespaces)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	pid_t pid = namespaces
			    ? (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, 0, 0, 0, 0)
			    : fork();
	if (pid < 0 && namespaces &&
	    (errno == EPERM || errno == ENOSYS || errno == ENOSPC))
		skip(); /* no namespaces here, as inside a sandbox of hutch */
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(ends[0]);
		if (namespaces & CLONE_NEWUSER)
			map_self(uid, gid);
		play_init(ends[1], namespaces & CLONE_NEWNS ? make_proc() : -1);
	}
	(void)close(ends[1]);
	supervisor_adopt(s, pid, ends[0]);
}

void supervisor_adopt(struct supervisor *s, pid_t pid, int socket)
{
	*s = (struct supervisor){ .pid = pid, .socket = socket };
	buffer_init(&s->in, FRAME_HEADER + FRAME_MAX_FROM_EXECUTOR);
	struct answer a = supervisor_expect(s, MSG_HELLO, 0);
	assert_int_equal(a.hello.version, PROTOCOL_VERSION);
	assert_true(a.hello.pid == (uint32_t)pid || a.hello.pid == 1);
}

void supervisor_start(struct supervisor *s)
{
	start(s, 0);
}

void supervisor_start_init(struct supervisor *s)
{
	start(s, CLONE_NEWPID | (getuid() ? CLONE_NEWUSER : 0));
}

void supervisor_start_seeing(struct supervisor *s)
{
	start(s, CLONE_NEWPID | CLONE_NEWNS | (getuid() ? CLONE_NEWUSER : 0));
}

int supervisor_wait(struct supervisor *s)
{
	int status = -1;

	(void)alarm(PATIENCE_S); /* ends the test if the executor does not end */
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	(void)alarm(0);
	own_close(&s->socket);
	buffer_done(&s->in);
	return status;
}

int supervisor_end(struct supervisor *s)
{
	own_close(&s->socket);
	return supervisor_wait(s);
}

/* Sends as fd_pass.c does.  The kernel compares the number of descriptors that the user
 * has under way, of tests beside this one too, with the sender's soft limit. */
static ssize_t send_at_hard_limit(int socket, const struct msghdr *msg)
{
	struct rlimit own;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &own), 0);
	const struct rlimit most = { own.rlim_max, own.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &most), 0);
	ssize_t n = sendmsg(socket, msg, MSG_NOSIGNAL);
	int sys = errno;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &own), 0);
	errno = sys;
	return n;
}

bool supervisor_try(struct supervisor *s, const void *data, size_t len, const int *fds,
		    unsigned count)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(253 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (count > 0) {
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(count * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, count * sizeof(int));
	}
	ssize_t n = sendmsg(s->socket, &msg, MSG_NOSIGNAL);
	if (n < 0 && errno == ETOOMANYREFS)
		n = send_at_hard_limit(s->socket, &msg);
	return n == (ssize_t)len;
}

void supervisor_send(struct supervisor *s, const struct buffer *frame, const int *fds,
		     unsigned count)
{
	if (!supervisor_try(s, buffer_data(frame), buffer_len(frame), fds, count))
		fail_msg("a request was not taken: %s", strerror(errno));
}

static char *default_env[] = { (char *)"PATH=/usr/bin:/bin", NULL };

void supervisor_ask(struct supervisor *s, const struct ask *a)
{
	struct exec x = {
		.flags = a->flags,
		.uid = a->is_other_user ? a->uid : getuid(),
		.gid = a->is_other_user ? a->gid : getgid(),
		.rows = a->rows,
		.cols = a->cols,
		.cwd = a->cwd ? a->cwd : "/",
		.argv = a->argv,
		.env = a->env ? a->env : default_env,
		.rlimit_count = a->has_rlimit,
		.rlimits = { a->rlimit },
		.filter = a->filter,
		.filter_len = a->filter_len,
	};
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[3];
	struct buffer frame;
	struct err e;

	for (int i = 0; i < 3; i++)
		fds[i] = a->fds[i] ? a->fds[i] : null;
	buffer_init(&frame, FRAME_HEADER + FRAME_MAX_TO_EXECUTOR);
	assert_int_equal(message_put_exec(&frame, a->id, &x, &e), 0);
	supervisor_send(s, &frame, fds, 3);
	buffer_done(&frame);
}

void supervisor_signal(struct supervisor *s, uint32_t id, int signo)
{
	struct buffer frame;
	struct err e;

	buffer_init(&frame, 100);
	assert_int_equal(message_put_signal(&frame, id, (uint32_t)signo, &e), 0);
	supervisor_send(s, &frame, NULL, 0);
	buffer_done(&frame);
}

void supervisor_end_tree(struct supervisor *s, uint32_t id)
{
	struct buffer frame;
	struct err e;

	buffer_init(&frame, 100);
	assert_int_equal(message_put_end(&frame, id, &e), 0);
	supervisor_send(s, &frame, NULL, 0);
	buffer_done(&frame);
}

void supervisor_hold(struct supervisor *s, bool is_held)
{
	struct buffer frame;
	struct err e;

	buffer_init(&frame, 100);
	assert_int_equal(message_put_hold(&frame, is_held, &e), 0);
	supervisor_send(s, &frame, NULL, 0);
	buffer_done(&frame);
}

void supervisor_freeze(struct supervisor *s, uint32_t number)
{
	struct buffer frame;
	struct err e;

	buffer_init(&frame, 100);
	assert_int_equal(message_put_freeze(&frame, number, &e), 0);
	supervisor_send(s, &frame, NULL, 0);
	buffer_done(&frame);
}

void supervisor_stop(struct supervisor *s, uint32_t grace_ms)
{
	struct buffer frame;
	struct err e;

	buffer_init(&frame, 100);
	assert_int_equal(message_put_stop(&frame, grace_ms, &e), 0);
	supervisor_send(s, &frame, NULL, 0);
	buffer_done(&frame);
}

void supervisor_resize(struct supervisor *s, uint32_t id, uint32_t rows, uint32_t cols)
{
	struct buffer frame;
	struct err e;

	buffer_init(&frame, 100);
	assert_int_equal(message_put_resize(&frame, id, rows, cols, &e), 0);
	supervisor_send(s, &frame, NULL, 0);
	buffer_done(&frame);
}

void supervisor_expect_violation(struct supervisor *s)
{
	struct answer a;

	do
		a = supervisor_answer(s);
	while (a.type != MSG_NONE);
	int status = supervisor_wait(s);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

int supervisor_setup(void **state)
{
	static struct supervisor s;

	supervisor_start(&s);
	*state = &s;
	return 0;
}

int supervisor_teardown(void **state)
{
	struct supervisor *s = *state;

	if (s->socket < 0)
		return 0;
	int status = supervisor_end(s);
	return WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 0 : -1;
}

unsigned long supervisor_memory(const struct supervisor *s)
{
	char path[64], line[256];
	unsigned long kib = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", s->pid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		(void)sscanf(line, "RssAnon: %lu", &kib);
	(void)fclose(f);
	return kib;
}

unsigned supervisor_fds(const struct supervisor *s)
{
	char path[64];
	unsigned count = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", s->pid);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

static bool wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, PATIENCE_MS) == 1;
}

/* Reads more bytes.  Returns false at the end of the channel. */
static bool read_more(struct supervisor *s)
{
	if (!wait_readable(s->socket))
		fail_msg("no answer in %d s", PATIENCE_S);
	uint8_t *to = buffer_reserve(&s->in, 1);
	size_t room = s->in.room - s->in.end;
	ssize_t n = recv(s->socket, to, room, 0);
	if (n <= 0)
		return false;
	buffer_added(&s->in, (size_t)n);
	return true;
}

static void decode(const struct frame *f, struct answer *a)
{
	struct err e;
	int done = -1;

	a->type = f->type;
	a->id = f->id;
	if (f->type == MSG_HELLO)
		done = message_get_hello(f, &a->hello, &e);
	else if (f->type == MSG_STARTED)
		done = message_get_started(f, &a->pid, &e);
	else if (f->type == MSG_FAILED)
		done = message_get_failed(f, &a->failed, &e);
	else if (f->type == MSG_EXITED)
		done = message_get_exited(f, &a->exited, &e);
	assert_int_equal(done, 0);
}

bool supervisor_pass_over(struct supervisor *s, const struct frame *f)
{
	struct frozen what = { 0 };
	uint32_t number;
	struct err e;

	if (f->type == MSG_PAUSED) {
		assert_int_equal(message_get_paused(f, &number, &e), 0);
	} else if (f->type == MSG_FROZEN) {
		assert_int_equal(message_get_frozen(f, &what, &e), 0);
		assert_int_equal(what.why, FREEZE_STANDS);
		number = what.number;
	} else {
		return false;
	}
	assert_true(number > s->paused);
	s->paused = number;
	return true;
}

/* Returns the next frame; false if the executor closed the channel. */
static bool next_frame(struct supervisor *s, struct frame *ret)
{
	struct err e;
	int whole;

	while ((whole = frame_next(&s->in, FRAME_MAX_FROM_EXECUTOR, ret, &e)) == 0)
		if (!read_more(s))
			return false;
	assert_int_equal(whole, 1);
	return true;
}

struct answer supervisor_answer(struct supervisor *s)
{
	struct answer a = { .type = MSG_NONE };
	struct frame f;

	while (a.type == MSG_NONE && next_frame(s, &f)) {
		if (!supervisor_pass_over(s, &f))
			decode(&f, &a);
		buffer_consume(&s->in, FRAME_HEADER + f.len);
	}
	return a;
}

static void take_paused(struct supervisor *s)
{
	struct frame f;

	assert_true(next_frame(s, &f));
	assert_true(supervisor_pass_over(s, &f));
	buffer_consume(&s->in, FRAME_HEADER + f.len);
}

void supervisor_await_paused(struct supervisor *s, uint32_t number)
{
	while (s->paused < number)
		take_paused(s);
	assert_int_equal(s->paused, number);
}

/* Returns how often the process has given up the processor, or 0 if it is not
 * asleep. */
static unsigned long sleeps_of(pid_t pid)
{
	char path[64], line[256], state = 0;
	unsigned long count = 0, by_itself = 0, preempted = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		(void)sscanf(line, "State: %c", &state);
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &by_itself);
		(void)sscanf(line, "nonvoluntary_ctxt_switches: %lu", &preempted);
	}
	(void)fclose(f);
	count = by_itself + preempted;
	return state == 'S' ? count : 0;
}

struct rest {
	pid_t pid;
	unsigned long before;
};

static bool has_not_woken_up(void *context)
{
	struct rest *r = context;
	unsigned long before = r->before;

	r->before = sleeps_of(r->pid);
	return before > 0 && r->before == before;
}

void supervisor_await_rest(const struct supervisor *s)
{
	struct rest r = { .pid = s->pid };

	patience_wait(has_not_woken_up, &r);
}

struct answer supervisor_expect(struct supervisor *s, uint32_t type, uint32_t id)
{
	struct answer a = supervisor_answer(s);

	if (a.type != type || a.id != id)
		fail_msg("'%s' about %u instead of '%s' about %u (stage %s, errno %u)",
			 message_name(a.type), a.id, message_name(type), id,
			 exec_stage_name(a.failed.stage), a.failed.sys);
	return a;
}

struct exited supervisor_run(struct supervisor *s, const struct ask *a)
{
	supervisor_ask(s, a);
	supervisor_expect(s, MSG_STARTED, a->id);
	return supervisor_expect(s, MSG_EXITED, a->id).exited;
}

char *read_all(int fd)
{
	struct buffer got;

	buffer_init(&got, 16u << 20);
	for (ssize_t n = 1; n > 0;) {
		uint8_t *to = buffer_reserve(&got, 4096);
		assert_non_null(to);
		if (!wait_readable(fd))
			fail_msg("no end in %d s", PATIENCE_S);
		n = read(fd, to, 4096);
		buffer_added(&got, n > 0 ? (size_t)n : 0);
	}
	assert_true(buffer_append(&got, "", 1));
	char *text = strdup((const char *)buffer_data(&got));
	buffer_done(&got);
	return text;
}

void read_until(int fd, const char *text)
{
	char got[65536];
	size_t len = 0;

	got[0] = '\0';
	while (!strstr(got, text)) {
		if (len + 1 == sizeof(got) || !wait_readable(fd))
			fail_msg("'%s' did not come, but '%s'", text, got);
		ssize_t n = read(fd, got + len, sizeof(got) - 1 - len);
		if (n <= 0)
			fail_msg("'%s' did not come, but '%s' and the end", text, got);
		len += (size_t)n;
		got[len] = '\0';
	}
}

void make_pipe(int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

void terminal_begin(struct on_terminal *t, char **argv)
{
	struct ask a = { .id = 1, .flags = EXEC_PTY, .argv = argv, .rows = 31, .cols = 97,
			 .env = ARGV(TEXT("PATH=/usr/bin:/bin"), TEXT("TERM=dumb"),
				     TEXT("PS1=$ ")) };
	int in[2], out[2];

	/* The executor starts first: it is a fork of this process without an
	 * exec, and would keep the pipes open. */
	supervisor_start(&t->s);
	make_pipe(in);
	make_pipe(out);
	a.fds[0] = in[0];
	a.fds[1] = out[1];
	supervisor_ask(&t->s, &a);
	t->in = in[1];
	t->out = out[0];
	(void)close(in[0]);
	(void)close(out[1]);
	t->pid = (pid_t)supervisor_expect(&t->s, MSG_STARTED, 1).pid;
}

struct exited terminal_finish(struct on_terminal *t)
{
	struct exited x = supervisor_expect(&t->s, MSG_EXITED, 1).exited;

	own_close(&t->in);
	own_close(&t->out);
	assert_int_equal(WEXITSTATUS(supervisor_end(&t->s)), 1);
	return x;
}

void terminal_type(struct on_terminal *t, const char *text)
{
	assert_int_equal(io_write_all(t->in, text, strlen(text)), 0);
}

void terminal_expect(struct on_terminal *t, const char *expected)
{
	AUTO_FREE char *got = read_all(t->out);

	assert_string_equal(got, expected);
}
