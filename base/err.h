/* err -- an error is a value.
 *
 * A struct err is a code and a sentence, of fixed size and never allocated, so
 * that it can be returned through any number of frames and cross a pipe in one
 * write(2) (sizeof(struct err) < PIPE_BUF, so the write is atomic).
 *
 * A function that can fail takes `struct err *e` last and returns -1 after filling it
 * in.  While the error is returned through callers, err_in() puts a place in front of
 * its text.  Only a main() prints, and only a main() exits.
 *
 * The text says what was tried and on what.  The remedy, where there is one,
 * is the exact command or flag that would change the outcome.
 *
 * The functions that fill in an error are cold: the compiler puts the code that leads to
 * them apart from the rest, so that a process without errors has less of its program in
 * memory. */
#pragma once
#include <stddef.h>

/* The kinds of errors, which `error.kind` of the result object names. */
enum err_kind {
	ERR_NONE,	 /* there is no error: the kind of the zero object */
	ERR_USAGE,	 /* the caller's flags or values are wrong */
	ERR_NOT_FOUND,	 /* a path, image or program that was named is absent */
	ERR_EXISTS,	 /* the file, sandbox or image to be made exists already */
	ERR_BUSY,	 /* the request cannot be done now: the sandbox is paused,
			  * stopping, or busy with another request */
	ERR_GONE,	 /* the process that was to do the work has ended */
	ERR_REFUSED,	 /* the kernel or a policy of the host forbids the request */
	ERR_UNSUPPORTED, /* the kernel or the host does not have the feature that is
			  * needed */
	ERR_LIMIT,	 /* a bound of ours or of the host was reached */
	ERR_PROTOCOL,	 /* the other end of a channel broke its rules */
	ERR_SYSTEM,	 /* a system call failed for a reason of its own */
	ERR_INTERNAL,	 /* a bug of ours */
	ERR_KIND_COUNT
};

#define ERR_TEXT_MAX   700
#define ERR_REMEDY_MAX 400

struct err {
	int kind;    /* an enum err_kind, as an int, since the struct crosses processes */
	int sys;     /* the errno of the call that failed, or 0 */
	char text[ERR_TEXT_MAX];
	char remedy[ERR_REMEDY_MAX];
};

/* Fills in `e` and returns -1, so that a failing function can end with `return
 * err_set(e, ERR_USAGE, "...")`.  A NULL `e` is allowed everywhere.  Text that does
 * not fit is cut. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
	__attribute__((cold, format(printf, 3, 4)));

/* Returns the words for an errno like strerror(3), in the words of glibc, which
 * people know and Python prints; musl's words differ for some errors and are missing
 * for others. */
const char *err_words(int sys);

/* Fills in `e` for a failed system call: like err_set(), and appends ": " and
 * err_words(errno), keeps errno in `sys`, and derives the kind from errno. */
int err_sys(struct err *e, const char *fmt, ...)
	__attribute__((cold, format(printf, 2, 3)));

/* Puts "PLACE: " before the text.  Returns -1. */
int err_in(struct err *e, const char *fmt, ...)
	__attribute__((cold, format(printf, 2, 3)));

/* Appends " (from WHERE)" to the text, where WHERE is the flag or file that asked
 * for what failed.  A NULL or empty `where` adds nothing.  Returns -1. */
int err_from(struct err *e, const char *where) __attribute__((cold));

/* Sets the remedy: one sentence or command.  Returns -1. */
int err_remedy(struct err *e, const char *fmt, ...)
	__attribute__((cold, format(printf, 2, 3)));

/* Returns the name of a kind, as printed in JSON: "usage", "not_found", ...  An
 * unknown number gives "internal". */
const char *err_kind_name(int kind);

/* Makes an err that came from another process safe to use: terminates its strings,
 * replaces an unknown kind, and blanks control characters. */
void err_sanitize(struct err *e);
