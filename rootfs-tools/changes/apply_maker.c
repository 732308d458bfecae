#include "rootfs-tools/changes/apply_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/await.h"
#include "base/err.h"
#include "base/fd_pass.h"
#include "base/own.h"

/* How long a job may take before the second process is believed to be stopped. */
#define STOPPED_MS 200

struct slot {
	_Atomic bool is_done;
	uint32_t folder; /* the number of the job's folder */
	struct apply_name temporary;
	struct apply_job job;
};

/* The memory that both processes have.  Job N is in slot N % APPLY_MAKER_JOBS.  Only the
 * first process puts jobs; the process that raises `claimed` above a job does it. */
struct apply_ring {
	_Atomic uint32_t put;	  /* the number of the next job to be put */
	_Atomic uint32_t claimed; /* the number of the next job to be done */
	/* The process sleeps, or is about to, and is to be woken through its socket when a
	 * job is done, or put. */
	_Atomic bool first_waits, second_waits;
	struct slot slots[APPLY_MAKER_JOBS];
};

static struct slot *slot_of(struct apply_ring *r, uint32_t number)
{
	return &r->slots[number % APPLY_MAKER_JOBS];
}

/* Takes the next job, which the other process then leaves alone; NULL: there is none. */
static struct slot *claim(struct apply_ring *r)
{
	uint32_t number = atomic_load(&r->claimed);

	while (number != atomic_load(&r->put))
		if (atomic_compare_exchange_weak(&r->claimed, &number, number + 1))
			return slot_of(r, number);
	return NULL;
}

static void work(struct slot *s, int at)
{
	if (*s->job.compared && apply_job_is_same(&s->job, at))
		s->job.end = APPLY_JOB_SAME;
	else
		apply_job_make(&s->job, at, s->temporary.text);
	atomic_store(&s->is_done, true);
}

/* Wakes the other process if it waits.  The other process sets its mark before it looks
 * for the last time, so no wake is missed; a wake too many does no harm. */
static void wake(int socket, _Atomic bool *waits)
{
	if (atomic_load(waits) && atomic_exchange(waits, false))
		(void)send(socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* a full socket
									  * wakes, too */
}

/* --- the second process ------------------------------------------------------------ */

struct maker {
	struct apply_ring *ring;
	int socket, at;
	uint32_t folder; /* how many folders came */
};

/* Reads one message: a folder, or a wake.  Returns false at the end of the socket. */
static bool hear(struct maker *m)
{
	char byte;
	int fd;

	if (await_ready(m->socket, POLLIN, 0) < 0 ||
	    fd_pass_receive(m->socket, &byte, 1, &fd) != 1 || fd == FD_PASS_LOST)
		return false;
	if (fd >= 0) {
		own_close(&m->at);
		m->at = fd;
		m->folder++;
	}
	return true;
}

static bool wait_for_job(struct maker *m)
{
	atomic_store(&m->ring->second_waits, true);
	return atomic_load(&m->ring->put) != atomic_load(&m->ring->claimed) || hear(m);
}

static bool do_all(struct maker *m)
{
	struct slot *s;

	while ((s = claim(m->ring))) {
		while (m->folder != s->folder)
			if (!hear(m))
				return false;
		work(s, m->at);
		wake(m->socket, &m->ring->first_waits);
	}
	return true;
}

static int serve(void *arg, void *result, struct err *e)
{
	struct maker *m = arg;

	(void)result, (void)e;
	while (do_all(m) && wait_for_job(m)) {
		/* until the first process closes the socket, or a folder is lost */
	}
	return 0;
}

/* --- the first process ------------------------------------------------------------- */

bool apply_maker_can_help(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1;
}

void apply_maker_name(struct apply_name *ret, const char *temporary, unsigned number)
{
	(void)snprintf(ret->text, sizeof(ret->text), "%.50s-%u", temporary, number);
}

int apply_maker_start(struct apply_maker *m, const char *temporary, int held,
		      struct err *e)
{
	const struct timeval stopped = { .tv_usec = STOPPED_MS * 1000 };
	int ends[2];
	void *memory = mmap(NULL, sizeof(*m->ring), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*m = (struct apply_maker){ .socket = -1, .at = -1 };
	if (memory == MAP_FAILED)
		return err_sys(e, "map memory");
	m->ring = memory;
	for (unsigned i = 0; i < APPLY_MAKER_JOBS; i++)
		apply_maker_name(&m->ring->slots[i].temporary, temporary, i);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(e, "make a socketpair");
	AUTO_CLOSE int theirs = ends[1];
	m->socket = ends[0];
	if (setsockopt(m->socket, SOL_SOCKET, SO_RCVTIMEO, &stopped, sizeof(stopped)) < 0)
		return err_sys(e, "set the time of a socket");
	struct maker maker = { .ring = m->ring, .socket = theirs, .at = -1 };
	const struct worker_task task = { .name = "the process that makes files",
					  .work = serve,
					  .arg = &maker,
					  .fds = { theirs, held },
					  .fd_count = held < 0 ? 1 : 2 };
	return worker_start(&task, &m->worker, e);
}

void apply_maker_end(struct apply_maker *m)
{
	if (!m->ring)
		return;
	own_close(&m->socket);
	worker_end(&m->worker);
	for (; m->first != m->next; m->first++)
		(void)unlinkat(m->at, slot_of(m->ring, m->first)->temporary.text, 0);
	(void)munmap(m->ring, sizeof(*m->ring));
	m->ring = NULL;
	own_close(&m->at);
}

bool apply_maker_enter(struct apply_maker *m, int at)
{
	own_close(&m->at);
	m->at = fcntl(at, F_DUPFD_CLOEXEC, 3);
	if (m->at < 0 || fd_pass_send(m->socket, "", 1, &m->at, 1) != 1)
		return false;
	m->folder++;
	return true;
}

bool apply_maker_is_full(const struct apply_maker *m)
{
	return m->next - m->first == APPLY_MAKER_JOBS;
}

bool apply_maker_is_empty(const struct apply_maker *m)
{
	return m->next == m->first;
}

struct apply_job *apply_maker_next(struct apply_maker *m)
{
	return &slot_of(m->ring, m->next)->job;
}

void apply_maker_put(struct apply_maker *m)
{
	struct slot *s = slot_of(m->ring, m->next++);

	s->folder = m->folder;
	atomic_store(&s->is_done, false);
	atomic_store(&m->ring->put, m->next);
	wake(m->socket, &m->ring->second_waits);
}

/* Returns the error that says how the second process ended. */
static int explain_end(struct apply_maker *m, struct err *e)
{
	if (m->worker.pid > 0 && worker_wait(&m->worker, NULL, e) < 0)
		return -1;
	return err_set(e, ERR_SYSTEM, "the process that makes files has ended");
}

/* Reads a wake, or the end of the socket, which is the end of the second process.  That
 * may have been stopped (SIGSTOP) in the middle of a job, so it is told to go on. */
static int sleep_until_woken(struct apply_maker *m, struct err *e)
{
	ssize_t n;
	char byte;

	while ((n = recv(m->socket, &byte, 1, 0)) < 0 &&
	       (errno == EAGAIN || errno == EINTR))
		(void)kill(m->worker.pid, SIGCONT); /* a child that is not waited for */
	return n == 1 ? 0 : explain_end(m, e);
}

/* Waits until the job is done, and does others meanwhile. */
static int await(struct apply_maker *m, const struct slot *s, struct err *e)
{
	struct slot *mine;

	while (!atomic_load(&s->is_done)) {
		if ((mine = claim(m->ring))) {
			work(mine, m->at);
			continue;
		}
		atomic_store(&m->ring->first_waits, true);
		if (!atomic_load(&s->is_done) && sleep_until_woken(m, e) < 0)
			return -1;
	}
	return 0;
}

int apply_maker_wait(struct apply_maker *m, const struct apply_job **ret_job,
		     const char **ret_temporary, struct err *e)
{
	struct slot *s = slot_of(m->ring, m->first);

	if (await(m, s, e) < 0)
		return -1;
	*ret_job = &s->job;
	*ret_temporary = s->temporary.text;
	return 0;
}

int apply_maker_again(struct apply_maker *m, struct err *e)
{
	struct slot *oldest = slot_of(m->ring, m->first);

	for (uint32_t i = m->first + 1; i != m->next; i++) {
		struct slot *s = slot_of(m->ring, i);
		if (await(m, s, e) < 0)
			return -1;
		if (s->job.end != APPLY_JOB_MADE)
			continue;
		(void)unlinkat(m->at, s->temporary.text, 0);
		s->job.end = APPLY_JOB_UNMADE;
	}
	apply_job_make(&oldest->job, m->at, oldest->temporary.text);
	return 0;
}

void apply_maker_drop(struct apply_maker *m)
{
	m->first++;
}
