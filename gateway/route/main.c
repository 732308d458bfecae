/* hutch-route: leads requests to the pods that run hutch serve (docs/hutch-route.md).
 *
 * The process that was started becomes the connector (connector.h), and its child the
 * front (front.h), which reads what clients send. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "gateway/listen.h"
#include "gateway/route/connector.h"
#include "gateway/route/connector_confine.h"
#include "gateway/route/front.h"
#include "gateway/route/pods.h"
#include "gateway/serve_confine.h"
#include "policy/units.h"
#include "sandbox/launch/result.h"

#define DEFAULT_LISTEN	    "127.0.0.1:7480"
#define DEFAULT_CONNECTIONS 1000
#define DEFAULT_WAIT_MS	    30000

struct words {
	const char *listen, *metrics, *service, *connections, *wait;
	struct list pods;
};

static int read_flags(char **argv, struct words *w)
{
	const struct flag flags[] = {
		{ 0, "pod", "NAME[=ADDRESS:PORT]...", "a pod; NAME-A..B: several", NULL,
		  &w->pods },
		{ 0, "service", "HOST:PORT", "pods are at NAME.HOST:PORT", NULL,
		  &w->service },
		{ 0, "listen", "ADDRESS:PORT", "where to listen (" DEFAULT_LISTEN ")",
		  NULL, &w->listen },
		{ 0, "metrics", "ADDRESS:PORT", "where to answer /metrics", NULL,
		  &w->metrics },
		{ 0, "wait", "DURATION", "how long a request waits for its pod (30s)",
		  NULL, &w->wait },
		{ 0, "connections", "N", "the most at once (1000)", NULL,
		  &w->connections },
		FLAG_QUIET,
	};
	const struct usage usage = {
		.synopsis = "hutch route --pod NAME... [OPTIONS]",
		.about =
			"Leads requests to several servers of hutch serve --pod, by the id of\n"
			"the sandbox; new sandboxes go to the one with room.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 0,
		.operands_max = 0,
	};
	const enum flags_result got = flags_begin(argv, &usage);

	return got == FLAGS_READ ? -1 : got == FLAGS_HELP ? 0 : EXIT_HUTCH;
}

static int read_pods(const struct words *w, struct pods *pods, struct err *e)
{
	if (w->service && pods_check_service(w->service, e) < 0)
		return err_in(e, "--service");
	for (size_t i = 0; i < w->pods.count; i++)
		if (pods_add(pods, w->pods.items[i], w->service, e) < 0)
			return err_in(e, "--pod");
	if (pods->count > 0)
		return 0;
	(void)err_set(e, ERR_USAGE, "no pod is named");
	return err_remedy(e, "hutch route --service hutch-pods:7478 --pod hutch-0..2");
}

static int check(const struct words *w, struct pods *pods, struct front *f, struct err *e)
{
	uint64_t most = DEFAULT_CONNECTIONS, wait = DEFAULT_WAIT_MS;

	if (w->connections && (units_parse_number(w->connections, &most, e) < 0 ||
			       most < 1 || most > 100000))
		return err_set(e, ERR_USAGE,
			       "--connections takes 1 to 100000, not '%.60s'",
			       w->connections);
	if (w->wait && units_parse_duration(w->wait, &wait, e) < 0)
		return err_in(e, "--wait");
	f->connections = (unsigned)most;
	f->wait_ms = wait < INT32_MAX ? (int64_t)wait : INT32_MAX;
	f->pods = pods;
	return read_pods(w, pods, e);
}

/* --- the two processes ---------------------------------------------------------- */

struct ends {
	int link[2];	/* the front's, and the connector's */
	int fds[2];	/* for clients, for --metrics; -1: none */
	char *names[2]; /* owned: their addresses */
};

static int open_all(const struct words *w, struct ends *x, struct err *e)
{
	x->fds[0] = listen_tcp("--listen", w->listen ? w->listen : DEFAULT_LISTEN,
			       &x->names[0], e);
	if (x->fds[0] < 0)
		return -1;
	if (w->metrics &&
	    (x->fds[1] = listen_tcp("--metrics", w->metrics, &x->names[1], e)) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, x->link) < 0)
		return err_sys(e, "socketpair");
	return 0;
}

static int front(struct front *f, const struct ends *x, pid_t parent)
{
	const int keep[] = { x->link[0], x->fds[0], x->fds[1] };
	struct err e;

	(void)signal(SIGINT, SIG_IGN); /* the connector tells when to stop */
	(void)signal(SIGTERM, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return EXIT_HUTCH;
	if (serve_confine(keep, ARRAY_LEN(keep), &e) == 0 &&
	    front_run(f, x->fds, x->link[0], &e) == 0)
		return 0;
	report_error(&e);
	return EXIT_HUTCH;
}

/* A request has up to two descriptors, and a login's limit is lower.  Clients that took
 * all descriptors would leave none for their pods. */
static void raise_files(struct front *f)
{
	const rlim_t want = 2 * (rlim_t)f->connections + 4096, own = 64;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	const rlim_t before = limit.rlim_cur;
	limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		limit.rlim_cur = before;
	const rlim_t room = limit.rlim_cur > own + 2 ? (limit.rlim_cur - own) / 2 : 1;
	if (room >= f->connections)
		return;
	note_print(
		"the router takes at most %u connections at once, not %u: the limit of open "
		"files (ulimit -Hn) is %llu",
		(unsigned)room, f->connections, (unsigned long long)limit.rlim_cur);
	f->connections = (unsigned)room;
}

static int run(struct front *f, struct ends *x, struct err *e)
{
	const pid_t parent = getpid();
	int status = 0;

	(void)signal(SIGPIPE, SIG_IGN);
	raise_files(f);
	const pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0)
		_exit(front(f, x, parent));
	own_close(&x->link[0]);
	own_close(&x->fds[0]);
	own_close(&x->fds[1]);
	if (connector_confine(e) < 0)
		return -1;
	(void)printf("http://%s\n", x->names[0]);
	if (x->names[1])
		(void)printf("metrics: http://%s\n", x->names[1]);
	(void)fflush(stdout);
	const int rc = connector_run(f->pods, x->link[1], e);
	own_close(&x->link[1]); /* the front ends by that */
	if (rc == 0 && waitpid(pid, &status, 0) == pid)
		return WIFEXITED(status) ? WEXITSTATUS(status)
					 : err_set(e, ERR_INTERNAL,
						   "the front was ended by signal %d",
						   WTERMSIG(status));
	return rc;
}

int main(int argc, char **argv)
{
	struct ends x = { .link = { -1, -1 }, .fds = { -1, -1 } };
	struct words w = { 0 };
	struct pods pods = { 0 };
	struct err e;
	AUTO_FREE struct front *f = calloc(1, sizeof(*f));

	(void)argc;
	if (!f || io_fill_standard() < 0)
		return EXIT_HUTCH;
	report_begin();
	const int code = read_flags(argv + 1, &w);
	if (code >= 0)
		return report_exit(code);
	int rc = check(&w, &pods, f, &e);
	if (rc == 0)
		rc = open_all(&w, &x, &e);
	if (rc == 0)
		rc = run(f, &x, &e);
	pods_done(&pods);
	list_done(&w.pods);
	if (rc >= 0)
		return report_exit(rc);
	report_error(&e);
	return EXIT_HUTCH;
}
