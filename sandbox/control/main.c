/* hutch-supervise: a sandbox with a name, and the process that sees to it.  `hutch
 * create` runs it; it returns when the sandbox is ready, and leaves this process in
 * the background.  See docs/hutch-create.md. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/act/heap.h"
#include "sandbox/cli/options.h"
#include "sandbox/cli/report.h"
#include "sandbox/control/supervisor.h"
#include "sandbox/launch.h"
#include "sandbox/registry.h"
#include "sandbox/result.h"

struct order {
	struct policy policy;
	struct run_options options;
	char *name; /* owned */
};

/* The words that are no flags: one, the name. */
static int take_name(struct order *o, struct err *e)
{
	struct list *words = &o->policy.argv;

	if (words->count != 1) {
		(void)err_set(e, ERR_USAGE, words->count ? "hutch create takes one name, but got "
							   "also '%.60s'"
							 : "hutch create needs a name",
			      words->count ? words->items[1] : "");
		return err_remedy(e, "hutch create [OPTIONS] NAME; commands are for hutch exec");
	}
	o->name = text_copy(words->items[0]);
	list_done(words);
	o->policy.takes_actions = true;
	return registry_check_name(o->name, e);
}

/* Nothing of the caller's terminal, session or folder is held. */
static int leave_caller(struct err *e)
{
	AUTO_CLOSE int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0)
		return err_sys(e, "open /dev/null");
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(nothing, fd) < 0)
			return err_sys(e, "dup2");
	if (setsid() < 0)
		return err_sys(e, "setsid");
	if (chdir("/") < 0)
		return err_sys(e, "chdir /");
	(void)prctl(PR_SET_NAME, "hutch");
	return 0;
}

static int start(struct launch *l, struct registry_entry *entry, const char *name,
		 struct err *e)
{
	if (launch_prepare(l, false, e) < 0 || registry_create(name, entry, e) < 0)
		return -1;
	l->entry = entry;
	/* Paths that are relative have been resolved. */
	return leave_caller(e) < 0 ? -1 : launch_start(l, e);
}

/* The background process; whoever waits at `ready` is told. */
static void supervise(const struct order *o, int ready)
{
	struct registry_entry entry;
	struct launch l;
	struct err e;

	heap_keep_small();
	launch_init(&l, &o->policy);
	l.cgroup.waiter = getppid(); /* hutch create, until the sandbox is ready */
	registry_init(&entry);
	if (start(&l, &entry, o->name, &e) < 0) {
		(void)io_write_all(ready, &e, sizeof(e));
		if (entry.name[0])
			(void)registry_end(&entry, "{\"reason\":\"error\"}", REGISTRY_REMOVE, NULL);
	} else {
		struct supervisor s = {
			.launch = &l, .entry = &entry, .ready = ready, .listener = -1,
			.timeout_ms = (int64_t)o->policy.timeout_ms,
			.ttl_ms = (int64_t)o->options.ttl_ms,
			.idle_ms = (int64_t)o->options.idle_ms,
		};
		supervisor_run(&s);
	}
	launch_done(&l);
	registry_done(&entry);
}

/* Waits until the sandbox is ready, or could not be made. */
static int wait_ready(int ready, const char *name)
{
	struct err e;
	ssize_t n = io_read_full(ready, &e, sizeof(e));

	if (n != (ssize_t)sizeof(e))
		(void)err_set(&e, ERR_INTERNAL, "the supervisor ended before the sandbox was ready");
	if (e.kind != ERR_NONE) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	(void)printf("%s\n", name);
	return fflush(stdout) ? EXIT_HUTCH : 0;
}

static int create(const struct order *o)
{
	struct err e;
	int ends[2];

	report_network(&o->policy);
	report_secrets(&o->policy);
	if (pipe2(ends, O_CLOEXEC) < 0) {
		(void)err_sys(&e, "pipe");
		report_error(&e);
		return EXIT_HUTCH;
	}
	pid_t pid = fork();
	if (pid < 0) {
		(void)err_sys(&e, "fork");
		report_error(&e);
		return EXIT_HUTCH;
	}
	if (pid == 0) {
		(void)close(ends[0]);
		supervise(o, ends[1]);
		_exit(0);
	}
	(void)close(ends[1]);
	return wait_ready(ends[0], o->name);
}

/* The supervisor has another working directory.  What is not there is told of when it
 * is looked for. */
static void resolve_paths(struct policy *p)
{
	char *path = p->cgroup_parent ? realpath(p->cgroup_parent, NULL) : NULL;

	if (!path)
		return;
	free(p->cgroup_parent);
	p->cgroup_parent = path;
}

static int parse(char **argv, struct order *o, struct err *e)
{
	if (options_parse(argv, &o->options, e) < 0)
		return -1;
	if (o->options.wants_help)
		return 0;
	if (take_name(o, e) < 0 || policy_check(&o->policy, e) < 0)
		return -1;
	resolve_paths(&o->policy);
	return 0;
}

int main(int argc, char **argv)
{
	struct order o = { .options = { .verb = VERB_CREATE, .json_fd = -1 } };
	struct err e;
	int code = EXIT_HUTCH;

	(void)argc;
	if (io_fill_standard() < 0)
		return EXIT_HUTCH;
	o.options.policy = &o.policy;
	launch_ready();
	policy_init(&o.policy);
	if (parse(argv + 1, &o, &e) < 0)
		report_error(&e);
	else if (o.options.wants_help)
		options_print_help(VERB_CREATE), code = 0;
	else {
		/* Not before: --secret-file <(...) is one of the caller's. */
		launch_close_others(-1);
		code = create(&o);
	}
	free(o.name);
	policy_done(&o.policy);
	return code;
}
