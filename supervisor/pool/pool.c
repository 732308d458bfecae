#include "supervisor/pool/pool.h"

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

/* The time in ms that waiting sandboxes get to end when the pool is stopped. */
#define GOODBYE_MS 10000

enum { WATCH_SIGNALS, WATCH_LISTENER, WATCH_LEASE, WATCH_READY, WATCH_SPAWNS,
       WATCH_READS = WATCH_SPAWNS + POOL_SPAWNS_MAX,
       WATCH_WAITING = WATCH_READS + POOL_SPAWNS_MAX };

/* --- waiting sandboxes
 * ---------------------------------------------------------- */

static void forget(struct pool *p, size_t i)
{
	own_close(&p->waiting[i].lease);
	p->waiting_count--;
	memmove(&p->waiting[i], &p->waiting[i + 1],
		(p->waiting_count - i) * sizeof(*p->waiting));
}

/* Removes a waiting sandbox that has died, which its readable lease has shown.  If it
 * had waited for long, it is replaced at once. */
static void lose(struct pool *p, size_t i, int64_t now)
{
	const struct waiting *x = &p->waiting[i];

	if (!p->is_ending) {
		p->lost++;
		if (pace_lost(&p->pace, x->since_ms, now)) {
			(void)err_set(&p->trouble, ERR_GONE,
				      "sandbox '%s' ended while it waited "
				      "in the pool",
				      x->name);
			(void)err_remedy(&p->trouble, "hutch audit show may tell why");
		}
	}
	forget(p, i);
}

static bool is_alive(const struct waiting *x)
{
	struct pollfd w = { .fd = x->lease, .events = POLLIN | POLLRDHUP };

	return poll(&w, 1, 0) == 0;
}

struct waiting *pool_oldest(struct pool *p, int64_t now)
{
	while (p->waiting_count > 0 && !is_alive(&p->waiting[0]))
		lose(p, 0, now);
	return p->waiting_count > 0 ? &p->waiting[0] : NULL;
}

void pool_taken(struct pool *p, int64_t now)
{
	p->taken++;
	forget(p, 0);
	pace_taken(&p->pace, 2 * p->waiting_count >= p->size, now);
}

bool pool_is_in_trouble(const struct pool *p)
{
	return p->waiting_count == 0 && p->making == 0 && p->trouble.kind != ERR_NONE &&
	       p->pace.retry_ms != 0;
}

/* --- spawns
 * --------------------------------------------------------------------- */

/* Tells the outcome to `hutch pool create`, which waits for the first sandbox.  A
 * failure is told only when the pool's name is free again. */
static void tell_ready(struct pool *p, const struct err *e)
{
	if (p->ready < 0)
		return;
	(void)io_write_all(p->ready, e, sizeof(*e)); /* on failure: the waiting process
						      * has ended */
	own_close(&p->ready);
}

static void fail(struct pool *p, const struct err *why, int64_t now)
{
	p->failed++;
	p->trouble = *why;
	pace_failed(&p->pace, now);
	if (p->ready < 0)
		return;
	p->why = *why; /* if its first sandbox cannot be made, the pool ends */
	pool_stop(p, now);
}

static void add(struct pool *p, struct pool_spawn *m, int64_t now)
{
	struct waiting *x = &p->waiting[p->waiting_count++];

	*x = (struct waiting){ .lease = fd_take(&m->lease), .since_ms = now };
	memcpy(x->name, m->name, sizeof(x->name));
}

static void keep(struct pool *p, struct pool_spawn *m, int64_t now)
{
	static const struct err none = { .kind = ERR_NONE };

	add(p, m, now);
	p->made++;
	pace_made(&p->pace, now);
	p->trouble = none;
	if (!p->is_ending)
		tell_ready(p, &none);
}

static void finish(struct pool *p, struct pool_spawn *m, int64_t now)
{
	struct err e;

	const bool is_made = pool_spawn_judge(m, &e) == 0;

	if (is_made)
		keep(p, m, now);
	else if (!p->is_ending)
		fail(p, &e, now);
	/* The sandbox reports a failure before it has ended.  The pool's end waits for
	 * that: when the sandbox has ended its lease is closed. */
	if (!is_made && p->is_ending)
		add(p, m, now);
	pool_spawn_done(m);
	p->making--;
}

/* Gives up a sandbox that takes too long to make.  Its slot is free at once, even if
 * the process hangs in a file system and does not die yet. */
static void give_up(struct pool *p, struct pool_spawn *m, int64_t now)
{
	struct err e;

	pool_spawn_kill(m);
	(void)pool_spawn_late(&e);
	fail(p, &e, now);
	pool_spawn_done(m);
	p->making--;
}

void pool_expire(struct pool *p, int64_t now)
{
	for (size_t i = 0; i < POOL_SPAWNS_MAX; i++)
		if (!p->is_ending && clock_is_due(p->spawns[i].due_ms, now))
			give_up(p, &p->spawns[i], now);
}

static struct pool_spawn *idle_spawn(struct pool *p)
{
	for (size_t i = 0; i < POOL_SPAWNS_MAX; i++)
		if (p->spawns[i].says < 0)
			return &p->spawns[i];
	return NULL;
}

static bool lacks_some(const struct pool *p)
{
	const size_t together = p->pace.strikes ? 1 : p->together;

	return !p->is_ending && p->waiting_count + p->making < p->size &&
	       p->making < together;
}

static bool may_make(const struct pool *p, int64_t now)
{
	return lacks_some(p) && pace_is_due(&p->pace, now);
}

/* Begins to make a sandbox, but only one in each turn: starting a process takes as long
 * as handing out a sandbox, for which clients wait. */
static void make(struct pool *p, int64_t now)
{
	const struct pool_spawn_plan plan = { .program = p->program,
					      .pool = p->place.name,
					      .words = &p->words,
					      .files = p->files };
	struct pool_spawn *m = may_make(p, now) ? idle_spawn(p) : NULL;
	struct err e;

	p->has_more = false;
	if (!m)
		return;
	if (pool_spawn_start(m, &plan, now, &e) < 0) {
		fail(p, &e, now);
		return;
	}
	p->making++;
	p->has_more = may_make(p, now);
}

/* --- the loop ------------------------------------------------------------------ */

/* Stops the pool, which then waits for the end of the waiting sandboxes.  A sandbox
 * that is being made ends when it becomes ready; if its process still reads its
 * options, it is killed. */
void pool_stop(struct pool *p, int64_t now)
{
	if (p->is_ending)
		return;
	p->is_ending = true;
	p->end_ms = now + GOODBYE_MS;
	if (p->why.kind == ERR_NONE)
		(void)err_set(&p->why, ERR_GONE,
			      "pool '%s' was ended before it had made a "
			      "sandbox",
			      p->place.name);
	own_close(&p->lease);
	for (size_t i = 0; i < p->waiting_count; i++)
		(void)shutdown(p->waiting[i].lease, SHUT_WR); /* on failure: the sandbox
							       * has ended already */
	for (size_t i = 0; i < POOL_SPAWNS_MAX; i++)
		if (p->spawns[i].says >= 0) {
			(void)shutdown(p->spawns[i].lease, SHUT_WR);
			pool_spawn_kill(&p->spawns[i]);
		}
}

static void on_signals(struct pool *p, int64_t now)
{
	struct signalfd_siginfo info;
	pid_t pid;

	while (read(p->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			pool_stop(p, now);
	/* The exit status is ignored, since the child reports its outcome through a
	 * pipe. */
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < POOL_SPAWNS_MAX; i++)
			pool_spawn_reaped(&p->spawns[i], pid);
}

static size_t watch(struct pool *p, struct pollfd *w, int64_t now)
{
	size_t n = WATCH_WAITING;

	if (clock_is_due(p->deaf_ms, now))
		p->deaf_ms = 0;
	w[WATCH_SIGNALS] = (struct pollfd){ .fd = p->signals, .events = POLLIN };
	w[WATCH_LISTENER] = (struct pollfd){ .fd = p->deaf_ms ? -1 : p->place.listener,
					     .events = POLLIN };
	/* Only the closing of the lease matters; data on it is not read. */
	w[WATCH_LEASE] = (struct pollfd){ .fd = p->lease, .events = POLLRDHUP };
	/* No event is asked for.  poll(2) reports POLLERR when the waiting process has
	 * ended. */
	w[WATCH_READY] = (struct pollfd){ .fd = p->is_ending ? -1 : p->ready };
	for (size_t i = 0; i < POOL_SPAWNS_MAX; i++) {
		w[WATCH_SPAWNS + i] = (struct pollfd){ .fd = p->spawns[i].says,
						       .events = POLLIN };
		w[WATCH_READS + i] = (struct pollfd){ .fd = p->spawns[i].reads };
	}
	for (size_t i = 0; i < p->waiting_count; i++)
		w[n++] = (struct pollfd){ .fd = p->waiting[i].lease, .events = POLLIN };
	pool_clients_watch(p, w + n);
	return n;
}

int64_t pool_due(const struct pool *p)
{
	int64_t due =
		clock_sooner(pool_clients_due(p), clock_sooner(p->end_ms, p->deaf_ms));

	for (size_t i = 0; i < POOL_SPAWNS_MAX && !p->is_ending; i++)
		due = clock_sooner(due, p->spawns[i].due_ms);
	return lacks_some(p) ? clock_sooner(due, pace_due(&p->pace)) : due;
}

static void serve(struct pool *p, const struct pollfd *w, size_t clients, int64_t now)
{
	pool_clients_serve(p, w + clients);
	for (size_t i = clients; i-- > WATCH_WAITING;)
		if (w[i].revents)
			lose(p, i - WATCH_WAITING, now);
	for (size_t i = 0; i < POOL_SPAWNS_MAX; i++) {
		if (w[WATCH_READS + i].revents)
			pool_spawn_go_on(&p->spawns[i]);
		if (w[WATCH_SPAWNS + i].revents && pool_spawn_read(&p->spawns[i]))
			finish(p, &p->spawns[i], now);
	}
	pool_expire(p, now);
	if (w[WATCH_LISTENER].revents)
		pool_clients_accept(p, now);
	if (w[WATCH_SIGNALS].revents)
		on_signals(p, now);
	if (w[WATCH_LEASE].revents || w[WATCH_READY].revents)
		pool_stop(p, now);
}

/* Does one turn of the loop.  Returns the time when poll(2) returned. */
static int64_t turn(struct pool *p)
{
	int64_t now = clock_ms();
	struct pollfd w[WATCH_WAITING + POOL_SIZE_MAX + POOL_CLIENTS_MAX];
	const size_t clients = watch(p, w, now);
	const int wait = p->has_more ? 0 : clock_wait(pool_due(p), now);
	const int ready = poll(w, clients + p->client_count, wait);

	now = clock_ms();
	if (ready < 0)
		return now; /* EINTR: the process was stopped and continued by signals */
	serve(p, w, clients, now);
	pool_clients_work(p, now);
	make(p, now);
	return now;
}

bool pool_is_over(const struct pool *p, int64_t now)
{
	return p->is_ending && ((p->waiting_count == 0 && p->making == 0) ||
				clock_is_due(p->end_ms, now));
}

void pool_run(struct pool *p)
{
	for (size_t i = 0; i < POOL_SPAWNS_MAX; i++)
		pool_spawn_init(&p->spawns[i]);
	peer_self_init(&p->self);
	p->has_more = true;
	for (int64_t now = clock_ms(); !pool_is_over(p, now);)
		now = turn(p);
	while (p->waiting_count > 0)
		forget(p, p->waiting_count - 1);
	for (size_t i = 0; i < POOL_SPAWNS_MAX; i++)
		pool_spawn_done(&p->spawns[i]);
	pools_remove(&p->place);
	tell_ready(p, &p->why);
	pool_clients_part(p);
	peer_self_done(&p->self);
	own_close(&p->lease);
	own_close(&p->ready);
	own_close(&p->signals);
}
