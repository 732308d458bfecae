/* hutch-supervise: a sandbox with a name, and the process that sees to it.  `hutch
 * create` runs it, and `hutch fork`, as hutch-fork; it returns when the sandbox is ready, and leaves this process in
 * the background.  See docs/hutch-create.md. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/quote.h"
#include "policy/policy.h"
#include "sandbox/act/heap.h"
#include "sandbox/cli/options.h"
#include "sandbox/cli/report.h"
#include "sandbox/control/supervisor.h"
#include "sandbox/identity.h"
#include "sandbox/launch.h"
#include "sandbox/program.h"
#include "sandbox/registry.h"
#include "sandbox/result.h"
#include "store/reference.h"

struct order {
	struct policy policy;
	struct run_options options;
	char *from; /* owned; VERB_FORK: a sandbox, or an image */
	char *name; /* owned */
};

static int settle_name(struct order *o, const char *name, struct err *e)
{
	o->name = text_copy(name);
	list_done(&o->policy.argv);
	o->policy.takes_actions = true;
	return registry_check_name(o->name, e);
}

/* Of a fork: FROM and the name. */
static int take_names(struct order *o, struct err *e)
{
	struct list *words = &o->policy.argv;

	if (words->count != 2) {
		(void)err_set(e, ERR_USAGE, "hutch fork takes two names");
		return err_remedy(e, "hutch fork [OPTIONS] SANDBOX|SNAPSHOT NAME");
	}
	o->from = text_copy(words->items[0]);
	o->policy.image = IMAGE_STORE;
	o->policy.image_path = text_copy("localhost/fork"); /* until it is known */
	o->policy.pull = PULL_NEVER;
	AUTO_FREE char *name = text_copy(words->items[1]);
	return settle_name(o, name, e);
}

/* The words that are no flags: one, the name. */
static int take_name(struct order *o, struct err *e)
{
	struct list *words = &o->policy.argv;

	if (o->options.verb == VERB_FORK)
		return take_names(o, e);
	if (words->count != 1) {
		(void)err_set(e, ERR_USAGE, words->count ? "hutch create takes one name, but got "
							   "also '%.60s'"
							 : "hutch create needs a name",
			      words->count ? words->items[1] : "");
		return err_remedy(e, "hutch create [OPTIONS] NAME; commands are for hutch exec");
	}
	return settle_name(o, words->items[0], e);
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
	AUTO_CLOSE int words = fcntl(2, F_DUPFD_CLOEXEC, 3);
	if (words >= 0)
		l->words = words;
	/* Paths that are relative have been resolved. */
	return leave_caller(e) < 0 ? -1 : launch_start(l, e);
}

/* What could not be started. */
static void record_failure(struct launch *l, const struct err *why)
{
	const struct audit_end x = { .reason = "error", .exit_code = EXIT_HUTCH, .error = why,
				     .cgroup = &l->cgroup };

	if (l->audit.has_launch)
		(void)audit_end(&l->audit, &x, NULL); /* who waits is told anyway */
	else
		audit_refused(&l->audit, "launch", why);
}

/* The background process; whoever waits at `ready` is told. */
static void supervise(const struct order *o, int ready)
{
	struct registry_entry entry;
	struct launch l;
	struct err e;

	heap_keep_small();
	launch_init(&l, &o->policy);
	l.verb = o->options.verb == VERB_FORK ? "fork" : "create";
	l.cgroup.waiter = getppid(); /* hutch create, until the sandbox is ready */
	registry_init(&entry);
	if (start(&l, &entry, o->name, &e) < 0) {
		record_failure(&l, &e);
		(void)io_write_all(ready, &e, sizeof(e));
		if (entry.name[0])
			(void)registry_end(&entry, "{\"reason\":\"error\"}", REGISTRY_REMOVE, NULL);
	} else {
		struct supervisor s = {
			.launch = &l, .entry = &entry, .ready = ready, .listener = -1,
			.timeout_ms = (int64_t)o->policy.timeout_ms,
			.ttl_ms = (int64_t)o->options.ttl_ms,
			.idle_ms = (int64_t)o->options.idle_ms,
			.samples.every_ms = (int64_t)o->options.sample_ms,
		};
		supervisor_run(&s);
	}
	launch_done(&l);
	cow_done(&l.cow); /* whoever asks for it settles it */
	registry_done(&entry);
}

/* Waits until the sandbox is ready, or could not be made. */
static int wait_ready(int ready, struct err *e)
{
	if (io_read_full(ready, e, sizeof(*e)) != (ssize_t)sizeof(*e))
		return err_set(e, ERR_INTERNAL, "the supervisor ended before the sandbox was ready");
	return e->kind == ERR_NONE ? 0 : -1;
}

static int create(struct order *o, struct err *e)
{
	int ends[2];

	report_network(&o->policy);
	report_secrets(&o->policy);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0) {
		(void)close(ends[0]);
		/* Who reads the object waits for its end, not for the sandbox's. */
		if (o->options.json_fd > 2)
			own_close(&o->options.json_fd);
		supervise(o, ends[1]);
		_exit(0);
	}
	(void)close(ends[1]);
	return wait_ready(ends[0], e);
}

/* What is not there is told of when it is looked for. */
static void resolve_path(char **at)
{
	char *path = *at ? realpath(*at, NULL) : NULL;

	if (!path)
		return;
	free(*at);
	*at = path;
}

/* The supervisor has another working directory. */
static void resolve_paths(struct policy *p)
{
	resolve_path(&p->cgroup_parent);
	resolve_path(&p->upper);
}

/* As whom images, and other sandboxes, belong to. */
static _Noreturn void become_image(const struct order *o, const char *path, int output)
{
	char program[] = "hutch-image", verb[] = "fork-source", dash[] = "--";
	char *argv[] = { program, verb, dash, o->from, o->name, NULL };
	struct err e;

	if (identity_become_for_images(&e) < 0)
		report_error(&e);
	else if (dup2(output, 1) >= 0)
		(void)execv(path, argv);
	_exit(EXIT_HUTCH);
}

/* What a fork is made of: a snapshot that is taken now, or FROM itself.  -1 without an
 * error: it was told.  That program takes longer to start than a sandbox, so it is not
 * asked where FROM is what no sandbox can be called. */
static int find_source(struct order *o, struct err *e)
{
	AUTO_FREE char *path = NULL, *text = NULL;
	size_t len = 0;
	int ends[2], status;

	if (strpbrk(o->from, "/:")) {
		free(o->policy.image_path);
		o->policy.image_path = text_copy(o->from);
		return 0;
	}
	e->kind = ERR_NONE;
	if (program_find("hutch-image", &path, e) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int output = ends[0];
	pid_t pid = fork();
	if (pid == 0)
		become_image(o, path, ends[1]);
	(void)close(ends[1]);
	if (pid < 0)
		return err_sys(e, "fork");
	int rc = io_read_file(output, "what hutch-image says", REFERENCE_MAX, &text, &len, e);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for hutch-image");
	if (rc < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	free(o->policy.image_path);
	o->policy.image_path = text_copy(text);
	return 0;
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
	return o->options.verb == VERB_FORK ? find_source(o, e) : 0;
}

static int made(const struct order *o)
{
	(void)printf("%s\n", o->name);
	return fflush(stdout) ? EXIT_HUTCH : 0;
}

/* Another program of ours may have said it. */
static int failed(const struct err *e)
{
	if (e->kind != ERR_NONE)
		report_error(e);
	return EXIT_HUTCH;
}

/* --json, behind all else that is said. */
static void report_object(const struct order *o, int code, const struct err *e)
{
	static const struct err told = { .kind = ERR_INTERNAL, .text = "it was told on stderr" };
	static const struct err none = { .kind = ERR_NONE };
	const struct err *why = code == 0 ? &none : e->kind == ERR_NONE ? &told : e;

	if (o->options.json_fd < 0)
		return;
	AUTO_FREE char *name = quote_json(o->name);
	AUTO_FREE char *error = result_error_json(why);
	AUTO_FREE char *line = text_format("{\"version\":1,\"name\":%s,\"error\":%s}\n", name, error);
	/* Who asked may have gone away. */
	(void)io_write_all(o->options.json_fd, line, strlen(line));
}

int main(int argc, char **argv)
{
	struct order o = { .options = { .verb = VERB_CREATE, .json_fd = -1 } };
	struct err e = { .kind = ERR_NONE };
	int code;

	if (argc > 0 && !strcmp(argv[0], "hutch-fork"))
		o.options.verb = VERB_FORK;
	if (io_fill_standard() < 0)
		return EXIT_HUTCH;
	o.options.policy = &o.policy;
	launch_ready();
	policy_init(&o.policy);
	if (parse(argv + 1, &o, &e) < 0) {
		code = failed(&e);
	} else if (o.options.wants_help) {
		options_print_help(o.options.verb), code = 0;
	} else {
		/* Not before: --secret-file <(...) is one of the caller's. */
		launch_close_others(o.options.json_fd);
		code = create(&o, &e) < 0 ? failed(&e) : made(&o);
	}
	if (!o.options.wants_help)
		report_object(&o, code, &e);
	free(o.from);
	free(o.name);
	policy_done(&o.policy);
	return code;
}
