/* report -- prints errors, notes and the result object for the user. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct policy;
struct result;

/* Prints the error, if there is one, as one sentence on stderr with its remedy on a
 * line of its own, or that the time-out has passed; then writes the result object,
 * unless `json_fd` is -1.  Returns -1 if the object could not be written, after
 * printing that error. */
int report_result(const struct result *r, uint64_t timeout_ms, int json_fd);

/* Prints notes about rules for connections.  Many rules are not compared with each other, which
 * would cost each launch time: `hutch policy check` does that (report_rules()). */
void report_network(const struct policy *policy);

/* Prints a note about --network host or ns:PATH, which shares more than the network.  It
 * is for a launch that has found the network: an error about that stands alone. */
void report_shared_network(const struct policy *policy);
/* Prints which rules about connections are not what their author meant. */
void report_rules(const struct policy *policy);

/* Prints a note about secrets that are too short to be redacted. */
void report_secrets(const struct policy *policy);

/* Prints an error whose text may hold a secret, which is redacted. */
void report_masked(const struct policy *policy, struct err *e);

/* Prints the limits that --best-effort could not get, for a verb without a
 * result object. */
void report_degraded(unsigned degraded);

/* Prints "hutch: SENTENCE", made safe for a terminal. */
void report_error(const struct err *e);

/* Returns the exit code of a verb: 0, or EXIT_HUTCH after printing the error. */
int report_end(int result, const struct err *e);

/* Makes stdout buffered; called before anything is printed.  Output that does not go
 * to a terminal is kept in a buffer until report_flush().  Without the buffer, musl
 * writes the first line at once, and then each KiB, and drops all output after a
 * failed write: the verb would have to check errno after each print.  A verb that
 * prints more than 64 KiB does check errno. */
void report_begin(void);

/* Writes the buffered output.  Returns -1 if this or an earlier write failed. */
int report_flush(void);

/* Fills in the error of a failed write to stdout, and returns -1; if report_flush()
 * was not called, errno must be that of the failed print. */
int report_unwritten(struct err *e);

/* Called when poll(2), asked for no event of stdout, reports one: no process reads stdout
 * any more.  Ends this process by SIGPIPE, as a write would, or, if that signal is
 * ignored, fills in the error and returns -1.  A verb that waits for news polls stdout,
 * too, since its reader may go while there are none. */
int report_unread(struct err *e);

/* Returns the exit code of a program that has printed on stdout.  The result is
 * `code` only if all output was written: a code of 1 may be an answer, whose text is
 * then missing. */
int report_exit(int code);

/* Prints {"version":1,"name","error"} for --json of a verb that makes a named
 * object, as its last output; `json_fd` -1: --json was not given.  Returns -1 if the
 * object could not be written, after printing that error. */
int report_made(int json_fd, const char *name, const struct err *e);

/* Says in the error that a command was not found in an image of the store. */
void report_explain_missing_in(struct err *e, const char *command, const char *image);
/* Explains in the error why a command was not found inside.  If the command is on
 * the caller's PATH, the error says so, and which flag would show it inside. */
void report_explain_missing(struct err *e, const struct policy *policy);

/* Sets the remedy of the error about a command that was not found, if it is a line for a
 * shell in one word, as in `hutch run 'ls | wc'`, a word of shells, such as cd, a variable
 * (A=1), or sudo.  Returns whether it is. */
bool report_hint_at_shell(struct err *e, const char *command);
