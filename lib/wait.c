#include "lib/wait.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "lib/call.h"
#include "lib/error.h"
#include "lib/handle.h"
#include "lib/opening.h"
#include "lib/reader.h"

int turn(struct hutch *h, struct hutch_error *e)
{
	const bool has_stepped = opening_step(h);

	writer_flush(h);
	if (h->stage != GREETING && h->stage != OPEN)
		return has_stepped;
	const int got = reader_read(h, e);
	if (got >= 0)
		opening_expire(h);
	return got ? got : has_stepped || h->stage == OVER;
}

int wait_join(struct hutch *h, struct waiter *w, const struct packet *call,
	      struct hutch_error *e)
{
	*w = (struct waiter){ .call = call,
			      .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (w->wake < 0)
		return error_sys(e, "wait for sandbox '%s'", h->name);
	w->next = h->waiters;
	h->waiters = w;
	return 0;
}

void wait_leave(struct hutch *h, struct waiter *w)
{
	struct waiter **at = &h->waiters;

	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
	own_close(&w->wake);
}

int wait_wait(struct hutch *h, const struct waiter *w, struct pollfd *more, nfds_t count,
	      int wait_ms)
{
	more[0] = (struct pollfd){ .fd = h->io, .events = POLLIN };
	more[1] = (struct pollfd){ .fd = w->wake, .events = POLLIN };
	(void)handle_leave(h, 0);
	int n = poll(more, count + WAIT_OWN, wait_ms);
	const bool is_broken = n < 0 && errno != EINTR;
	int sys = errno;
	uint64_t times;
	(void)handle_enter(h, NULL); /* handle_enter() cannot fail: this process has
				      * opened the handle */
	/* Resets the wake-up: the caller looks for its answer next in any case.
	 * read(2) fails if no thread has woken this one. */
	(void)!read(w->wake, &times, sizeof(times));
	errno = sys;
	return is_broken ? -1 : 0;
}

/* --- for an answer --------------------------------------------------------- */

/* Waits until `is_done` returns true.  Returns 0; 1 if the time was over before; -1
 * with an error.  The clock is read once in each loop, before the socket is read:
 * bytes that come at the last moment are still in time. */
static int wait_until(struct hutch *h,
		      bool (*is_done)(const struct hutch *h, const void *what),
		      const struct packet *call, int timeout_ms, struct hutch_error *e)
{
	struct pollfd own[WAIT_OWN];
	struct waiter w = { .wake = -1 };
	int64_t now = clock_ms();
	const int64_t due = wait_due(timeout_ms, now);
	int rc = 0;

	for (; !is_done(h, call) && rc == 0; now = clock_ms()) {
		const int got = turn(h, e);
		if (got < 0)
			rc = -1;
		else if (is_done(h, call))
			continue;
		else if (wait_is_late(due, got > 0, now))
			rc = 1;
		else if (got > 0)
			continue;
		else if (w.wake < 0)
			rc = wait_join(h, &w, call, e); /* the loop then checks again,
							 * since the answer may have come
							 * before the waiter was added */
		else if (wait_wait(h, &w, own, 0, clock_wait(due, now)) < 0)
			rc = error_sys(e, "wait for sandbox '%s'", h->name);
	}
	wait_leave(h, &w);
	return rc;
}

static bool has_answer(const struct hutch *h, const void *what)
{
	const struct packet *call = what;

	(void)h;
	return call->is_done;
}

static int give_answer(struct hutch *h, struct packet *p, struct hutch_message **ret,
		       struct hutch_error *e)
{
	call_take(h, p);
	if (p->m.error.kind != HUTCH_OK) {
		if (e)
			*e = p->m.error;
		packet_free(p);
		return -1;
	}
	if (ret)
		*ret = &p->m;
	else
		packet_free(p);
	return 0;
}

static int wait_for(struct hutch *h, int64_t call, int timeout_ms,
		    struct hutch_message **ret, struct hutch_error *e)
{
	struct packet *p = call_find(h, call);

	if (!p || p->m.tag != HUTCH_WAIT)
		return error_set(e, HUTCH_INVALID,
			     "call %lld is none that can be waited for: it was not "
			     "made with HUTCH_WAIT, or was waited for before",
			     (long long)call);
	if (p->is_waited)
		return error_set(e, HUTCH_INVALID,
			     "call %lld is waited for by another thread",
			     (long long)call);
	p->is_waited = true;
	const int rc = wait_until(h, has_answer, p, timeout_ms, e);
	p->is_waited = false;
	if (rc < 0)
		return -1;
	if (rc > 0)
		return error_set(e, HUTCH_TIMEOUT,
			     "sandbox '%s' did not answer %s within %d ms", h->name,
			     p->method, timeout_ms);
	return give_answer(h, p, ret, e);
}

int hutch_wait(struct hutch *h, int64_t call, int timeout_ms, struct hutch_message **ret,
	       struct hutch_error *e)
{
	if (call < 0 || handle_enter(h, e) < 0)
		return -1;
	return handle_leave(h, wait_for(h, call, timeout_ms, ret, e));
}

/* --- for the handle, and for any message ----------------------------------- */

static bool has_opened(const struct hutch *h, const void *what)
{
	(void)what;
	return h->stage == OPEN || h->stage == OVER;
}

static int wait_ready(struct hutch *h, int timeout_ms, struct hutch_error *e)
{
	const int rc = wait_until(h, has_opened, NULL, timeout_ms, e);

	if (rc < 0)
		return -1;
	if (rc > 0)
		return error_set(e, HUTCH_TIMEOUT,
				 "sandbox '%s' was not ready within %d ms", h->name,
				 timeout_ms);
	if (h->stage == OVER && e)
		*e = h->why;
	return h->stage == OVER ? -1 : 0;
}

int hutch_ready(struct hutch *h, int timeout_ms, struct hutch_error *e)
{
	if (handle_enter(h, e) < 0)
		return -1;
	return handle_leave(h, wait_ready(h, timeout_ms, e));
}

static bool has_message(const struct hutch *h, const void *what)
{
	(void)what;
	return h->queue || h->stage == OVER;
}

static int next(struct hutch *h, int timeout_ms, struct hutch_message **ret,
		struct hutch_error *e)
{
	const int rc = wait_until(h, has_message, NULL, timeout_ms, e);

	if (rc < 0)
		return -1;
	struct packet *p = queue_take(h);
	if (p) {
		*ret = &p->m;
		return 1;
	}
	if (h->stage == OVER && e)
		*e = h->why;
	return h->stage == OVER ? -1 : 0;
}

int hutch_next(struct hutch *h, int timeout_ms, struct hutch_message **ret,
	       struct hutch_error *e)
{
	if (handle_enter(h, e) < 0)
		return -1;
	return handle_leave(h, next(h, timeout_ms, ret, e));
}

void hutch_message_free(struct hutch_message *m)
{
	packet_free((struct packet *)m); /* a packet begins with its message */
}
