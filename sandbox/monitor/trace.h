/* trace -- notes down the paths and addresses that processes in the sandbox name
 * in their system calls, for `hutch run --learn`.
 *
 * The listener of the filter (denials.h) is also asked about the calls of a
 * table, and lets them go on, with SECCOMP_USER_NOTIF_FLAG_CONTINUE.
 * seccomp_unotify(2) says that no decision may rest on that: another thread can
 * change the memory behind a pointer after it was read here.  No decision rests
 * on these notes: the filter permits the table's calls anyway, and mounts,
 * network and filter bound the sandbox as always.  The notes become a proposal to
 * a person; a program that fakes them gets a policy that does not fit it.
 *
 * The trace reads the caller's memory by the caller's pid on the host, which may
 * belong to another process once the call no longer waits: so
 * SECCOMP_IOCTL_NOTIF_ID_VALID is asked after the memory was read and before
 * anything is noted.  Texts are bounded, and none of these paths is looked up on
 * the host.
 *
 * Processes inside can fill the notes up (trace_set.h) and make this process
 * work: each call costs this process about as much as it costs the caller. */
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

/* Returns whether a call is in the table of calls that are noted down and then let
 * through. */
bool trace_takes(const struct seccomp_data *data);

/* Makes a seccomp program that sends the calls of the table, and all calls that
 * `program` refuses (seccomp_is_notified()), to its listener.  The result is owned by the
 * caller. */
void trace_program(const struct seccomp_program *program, struct seccomp_program *ret);

/* Notes down the paths or the address of a call that waits at `listener`. */
void trace_call(struct trace *t, int listener, const struct seccomp_notif *call);
