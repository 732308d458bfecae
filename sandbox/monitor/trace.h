/* trace -- notes down which paths and addresses the inside names in its calls,
 * for `hutch run --learn`.
 *
 * The listener of the filter (denials.h) is also asked about the calls of a
 * table, and lets them go on, with SECCOMP_USER_NOTIF_FLAG_CONTINUE.
 * seccomp_unotify(2) says that no decision may rest on that: another thread can
 * change what a pointer leads to between the look and the call.  Here none
 * does.  The filter permits the table's calls anyway, the walls are the mounts,
 * the network and the filter as ever, and the notes are a proposal to a person;
 * a program that lies here gets a policy that does not fit it.
 *
 * The trace reads the caller's memory by the caller's number on the host, which
 * is the caller's only as long as the call waits: so
 * SECCOMP_IOCTL_NOTIF_ID_VALID is asked after the memory was read and before
 * anything is noted.  Texts are bounded, and none of these paths is looked up
 * on the host.
 *
 * The inside can fill the notes (trace_set.h) and can make this process work: each
 * call costs this process about as much as it costs the caller. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/monitor/trace_set.h"

struct seccomp_data;
struct seccomp_notif;
struct seccomp_program;

struct trace {
	struct trace_set seen; /* owned */
	pid_t init; /* the executor's pid on the host: its calls are hutch's own, and
		     * not noted down */
};

void trace_done(struct trace *t);

/* Returns whether a call is in the table, so that it is only noted down and
 * goes on. */
bool trace_takes(const struct seccomp_data *data);

/* Makes the program whose listener gets the table's calls, and all calls that
 * `program` refuses (seccomp_is_told()).  The result is owned by the caller. */
void trace_program(const struct seccomp_program *program, struct seccomp_program *ret);

/* Notes down the paths or the address of a call that waits at `listener`. */
void trace_call(struct trace *t, int listener, const struct seccomp_notif *call);
