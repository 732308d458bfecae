#include "sandbox/pool/pool.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/own.h"

/* After a failure, doubled with each further one. */
#define RETRY_MS     100
#define RETRY_TIMES  9 /* 51.2 s is the most */
/* One that waited for less died of something that the next may die of, too. */
#define STEADY_MS    10000
/* A burst of takes is served before anything new is made, while half is there. */
#define REST_MS	     5
/* How long those that waited have to end with the pool. */
#define GOODBYE_MS   10000

enum { WATCH_SIGNALS, WATCH_LISTENER, WATCH_LEASE, WATCH_READY, WATCH_MAKERS,
       WATCH_READS = WATCH_MAKERS + POOL_MAKERS_MAX,
       WATCH_WAITING = WATCH_READS + POOL_MAKERS_MAX };

/* --- what waits ---------------------------------------------------------------- */

static void forget(struct pool *p, size_t i)
{
	own_close(&p->waiting[i].lease);
	p->waiting_count--;
	memmove(&p->waiting[i], &p->waiting[i + 1],
		(p->waiting_count - i) * sizeof(*p->waiting));
}

/* What was begun before the last failure was known fails of the same: sixteen at once are
 * one failure, and not 51 s without a sandbox. */
static void strike(struct pool *p)
{
	if (p->retry_ms && !clock_is_due(p->retry_ms, clock_ms()))
		return;
	const unsigned times = p->strikes < RETRY_TIMES ? p->strikes : RETRY_TIMES;

	p->strikes++;
	p->retry_ms = clock_ms() + ((int64_t)RETRY_MS << times);
}

/* Nobody speaks there but a sandbox that is at its end.  One that had waited for long is
 * replaced at once. */
static void lose(struct pool *p, size_t i)
{
	const struct waiting *x = &p->waiting[i];

	if (!p->is_ending) {
		p->lost++;
		if (clock_ms() - x->since_ms < STEADY_MS) {
			(void)err_set(&p->trouble, ERR_GONE, "sandbox '%s' ended while it waited "
							     "in the pool", x->name);
			(void)err_remedy(&p->trouble, "hutch audit show may tell by what");
			p->shaken_ms = clock_ms();
			strike(p);
		}
	}
	forget(p, i);
}

static bool is_alive(const struct waiting *x)
{
	struct pollfd w = { .fd = x->lease, .events = POLLIN | POLLRDHUP };

	return poll(&w, 1, 0) == 0;
}

struct waiting *pool_oldest(struct pool *p)
{
	while (p->waiting_count > 0 && !is_alive(&p->waiting[0]))
		lose(p, 0);
	return p->waiting_count > 0 ? &p->waiting[0] : NULL;
}

void pool_taken(struct pool *p)
{
	p->taken++;
	forget(p, 0);
	p->rest_ms = 2 * p->waiting_count >= p->size ? clock_ms() + REST_MS : 0;
}

bool pool_is_in_trouble(const struct pool *p)
{
	return p->waiting_count == 0 && p->making == 0 && p->trouble.kind != ERR_NONE &&
	       p->retry_ms != 0;
}

/* --- what is made -------------------------------------------------------------- */

/* Whoever waits for the first one: `hutch pool create`.  Of an end when the name is free. */
static void tell_ready(struct pool *p, const struct err *e)
{
	if (p->ready < 0)
		return;
	(void)io_write_all(p->ready, e, sizeof(*e)); /* it may have gone */
	own_close(&p->ready);
}

static void fail(struct pool *p, const struct err *why)
{
	p->failed++;
	p->trouble = *why;
	strike(p);
	if (p->ready < 0)
		return;
	p->why = *why; /* a pool that has never had one is none */
	pool_stop(p);
}

static const struct waiting *add(struct pool *p, struct maker *m)
{
	struct waiting *x = &p->waiting[p->waiting_count++];

	*x = (struct waiting){ .lease = fd_take(&m->lease), .since_ms = clock_ms() };
	memcpy(x->name, m->name, sizeof(x->name));
	return x;
}

static void keep(struct pool *p, struct maker *m)
{
	static const struct err none = { .kind = ERR_NONE };
	const struct waiting *x = add(p, m);

	p->made++;
	if (!p->shaken_ms || x->since_ms - p->shaken_ms > STEADY_MS) {
		p->strikes = 0;
		p->retry_ms = p->shaken_ms = 0;
	}
	p->trouble = none;
	if (!p->is_ending)
		tell_ready(p, &none);
}

static void finish(struct pool *p, struct maker *m)
{
	struct err e;

	const bool is_made = maker_judge(m, &e) == 0;

	if (is_made)
		keep(p, m);
	else if (!p->is_ending)
		fail(p, &e);
	/* It has said so before it was at its end, which closes the lease. */
	if (!is_made && p->is_ending)
		(void)add(p, m);
	maker_done(m);
	p->making--;
}

/* Its place is free at once: a file system may keep it from dying. */
static void give_up(struct pool *p, struct maker *m)
{
	struct err e;

	maker_kill(m);
	(void)maker_late(&e);
	fail(p, &e);
	maker_done(m);
	p->making--;
}

static void look_at_makers(struct pool *p)
{
	for (size_t i = 0; i < POOL_MAKERS_MAX; i++)
		if (!p->is_ending && clock_is_due(p->makers[i].due_ms, clock_ms()))
			give_up(p, &p->makers[i]);
}

static struct maker *idle_maker(struct pool *p)
{
	for (size_t i = 0; i < POOL_MAKERS_MAX; i++)
		if (p->makers[i].says < 0)
			return &p->makers[i];
	return NULL;
}

static bool lacks_some(const struct pool *p)
{
	const size_t together = p->strikes ? 1 : p->together;

	return !p->is_ending && p->waiting_count + p->making < p->size && p->making < together;
}

/* When the next one may be begun; 0: at once. */
static int64_t make_ms(const struct pool *p)
{
	return p->retry_ms > p->rest_ms ? p->retry_ms : p->rest_ms;
}

static bool may_make(const struct pool *p)
{
	return lacks_some(p) && (!make_ms(p) || clock_is_due(make_ms(p), clock_ms()));
}

/* One a turn: starting a process takes as long as handing out a sandbox does. */
static void make(struct pool *p)
{
	const struct maker_plan plan = { .program = p->program, .pool = p->place.name,
					 .words = &p->words, .files = p->files };
	struct maker *m = may_make(p) ? idle_maker(p) : NULL;
	struct err e;

	p->has_more = false;
	if (!m)
		return;
	if (maker_start(m, &plan, &e) < 0) {
		fail(p, &e);
		return;
	}
	p->making++;
	p->has_more = may_make(p);
}

/* --- the loop ------------------------------------------------------------------ */

/* Of those that wait the end is heard; what is being made ends as it becomes ready, and at
 * once if it has not begun with that. */
void pool_stop(struct pool *p)
{
	if (p->is_ending)
		return;
	p->is_ending = true;
	p->end_ms = clock_ms() + GOODBYE_MS;
	if (p->why.kind == ERR_NONE)
		(void)err_set(&p->why, ERR_GONE, "pool '%s' was ended before it had made a "
						 "sandbox", p->place.name);
	own_close(&p->lease);
	for (size_t i = 0; i < p->waiting_count; i++)
		(void)shutdown(p->waiting[i].lease, SHUT_WR); /* or it has ended already */
	for (size_t i = 0; i < POOL_MAKERS_MAX; i++)
		if (p->makers[i].says >= 0) {
			(void)shutdown(p->makers[i].lease, SHUT_WR);
			maker_kill(&p->makers[i]);
		}
}

static void on_signals(struct pool *p)
{
	struct signalfd_siginfo info;
	pid_t pid;

	while (read(p->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			pool_stop(p);
	/* How it ended, it has said itself. */
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < POOL_MAKERS_MAX; i++)
			maker_reaped(&p->makers[i], pid);
}

static size_t watch(struct pool *p, struct pollfd *w)
{
	size_t n = WATCH_WAITING;

	if (clock_is_due(p->deaf_ms, clock_ms()))
		p->deaf_ms = 0;
	w[WATCH_SIGNALS] = (struct pollfd){ .fd = p->signals, .events = POLLIN };
	w[WATCH_LISTENER] = (struct pollfd){ .fd = p->deaf_ms ? -1 : p->place.listener,
					     .events = POLLIN };
	/* Its end alone: whatever is said there stays unread. */
	w[WATCH_LEASE] = (struct pollfd){ .fd = p->lease, .events = POLLRDHUP };
	/* POLLERR: nobody waits. */
	w[WATCH_READY] = (struct pollfd){ .fd = p->is_ending ? -1 : p->ready };
	for (size_t i = 0; i < POOL_MAKERS_MAX; i++) {
		w[WATCH_MAKERS + i] = (struct pollfd){ .fd = p->makers[i].says,
						       .events = POLLIN };
		w[WATCH_READS + i] = (struct pollfd){ .fd = p->makers[i].reads };
	}
	for (size_t i = 0; i < p->waiting_count; i++)
		w[n++] = (struct pollfd){ .fd = p->waiting[i].lease, .events = POLLIN };
	takers_watch(p, w + n);
	return n;
}

static int64_t due(const struct pool *p)
{
	int64_t due = clock_sooner(takers_due(p), clock_sooner(p->end_ms, p->deaf_ms));

	for (size_t i = 0; i < POOL_MAKERS_MAX && !p->is_ending; i++)
		due = clock_sooner(due, p->makers[i].due_ms);
	return lacks_some(p) ? clock_sooner(due, make_ms(p)) : due;
}

static void serve(struct pool *p, const struct pollfd *w, size_t takers)
{
	takers_serve(p, w + takers);
	for (size_t i = takers; i-- > WATCH_WAITING;)
		if (w[i].revents)
			lose(p, i - WATCH_WAITING);
	for (size_t i = 0; i < POOL_MAKERS_MAX; i++) {
		if (w[WATCH_READS + i].revents)
			maker_go_on(&p->makers[i]);
		if (w[WATCH_MAKERS + i].revents && maker_read(&p->makers[i]))
			finish(p, &p->makers[i]);
	}
	look_at_makers(p);
	if (w[WATCH_LISTENER].revents)
		takers_accept(p);
	if (w[WATCH_SIGNALS].revents)
		on_signals(p);
	if (w[WATCH_LEASE].revents || w[WATCH_READY].revents)
		pool_stop(p);
}

static void turn(struct pool *p)
{
	struct pollfd w[WATCH_WAITING + POOL_SIZE_MAX + POOL_TAKERS_MAX];
	const size_t takers = watch(p, w);

	if (poll(w, takers + p->taker_count, p->has_more ? 0 : clock_wait(due(p), clock_ms())) < 0)
		return; /* EINTR: SIGCONT after a stop */
	serve(p, w, takers);
	takers_work(p);
	make(p);
}

static bool is_over(const struct pool *p)
{
	return p->is_ending && ((p->waiting_count == 0 && p->making == 0) ||
				clock_is_due(p->end_ms, clock_ms()));
}

void pool_run(struct pool *p)
{
	for (size_t i = 0; i < POOL_MAKERS_MAX; i++)
		maker_init(&p->makers[i]);
	peer_self_init(&p->self);
	p->has_more = true;
	while (!is_over(p))
		turn(p);
	while (p->waiting_count > 0)
		forget(p, p->waiting_count - 1);
	for (size_t i = 0; i < POOL_MAKERS_MAX; i++)
		maker_done(&p->makers[i]);
	pools_remove(&p->place);
	tell_ready(p, &p->why);
	takers_part(p);
	peer_self_done(&p->self);
	own_close(&p->lease);
	own_close(&p->ready);
	own_close(&p->signals);
}
