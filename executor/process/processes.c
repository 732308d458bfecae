#include "executor/process/processes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/process/all_processes.h"
#include "executor/process/relay.h"
#include "executor/process/spawn.h"
#include "executor/process/tree.h"
#include "executor/process/user.h"

/* The executor reaps at most this many processes in a row before it serves the channel: a
 * process that forks without end must not keep the supervisor waiting. */
#define REAP_AT_ONCE 64

/* Commands may not use up the last descriptors: this many stay free for the channel, for
 * descriptors that come with requests, and for files that are open only briefly. */
#define FDS_SPARE 16

/* How many descriptors a command takes: the status pipe while the command starts; with a
 * terminal also the terminal's two sides and two of the supervisor's descriptors. */
enum { FDS_PLAIN = 1, FDS_TERMINAL = 5 };

void processes_init(struct processes *p)
{
	struct rlimit limit = { 0 };

	*p = (struct processes){ 0 };
	cgroup_init(&p->cgroup);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > FDS_SPARE)
		p->fds_max = limit.rlim_cur - FDS_SPARE;
}

static size_t fds_of(const struct command *c)
{
	return c->relay ? FDS_TERMINAL : FDS_PLAIN;
}

static void let_go(struct processes *p, struct command *c)
{
	p->fds -= fds_of(c);
	own_close(&c->status);
	relay_done(c->relay);
	free(c->relay);
}

void processes_done(struct processes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		let_go(p, &p->commands[i]);
	free(p->commands);
	cgroup_done(&p->cgroup);
	*p = (struct processes){ .cgroup = { .procs = -1, .events = -1 } };
}

bool processes_reserve(struct processes *p, size_t fds)
{
	if (p->fds + fds > p->fds_max)
		return false;
	p->fds += fds;
	return true;
}

void processes_release(struct processes *p, size_t fds)
{
	p->fds -= fds;
}

struct command *processes_find(struct processes *p, uint32_t id)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->commands[i].id == id)
			return &p->commands[i];
	return NULL;
}

static struct command *find_pid(struct processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->commands[i].pid == pid && !p->commands[i].is_reaped)
			return &p->commands[i];
	return NULL;
}

static struct command *add(struct processes *p)
{
	if (p->count == p->room) {
		p->room = p->room ? p->room * 2 : 4;
		p->commands = mem_resize(p->commands, p->room, sizeof(*p->commands));
	}
	return &p->commands[p->count++];
}

static void set_failed(struct command *c, enum exec_stage stage, int sys)
{
	c->state = COMMAND_FAILED;
	c->failed = (struct failed){ .stage = stage, .sys = (uint32_t)sys };
}

/* Reads the command's status pipe, and updates the command's state if execve(2) has
 * succeeded or failed. */
static void look_at_status(struct command *c)
{
	enum spawn_state state = spawn_result(c->status, &c->failed);

	if (state == SPAWN_PENDING)
		return;
	own_close(&c->status);
	c->state = state == SPAWN_FAILED ? COMMAND_FAILED : COMMAND_RUNNING;
}

static void make_process(struct command *c, struct spawn *s)
{
	s->is_alone = all_processes_is_gone();
	c->pid = spawn_command(s, &c->status);
	if (c->pid < 0) {
		set_failed(c, EXEC_STAGE_FORK, errno);
		c->pid = 0;
		return;
	}
	look_at_status(c);
}

/* Starts a command on a new terminal.  A relay carries bytes between the terminal and the
 * supervisor's descriptors. */
static void start_on_terminal(struct command *c, struct command_request *request,
			      struct spawn *s)
{
	const struct exec *x = request->exec;
	struct terminal terminal;

	if (user_open_terminal(s->self, x, &terminal) < 0) {
		set_failed(c, EXEC_STAGE_PTY, errno);
		return;
	}
	for (int i = 0; i < 3; i++)
		s->stdio[i] = terminal.slave;
	make_process(c, s);
	c->relay = mem_new(sizeof(*c->relay));
	relay_init(c->relay, &terminal, fd_take(&request->fds[0]),
		   fd_take(&request->fds[1]));
}

/* Returns the errno with which a command is refused before it is started, since there are
 * too many commands or descriptors; 0: the command is not refused. */
static int refuses(const struct processes *p, const struct exec *x)
{
	size_t needs = x->flags & EXEC_PTY ? FDS_TERMINAL : FDS_PLAIN;

	if (p->count >= PROCESSES_MAX)
		return EAGAIN;
	return p->fds + needs > p->fds_max ? EMFILE : 0;
}

void processes_start(struct processes *p, const struct command_request *request,
		     const struct user *self)
{
	struct command_request mine = *request;
	struct spawn s = { .exec = mine.exec,
			   .self = self,
			   .cgroup = p->cgroup.procs,
			   .stdio = { mine.fds[0], mine.fds[1], mine.fds[2] } };
	int sys = refuses(p, mine.exec);
	struct command *c = add(p);

	*c = (struct command){ .id = mine.id,
			       .status = -1,
			       .is_last = mine.exec->flags & EXEC_LAST,
			       .is_alone = mine.exec->flags & EXEC_ALONE,
			       .copies = mine.exec->flags & EXEC_COPIES };
	if (sys)
		set_failed(c, EXEC_STAGE_FORK, sys);
	else if (mine.exec->flags & EXEC_PTY)
		start_on_terminal(c, &mine, &s);
	else
		make_process(c, &s);
	p->fds += fds_of(c);
	for (int i = 0; i < 3; i++)
		own_close(&mine.fds[i]);
}

void processes_signal(struct processes *p, uint32_t id, int signo)
{
	struct command *c = processes_find(p, id);

	/* After a command was reaped, its pid may belong to another process. */
	if (!c || c->pid == 0 || c->is_reaped)
		return;
	/* A child that has not called setsid(2) yet leads no process group, so the signal
	 * is sent to the child alone. */
	if (c->is_alone || (kill(-c->pid, signo) < 0 && errno == ESRCH))
		(void)kill(c->pid, signo); /* the command is not reaped yet, so its pid
					    * cannot have been reused */
}

void processes_end(struct processes *p, uint32_t id, int proc)
{
	const struct command *c = processes_find(p, id);

	if (c && c->pid > 0 && !c->is_reaped)
		tree_end(proc, c->pid);
}

void processes_resize(struct processes *p, uint32_t id, uint32_t rows, uint32_t cols)
{
	struct command *c = processes_find(p, id);

	/* The call fails for a terminal that has hung up; its size no longer matters. */
	if (c && c->relay)
		(void)terminal_resize(&c->relay->terminal, rows, cols);
}

void processes_add_leaders(const struct processes *p, struct leaders *to)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct command *c = &p->commands[i];
		if (c->pid > 0 && !c->is_reaped && c->relay)
			leaders_add(to, c->pid, c->relay->terminal.master);
	}
}

size_t processes_watch(struct processes *p, struct pollfd *fds)
{
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct command *c = &p->commands[i];
		struct pollfd *mine = fds + count;
		c->watched = 0;
		if (c->status >= 0)
			mine[c->watched++] =
				(struct pollfd){ .fd = c->status, .events = POLLIN };
		if (c->relay)
			c->watched += relay_watch(c->relay, mine + c->watched);
		count += c->watched;
	}
	return count;
}

void processes_serve(struct processes *p, const struct pollfd *fds)
{
	for (size_t i = 0; i < p->count; i++) {
		struct command *c = &p->commands[i];
		if (c->status >= 0 && fds->revents)
			look_at_status(c);
		if (c->relay)
			relay_serve(c->relay, fds, c->watched);
		fds += c->watched;
	}
}

static uint64_t in_microseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static void set_exited(struct command *c, int status, const struct rusage *used)
{
	bool is_signaled = WIFSIGNALED(status);
	int code = is_signaled ? WTERMSIG(status) : WEXITSTATUS(status);

	c->is_reaped = true;
	c->exited = (struct exited){
		.is_signaled = is_signaled,
		.status = (uint32_t)code,
		.user_us = in_microseconds(used->ru_utime),
		.sys_us = in_microseconds(used->ru_stime),
	};
	if (c->is_late) {
		c->exited.is_signaled = false;
		c->exited.status = COPY_TIMED_OUT;
	}
	/* The process is dead, so its end of the status pipe is closed, and the pipe has
	 * its final content. */
	if (c->state == COMMAND_STARTING)
		look_at_status(c);
	if (c->relay)
		relay_drain(c->relay);
}

static bool is_watched(const struct command *c)
{
	return c->copies && c->pid > 0 && !c->is_reaped && !c->is_late;
}

int64_t processes_look_due(const struct processes *p)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < p->count; i++)
		if (is_watched(&p->commands[i]) && p->commands[i].halt.due < due)
			due = p->commands[i].halt.due;
	return due;
}

static void look(struct command *c, bool is_paused, int64_t now)
{
	bool is_due = is_watched(c) && now >= c->halt.due;

	if (!is_due)
		return;
	switch (halt_step(&c->halt, !is_paused && halt_has(c->pid), now)) {
	case HALT_GOES_ON:
		return;
	case HALT_IS_CONTINUED:
		return halt_end(c->pid);
	case HALT_HAS_TAKEN_ALL:
		c->is_late = true;
		(void)kill(c->pid, SIGKILL); /* the command is not reaped yet, so its pid
					      * cannot have been reused */
	}
}

void processes_look(struct processes *p, bool is_paused, int64_t now)
{
	for (size_t i = 0; i < p->count; i++)
		look(&p->commands[i], is_paused, now);
}

/* Lets a stopped child go on that has asked to be traced (PTRACE_TRACEME): its tracer is
 * the executor, which does not want to trace.  The child gets the signal for which it has
 * stopped; a SIGTRAP comes from its execve(2), not from a sender, and is not
 * delivered. */
static void let_go_on(const siginfo_t *stop)
{
	const int signo = stop->si_status & 0x7f;

	(void)ptrace(PTRACE_DETACH, stop->si_pid, NULL,
		     (long)(signo == SIGTRAP ? 0 : signo));
}

/* Returns the pid of a child that has ended and is not reaped yet, so that the pid cannot
 * have been reused; 0: there is none. */
static pid_t next_zombie(void)
{
	for (int i = 0; i < REAP_AT_ONCE; i++) {
		siginfo_t info = { 0 };
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
			return 0;
		if (info.si_code != CLD_TRAPPED)
			return info.si_pid;
		let_go_on(&info);
	}
	return 0;
}

bool processes_reap(struct processes *p)
{
	for (int i = 0; i < REAP_AT_ONCE; i++) {
		struct rusage used;
		int status;
		pid_t pid = next_zombie();
		struct command *c = find_pid(p, pid);
		if (pid > 0 && !c && p->before_other)
			p->before_other(p->context, pid);
		if (pid <= 0 || wait4(pid, &status, WNOHANG, &used) != pid)
			return false;
		/* The cleanup after an out-of-memory kill comes before the report of the
		 * command's end, since the supervisor may start the next command upon
		 * that report. */
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			cgroup_recover(&p->cgroup);
		if (c)
			set_exited(c, status, &used);
		else if (p->on_other)
			p->on_other(p->context, pid, status);
	}
	return true;
}

/* Puts the reports that are due about one command into `out`.  Sets *ret_is_done if one
 * of them was the command's last report. */
static int report(const struct processes *p, struct command *c, struct buffer *out,
		  bool *ret_is_done, struct err *e)
{
	if (c->state == COMMAND_STARTING)
		return 0;
	if (c->state == COMMAND_FAILED) {
		*ret_is_done = true;
		return message_put_failed(out, c->id, &c->failed, e);
	}
	if (!c->is_started_said &&
	    message_put_started(out, c->id, (uint32_t)c->pid, e) < 0)
		return -1;
	c->is_started_said = true;
	if (!c->is_reaped || (c->relay && !relay_is_drained(c->relay)))
		return 0;
	if (c->is_last && p->holds_last)
		return 0;
	*ret_is_done = true;
	return message_put_exited(out, c->id, &c->exited, e);
}

int processes_report(struct processes *p, struct buffer *out, struct err *e)
{
	size_t kept = 0;
	int said = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct command *c = &p->commands[i];
		bool is_done = false;
		if (said == 0)
			said = report(p, c, out, &is_done, e);
		if (!is_done) {
			p->commands[kept++] = *c;
			continue;
		}
		p->is_over = p->is_over || c->is_last;
		let_go(p, c);
	}
	p->count = kept;
	return said;
}
