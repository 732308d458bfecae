#include "executor/session/shell_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/own.h"
#include "executor/process/spawn.h"
#include "executor/process/tree.h"
#include "executor/process/user.h"
#include "executor/session/shell.h"
#include "executor/session/shell_rc.h"
#include "executor/terminal/screen.h"
#include "protocol/message.h"

/* --- which process it is ------------------------------------------------------ */

/* Returns true for an option of bash whose value is the next argument. */
static bool takes_next(const char *option)
{
	return strcmp(option, "--rcfile") == 0 || strcmp(option, "--init-file") == 0 ||
	       (option[1] != '-' && (strchr(option, 'O') || strchr(option, 'o')));
}

/* Returns true for options with which a bash cannot be driven: with -c it runs a given
 * text, with -r (--restricted) it may not read a file by its path, and with -D or -n it
 * runs nothing. */
static bool is_refused(const char *option)
{
	static const char *const words[] = { "--restricted", "--version", "--help",
					     "--dump-strings", "--dump-po-strings" };

	if (option[1] != '-')
		return strpbrk(option, "crDn") != NULL;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(option, words[i]) == 0)
			return true;
	return false;
}

static const char *next_of(const char *at, const char *end)
{
	return at < end ? at + strlen(at) + 1 : end;
}

bool inner_is_at_prompt(const char *cmdline, size_t len)
{
	const char *end = cmdline + len;
	bool reads_input = false;

	if (len == 0 || end[-1] != '\0')
		return false; /* /proc/PID/cmdline was cut, so the last argument is
			       * incomplete */
	const char *at = next_of(cmdline, end);
	for (; at < end && (*at == '-' || *at == '+') && at[1]; at = next_of(at, end)) {
		if (strcmp(at, "--") == 0)
			return next_of(at, end) == end;
		if (is_refused(at))
			return false;
		if (at[1] != '-' && strchr(at, 's'))
			reads_input = true;
		if (takes_next(at))
			at = next_of(at, end);
		if (at < end && strcmp(at, "/proc/self/fd/63") == 0)
			return false;
	}
	if (at < end && strcmp(at, "-") == 0)
		at = next_of(at, end);
	return at >= end || reads_input;
}

static ssize_t read_about(int proc, pid_t pid, const char *what, char *to, size_t room)
{
	char name[48];

	(void)snprintf(name, sizeof(name), "%d/%s", (int)pid, what);
	AUTO_CLOSE int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : read(fd, to, room);
}

static bool is_bash(int proc, pid_t pid)
{
	char name[48], text[4096] = "";

	if (read_about(proc, pid, "comm", text, sizeof(text) - 1) > 0 &&
	    strcmp(text, "bash\n") == 0)
		return true;
	/* bash may run under another name such as `sh`, but its executable is bash. */
	(void)snprintf(name, sizeof(name), "%d/exe", (int)pid);
	ssize_t len = readlinkat(proc, name, text, sizeof(text) - 1);
	return len > 5 && memcmp(text + len - 5, "/bash", 5) == 0;
}

static bool reads_terminal(const struct shell *sh, int proc, pid_t pid)
{
	char name[48];
	struct stat ours, theirs;

	(void)snprintf(name, sizeof(name), "%d/fd/0", (int)pid);
	return fstat(sh->terminal.slave, &ours) == 0 &&
	       fstatat(proc, name, &theirs, 0) == 0 && S_ISCHR(theirs.st_mode) &&
	       theirs.st_rdev == ours.st_rdev;
}

/* Returns true if the shell sleeps: then it has written its prompt and waits for input.
 * A line that is typed earlier would not be echoed after the prompt. */
static bool is_asleep(int proc, pid_t pid)
{
	struct tree_process one;

	return tree_look(proc, pid, &one) && one.is_asleep;
}

static bool has_output(const struct shell *sh)
{
	struct pollfd p = { .fd = sh->terminal.master, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && p.revents & POLLIN;
}

/* Returns true if a shell still has the pipe of lines open.  After an `exec` it has not,
 * since that closes the descriptors that the executor gave to the shell. */
static bool has_reader(int lines)
{
	struct pollfd p = { .fd = lines, .events = POLLOUT };

	return lines >= 0 && poll(&p, 1, 0) >= 0 && !(p.revents & POLLERR);
}

static bool is_driven(const struct shell *sh, pid_t pid)
{
	return sh->is_inner && pid == sh->leader && has_reader(sh->lines);
}

static bool is_it(const struct shell *sh, int proc, pid_t pid)
{
	char text[4096];
	ssize_t len = read_about(proc, pid, "cmdline", text, sizeof(text));

	return len > 0 && inner_is_at_prompt(text, (size_t)len) && is_bash(proc, pid) &&
	       reads_terminal(sh, proc, pid) && !is_driven(sh, pid);
}

/* Returns true if a process is a bash at its prompt.  /proc shows the open files of a
 * process only to a process that may trace it; the kernel judges that by the file system
 * ids, so these are changed meanwhile. */
static bool looks_like_it(const struct shell *sh, int proc, pid_t pid,
			  const struct shell_how *how)
{
	struct user_role role;

	if (user_enter(how->self, how->exec->uid, how->exec->gid, &role) < 0)
		return false;
	bool is = is_it(sh, proc, pid);
	if (user_leave(how->self, &role) < 0)
		abort(); /* the executor's own file system ids could not be restored, and
			  * it must not go on with those of another user */
	return is;
}

static pid_t find(const struct shell *sh, int proc, const struct shell_how *how)
{
	pid_t group = 0;

	if (proc < 0 || sh->terminal.master < 0 || terminal_is_by_line(&sh->terminal) ||
	    ioctl(sh->terminal.master, TIOCGPGRP, &group) < 0 || group <= 1)
		return 0;
	return looks_like_it(sh, proc, group, how) ? group : 0;
}

pid_t inner_find(const struct shell *sh, int proc, const struct shell_how *how)
{
	if (sh->coming.pid || sh->depth == SHELL_DEPTH)
		return 0;
	pid_t pid = find(sh, proc, how);
	return pid == sh->refused ? 0 : pid;
}

/* --- beginning to drive it ----------------------------------------------------- */

struct held {
	int input, reports, rc; /* owned */
};

static void held_done(struct held *h)
{
	own_close(&h->input);
	own_close(&h->reports);
	own_close(&h->rc);
}

/* Makes a pipe.  `ours` points to the executor's end, which becomes non-blocking. */
static int make_pipe(int *ret_read, int *ret_write, int *ours)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*ret_read = ends[0];
	*ret_write = ends[1];
	return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

/* Opens a new write end of the pipe for reports.  If all write ends were closed before,
 * and the executor has closed its end, makes a new pipe. */
static int open_reports(struct shell *sh)
{
	char path[32];
	int end = -1;

	if (sh->reports < 0)
		return make_pipe(&sh->reports, &end, &sh->reports) < 0 ? -1 : end;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", sh->reports);
	return open(path, O_WRONLY | O_CLOEXEC);
}

static int spawn_holder(struct shell *sh, const struct held *h,
			const struct shell_how *how)
{
	char *argv[] = { how->exec->argv[0], (char *)"--norc", (char *)"-c",
			 (char *)"read", NULL };
	char *env[] = { NULL }; /* empty, so that bash runs no script that BASH_ENV
				 * names */
	struct exec mine = *how->exec;
	const struct spawn_fd more[] = { { sh->coming.lines, 60 }, { sh->text.fd, 61 },
					 { h->reports, 62 }, { h->rc, 63 } };
	const struct spawn s = { .exec = &mine, .self = how->self, .cgroup = how->cgroup,
				 .stdio = { h->input, h->rc, h->rc }, .more = more,
				 .more_count = ARRAY_LEN(more) };

	mine.argv = argv;
	mine.env = env;
	mine.cwd = "/";
	mine.flags = 0;
	sh->coming.holder_pid = spawn_command(&s, &sh->status);
	return sh->coming.holder_pid < 0 ? -1 : 0;
}

/* Makes the pipe of lines.  The holder gets the write end, and the inner shell opens the
 * read end through it (/proc/PID/fd/60).  So the inner shell is the only reader, and
 * has_reader() tells whether it still has the pipe. */
static int make_lines(struct shell_coming *c)
{
	AUTO_CLOSE int reader = -1;

	return make_pipe(&reader, &c->lines, &c->lines) < 0 ? -1 : fchmod(c->lines, 0666);
}

static int begin(struct shell *sh, struct held *h, const struct shell_how *how)
{
	struct shell_coming *c = &sh->coming;

	/* The modes are 0666, since a pipe belongs to its maker and the shell may have
	 * another user.  Other processes can reach the pipe only through a process that
	 * has it open. */
	if (make_lines(c) < 0 || make_pipe(&h->input, &c->holder, &c->holder) < 0)
		return -1;
	h->reports = open_reports(sh);
	h->rc = shell_rc_make(SHELL_RC_INNER);
	if (h->reports < 0 || h->rc < 0 || fchmod(h->reports, 0666) < 0)
		return -1;
	return spawn_holder(sh, h, how);
}

bool inner_adopt(struct shell *sh, pid_t pid, const struct shell_how *how)
{
	struct held h = { -1, -1, -1 };

	if (sh->status >= 0)
		return false;
	int begun = begin(sh, &h, how);
	held_done(&h);
	sh->coming.pid = pid;
	sh->refused = pid; /* this shell is not tried again */
	if (begun < 0)
		inner_drop(sh);
	return begun == 0;
}

/* Returns how many rows of the screen a line of `len` characters takes when it is typed
 * after the prompt. */
static unsigned rows_of(const struct screen *screen, size_t len)
{
	return 1 + (unsigned)((screen->col + len) / screen->display.cols);
}

/* Types the line at the prompt that makes the inner shell read the start-up file. */
static void type_line(struct shell *sh, const struct screen *screen)
{
	static const char form[] = " . /proc/%d/fd/63 %d %u %u %u;set +o emacs +o vi\r";
	struct shell_coming *c = &sh->coming;
	const int pid = (int)c->holder_pid;
	char line[128];

	c->number = ++sh->issued;
	int len =
		snprintf(line, sizeof(line), form, pid, pid, c->number, 1u, screen->col);
	len = snprintf(line, sizeof(line), form, pid, pid, c->number,
		       rows_of(screen, (size_t)len), screen->col);
	(void)shell_type(sh, line, (size_t)len); /* fails if the queue is full; then the
						  * inner shell is not driven */
}

bool inner_type(struct shell *sh, int proc, const struct shell_how *how,
		const struct screen *screen)
{
	struct shell_coming *c = &sh->coming;
	struct failed why;

	if (!c->pid)
		return false; /* the inner shell is driven already, or it has ended */
	if (!c->has_holder) {
		enum spawn_state state = spawn_result(sh->status, &why);
		if (state == SPAWN_PENDING)
			return false;
		own_close(&sh->status);
		c->has_holder = state == SPAWN_STARTED;
	}
	if (!c->has_holder || find(sh, proc, how) != c->pid) {
		inner_drop(sh);
		return false;
	}
	/* The order matters: once the shell sleeps, its prompt is complete, and once no
	 * output is left, the screen has the whole prompt and knows the column where it
	 * ends. */
	if (!is_asleep(proc, c->pid) || has_output(sh))
		return true;
	type_line(sh, screen);
	return false;
}

void inner_drop(struct shell *sh)
{
	if (sh->coming.pid && sh->status >= 0)
		own_close(&sh->status);
	own_close(&sh->coming.lines);
	own_close(&sh->coming.holder);
	sh->coming = (struct shell_coming){ .lines = -1, .holder = -1 };
}

void inner_enter(struct shell *sh)
{
	const struct shell_coming c = sh->coming;

	if (c.pid == sh->leader)
		own_close(&sh->lines); /* an `exec bash`: the new shell has replaced the
				        * old one */
	else
		sh->outer[sh->depth++] = (struct shell_level){
			.lines = sh->lines, .pid = sh->leader, .number = sh->number,
			.last_status = sh->last_status, .is_traced = sh->is_traced,
			.is_inner = sh->is_inner };
	sh->lines = c.lines;
	sh->leader = c.pid;
	sh->number = c.number;
	sh->is_inner = true;
	sh->is_silent = false;
	sh->coming.lines = -1;
	inner_drop(sh);
}

void inner_leave(struct shell *sh, size_t level)
{
	const struct shell_level *to = &sh->outer[level];

	inner_drop(sh);
	own_close(&sh->lines);
	while (sh->depth > level + 1)
		own_close(&sh->outer[--sh->depth].lines);
	sh->depth = level;
	sh->lines = to->lines;
	sh->leader = to->pid;
	sh->number = to->number;
	sh->last_status = to->last_status;
	sh->is_traced = to->is_traced;
	sh->is_inner = to->is_inner;
	sh->is_silent = false;
}

size_t shell_more_fds(const struct shell *sh)
{
	/* Each waiting shell has a pipe of lines.  A shell that is about to be driven
	 * takes two more descriptors. */
	return sh->depth + (sh->coming.pid ? 2 : 0);
}
