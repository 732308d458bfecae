/* refusals -- calls that the filter of a sandbox has refused, as they happen.
 *
 * The filter has a listener where it can (seccomp_unotify(2); seccomp.h): the kernel
 * makes the call wait until somebody on this side has answered for it.  The answer is
 * the errno that the filter would have given without a listener: it is asked again
 * (bpf_eval.h), about what the kernel has copied of the call; nothing of the caller's
 * memory is looked at.  There is no other answer than an errno, and
 * SECCOMP_USER_NOTIF_FLAG_CONTINUE is none.  When nobody answers any more the kernel
 * does, with ENOSYS.
 *
 * With a trace (`hutch run --learn`; trace.h) the filter asks about more calls: those
 * of the trace's table that it does not refuse are noted down and go on, and they alone.
 * It takes no tokens then, since who is held back by others' refusals learns nothing.
 *
 * With a deputy (`--protect-missing`; deputy.h) it asks about those that make names, too:
 * what the filter does not refuse of them is passed on, and takes no tokens, but waits for
 * them like all that is behind what was refused.
 *
 *	refusals_init, the filter filled in, refusals_listen
 *	in a loop: refusals_watch, poll(2) until refusals_due() at most, refusals_take,
 *		refusals_expire
 *	refusals_done
 *
 * Who makes refused calls as fast as he can waits in them: for each there must be a
 * token, of which there are REFUSALS_BURST and then REFUSALS_PER_S. Without one the
 * listener is not looked at.  So nothing on this side may ever wait for the inside
 * without serving this.
 *
 * What is kept is one row for each kind of call that can be refused, and not for each
 * call. */
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

/* More than there are kinds of calls that the filter refuses (syscalls.h). */
#define REFUSALS_MAX 128

#define REFUSALS_BURST 500
#define REFUSALS_PER_S 500
/* How long nobody looks when there is no token left, in ms: some come at once. */
#define REFUSALS_PAUSE_MS 20
/* So many are answered in one turn of a loop. */
#define REFUSALS_TURN 16

struct refused_call {
	struct syscall_kind call;
	bool is_floor; /* which nothing replaces; else by the default profile */
	uint64_t count;
	int64_t first_ms, last_ms; /* since 1970 */
};

struct refusals {
	int listener; /* owned; -1: none, or not any more */
	const struct seccomp_program *filter; /* borrowed: by what is refused */
	struct trace *trace; /* borrowed; NULL: nothing goes on */
	struct deputy *deputy; /* borrowed; NULL: nobody does anything for the inside */
	struct refused_call calls[REFUSALS_MAX];
	size_t count;
	uint64_t others; /* for which there was no row */
	bool looks_at_sessions; /* somebody wants to know */
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

/* Answers one call that waits; never waits itself.  Its row, for as long as no other
 * function is called; NULL: there was none, or no token, or it went on.  *ret_session is the leader of
 * the session of who made it, as the inside numbers it, by the kernel's word; 0: it is
 * not known, or r->looks_at_sessions is not set. */
const struct refused_call *refusals_take(struct refusals *r, pid_t *ret_session,
					 int64_t now);

/* The bucket alone, at a time of clock.h. */
void refusals_refill(struct refusals *r, int64_t now);

/* --- what is told of them (refusals_tell.c); all allocated ------------------------- */

/* Whether its latest one is to be told: the first, the tenth, the hundredth, ... */
bool refused_call_is_news(const struct refused_call *c);

/* {"what":...,"path":null,"layer":"seccomp","rule":...,"remedy":...,"count":...} */
char *refused_call_json(const struct refused_call *c);
/* The same without "count", and without braces. */
char *refused_call_members(const struct refused_call *c);
/* "mount was refused, 3 times (seccomp: the default profile)" */
char *refused_call_sentence(const struct refused_call *c);
/* What would help to go on. */
char *refused_call_remedy(const struct refused_call *c);
const char *refused_call_rule(const struct refused_call *c);

/* All of them as the inside of a JSON array. */
char *refusals_json(const struct refusals *r);
