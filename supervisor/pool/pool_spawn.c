#include "supervisor/pool/pool_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/json_view.h"
#include "sandbox/launch/result.h"

/* The numbers that the descriptors get in the child, after the standard three. */
#define LEASE_FD 3
#define SAYS_FD	 4
#define READS_FD 5 /* no option names this descriptor, so hutch create closes it */
/* Our descriptors are first moved to numbers from here on, so that dup2(2) to the
 * numbers above closes none of them. */
#define FIRST_FREE 10

void pool_spawn_init(struct pool_spawn *m)
{
	*m = (struct pool_spawn){ .says = -1, .lease = -1, .reads = -1 };
}

void pool_spawn_done(struct pool_spawn *m)
{
	own_close(&m->says);
	own_close(&m->lease);
	pool_spawn_go_on(m);
	m->pid = 0;
	m->len = 0;
}

/* --- start ------------------------------------------------------------------- */

static int new_name(struct pool_spawn *m, const char *pool, struct err *e)
{
	unsigned random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, "getrandom");
	(void)snprintf(m->name, sizeof(m->name), "%s-%08x", pool, random);
	return 0;
}

static void plan_words(struct list *argv, const struct pool_spawn *m,
		       const struct list *words)
{
	list_add(argv, "hutch-supervise");
	list_addf(argv, "--lease=%d", LEASE_FD);
	list_addf(argv, "--json=%d", SAYS_FD);
	for (size_t i = 0; i < words->count; i++)
		list_add(argv, words->items[i]);
	list_add(argv, m->name);
}

/* The child's ends of the pipes and the socket. */
struct ends {
	int lease, says, reads; /* owned; the ends of the lease's socket and of the two
				 * pipes */
};

static void close_ends(struct ends *x)
{
	own_close(&x->lease);
	own_close(&x->says);
	own_close(&x->reads);
}

/* Executes hutch create, in the child.  Its descriptors 0 to 2 are /dev/null, as the
 * keeper's are. */
static _Noreturn void become(const struct pool_spawn_plan *plan, char **argv,
			     const struct ends *x)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL); /* exec would keep the keeper's setting, which
					 * ignores SIGPIPE */
	(void)setrlimit(RLIMIT_NOFILE, &plan->files); /* the limit that the keeper had
						       * before it raised its own */
	/* A child that hangs in a file system would not notice the keeper's end, so the
	 * kernel kills it then. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(x->lease, LEASE_FD) == LEASE_FD && dup2(x->says, SAYS_FD) == SAYS_FD &&
	    dup2(x->reads, READS_FD) == READS_FD)
		(void)execv(plan->program, argv);
	_exit(EXIT_HUTCH);
}

static int move_up(int *fd)
{
	int higher = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE);

	own_close(fd);
	*fd = higher;
	return higher;
}

static int make_pipe(int *ret_ours, int *ret_theirs, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(e, "make a pipe for a sandbox");
	*ret_ours = ends[0];
	*ret_theirs = ends[1];
	return 0;
}

static int make_ends(struct pool_spawn *m, struct ends *x, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "make a socket for a sandbox");
	m->lease = pair[0];
	x->lease = pair[1];
	if (make_pipe(&m->says, &x->says, e) < 0 ||
	    make_pipe(&m->reads, &x->reads, e) < 0)
		return -1;
	if (move_up(&x->lease) < 0 || move_up(&x->says) < 0 || move_up(&x->reads) < 0)
		return err_sys(e, "copy a descriptor");
	return 0;
}

static int start(struct pool_spawn *m, const struct pool_spawn_plan *plan, struct ends *x,
		 int64_t now, struct err *e)
{
	struct list argv = { 0 };

	if (new_name(m, plan->pool, e) < 0 || make_ends(m, x, e) < 0)
		return -1;
	plan_words(&argv, m, plan->words);
	m->due_ms = now + POOL_SPAWN_READS_MS;
	m->pid = fork();
	if (m->pid == 0)
		become(plan, argv.items, x);
	list_done(&argv);
	return m->pid < 0 ? err_sys(e, "fork") : 0;
}

int pool_spawn_start(struct pool_spawn *m, const struct pool_spawn_plan *plan,
		     int64_t now, struct err *e)
{
	struct ends x = { -1, -1, -1 };

	pool_spawn_init(m);
	int result = start(m, plan, &x, now, e);
	close_ends(&x);
	if (result < 0)
		pool_spawn_done(m);
	return result;
}

/* --- while it reads its words --------------------------------------------------- */

void pool_spawn_go_on(struct pool_spawn *m)
{
	own_close(&m->reads);
	m->due_ms = 0;
}

void pool_spawn_kill(const struct pool_spawn *m)
{
	if (m->reads >= 0 && m->pid > 0)
		(void)kill(m->pid, SIGKILL); /* a child that was not waited for keeps
					      * its pid, so this hits no other process */
}

int pool_spawn_late(struct err *e)
{
	(void)err_set(e, ERR_LIMIT,
		      "hutch create was still reading its options after %d s",
		      POOL_SPAWN_READS_MS / 1000);
	return err_remedy(
		e,
		"a file that they name may be a FIFO that no process writes to, or "
		"on a server that does not answer: --env-file, --secret-file, --policy");
}

void pool_spawn_reaped(struct pool_spawn *m, pid_t pid)
{
	if (m->pid == pid)
		m->pid = 0;
}

/* --- end --------------------------------------------------------------------- */

bool pool_spawn_read(struct pool_spawn *m)
{
	const size_t room = sizeof(m->said) - m->len;
	ssize_t n = read(m->says, m->said + m->len, room);

	if (n < 0)
		return errno != EAGAIN && errno != EINTR;
	m->len += (size_t)n;
	return n == 0 || m->len == sizeof(m->said);
}

/* Returns the err_kind with that name; ERR_INTERNAL if there is none. */
static enum err_kind kind_of(struct json_view word)
{
	for (int k = ERR_NONE + 1; k < ERR_KIND_COUNT; k++)
		if (json_view_is(word, err_kind_name(k)))
			return (enum err_kind)k;
	return ERR_INTERNAL;
}

int pool_spawn_judge(const struct pool_spawn *m, struct err *e)
{
	struct json_view object;
	const size_t len = m->len && m->said[m->len - 1] == '\n' ? m->len - 1 : m->len;

	if (json_view_scan(&object, m->said, len, NULL) < 0)
		return err_set(e, ERR_INTERNAL,
			       "hutch create was killed before it had made "
			       "sandbox '%s'",
			       m->name);
	const struct json_view error = json_view_get(object, "error");
	if (json_view_type(error) == JSON_NULL)
		return 0;
	AUTO_FREE char *message = json_view_string(json_view_get(error, "message"));
	AUTO_FREE char *remedy = json_view_string(json_view_get(error, "remedy"));
	(void)err_set(e, kind_of(json_view_get(error, "kind")), "%s",
		      message ? message : "an error");
	return remedy ? err_remedy(e, "%s", remedy) : -1;
}
