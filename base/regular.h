/* regular -- opens a file that must be a regular one.
 *
 * open(2) of a FIFO waits for the FIFO's writer, and that of a terminal or a tape has
 * effects of its own.  A file of one of hutch's folders, of a bundle or of a project is none
 * of these, so a program that reads one opens it here, and cannot be made to wait.  A file
 * that a flag names may be a pipe (a shell's `<(command)`), and is opened without this. */
#pragma once

struct err;

/* Opens a regular file for reading.  `flags` are 0 or O_NOFOLLOW.  `name` is for messages,
 * which begin with "open NAME".  Returns a new descriptor, whose O_NONBLOCK has no effect on
 * reads; or -1 with errno in e->sys, which is 0 if the file is there and is not a regular
 * one. */
int regular_open(int dir, const char *path, int flags, const char *name, struct err *e);
