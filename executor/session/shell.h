/* shell -- drives one bash on a terminal of the sandbox's own.
 *
 * Theory of operation.  The bash is interactive (`-i`), so that it has job control, and
 * neither ^C nor a syntax error ends it.  But it does not read its commands from the
 * terminal.  It inherits the terminal as descriptors 1 and 2, and these:
 *
 *   0	  a pipe of lines, which we write and bash itself reads
 *   60	  the terminal once more: it becomes a command's 0
 *   61	  a memfd that only the executor can write: the command's text and a 0 byte
 *   62	  a pipe for reports, which we read
 *   63	  the start-up file (`--rcfile`), a sealed memfd
 *
 * A command is two lines in one write.  The first line reads the text into a variable,
 * evaluates it, with the terminal as 0 and without 60 to 62, restores the parts of the
 * prompt that a command may have changed, and reports.  If bash abandons the first line
 * on the way (after ^C, or an error as of `${x?}`), it reads the second line, which then
 * reports.  So a report comes whatever a command did to PS1, PROMPT_COMMAND, traps or the
 * terminal's modes; typed bytes that were not read are never taken for a command; text of
 * any length comes through no line discipline; an `exec < FILE` lasts for its own
 * command.  There is no loop and no function around the command, so `break`, `return`,
 * `declare` and `exit` do the same as at a prompt.
 *
 * A command that lowers `ulimit -n` to 62 or less makes the shell lose 60 to 62, since
 * bash cannot restore them after the command.  Such a shell prints a message and exits,
 * before it reads another line.
 *
 * Another way was rejected: to type each command at the terminal, and to report by
 * PROMPT_COMMAND.  A command that sets PROMPT_COMMAND and is then abandoned would leave a
 * shell that never reports again.
 *
 * A report is NUL NUL and these texts, each with a letter before it and a NUL behind: n
 * the command's number, s status, f $-, b $!, d the working directory, p the python on
 * PATH.  If the last letter is P, the path of the python stands before the report, with a
 * newline, or nothing does if there is none.  Commands can find the pipe by /proc/$$/fd and write to it: a forged report makes
 * the client believe that its command has ended, and has no other effect.
 *
 * SIGINT may come while bash reads the first line: bash forgets the part that it has
 * read, and the rest of the line is a syntax error (an `else` without its `if`), never a
 * command.  SIGINT may also come while bash reads the text, and then bash evaluates
 * nothing of the text.  Either is reported by `!` in f.  SIGINT may also hit the line
 * that reports.  Therefore the caller that sends a SIGINT writes the second line once
 * more (shell_ask_again). */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "base/buffer.h"
#include "executor/process/terminal.h"
#include "executor/session/shell_text.h"

struct bytes;
struct exec;
struct failed;
struct user;

/* How many descriptors a shell takes: both sides of the terminal, two pipes, a memfd, and
 * the pipe that reports its execve. */
#define SHELL_FDS 6
/* The indices of a shell's entries for poll(2). */
#define SHELL_POLL_STATUS  0
#define SHELL_POLL_REPORTS 1
#define SHELL_POLL_MASTER  2
#define SHELL_POLLS	   3

/* The executor drives shells that were started inside each other to this depth; shells
 * nested deeper are treated like any other program. */
#define SHELL_DEPTH 16

/* A bash that the executor drove until one of its commands started another bash, which is
 * driven now. */
struct shell_level {
	int lines;	 /* owned; the pipe from which this shell reads its lines */
	pid_t pid;
	uint32_t number; /* the number of the shell's last command */
	uint32_t last_status;
	bool is_traced;
	bool is_inner;	/* a command started this shell, not the executor */
	uint64_t known; /* stored here by session.c for the time that this shell waits
			 * (session.known) */
};

/* A bash that a command has started, and that the executor is about to drive
 * (shell_inner.h). */
struct shell_coming {
	pid_t pid;    /* the pid of that bash; 0: there is none */
	int lines;    /* owned; the pipe from which the bash will read its lines; -1:
		       * none */
	int holder;   /* owned; the write end of the stdin of the holder, the process that
		       * keeps descriptors open for the bash; closing it ends the holder;
		       * -1: none */
	pid_t holder_pid;
	bool has_holder; /* the holder's execve(2) has succeeded */
	uint32_t number;
};

struct shell {
	pid_t pid;	/* the pid of the shell that the executor has started; 0: there is
			 * none */
	int status;	/* owned; the pipe that reports the result of an execve(2)
			 * (spawn.h), that of the shell or of the holder; -1: closed */
	struct terminal terminal; /* owned; the shell's terminal */
	struct termios modes;	  /* the terminal's modes, which are restored before each
				   * command */
	int lines, reports;	  /* owned; the pipe from which the driven shell reads its
				   * lines, and the pipe for reports */
	struct shell_text text;	  /* owned; the command's text */
	struct buffer reported;	  /* bytes from the pipe for reports, such as an
				   * incomplete report */
	struct buffer typed;	  /* typed bytes that the terminal has not accepted yet */
	uint32_t number;	  /* the number of the driven shell's last command; 0: the
				   * shell is starting */
	uint32_t issued;	  /* the last number that was given to a command in any of
				   * the shells */
	struct shell_level outer[SHELL_DEPTH]; /* the shells around the driven one, the
					        * outermost first; each waits for its
					        * command, the next shell, to end */
	size_t depth;			       /* how many of `outer` are in use */
	pid_t leader;		    /* the pid of the driven shell, which gets the
				     * commands */
	bool is_inner;		    /* a command started the driven shell, not the
				     * executor */
	struct shell_coming coming;
	pid_t refused; /* the pid of an inner shell that was already tried, and is not
		        * tried again; 0: none */
	size_t prefix_len;	  /* the length of the executor's own text before the
				   * command's text */
	uint32_t last_status;
	bool is_traced; /* the user's commands have turned `set -x` on */
	bool is_silent; /* the last command was one of the executor's own (shell_set()) */
};

/* Returns how many descriptors the shell takes in addition to SHELL_FDS. */
size_t shell_more_fds(const struct shell *sh);

struct shell_report {
	uint32_t status, background;
	bool has_begun; /* false: SIGINT came before the command was evaluated */
	const char *cwd, *python; /* borrowed; valid until the next call of
				   * shell_report() */
};

/* How a shell is started; all pointers are borrowed. */
struct shell_how {
	const struct exec *exec; /* user, limits and environment of the shell; of its
				  * arguments only argv[0] is used, the path of a bash */
	const char *cwd;
	const struct user *self;
	int cgroup;   /* the file cgroup.procs of the cgroup that the shell enters; -1:
		       * none */
	bool is_bare; /* the shell starts without ~/.bashrc */
};

/* Starts the shell, which is ready for a command after its first report.  Returns -1 if
 * the start has failed; *ret has the stage and the errno. */
int shell_start(struct shell *sh, const struct shell_how *how, struct failed *ret);
/* Closes all descriptors of the shell and frees its memory; does not end the process. */
void shell_done(struct shell *sh);

/* Gives the shell a command; the shell must be ready.  Returns -1 if the shell cannot be
 * driven any more. */
int shell_run(struct shell *sh, struct bytes command);

/* Gives the shell a script of the executor's own (env_script.h).  The user's `$?` and the
 * state of `set -x` are not changed by it. */
int shell_set(struct shell *sh, struct bytes script);

/* Called after the shell's death.  Returns false if the shell has never read the last
 * command's text, so that the command has surely done nothing. */
bool shell_has_begun(const struct shell *sh);

/* Called after a SIGINT, which may have interrupted the line that reports: writes another
 * such line, which does nothing if the command was reported already. */
void shell_ask_again(struct shell *sh);

/* Types bytes as input of the running program.  Returns false if too many typed bytes
 * wait to be read. */
bool shell_type(struct shell *sh, const void *data, size_t len);
/* Writes the typed bytes that the terminal has not accepted so far. */
void shell_type_more(struct shell *sh);

/* Reads reports of the shell.  Returns true if the last command's report has come. */
bool shell_report(struct shell *sh, struct shell_report *ret);

/* Drops the typed bytes that the terminal has not accepted yet. */
void shell_settle(struct shell *sh);
