#include "executor/session/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/list.h"
#include "base/own.h"
#include "executor/process/spawn.h"
#include "executor/process/user.h"
#include "executor/session/shell_inner.h"
#include "executor/session/shell_rc.h"
#include "protocol/action.h"
#include "protocol/message.h"

/* The largest size of a report: its paths are of at most PATH_MAX characters, each of which
 * has 4 bytes at most. */
#define REPORT_MAX (64u << 10)

/* The redirections 60<&- and so on are undone by bash after the command, even if the
 * command was abandoned.  Bash undoes the last one first, and stops at the first that
 * fails (EBADF, if the command has lowered `ulimit -n`).  Then 0 would still be the
 * terminal, and bash would read its lines from there. */
#define EVAL "\\builtin eval \"$__hutch_command\" 0<&60 60<&- 61<&- 62>&-"
#define NOTHING "\\:" /* quoted, since it may be an alias */
/* Standard error is the pipe of lines, whose read end takes no writes: a trace (`set -x`)
 * is lost there.  To open /dev/null instead takes bash 5 us. */
#define REPORT " { __hutch_out $? %u $-; } 2>&0 || __hutch_lost 1\n"
/* __hutch_in sets the `$?` that the command sees. */
#define LINE_AFTER_SUCCESS "__hutch_in 0 %u %d; " EVAL ";" REPORT
/* The command is run by a branch of `if`, whose condition may fail without triggering an
 * ERR trap.  The other branch does nothing, and is not taken. */
#define LINE_AFTER_FAILURE \
	"if __hutch_in %u %u %d; then " NOTHING "; else " EVAL "; fi;" REPORT
/* The line begins with a newline, since bash 5.2 forgets the first token of a line that
 * follows an unfinished quote.  Almost always the command has been reported, and the line
 * does nothing.  A `case` leaves `$?` as it is, which a `[[ ]]` would not. */
#define LATE_LINE                                                                 \
	"\n{ case ${__hutch_done-} in %u) ;; *) __hutch_tidy $? %u $- ;; esac; }" \
	" 2>&\"${__hutch_err-2}\" || __hutch_lost 1\n"
#define TRACE_LINE "{ __hutch_trace %u; } 2>/dev/null;"

/* --- start ---------------------------------------------------------------- */

/* Makes a pipe between the executor and the shell.  The executor's end, ends[ours], is
 * non-blocking, and the shell's end is blocking. */
static int make_pipe(int ends[2], int ours)
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	return fcntl(ends[ours], F_SETFL, O_NONBLOCK);
}

static void empty(struct shell *sh)
{
	*sh = (struct shell){ .status = -1, .terminal = { -1, -1 },
			      .lines = -1, .text = { .fd = -1 }, .reports = -1,
			      .coming = { .lines = -1, .holder = -1 } };
	buffer_init(&sh->reported, REPORT_MAX);
	buffer_init(&sh->typed, ACTION_TEXT_MAX + 1);
}

void shell_done(struct shell *sh)
{
	if (sh->reported.max == 0)
		return; /* `sh` is zeroed, so it owns nothing */
	own_close(&sh->status);
	terminal_close(&sh->terminal);
	own_close(&sh->lines);
	shell_text_done(&sh->text);
	own_close(&sh->reports);
	inner_drop(sh);
	while (sh->depth > 0)
		own_close(&sh->outer[--sh->depth].lines);
	buffer_done(&sh->reported);
	buffer_done(&sh->typed);
	empty(sh);
}

/* Sets the terminal's modes for commands.  Typed input is not echoed, since an echo would
 * look like output of the command. */
static int set_modes(struct shell *sh)
{
	if (tcgetattr(sh->terminal.slave, &sh->modes) < 0)
		return -1;
	sh->modes.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
	return tcsetattr(sh->terminal.slave, TCSANOW, &sh->modes);
}

struct ends {
	int lines, reports, rc; /* owned; the shell's ends of the two pipes, and its
				 * start-up file */
};

static int make_descriptors(struct shell *sh, struct ends *theirs, const struct exec *x,
			    bool is_bare, const struct user *self)
{
	int lines[2] = { -1, -1 }, reports[2] = { -1, -1 };

	if (user_open_terminal(self, x, &sh->terminal) < 0) {
		sh->terminal = (struct terminal){ -1, -1 };
		return -1;
	}
	int made = set_modes(sh) | make_pipe(lines, 1) | make_pipe(reports, 0);
	sh->lines = lines[1];
	sh->reports = reports[0];
	theirs->lines = lines[0];
	theirs->reports = reports[1];
	made |= shell_text_init(&sh->text);
	theirs->rc = shell_rc_make(is_bare ? SHELL_RC_BARE : SHELL_RC_FIRST);
	return made < 0 || theirs->rc < 0 ? -1 : 0;
}

static int spawn_shell(struct shell *sh, const struct ends *theirs,
		       const struct shell_how *how, const struct exec *x)
{
	const struct spawn_fd more[] = { { sh->terminal.slave, 60 },
					 { sh->text.fd, 61 },
					 { theirs->reports, 62 },
					 { theirs->rc, 63 } };
	struct spawn s = { .exec = x,
			   .self = how->self,
			   .cgroup = how->cgroup,
			   .stdio = { theirs->lines, sh->terminal.slave,
				      sh->terminal.slave },
			   .more = more,
			   .more_count = ARRAY_LEN(more) };
	pid_t pid = spawn_command(&s, &sh->status);

	if (pid < 0)
		return -1;
	sh->pid = sh->leader = pid;
	return 0;
}

static int fail(struct failed *ret, enum exec_stage stage)
{
	*ret = (struct failed){ .stage = stage, .sys = (uint32_t)(errno ? errno : EIO) };
	return -1;
}

static int start(struct shell *sh, struct ends *theirs, const struct shell_how *how,
		 const struct exec *x, struct failed *ret)
{
	if (make_descriptors(sh, theirs, x, how->is_bare, how->self) < 0)
		return fail(ret, EXEC_STAGE_PTY);
	if (spawn_shell(sh, theirs, how, x) < 0)
		return fail(ret, EXEC_STAGE_FORK);
	return 0;
}

/* Returns the environment for a shell, with a TERM if it has none. */
static struct list with_term(char *const *env)
{
	struct list all = { 0 };

	for (; *env; env++)
		list_add(&all, *env);
	if (!list_get_env(&all, "TERM"))
		list_addf(&all, "TERM=%s", terminal_kind());
	return all;
}

int shell_start(struct shell *sh, const struct shell_how *how, struct failed *ret)
{
	char *argv[] = { how->exec->argv[0], (char *)"--noediting", (char *)"--rcfile",
			 (char *)"/proc/self/fd/63", (char *)"-i", NULL };
	struct exec mine = *how->exec;
	struct ends theirs = { -1, -1, -1 };
	struct list env = with_term(mine.env);

	mine.argv = argv;
	mine.env = env.items;
	mine.cwd = how->cwd;
	empty(sh);
	errno = 0;
	int started = start(sh, &theirs, how, &mine, ret);
	own_close(&theirs.lines);
	own_close(&theirs.reports);
	own_close(&theirs.rc);
	list_done(&env);
	if (started < 0)
		shell_done(sh);
	return started;
}

/* --- a command ------------------------------------------------------------- */

/* Compares the modes by their members: the kernel fills a part of libc's structure, and
 * the rest has no meaning. */
static bool is_same_modes(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag &&
	       a->c_cflag == b->c_cflag && a->c_lflag == b->c_lflag &&
	       a->c_line == b->c_line && memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc)) == 0;
}

/* Restores the terminal's modes, which the last command or a background command may have
 * changed. */
static int reset_terminal(struct shell *sh)
{
	struct termios now = { 0 };

	if (tcgetattr(sh->terminal.slave, &now) < 0)
		return -1;
	if (!is_same_modes(&now, &sh->modes) &&
	    tcsetattr(sh->terminal.slave, TCSANOW, &sh->modes) < 0)
		return -1;
	return tcflush(sh->terminal.slave, TCIFLUSH);
}

static int put_text(struct shell *sh, struct bytes command)
{
	char prefix[64] = "";

	if (sh->is_traced && !sh->is_silent)
		(void)snprintf(prefix, sizeof(prefix), TRACE_LINE, sh->last_status);
	sh->prefix_len = strlen(prefix);
	return shell_text_put(&sh->text, prefix, command);
}

/* Writes the lines that run a command and report its end; returns their length. */
static int line_for(const struct shell *sh, int prefix_len, char *to, size_t max)
{
	const uint32_t n = sh->number;

	if (sh->last_status == 0)
		return snprintf(to, max, LINE_AFTER_SUCCESS LATE_LINE, n, prefix_len, n,
				n, n);
	return snprintf(to, max, LINE_AFTER_FAILURE LATE_LINE, sh->last_status, n,
			prefix_len, n, n, n);
}

static int give(struct shell *sh, struct bytes command)
{
	char lines[512];

	if (reset_terminal(sh) < 0 || put_text(sh, command) < 0)
		return -1;
	sh->number = ++sh->issued;
	sh->refused = 0;
	/* A prefix length of -1 tells __hutch_in that the command is one of the
	 * executor's own. */
	int prefix_len = sh->is_silent ? -1 : (int)sh->prefix_len;
	int len = line_for(sh, prefix_len, lines, sizeof(lines));
	/* The two lines are shorter than PIPE_BUF, so write(2) writes them completely or
	 * not at all. */
	return write(sh->lines, lines, (size_t)len) == len ? 0 : -1;
}

int shell_run(struct shell *sh, struct bytes command)
{
	sh->is_silent = false;
	return give(sh, command);
}

int shell_set(struct shell *sh, struct bytes script)
{
	sh->is_silent = true;
	return give(sh, script);
}

/* Returns true if bash has read the command's text, by the file offset of the memfd,
 * which the executor and bash share.  An empty pipe of lines would be no proof: a bash
 * that is killed while it waits for lines still takes them, since pipe_read() looks for
 * data before signals. */
bool shell_has_begun(const struct shell *sh)
{
	return sh->is_inner || shell_text_is_read(&sh->text);
}

void shell_ask_again(struct shell *sh)
{
	char line[160];
	int len = snprintf(line, sizeof(line), LATE_LINE, sh->number, sh->number);

	/* The write fails if the pipe is full; then it already contains many such lines,
	 * so no harm is done. */
	(void)!write(sh->lines, line, (size_t)len);
}

bool shell_type(struct shell *sh, const void *data, size_t len)
{
	if (!buffer_append(&sh->typed, data, len))
		return false;
	shell_type_more(sh);
	return true;
}

void shell_type_more(struct shell *sh)
{
	while (buffer_len(&sh->typed) > 0) {
		ssize_t n = write(sh->terminal.master, buffer_data(&sh->typed),
				  buffer_len(&sh->typed));
		if (n <= 0)
			return;
		buffer_consume(&sh->typed, (size_t)n);
	}
}

void shell_settle(struct shell *sh)
{
	buffer_done(&sh->typed);
	buffer_init(&sh->typed, ACTION_TEXT_MAX + 1);
}

/* --- reports --------------------------------------------------------------- */

/* At most this many bytes before a report are kept: more than the path of python, which
 * may be there. */
#define BEFORE_MAX (8u << 10)

enum { NUMBER, STATUS, FLAGS, BACKGROUND, CWD, PYTHON, FIELDS };

struct parsed {
	const char *field[FIELDS];
	size_t used;
	bool is_python_before; /* the path of python is before the report */
};

/* Parses a report.  Returns 1 if a complete report is at `at`; 0: its end has not arrived
 * yet; -1: the bytes are not a report. */
static int parse(const char *at, size_t len, struct parsed *ret)
{
	static const char letters[FIELDS] = { 'n', 's', 'f', 'b', 'd', 'p' };
	size_t used = 0;

	ret->is_python_before = false;
	for (int i = 0; i < FIELDS; i++) {
		if (used == len)
			return 0;
		ret->is_python_before = i == PYTHON && at[used] == 'P';
		if (at[used] != letters[i] && !ret->is_python_before)
			return -1;
		const char *end = memchr(at + used, 0, len - used);
		if (!end)
			return 0;
		ret->field[i] = at + used + 1;
		used = (size_t)(end - at) + 1;
	}
	ret->used = used;
	return 1;
}

/* Looks for the next possible begin of a report, and sets *ret to the number of bytes
 * before it.  Returns false if there is none.  Drops bytes that are too long for a path
 * of python. */
static bool find_begin(struct buffer *b, size_t *ret)
{
	const uint8_t *at = buffer_data(b);
	const uint8_t *found = memmem(at, buffer_len(b), "\0\0n", 3);
	size_t before = found ? (size_t)(found - at) : buffer_len(b);

	if (before > BEFORE_MAX) {
		buffer_consume(b, before - BEFORE_MAX);
		before = BEFORE_MAX;
	}
	*ret = before;
	return found != NULL;
}

static bool as_number(const char *text, uint32_t max, uint32_t *ret)
{
	uint64_t v = 0;

	for (; *text >= '0' && *text <= '9' && v <= max; text++)
		v = v * 10 + (uint64_t)(*text - '0');
	if (*text || v > max)
		return false;
	*ret = (uint32_t)v;
	return true;
}

static const char *as_path(const char *text, size_t len)
{
	return len < 4096 ? text : "";
}

/* Returns true if a report with this number is expected: that of the running command,
 * that of a command which started an inner shell that has now ended, or that of an inner
 * shell which is about to be driven. */
static bool is_awaited(struct shell *sh, uint32_t number)
{
	if (number == sh->number)
		return true;
	if (sh->coming.pid && number == sh->coming.number) {
		inner_enter(sh);
		return true;
	}
	for (size_t i = sh->depth; i-- > 0;)
		if (number == sh->outer[i].number) {
			inner_leave(sh, i);
			return true;
		}
	return false;
}

/* Evaluates a report.  Returns true if it is about the command that runs. */
static bool read_report(struct shell *sh, const struct parsed *p,
			struct shell_report *ret)
{
	char *python = (char *)(uintptr_t)p->field[PYTHON];
	size_t python_len = strlen(python);
	struct shell_report r = { .cwd = as_path(p->field[CWD], strlen(p->field[CWD])) };
	uint32_t number;

	if (!as_number(p->field[NUMBER], UINT32_MAX, &number) ||
	    !as_number(p->field[STATUS], 255, &r.status) ||
	    !as_number(p->field[BACKGROUND], INT32_MAX, &r.background) ||
	    !is_awaited(sh, number))
		return false;
	if (python_len > 0 && python[python_len - 1] == '\n')
		python[--python_len] = '\0';
	r.python = as_path(python, python_len);
	r.has_begun = !strchr(p->field[FLAGS], '!');
	if (!sh->is_silent) {
		sh->is_traced = strchr(p->field[FLAGS], 'x') != NULL;
		sh->last_status = r.status;
	}
	*ret = r;
	return true;
}

/* Takes the next report from the bytes that were read.  *ret borrows bytes of `reported`,
 * which stay there after they were consumed. */
static bool take_report(struct shell *sh, struct shell_report *ret)
{
	size_t begin;

	while (find_begin(&sh->reported, &begin)) {
		const char *at = (const char *)buffer_data(&sh->reported);
		struct parsed p;
		int whole =
			parse(at + begin + 2, buffer_len(&sh->reported) - begin - 2, &p);
		if (whole == 0)
			return false;
		if (whole > 0 && p.is_python_before)
			p.field[PYTHON] = at; /* ends at the report's first NUL */
		bool is_it = whole > 0 && read_report(sh, &p, ret);
		buffer_consume(&sh->reported, begin + 2 + (whole > 0 ? p.used : 0));
		if (is_it)
			return true;
	}
	return false;
}

bool shell_report(struct shell *sh, struct shell_report *ret)
{
	uint8_t *to = buffer_reserve(&sh->reported, 4096);

	if (!to) { /* the buffer is full but holds no complete report, so its bytes are no
		    * report at all */
		buffer_done(&sh->reported);
		buffer_init(&sh->reported, REPORT_MAX);
		to = buffer_reserve(&sh->reported, 4096);
	}
	ssize_t n = read(sh->reports, to, 4096);
	/* The read has failed, or is at its end: no process has the write end open any
	 * more.  Either an `exec` has closed it, or the shell has died, which SIGCHLD
	 * tells us. */
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		own_close(&sh->reports);
	if (n <= 0)
		return false;
	buffer_added(&sh->reported, (size_t)n);
	return take_report(sh, ret);
}
