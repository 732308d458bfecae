#include "sandbox/monitor/denials.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "policy/bpf_eval.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/monitor/broker.h"
#include "sandbox/monitor/trace.h"

void denials_init(struct denials *r)
{
	*r = (struct denials){ .listener = -1, .tokens = DENIALS_BURST };
}

void denials_done(struct denials *r)
{
	own_close(&r->listener);
}

/* Constants that kernel 6.6 has, and that the headers of some C libraries
 * lack. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1ul
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   SECCOMP_IOW(4, uint64_t)
#endif

/* Takes over the listener.  SYNC_WAKE_UP hints to the kernel that the process
 * that makes a call and the process that answers take turns, on one processor
 * if possible; without the hint, an answer takes up to three times as long. */
void denials_listen(struct denials *r, int listener)
{
	own_close(&r->listener);
	r->listener = listener;
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		    SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

/* --- tokens ----------------------------------------------------------------------- */

/* Adds tokens for the time that has passed.  Only whole tokens are added; a rest of
 * the time counts at the next refill. */
void denials_refill(struct denials *r, int64_t now)
{
	const int64_t more = (now - r->refilled_ms) * DENIALS_PER_S / 1000;

	if (more >= DENIALS_BURST - (int64_t)r->tokens) {
		r->tokens = DENIALS_BURST;
		r->refilled_ms = now;
	} else if (more > 0) {
		r->tokens += (unsigned)more;
		r->refilled_ms += more * 1000 / DENIALS_PER_S;
	}
}

static bool has_room(const struct denials *r)
{
	return r->tokens && !(r->broker && r->broker->is_held);
}

struct pollfd denials_watch(const struct denials *r)
{
	return (struct pollfd){ .fd = has_room(r) ? r->listener : -1, .events = POLLIN };
}

int64_t denials_due(const struct denials *r)
{
	return r->listener < 0 || r->tokens ? 0 : r->refilled_ms + DENIALS_PAUSE_MS;
}

void denials_expire(struct denials *r, int64_t now)
{
	if (clock_is_due(denials_due(r), now))
		denials_refill(r, now);
}

/* --- one call --------------------------------------------------------------------- */

static int64_t date_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct refused_call *find_row(struct denials *r, const struct refused_call *like)
{
	for (size_t i = 0; i < r->count; i++) {
		struct refused_call *c = &r->calls[i];

		if (c->call.nr == like->call.nr && c->is_floor == like->is_floor &&
		    c->call.argument == like->call.argument)
			return c;
	}
	if (r->count == DENIALS_MAX)
		return NULL;
	r->calls[r->count] = *like;
	r->calls[r->count].first_ms = date_ms();
	return &r->calls[r->count++];
}

/* Returns the action of the filter for a call.  A program that cannot be evaluated
 * counts as one that kills the process. */
static uint32_t action_of(const struct seccomp_program *program,
			  const struct seccomp_data *data)
{
	uint32_t action;

	return bpf_eval(program->insns, program->count, data, &action)
		       ? action
		       : SECCOMP_RET_KILL_PROCESS;
}

/* Returns the errno with which `program` refuses the call, or 0 if it does not report
 * the call as refused (seccomp_is_notified()). */
static int error_of(const struct seccomp_program *program,
		    const struct seccomp_data *data)
{
	const uint32_t action = action_of(program, data);

	return seccomp_is_notified(action) ? (int)(action & SECCOMP_RET_DATA) : 0;
}

static const struct refused_call *count(struct denials *r,
					const struct seccomp_data *data)
{
	struct seccomp_program floor;

	seccomp_floor(r->nests ? SECCOMP_NESTS : SECCOMP_FLAT, &floor);
	const struct refused_call like = { .call = syscall_of(data),
					   .is_floor = error_of(&floor, data) != 0 };
	struct refused_call *c = find_row(r, &like);
	if (!c) {
		r->others++;
		return NULL;
	}
	c->count++;
	c->last_ms = date_ms();
	return c;
}

/* Receives a waiting call.  While poll(2) says that the listener has a call,
 * SECCOMP_IOCTL_NOTIF_RECV does not block: the kernel counts calls that came
 * and were not received, so for a call whose caller was interrupted since, the
 * ioctl returns ENOENT.  No other process receives from this listener. */
static bool receive(struct denials *r, struct seccomp_notif *ret)
{
	struct pollfd p = { .fd = r->listener, .events = POLLIN };

	if (r->listener < 0 || poll(&p, 1, 0) != 1)
		return false;
	*ret = (struct seccomp_notif){ 0 }; /* the kernel returns EINVAL unless all
					     * bytes are 0 */
	if ((p.revents & POLLIN) &&
	    ioctl(r->listener, SECCOMP_IOCTL_NOTIF_RECV, ret) == 0)
		return true;
	/* POLLHUP without POLLIN means that no process is left under the filter. */
	if (!(p.revents & POLLIN) || (errno != ENOENT && errno != EINTR))
		own_close(&r->listener);
	return false;
}

#define STATUS_MAX 4096

/* Returns the caller's session id in the sandbox's pid namespace.  It is the last
 * number of the line NSsid, which has one number for each pid namespace from ours to
 * the caller's own (proc(5)).  The caller waits for our answer, so `pid` is still the
 * caller's. */
static pid_t session_of(uint32_t pid)
{
	static const char key[] = "\nNSsid:";
	char path[32], text[STATUS_MAX];

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid); /* the buffer is
								     * large enough */
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	char *line = strstr(text, key), *end = line ? strchr(line + 1, '\n') : NULL;
	if (!end)
		return 0;
	*end = '\0';
	const char *last = strrchr(line, '\t');
	return last ? (pid_t)strtol(last, NULL, 10) : 0;
}

/* Lets a call go on if the filter permits the call and the trace only notes it
 * down (trace.h).  No other code lets a call go on. */
static bool goes_on(const struct denials *r, const struct seccomp_notif *call)
{
	struct seccomp_notif_resp resp = { .id = call->id,
					   .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	if (!r->trace || !trace_takes(&call->data) ||
	    action_of(r->filter, &call->data) != SECCOMP_RET_ALLOW)
		return false;
	trace_call(r->trace, r->listener, call);
	(void)ioctl(r->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp); /* fails if the
								    * caller is gone */
	return true;
}

static bool is_passed_on(const struct denials *r, const struct seccomp_notif *call)
{
	if (!r->broker || !broker_takes(&call->data) ||
	    action_of(r->filter, &call->data) != SECCOMP_RET_ALLOW)
		return false;
	broker_hand(r->broker, call);
	return true;
}

/* Answers a call with an errno.  Returns false if the caller was interrupted
 * meanwhile: the caller makes the call again or has gone, and the call was not
 * refused. */
static bool answer(const struct denials *r, uint64_t id, int error)
{
	/* layer: denials-error */
	struct seccomp_notif_resp resp = { .id = id, .error = -error };

	return ioctl(r->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) == 0;
}

const struct refused_call *denials_take(struct denials *r, pid_t *ret_session,
					 int64_t now)
{
	struct seccomp_notif call;

	denials_refill(r, now);
	if (!has_room(r) || !receive(r, &call))
		return NULL;
	const int error = error_of(r->filter, &call.data);
	if (goes_on(r, &call) || is_passed_on(r, &call))
		return NULL;
	if (!r->trace)
		r->tokens--; /* layer: denials-pace */
	const pid_t session = r->looks_at_sessions && call.pid ? session_of(call.pid) : 0;
	/* All calls that are left here are refused by the filter.  If the filter has
	 * no errno for a call, the answer is ENOSYS. */
	if (!answer(r, call.id, error ? error : ENOSYS))
		return NULL;
	*ret_session = session;
	return count(r, &call.data);
}
