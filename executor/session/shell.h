/* shell -- drives one bash on a terminal of the sandbox's own.
 *
 * Theory of operation.  The bash is interactive (`-i`: job control, ^C goes back to it,
 * a syntax error does not end it), but it does not read its commands from the terminal.
 * It inherits, beside the terminal as 1 and 2:
 *
 *   0	  a pipe of lines, which we write and bash itself reads
 *   60	  the terminal once more: it becomes a command's 0
 *   61	  a memfd that only the executor can write: the command's text and a 0 byte
 *   62	  a pipe for reports, which we read
 *   63	  the start-up file (`--rcfile`), a sealed memfd
 *
 * A command is two lines in one write.  The first line reads the text into a variable,
 * evaluates it, with the terminal as 0 and without 60 to 62, restores the parts of the
 * prompt that a command may have changed, and reports.  If it was abandoned on the way
 * (^C, `${x?}`), bash reads the second line, which then reports.  So a report comes
 * whatever a command did to PS1, PROMPT_COMMAND, traps or the terminal's modes; typed
 * bytes that were not read are never taken for a command; text of any length comes
 * through no line discipline; an `exec < FILE` lasts for its own command.  There is no
 * loop and no function around the command, so `break`, `return`, `declare` and `exit`
 * do the same as at a prompt.
 *
 * A command that lowers `ulimit -n` to 62 or less takes 60 to 62 from the shell, since
 * bash cannot put them back behind it.  Such a shell says so and exits, before it reads
 * another line.
 *
 * PROMPT_COMMAND and a line typed to the terminal were rejected: a command that sets
 * PROMPT_COMMAND and is then abandoned leaves a shell that waits for its terminal and
 * never reports again.
 *
 * A report is NUL NUL and these texts, each with a letter before it and a NUL behind: n
 * the command's number, s status, f $-, b $!, d the working directory, p the python on
 * PATH.  Commands can find the pipe by /proc/$$/fd and write to it: a forged report
 * ends a command early, for its reader, and has no other effect.
 *
 * SIGINT may come while bash reads the first line: bash forgets the part that it has
 * read, and the rest of the line is a syntax error (an `else` without its `if`), never
 * a command.  SIGINT may also come while bash reads the text, and then bash evaluates
 * nothing of the text.  Either is reported by `!` in f.  SIGINT may also hit the line
 * that reports.  Therefore the caller that sends a SIGINT adds another such line
 * (shell_ask_again). */
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

/* Descriptors that a shell takes: both ends of the terminal, two pipes, a memfd, and
 * the pipe that reports its execve. */
#define SHELL_FDS 6
/* The indices of a shell's entries for poll(2). */
#define SHELL_POLL_STATUS  0
#define SHELL_POLL_REPORTS 1
#define SHELL_POLL_MASTER  2
#define SHELL_POLLS	   3

/* The executor drives shells that were begun inside each other to this depth; shells
 * nested deeper are treated like any other program. */
#define SHELL_DEPTH 16

/* A bash that reads our lines, or did until one of its commands became the shell that
 * is driven. */
struct shell_level {
	int lines;	 /* owned; the pipe of lines that this shell reads */
	pid_t pid;
	uint32_t number; /* the number of the shell's last command */
	uint32_t last_status;
	bool is_traced;
	bool is_inner;	/* a command began this shell, not the executor */
	uint64_t known; /* for the owner (session.c) to store and find again */
};

/* A bash that is about to be driven (shell_inner.h). */
struct shell_coming {
	pid_t pid;    /* of the bash; 0: there is none */
	int lines;    /* owned; the pipe of lines for the bash; -1: none */
	int holder;   /* owned; -1: none.  Closing it ends the process that holds the
		       * other descriptors */
	pid_t holder_pid;
	bool has_holder; /* the holder's execve has succeeded */
	uint32_t number;
};

struct shell {
	pid_t pid;	/* of the shell that the executor started; 0: there is none */
	int status;	/* owned; the pipe that reports the shell's execve(2) (spawn.h),
			 * until that has succeeded or failed */
	struct terminal terminal; /* owned; the shell's terminal */
	struct termios modes;	  /* the terminal's modes, as every command finds them */
	int lines, reports;	  /* owned; the pipe of lines, and the pipe for reports */
	struct shell_text text;	  /* owned; the command's text */
	struct buffer reported;	  /* the beginning of a report, whose rest has not come */
	struct buffer typed;	  /* typed bytes for which the terminal had no room yet */
	uint32_t number;	  /* the number of the last command; 0: the shell is
				   * starting */
	uint32_t issued;	  /* the last number that a command of any shell was
				   * given */
	struct shell_level outer[SHELL_DEPTH]; /* the shells around the one that is
					        * driven */
	size_t depth;			       /* how many of `outer` are in use */
	pid_t leader;		    /* the pid of the shell that is driven */
	bool is_inner;		    /* a command began the shell that is driven, not the
				     * executor */
	struct shell_coming coming;
	pid_t refused; /* the pid of a shell that could not be driven, and is not tried
		        * twice; 0: none */
	size_t prefix_len;	  /* the length of our own text in front of the
				   * command's */
	uint32_t last_status;
	bool is_traced; /* `set -x` is on, for commands */
	bool is_silent; /* the last command was one of the executor's own (shell_set()) */
};

/* Returns how many descriptors the shell takes beyond SHELL_FDS. */
size_t shell_more_fds(const struct shell *sh);

struct shell_report {
	uint32_t status, background;
	bool has_begun; /* false: SIGINT came before the command did anything */
	const char *cwd, *python; /* borrowed until the next call */
};

/* How a shell is started; all pointers are borrowed. */
struct shell_how {
	const struct exec *exec; /* the shell's command; only argv[0] is used, the path
				  * of a bash */
	const char *cwd;
	const struct user *self;
	int cgroup;   /* the cgroup.procs file of the cgroup that the shell enters; -1:
		       * none */
	bool is_bare; /* the shell starts without ~/.bashrc */
};

/* Starts the shell, which is ready when its first report comes.  Returns -1 if the start
 * failed; *ret says at which stage. */
int shell_start(struct shell *sh, const struct shell_how *how, struct failed *ret);
/* Closes all descriptors of the shell and frees its memory; does not end the process. */
void shell_done(struct shell *sh);

/* Gives the shell a command; the shell must be ready.  Returns -1 if the shell cannot be
 * driven any more. */
int shell_run(struct shell *sh, struct bytes command);

/* Gives the shell commands of the executor's own (env_script.h): `$?`, and the state of
 * `set -x`, stay as they are. */
int shell_set(struct shell *sh, struct bytes script);

/* Called after the shell's death.  Returns false if the shell never read the last
 * command's text, so that the command has done nothing. */
bool shell_has_begun(const struct shell *sh);

/* Called after a SIGINT, which may have hit the line that reports: gives the shell
 * another such line, unless the command was reported already. */
void shell_ask_again(struct shell *sh);

/* Types bytes for the running program.  Returns false if too many typed bytes wait to be
 * read. */
bool shell_type(struct shell *sh, const void *data, size_t len);
/* Writes typed bytes to the terminal for which it had no room before. */
void shell_type_more(struct shell *sh);

/* Reads reports of the shell.  Returns true if the last command's report has come. */
bool shell_report(struct shell *sh, struct shell_report *ret);

/* Forgets typed bytes that were not read. */
void shell_settle(struct shell *sh);
