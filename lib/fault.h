/* fault -- errors as callers of the library see them.
 *
 * Parts of hutch that the library is made of have their own (base/err.h), of the same
 * words; a kind of theirs that control.md does not have becomes the nearest. */
#pragma once
#include "hutch.h"
#include "sandbox/cli/reply.h"

struct err;

/* All return -1, so that a function can end with one.  A NULL `e` is allowed. */
int fault(struct hutch_error *e, enum hutch_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int fault_remedy(struct hutch_error *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* ": " and the words for errno. */
int fault_sys(struct hutch_error *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int fault_memory(struct hutch_error *e);

/* Of what was given as a sandbox's name, and is none. */
int fault_name(struct hutch_error *e, const char *name);

/* Of another part of hutch. */
int fault_of(struct hutch_error *e, const struct err *from);

/* What an answer of `name`'s supervisor says, or of the keeper of a pool, or the object
 * that a program wrote; a text is cut where it does not fit, at a character's end. */
int fault_answer(struct hutch_error *e, const char *name, struct reply error);
int fault_pool(struct hutch_error *e, const char *name, struct reply error);
int fault_object(struct hutch_error *e, struct reply error);
/* An error as a line of --log-format json. */
int fault_entry(struct hutch_error *e, struct reply entry);
