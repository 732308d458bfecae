/* trace -- notes down which paths and addresses the inside names in its calls, for
 * `hutch run --learn`.
 *
 * The listener of the filter (refusals.h) is asked about the calls of a table here too,
 * and lets them go on, with SECCOMP_USER_NOTIF_FLAG_CONTINUE.  seccomp_unotify(2) says
 * that nothing may be decided so: another thread can change what a pointer leads to
 * between the look and the call.  Nothing is.  A call of the table is one that the
 * filter lets through anyway, the walls are the mounts, the network and the filter as
 * ever, and what is noted down is a proposal to a person; whoever lies here gets a policy
 * that does not fit him.
 *
 * What is read is the caller's memory, by his number as the host has it, which is only
 * his as long as the call waits: so SECCOMP_IOCTL_NOTIF_ID_VALID is asked after it was
 * read and before it is noted.  Texts are bounded, and no path of his is looked up on
 * the host.
 *
 * Who lives inside can fill what is kept (traced.h) and can make this process work, for
 * each call about as much as he does himself. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/traced.h"

struct seccomp_data;
struct seccomp_notif;
struct seccomp_program;

struct trace {
	struct traced seen; /* owned */
	pid_t init; /* whose calls are hutch's own: the executor, as the host numbers it */
};

void trace_done(struct trace *t);

/* Whether a call is one of the table, which is only noted down and goes on. */
bool trace_takes(const struct seccomp_data *data);

/* The program whose listener is told of those, and of all that `program` refuses
 * (seccomp_is_told()).  Owned. */
void trace_program(const struct seccomp_program *program, struct seccomp_program *ret);

/* Notes down what a call that waits at `listener` names. */
void trace_call(struct trace *t, int listener, const struct seccomp_notif *call);
