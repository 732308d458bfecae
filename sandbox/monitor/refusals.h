/* refusals -- the calls that a sandbox's filter has refused, as they happen.
 *
 * Where it can, the filter has a listener (seccomp_unotify(2); seccomp.h): the
 * kernel makes a refused call wait until this side has answered it.  The answer
 * is the errno that the filter would have given without a listener: the filter
 * is evaluated again (bpf_eval.h) on the kernel's copy of the call, and the
 * caller's memory is not looked at.  An answer is always an errno, never
 * SECCOMP_USER_NOTIF_FLAG_CONTINUE.  When the listener is gone the kernel
 * itself answers, with ENOSYS.
 *
 * With a trace (`hutch run --learn`; trace.h) the filter asks about more calls.
 * Those in the trace's table that the filter does not refuse are noted down and
 * go on, and only those.  No answer takes a token then, since a command that
 * other refusals hold back teaches nothing.
 *
 * With a deputy (`--protect-missing`; deputy.h) the filter also asks about
 * calls that make names.  Those that it does not refuse are passed on to the
 * deputy.  They take no tokens, but wait for one if they are queued behind a
 * refused call.
 *
 *	refusals_init, the filter filled in, refusals_listen
 *	in a loop: refusals_watch, poll(2) until refusals_due() at most, refusals_take,
 *		refusals_expire
 *	refusals_done
 *
 * A command that makes refused calls as fast as it can has to wait in them:
 * each answer takes a token, of which there are REFUSALS_BURST and then
 * REFUSALS_PER_S.  Without a token the listener is not looked at.  So nothing
 * on this side may ever wait for the inside without serving this.
 *
 * This module keeps one row for each kind of call that can be refused, not for
 * each call. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/syscalls.h"

struct deputy;
struct list;
struct seccomp_program;
struct trace;

/* More than the kinds of calls that the filter refuses (syscalls.h). */
#define REFUSALS_MAX 128

#define REFUSALS_BURST 500
#define REFUSALS_PER_S 500
/* The pause when no token is left, in ms; several tokens come after it at
 * once. */
#define REFUSALS_PAUSE_MS 20
/* Calls that are answered in one turn of a loop. */
#define REFUSALS_TURN 16

struct refused_call {
	struct syscall_kind call;
	bool is_floor; /* refused by the floor, which nothing replaces; else by the
			* default profile */
	uint64_t count;
	int64_t first_ms, last_ms; /* since 1970 */
};

struct refusals {
	int listener; /* owned; -1: none, or not any more */
	const struct seccomp_program *filter; /* borrowed: the program that refuses */
	struct trace *trace; /* borrowed; NULL: no call goes on */
	struct deputy *deputy; /* borrowed; NULL: names are not made by another process */
	struct refused_call calls[REFUSALS_MAX];
	size_t count;
	uint64_t others; /* refusals for which there was no row */
	bool looks_at_sessions; /* refusals_take() also finds the session */
	unsigned tokens;
	int64_t refilled_ms; /* clock.h; 0: not yet */
};

void refusals_init(struct refusals *r);
void refusals_done(struct refusals *r);

/* Takes the listener of r->filter over. */
void refusals_listen(struct refusals *r, int listener);

struct pollfd refusals_watch(const struct refusals *r);
/* When refusals_expire() has something to do, in ms of clock.h; 0: never. */
int64_t refusals_due(const struct refusals *r);
void refusals_expire(struct refusals *r, int64_t now);

/* Answers one waiting call; never waits itself.  Returns the call's row, valid
 * until another function is called; NULL: no call waited, there was no token,
 * or the call went on.  *ret_session is the session leader of the calling
 * process, as the inside numbers it and as the kernel reports it; 0: it is not
 * known, or r->looks_at_sessions is not set. */
const struct refused_call *refusals_take(struct refusals *r, pid_t *ret_session,
					 int64_t now);

/* Refills the tokens alone, at a time of clock.h. */
void refusals_refill(struct refusals *r, int64_t now);

/* --- what is told of them (refusals_tell.c); all allocated ------------------------- */

/* Whether the latest refusal is to be reported: the first, the tenth, the
 * hundredth, ... */
bool refused_call_is_news(const struct refused_call *c);

/* {"what":...,"path":null,"layer":"seccomp","rule":...,"remedy":...,"count":...} */
char *refused_call_json(const struct refused_call *c);
/* The same without "count", and without braces. */
char *refused_call_members(const struct refused_call *c);
/* "mount was refused, 3 times (seccomp: the default profile)" */
char *refused_call_sentence(const struct refused_call *c);
/* A suggestion how to go on. */
char *refused_call_remedy(const struct refused_call *c);
const char *refused_call_rule(const struct refused_call *c);

/* All of them as the inside of a JSON array. */
char *refusals_json(const struct refusals *r);
