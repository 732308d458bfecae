/* report -- what the user reads when something went wrong, and the result. */
#pragma once
#include <stdint.h>

struct err;
struct policy;
struct result;

/* The error, if there is one, as one sentence on stderr with its remedy on a
 * line of its own, or that the timeout has passed; then, with `json_fd` not -1, the
 * object.  -1: that could not be written, which was told. */
int report_result(const struct result *r, uint64_t timeout_ms, int json_fd);

/* --network host, which shares more than it seems to. */
void report_network(const struct policy *policy);

/* Secrets that are too short to be hidden. */
void report_secrets(const struct policy *policy);

/* An error in which a secret may be. */
void report_masked(const struct policy *policy, struct err *e);

/* The limits that --best-effort could not get, for a verb without a result object. */
void report_degraded(unsigned degraded);

/* "hutch: SENTENCE", made safe for a terminal. */
void report_error(const struct err *e);

/* The exit code of a verb: 0, or EXIT_HUTCH when the error was told. */
int report_end(int result, const struct err *e);

/* Before anything is printed.  Output that does not go to a terminal is kept until
 * report_flush(), for musl writes the first line at once, and each KiB, and drops all behind one
 * that failed: the verb would have to look at errno then.  A verb that prints more than 64 KiB
 * does. */
void report_begin(void);

/* Shows what was printed, at once.  -1: it, or something before it, could not be written. */
int report_flush(void);

/* The error of that, -1; without report_flush() errno is to be that of the print. */
int report_unwritten(struct err *e);

/* The exit code of a program that has printed on stdout and is to end with `code`: that
 * only if all of it was written, for 1 may be an answer, too, which has not been read then. */
int report_told(int code);

/* --json of what makes something that has a name: {"version":1,"name","error"}.  To be said
 * behind all else; `json_fd` -1: nobody asked.  -1: it could not be written, which was
 * told. */
int report_made(int json_fd, const char *name, const struct err *e);

/* The command is not inside.  Where it is on the caller's PATH, says so, and
 * which flag would show it. */
void report_explain_missing(struct err *e, const struct policy *policy);
