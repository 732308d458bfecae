#include "rootfs-tools/registry/pull_workers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/worker.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/layers/layers.h"
#include "rootfs-tools/layers/quota.h"
#include "rootfs-tools/registry/progress.h"
#include "rootfs-tools/registry/registry.h"

#define NEWS_MS	 100 /* time between two reports about a growing blob */
#define ANEW_MAX 8   /* how many times a blob with wrong bytes is fetched again */

enum what { NEWS_AT, NEWS_FETCHED, NEWS_UNPACKED, NEWS_FAILED };

/* A worker's report to the parent.  Each report is one write(2) to the pipe, so that
 * reports of several workers do not mix. */
struct news {
	enum what what;
	size_t job;
	uint64_t at;
	struct err error;
};
_Static_assert(sizeof(struct news) <= 4096,
	       "news must cross a pipe in one write (PIPE_BUF)");

struct pull_workers {
	const struct store *store;
	struct registry *registry;
	const struct pull_workers_job *jobs;
	size_t count;
	_Atomic size_t *next; /* shared by all workers: the next job to take */
	pid_t pids[PULL_WORKERS_MAX], parent;
	int from, to, signals; /* owned; the two ends of the pipe, and a signalfd(2) */
	sigset_t before;       /* the signal mask before the workers began, to be
			        * restored */
};

struct fetcher {
	const struct pull_workers *workers;
	size_t job;
	int64_t reported_ms;
};

/* --- in a worker --------------------------------------------------------------- */

static void tell(const struct fetcher *w, const struct news *news)
{
	if (io_write_all(w->workers->to, news, sizeof(*news)) < 0)
		_exit(1); /* exit: the parent has died */
}

/* Reports how far a download has come.  The HTTP library runs the loop, and calls this
 * function once a turn. */
static void tell_at(void *context, uint64_t at)
{
	struct fetcher *w = context;
	const int64_t now = clock_ms();

	if (now - w->reported_ms < NEWS_MS)
		return;
	w->reported_ms = now;
	tell(w, &(struct news){ .what = NEWS_AT, .job = w->job, .at = at });
}

/* Commits a blob.  Returns -1 if the commit failed, 1 if the bytes have another digest
 * or size than expected. */
static int commit(struct registry *r, const struct descriptor *d, struct blob *b,
		  struct err *e)
{
	if (blob_commit(b, d->size, NULL, e) == 0)
		return 0;
	int is_wrong = e->kind == ERR_REFUSED;
	(void)err_in(e, "%s", registry_host(r));
	return is_wrong ? 1 : -1;
}

int pull_workers_fetch(const struct store *s, struct registry *r,
		       const struct descriptor *d,
		       void (*news)(void *context, uint64_t at), void *context,
		       struct err *e)
{
	int rc = 1;

	for (unsigned i = 0; rc == 1 && i < ANEW_MAX; i++) {
		struct blob *b = NULL;
		if (blob_begin(s, &d->digest, &b, e) < 0)
			return -1;
		if (!b)
			return 0;
		const bool is_resumed = blob_at(b) > 0;
		rc = registry_blob(r, d, b, news, context, e) < 0 ? -1
								  : commit(r, d, b, e);
		blob_done(b);
		/* If a part of the bytes was from an earlier download, that part may be
		 * the wrong one, so the same host is asked again; else the next host is
		 * asked. */
		if (rc == 1 && !is_resumed && !registry_next(r))
			return -1;
	}
	return rc ? -1 : 0;
}

static int unpack(const struct fetcher *w, struct err *e)
{
	const struct pull_workers_job *job = &w->workers->jobs[w->job];
	const struct store *s = w->workers->store;
	struct layer_about about;
	struct digest is;
	AUTO_CLOSE int blob = blobs_open(s, &job->blob.digest, e);

	if (blob < 0)
		return -1;
	if (layers_unpack(s, blob, &job->diff_id, NULL, &is, &about, e) == 0)
		return 0;
	if (quota_no_room(e))
		(void)err_remedy(e, QUOTA_REMEDY_GOES_ON);
	return -1;
}

static int do_job(struct fetcher *w)
{
	const struct pull_workers *c = w->workers;
	const struct descriptor *d = &c->jobs[w->job].blob;
	struct news news = { .what = NEWS_FETCHED, .job = w->job, .at = d->size };
	struct layer_about about;

	if (pull_workers_fetch(c->store, c->registry, d, tell_at, w, &news.error) < 0)
		news.what = NEWS_FAILED;
	tell(w, &news);
	if (news.what == NEWS_FAILED)
		return -1;
	news.what = NEWS_UNPACKED;
	if (!layers_has(c->store, &c->jobs[w->job].diff_id, &about) &&
	    unpack(w, &news.error) < 0)
		news.what = NEWS_FAILED;
	tell(w, &news);
	return news.what == NEWS_FAILED ? -1 : 0;
}

static _Noreturn void work(struct pull_workers *c)
{
	struct fetcher w = { .workers = c };

	/* The worker dies with its parent, even if that is SIGKILLed. 
	 * Downloaded bytes stay in the store. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != c->parent)
		_exit(1);
	(void)sigprocmask(SIG_SETMASK, &c->before, NULL);
	own_close(&c->from);
	own_close(&c->signals);
	registry_reconnect(c->registry);
	while ((w.job = atomic_fetch_add(c->next, 1)) < c->count)
		if (do_job(&w) < 0)
			_exit(1);
	_exit(0);
}

/* --- the parent of the workers --------------------------------------------------- */

static void dismiss(struct pull_workers *c)
{
	for (size_t i = 0; i < PULL_WORKERS_MAX; i++)
		if (c->pids[i] > 0)
			(void)kill(c->pids[i],
				   SIGKILL); /* the worker is our child and not yet
					      * waited for, so no other process has its
					      * pid */
}

/* Waits for all workers.  Returns the wait(2) status of the first one that failed, or
 * 0. */
static int reap(struct pull_workers *c)
{
	int bad = 0;

	for (size_t i = 0; i < PULL_WORKERS_MAX; i++) {
		if (c->pids[i] <= 0)
			continue;
		const int status = worker_reap(c->pids[i]);
		c->pids[i] = 0;
		if (!bad)
			bad = status;
	}
	return bad;
}

/* Ends this process by the same signal that it received, so that its parent sees that
 * signal. */
static void end_by_signal(struct pull_workers *c, struct progress *p)
{
	struct signalfd_siginfo info;

	if (read(c->signals, &info, sizeof(info)) != sizeof(info))
		return;
	dismiss(c);
	(void)reap(c);
	progress_end(p);
	(void)signal((int)info.ssi_signo, SIG_DFL);
	(void)raise((int)info.ssi_signo);
	(void)sigprocmask(SIG_SETMASK, &c->before, NULL);
}

/* Reads the workers' reports.  Returns 1 if more reports may come, 0 if all workers
 * have ended. */
static int take_news(const struct pull_workers *c, struct progress *p, int64_t now,
		     struct err *e)
{
	struct news news;
	ssize_t len = read(c->from, &news, sizeof(news));

	if (len < 0 && errno == EINTR)
		return 1;
	if (len == 0)
		return 0;
	if (len != sizeof(news) || news.job >= c->count)
		return err_set(e, ERR_INTERNAL,
			       "a worker sent an invalid report");
	if (news.what == NEWS_AT)
		progress_at(p, news.job, news.at, now);
	else if (news.what == NEWS_FETCHED)
		progress_fetched(p, news.job, news.at, now);
	else if (news.what == NEWS_UNPACKED)
		progress_unpacked(p, news.job, now);
	if (news.what != NEWS_FAILED)
		return 1;
	err_sanitize(&news.error);
	*e = news.error;
	return -1;
}

static int supervise(struct pull_workers *c, struct progress *p, struct err *e)
{
	struct pollfd w[] = { { .fd = c->signals, .events = POLLIN },
			      { .fd = c->from, .events = POLLIN } };
	int more = 1;

	while (more > 0) {
		const int ready = poll(w, ARRAY_LEN(w), -1);
		const int64_t now = clock_ms();
		if (ready < 0 && errno != EINTR)
			return err_sys(e, "wait for layers");
		if (w[0].revents & POLLIN)
			end_by_signal(c, p);
		if (w[1].revents)
			more = take_news(c, p, now, e);
	}
	return more;
}

static int start(struct pull_workers *c, struct err *e)
{
	c->parent = getpid();
	for (size_t i = 0; i < PULL_WORKERS_MAX && i < c->count; i++) {
		c->pids[i] = fork();
		if (c->pids[i] == 0)
			work(c);
		if (c->pids[i] < 0)
			return err_sys(e, "fork, to get a layer");
	}
	/* Close our copy of the writing end, too: the pipe ends only when all copies
	 * are closed. */
	own_close(&c->to);
	return 0;
}

static int open_workers(struct pull_workers *c, struct err *e)
{
	int ends[2];
	sigset_t ending;

	(void)sigemptyset(&ending);
	(void)sigaddset(&ending, SIGINT);
	(void)sigaddset(&ending, SIGTERM);
	(void)sigaddset(&ending, SIGHUP);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	c->from = ends[0];
	c->to = ends[1];
	c->next = mmap(NULL, sizeof(*c->next), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->next == MAP_FAILED)
		return err_sys(e, "map memory");
	c->signals = signalfd(-1, &ending, SFD_CLOEXEC);
	if (c->signals < 0)
		return err_sys(e, "make a signalfd");
	return sigprocmask(SIG_BLOCK, &ending, &c->before) < 0 ?
		       err_sys(e, "block signals") :
		       0;
}

static void close_workers(struct pull_workers *c)
{
	own_close(&c->from);
	own_close(&c->to);
	if (c->next != MAP_FAILED)
		(void)munmap((void *)c->next, sizeof(*c->next));
	if (c->signals >= 0)
		(void)sigprocmask(SIG_SETMASK, &c->before, NULL);
	own_close(&c->signals);
}

int pull_workers_run(const struct store *s, struct registry *r,
		     const struct pull_workers_job *jobs, size_t count,
		     struct progress *p, struct err *e)
{
	struct pull_workers c = { .store = s,
			  .registry = r,
			  .jobs = jobs,
			  .count = count,
			  .from = -1,
			  .to = -1,
			  .signals = -1,
			  .next = MAP_FAILED };

	if (!count)
		return 0;
	int rc = open_workers(&c, e);
	if (rc == 0)
		rc = start(&c, e);
	if (rc == 0)
		rc = supervise(&c, p, e);
	if (rc < 0)
		dismiss(&c);
	int bad = reap(&c);
	close_workers(&c);
	if (rc == 0 && (bad || p->done != count))
		return err_set(e, ERR_SYSTEM,
			       "the process that fetched a layer ended without a report, "
			       "with %s %d",
			       WIFSIGNALED(bad) ? "signal" : "code",
			       WIFSIGNALED(bad) ? WTERMSIG(bad) : WEXITSTATUS(bad));
	return rc;
}
