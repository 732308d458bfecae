/* shell -- one bash on a terminal of the sandbox's own, and how it is driven.
 *
 * Theory of operation.  The bash is interactive (`-i`: job control, ^C goes back
 * to it, a syntax error does not end it), but it does not read its commands from
 * the terminal.  It inherits, beside the terminal as 1 and 2:
 *
 *   0	  a pipe of lines, which we write and bash itself reads
 *   60	  the terminal once more: it becomes a command's 0
 *   61	  a sealed memfd of fixed size: the command's text and a 0 byte
 *   62	  a pipe for reports, which we read
 *   63	  the start-up file (`--rcfile`), a sealed memfd
 *
 * A command is two lines in one write.  The first reads the text into a variable,
 * evaluates it, with the terminal as 0 and without 60 to 62, puts back what of
 * the prompt a command may have changed, and reports.  Where it was abandoned on
 * the way (^C, `${x?}`), bash reads the second, which then reports.  So a report
 * comes whatever a command did to PS1, PROMPT_COMMAND, traps or the terminal's
 * modes; what was typed and not read is never taken for a command; text of any
 * length comes through no line discipline; an `exec < FILE` lasts for its own
 * command.  There is no loop and no function around the command, so `break`,
 * `return`, `declare` and `exit` do what they do at a prompt.
 *
 * A command that lowers `ulimit -n` to 62 or less takes 60 to 62 from the shell, since
 * bash cannot put them back behind it.  Such a shell says so and exits, before it
 * reads another line.
 *
 * Why not PROMPT_COMMAND and a line typed to the terminal: a command that sets
 * PROMPT_COMMAND and is then abandoned leaves a shell that waits for its
 * terminal and never reports again.
 *
 * A report is NUL NUL and these texts, each with a letter before it and a NUL
 * behind: n the command's number, s status, f $-, b $!, d the working directory,
 * p the python on PATH.  Commands can find the pipe by /proc/$$/fd and write to
 * it: a forged report ends a command early, for its reader, and that is all.
 *
 * SIGINT may come while bash reads the first line: it forgets what it has read of
 * it, and the rest of it is a syntax error (an `else` without its `if`), never a
 * command.  It may also come while the text is read, of which then nothing is
 * evaluated.  Either is told by `!` in f.  SIGINT may also hit the line that
 * reports.  Therefore whoever sends one adds such a line (shell_ask_again). */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "base/buffer.h"
#include "executor/terminal.h"

struct bytes;
struct exec;
struct failed;
struct user;

/* Descriptors that a shell takes: both ends of the terminal, two pipes, a
 * memfd, and the one that tells of its execve. */
#define SHELL_FDS 6
/* Places for poll(2). */
#define SHELL_POLL_STATUS  0
#define SHELL_POLL_REPORTS 1
#define SHELL_POLL_MASTER  2
#define SHELL_POLLS	   3

/* Shells in shells beyond these are programs like others. */
#define SHELL_DEPTH 16

/* A bash that reads our lines, or did until one of its commands became another. */
struct shell_level {
	int lines;	 /* owned */
	pid_t pid;
	uint32_t number; /* of its last command */
	uint32_t last_status;
	bool is_traced;
	bool is_inner;	/* not as we started it */
	uint64_t known; /* the owner's, who finds it again */
};

/* One that is about to be (shell_inner.h). */
struct shell_coming {
	pid_t pid;    /* 0: none */
	int lines;    /* owned; -1: none */
	int holder;   /* owned; -1: none.  Its end is that of the process that holds the rest */
	pid_t holder_pid;
	bool has_holder; /* its execve is over */
	uint32_t number;
};

struct shell {
	pid_t pid;	/* 0: there is none */
	int status;	/* owned; until execve is decided (spawn.h) */
	struct terminal terminal; /* owned */
	struct termios modes;	  /* as every command finds the terminal */
	int lines, text, reports; /* owned */
	struct buffer reported;	  /* the beginning of a report */
	struct buffer typed;	  /* for the terminal, when it takes more */
	uint32_t number;	  /* of the last command; 0: starting */
	uint32_t issued;	  /* the last number of any */
	struct shell_level outer[SHELL_DEPTH]; /* around the one that is driven */
	size_t depth;			       /* of these */
	pid_t leader;		    /* the one that is driven */
	bool is_inner;		    /* it is not as we started it */
	struct shell_coming coming;
	pid_t refused; /* it took no part in that */
	size_t text_len;	  /* of the last command, as it is in the memfd */
	size_t prefix_len;	  /* in front of it, of ours */
	uint32_t last_status;
	bool is_traced; /* `set -x` is on, for commands */
	bool is_silent; /* the last command was one of ours */
};

/* How many descriptors it takes beyond SHELL_FDS. */
size_t shell_more_fds(const struct shell *sh);

struct shell_report {
	uint32_t status, background;
	bool has_begun; /* false: SIGINT came before the command did anything */
	const char *cwd, *python; /* borrowed until the next call */
};

/* How a shell is started; all borrowed. */
struct shell_how {
	const struct exec *exec; /* of its argv only the first is used: a bash */
	const char *cwd;
	const struct user *self;
	int cgroup;   /* the cgroup.procs that it enters, or -1 */
	bool is_bare; /* without ~/.bashrc */
};

/* Starts it; ready when its first report comes.  -1: *ret says what failed. */
int shell_start(struct shell *sh, const struct shell_how *how, struct failed *ret);
/* Lets go of all; does not end the process. */
void shell_done(struct shell *sh);

/* Runs a command; the shell must be ready.  -1: it cannot be driven any more. */
int shell_run(struct shell *sh, struct bytes command);

/* The same for commands of ours (script.h): `$?`, and what is traced, stay as they are. */
int shell_set(struct shell *sh, struct bytes script);

/* After its death: false when it never read the last command's text. */
bool shell_has_begun(const struct shell *sh);

/* After a SIGINT: another line that reports, if nothing has. */
void shell_ask_again(struct shell *sh);

/* Types to what is running; false when too much was typed that nobody reads. */
bool shell_type(struct shell *sh, const void *data, size_t len);
/* Hands the terminal what it did not take yet. */
void shell_type_more(struct shell *sh);

/* Reads reports.  True: the last command's is there. */
bool shell_report(struct shell *sh, struct shell_report *ret);

/* Forgets what was typed and not read, and gives large texts back. */
void shell_settle(struct shell *sh);
