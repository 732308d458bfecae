/* status -- tells the caller about the sandbox, as JSON on --info-fd and
 * --json-status-fd.
 *
 * The keys are bwrap's.  hutch adds, on --json-status-fd only: "signal" behind
 * "exit-code" where a signal ended the command, and a line {"error": {"kind", "text",
 * "remedy"}} where the command was not started. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

struct args;
struct err;

/* Writes the child's pid and its new namespaces (CLONE_NEW*) to both descriptors, and
 * closes --info-fd.  The child must not have ended. */
int status_begin(const struct args *a, pid_t child, uint64_t namespaces, struct err *e);

/* Writes the command's end; `status` is that of wait(2).  A failure is ignored: the
 * reader has gone. */
void status_end(const struct args *a, int status);

/* Writes why the command was not started. */
void status_error(const struct args *a, const struct err *e);

/* Returns the exit code that stands for a status of wait(2): 128 + N for signal N. */
int status_code(int status);
