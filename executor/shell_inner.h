/* shell_inner -- a bash that a command began at its prompt is driven on.
 *
 * Theory of operation.  `bash`, `exec bash`, `exec $SHELL`: the command that runs is a
 * shell, and it waits at its prompt for a line from the terminal.  It is known by
 * what the kernel says of it: it leads the foreground process group, the terminal is
 * in the mode of a line editor, its standard input is this terminal, its program is
 * bash, and no argument names a script or a text.  What it prints says nothing.
 *
 * Then a process of the same bash is started that does nothing but hold descriptors,
 * under the numbers of shell.h: a new pipe of lines, the text, the pipe for reports, and a
 * start-up file.  When it has begun, one line is typed at the prompt, that reads this
 * file by /proc/PID/fd/63.  The file takes the descriptors and reports, by a number of its own:
 * with that the command that began the shell has ended, and the next ones
 * are given to the shell that has come.
 *
 * A shell around it waits for its own command, and reports that when the inner one has
 * gone; that report ends whatever command was given inside (`exit`).  One that
 * was replaced (`exec bash`) has no reader of its lines any more, and its place is taken.
 *
 * All of this is inside, where commands can take part in it as they can write
 * reports (shell.h): whoever does gets what it could type into that shell itself. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct failed;
struct screen;
struct shell;
struct shell_how;

/* An interactive bash at its prompt in the foreground of the terminal, which is not driven;
 * 0: there is none.  `proc` is as in tree.h. */
pid_t inner_find(const struct shell *sh, int proc, const struct shell_how *how);

/* Whether /proc/PID/cmdline names no script and no text, and is not ours. */
bool inner_is_at_prompt(const char *cmdline, size_t len);

/* Begins to drive it: `status` of the shell says when inner_type() is due.  False: it
 * cannot be, and is a program like others. */
bool inner_adopt(struct shell *sh, pid_t pid, const struct shell_how *how);
/* When `status` says something, and as long as this is true, a moment later: types the
 * line.  True: the shell does not read yet, or not all
 * that it has printed was read. */
bool inner_type(struct shell *sh, int proc, const struct shell_how *how,
		const struct screen *screen);

/* It reported; what is given to the shell from now on is its. */
void inner_enter(struct shell *sh);
/* The shell at this level reported: those in it are over. */
void inner_leave(struct shell *sh, size_t level);
/* None is to come any more. */
void inner_drop(struct shell *sh);
