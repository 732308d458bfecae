/* shell_inner -- drives a bash that a command has started, once it is at its prompt.
 *
 * Theory of operation.  After a command like `bash`, `exec bash` or `exec $SHELL` the
 * running program is a shell that waits at its prompt for a line from the terminal.  The
 * kernel's information shows this: the process leads the foreground process group, the
 * terminal is in the mode of a line editor, the process's standard input is this
 * terminal, its program is bash, and no argument names a script or a text.  The printed
 * output is not used, since any program can print a prompt.
 *
 * Then the executor starts another bash process, the *holder*, that only keeps
 * descriptors open, under the numbers of shell.h: a new pipe of lines, the text, the pipe
 * for reports, and a start-up file.  When the holder runs, the executor types one line at
 * the prompt, which makes the inner shell read the start-up file by /proc/PID/fd/63.
 * That script opens the holder's descriptors and sends a report with a number of its own.
 * This report counts as the end of the command that started the shell, and the next
 * commands are given to the inner shell.
 *
 * The outer shell waits for the inner one, and reports when that has exited; its report
 * ends the last command that was given to the inner shell (`exit`).  If the inner shell
 * has replaced the outer one (`exec bash`), it also takes its place in the executor.
 *
 * Commands can interfere with all of this, as they can write reports (shell.h).  They
 * gain nothing by that: they could type the same commands into that shell themselves. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct failed;
struct screen;
struct shell;
struct shell_how;

/* Returns the pid of an interactive bash that is at its prompt in the foreground of the
 * terminal and is not driven yet; 0: there is none.  `proc` is as in tree.h. */
pid_t inner_find(const struct shell *sh, int proc, const struct shell_how *how);

/* Returns true if a bash with these arguments (/proc/PID/cmdline) reads its commands from
 * the terminal, and was not started by the executor. */
bool inner_is_at_prompt(const char *cmdline, size_t len);

/* Begins to drive the shell by starting the holder.  When sh->status is readable,
 * inner_type() is due.  Returns false if the shell cannot be driven; it is then treated
 * like any other program. */
bool inner_adopt(struct shell *sh, pid_t pid, const struct shell_how *how);
/* Types the line that makes the inner shell read the start-up file.  Called when
 * sh->status is readable, and again a moment later as long as this function returns true:
 * the inner shell does not wait for input yet, or its output was not completely read. */
bool inner_type(struct shell *sh, int proc, const struct shell_how *how,
		const struct screen *screen);

/* Called when the inner shell has sent its first report: from now on it gets the
 * commands. */
void inner_enter(struct shell *sh);
/* Called when the shell at this level has reported: the shells inside it have ended. */
void inner_leave(struct shell *sh, size_t level);
/* Gives up the attempt to drive a shell, if there is one. */
void inner_drop(struct shell *sh);
