#include "gateway/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"

#define AT_ONCE 64 /* events of one round */

int loop_init(struct loop *l, struct err *e)
{
	*l = (struct loop){ .epoll = epoll_create1(EPOLL_CLOEXEC), .now = clock_ms() };
	return l->epoll < 0 ? err_sys(e, "epoll_create1") : 0;
}

void loop_done(struct loop *l)
{
	own_close(&l->epoll);
}

int loop_watch(struct loop *l, struct watch *w, uint32_t events, struct err *e)
{
	struct epoll_event event = { .events = events, .data.ptr = w };

	if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &event) == 0)
		return 0;
	if (errno == ENOENT && epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &event) == 0)
		return 0;
	return err_sys(e, "epoll_ctl");
}

void loop_unwatch(struct loop *l, struct watch *w)
{
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL); /* fails only for a
								* descriptor that is not
								* watched */
	l->removals++;
}

void loop_stop(struct loop *l, struct timer *t)
{
	for (struct timer **at = &l->timers; *at; at = &(*at)->next) {
		if (*at != t)
			continue;
		*at = t->next;
		break;
	}
	t->next = NULL;
	t->due = 0;
}

void loop_start(struct loop *l, struct timer *t, int64_t after_ms)
{
	struct timer **at = &l->timers;

	loop_stop(l, t);
	t->due = l->now + (after_ms > 0 ? after_ms : 0);
	while (*at && (*at)->due <= t->due)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
}

static int wait_ms(const struct loop *l, int most_ms)
{
	if (!l->timers)
		return most_ms;
	int64_t left = l->timers->due - l->now;
	left = left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : left;
	return most_ms < 0 || left < most_ms ? (int)left : most_ms;
}

void loop_expire(struct loop *l)
{
	while (l->timers && l->timers->due <= l->now) {
		struct timer *t = l->timers;

		loop_stop(l, t);
		t->expired(t->context);
	}
}

int loop_step(struct loop *l, int most_ms, struct err *e)
{
	struct epoll_event events[AT_ONCE];

	l->now = clock_ms(); /* the callbacks of the last turn took time */
	const int count = epoll_wait(l->epoll, events, AT_ONCE, wait_ms(l, most_ms));

	if (count < 0 && errno != EINTR)
		return err_sys(e, "epoll_wait");
	l->now = clock_ms();
	const uint64_t before = l->removals;
	for (int i = 0; i < count; i++) {
		const struct watch *w = events[i].data.ptr;

		w->ready(w->context, events[i].events);
		/* A watch of a later event may be gone.  The kernel reports those that
		 * are still there again. */
		if (l->removals != before)
			break;
	}
	loop_expire(l);
	return 0;
}
