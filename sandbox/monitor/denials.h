/* denials -- the calls that a sandbox's filter has refused, as they happen.
 *
 * Where it can, the filter has a listener (seccomp_unotify(2); seccomp.h): the
 * kernel makes a refused call wait until hutch has answered it.  The answer is
 * the errno that the filter would have given without a listener: the filter is
 * evaluated again (bpf_eval.h) on the kernel's copy of the call, and the caller's
 * memory is not looked at.  A refused call is always answered with an errno,
 * never with SECCOMP_USER_NOTIF_FLAG_CONTINUE.  When the listener is gone the
 * kernel itself answers, with ENOSYS.
 *
 * With a trace (`hutch run --learn`; trace.h) the filter asks about more calls.
 * Those in the trace's table that the filter does not refuse are noted down and
 * go on, and only those.  No answer takes a token (see below) then, since the
 * trace would learn less from a command that refused calls slow down.
 *
 * With a broker (`--protect-missing`; broker.h) the filter also asks about
 * calls that make names.  Those that it does not refuse are passed on to the
 * broker.  They take no tokens, but wait for one if they are queued behind a
 * refused call.
 *
 *	denials_init, the filter filled in, denials_listen
 *	in a loop: denials_watch, poll(2) until denials_due() at most, denials_take,
 *		denials_expire
 *	denials_done
 *
 * A command that makes refused calls as fast as it can has to wait for the
 * answers: each answer takes a token, of which there are DENIALS_BURST and then
 * DENIALS_PER_S.  Without a token no call is received from the listener.  While
 * hutch waits for a process inside, it must serve the listener, too, since that
 * process may be waiting for an answer.
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

struct broker;
struct list;
struct seccomp_program;
struct trace;

/* The size of the table of refused calls: more than the kinds of calls that
 * the filter refuses (syscalls.h). */
#define DENIALS_MAX 128

#define DENIALS_BURST 500
#define DENIALS_PER_S 500
/* The pause when no token is left, in ms; at its end several tokens are added
 * at once. */
#define DENIALS_PAUSE_MS 20
/* The most calls that an event loop answers in one turn. */
#define DENIALS_TURN 16

struct refused_call {
	struct syscall_kind call;
	bool is_floor; /* true: the call was refused by the floor, the rules that no
			* profile replaces; false: by the default profile */
	uint64_t count;
	int64_t first_ms, last_ms; /* times of the first and the latest refusal, in ms
				    * since 1970 */
};

struct denials {
	int listener; /* owned: the filter's listener; -1: there is none, or not any
		       * more */
	const struct seccomp_program *filter; /* borrowed: the program that refuses the
					       * calls */
	bool nests;	     /* with --nesting the floor lets namespaces through */
	struct trace *trace; /* borrowed; NULL: no calls are traced and let through */
	struct broker *broker; /* borrowed; NULL: no broker makes calls for their
				* callers */
	struct refused_call calls[DENIALS_MAX];
	size_t count;
	uint64_t others; /* number of refusals for which the table had no row */
	bool looks_at_sessions; /* denials_take() also finds the caller's session */
	unsigned tokens;
	int64_t refilled_ms; /* time of the last refill, by clock.h; 0: no refill yet */
};

void denials_init(struct denials *r);
void denials_done(struct denials *r);

/* Takes over `listener`, which belongs to r->filter. */
void denials_listen(struct denials *r, int listener);

struct pollfd denials_watch(const struct denials *r);
/* denials_due() returns when denials_expire() has something to do, in ms of
 * clock.h; 0: never. */
int64_t denials_due(const struct denials *r);
void denials_expire(struct denials *r, int64_t now);

/* Answers one waiting call; never waits itself.  Returns the row of r->calls for that
 * call, valid until another function is called.  Returns NULL if no call waited,
 * there was no token, or the call was not refused.  *ret_session is the session
 * leader of the caller, as the kernel reports it for the sandbox's pid namespace; 0:
 * unknown, or r->looks_at_sessions is not set. */
const struct refused_call *denials_take(struct denials *r, pid_t *ret_session,
					 int64_t now);

/* Refills the tokens and does nothing else.  `now` is a time of clock.h. */
void denials_refill(struct denials *r, int64_t now);

/* --- what is told of them (denials_tell.c); all allocated ------------------------- */

/* Returns whether the latest refusal is to be reported: the first, the tenth,
 * the hundredth, ..., so that a command cannot flood the log. */
bool refused_call_is_news(const struct refused_call *c);

/* Returns the refused call as a JSON object:
 * {"what":...,"path":null,"layer":"seccomp","rule":...,"remedy":...,"count":...} */
char *refused_call_json(const struct refused_call *c);
/* Returns the members of that JSON object, without the braces of
 * refused_call_json(). */
char *refused_call_members(const struct refused_call *c);
/* Returns a sentence: "mount was refused, 3 times (seccomp: the default
 * profile)" */
char *refused_call_sentence(const struct refused_call *c);
/* refused_call_remedy() returns a suggestion how to go on. */
char *refused_call_remedy(const struct refused_call *c);
const char *refused_call_rule(const struct refused_call *c);

/* Returns all refused calls as the elements of a JSON array, without its brackets. */
char *denials_json(const struct denials *r);
