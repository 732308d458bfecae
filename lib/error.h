/* error -- the errors that callers of the library get.
 *
 * The parts of hutch that the library includes have errors of their own
 * (base/err.h), whose kinds have the same names; a kind that docs/control.md does
 * not have becomes the nearest one. */
#pragma once
#include "cli/common/json_view.h"
#include "hutch.h"

struct err;

/* These functions fill in `e`.  All functions here return -1, so that a failing
 * function can end with a call of them.  A NULL `e` is allowed. */
int error_set(struct hutch_error *e, enum hutch_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int error_remedy(struct hutch_error *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Fills in an error like error_set(), and puts ": " and the words for errno behind
 * the text. */
int error_sys(struct hutch_error *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int error_memory(struct hutch_error *e);

/* Fills in the error that `name` is no valid name of a sandbox. */
int error_name(struct hutch_error *e, const char *name);

/* Converts an error of another part of hutch into one of the library. */
int error_of(struct hutch_error *e, const struct err *from);

/* Converts the error in an answer of sandbox `name`'s supervisor or of pool `name`'s
 * keeper, or an object that a program wrote.  A text that is too long is cut at the
 * end of a character. */
int error_answer(struct hutch_error *e, const char *name, struct json_view error);
int error_pool(struct hutch_error *e, const char *name, struct json_view error);
int error_object(struct hutch_error *e, struct json_view error);
/* Converts an error that a program wrote as a line of --log-format json. */
int error_entry(struct hutch_error *e, struct json_view entry);
