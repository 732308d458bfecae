/* shell_inner -- drives a bash that a command began, once it is at its prompt.
 *
 * Theory of operation.  `bash`, `exec bash`, `exec $SHELL`: the running command is a
 * shell, and it waits at its prompt for a line from the terminal.  The kernel's facts
 * show this: the process leads the foreground process group, the terminal is in the
 * mode of a line editor, the process's standard input is this terminal, its program is
 * bash, and no argument names a script or a text.  The printed output proves nothing.
 *
 * Then a process of the same bash, the holder, is started that does nothing but hold
 * descriptors, under the numbers of shell.h: a new pipe of lines, the text, the pipe
 * for reports, and a start-up file.  When the holder runs, one line is typed at the
 * prompt, which reads the start-up file by /proc/PID/fd/63.  The file takes the
 * descriptors and reports, by a number of its own: with that report the command that
 * began the shell has ended, and the next commands are given to the inner shell.
 *
 * An outer shell waits for its own command, and reports that when the inner shell has
 * gone; that report ends the command that was given to the inner shell (`exit`).  A
 * replaced shell (`exec bash`) has no reader of its lines any more, and the new shell
 * takes its place.
 *
 * All of this is inside, where commands can take part in it as they can write reports
 * (shell.h): a command that does so gains only what it could type into that shell
 * itself. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct failed;
struct screen;
struct shell;
struct shell_how;

/* Returns the pid of an interactive bash at its prompt in the foreground of the terminal,
 * which is not driven yet; 0: there is none.  `proc` is as in tree.h. */
pid_t inner_find(const struct shell *sh, int proc, const struct shell_how *how);

/* Returns true if a bash's arguments (/proc/PID/cmdline) name no script and no text, and
 * the bash is not one of our own. */
bool inner_is_at_prompt(const char *cmdline, size_t len);

/* Begins to drive the shell: once `status` of the shell is readable, inner_type() is
 * due.  False: the shell cannot be driven, and is treated like any other program. */
bool inner_adopt(struct shell *sh, pid_t pid, const struct shell_how *how);
/* Types the line that makes the inner shell read the start-up file.  Called when the
 * shell's `status` is readable, and a moment later again as long as this function returns
 * true: the inner shell does not read yet, or its output was not all read. */
bool inner_type(struct shell *sh, int proc, const struct shell_how *how,
		const struct screen *screen);

/* Called when the inner shell has reported: from now on commands are given to that
 * shell. */
void inner_enter(struct shell *sh);
/* Called when the shell at this level has reported: the shells inside it are over. */
void inner_leave(struct shell *sh, size_t level);
/* Gives up a shell that was about to be driven. */
void inner_drop(struct shell *sh);
