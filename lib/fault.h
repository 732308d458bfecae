/* fault -- the errors that callers of the library get.
 *
 * The parts of hutch that the library includes have errors of their own (base/err.h),
 * whose kinds have the same names; a kind that control.md does not have becomes the
 * nearest one. */
#pragma once
#include "cli/common/reply.h"
#include "hutch.h"

struct err;

/* All functions return -1, so that a failing function can end with one.  A NULL `e`
 * is allowed. */
int fault(struct hutch_error *e, enum hutch_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int fault_remedy(struct hutch_error *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, with ": " and the words for errno behind the text. */
int fault_sys(struct hutch_error *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int fault_memory(struct hutch_error *e);

/* Reports that `name` is no valid name of a sandbox. */
int fault_name(struct hutch_error *e, const char *name);

/* Converts an error of another part of hutch. */
int fault_of(struct hutch_error *e, const struct err *from);

/* Converts the error in an answer of sandbox `name`'s supervisor or of pool `name`'s
 * keeper, or an object that a program wrote.  A text that is too long is cut at the
 * end of a character. */
int fault_answer(struct hutch_error *e, const char *name, struct reply error);
int fault_pool(struct hutch_error *e, const char *name, struct reply error);
int fault_object(struct hutch_error *e, struct reply error);
/* Converts an error that a program wrote as a line of --log-format json. */
int fault_entry(struct hutch_error *e, struct reply entry);
