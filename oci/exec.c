#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "oci/args.h"
#include "oci/cgroups_v1.h"
#include "oci/config.h"
#include "oci/console.h"
#include "oci/fields.h"
#include "oci/filter.h"
#include "oci/identity.h"
#include "oci/init.h"
#include "oci/link.h"
#include "oci/spaces.h"
#include "oci/verbs.h"
#include "policy/json/json.h"
#include "sandbox/kernel/caps.h"

struct exec_flags {
	const char *process, *console, *pid_file, *cwd, *user, *preserve, *apparmor,
		*label, *cgroup;
	struct list env, caps; /* owned */
	bool is_detached, has_terminal, no_new_privs, ignores_pause;
};

/* An execution in progress. */
struct execution {
	const struct exec_flags *flags;
	struct state state;
	struct config config; /* the container's; its process is replaced */
	char *text;	      /* owned: the file of --process */
	struct json *doc;     /* owned */
	struct filter filter;
	struct preserved preserved;
	int link, inner, console, master; /* owned */
	pid_t pid;
};

static void execution_done(struct execution *x)
{
	own_close(&x->link);
	own_close(&x->inner);
	own_close(&x->console);
	own_close(&x->master);
	filter_done(&x->filter);
	config_done(&x->config);
	json_free(x->doc);
	free(x->text);
	state_done(&x->state);
}

/* Reads the process of --process. */
static int read_process(struct execution *x, struct err *e)
{
	struct json_at root;
	size_t len;

	AUTO_CLOSE int fd = open(x->flags->process, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open --process %s", x->flags->process);
	if (io_read_file(fd, x->flags->process, FIELDS_FILE_MAX, &x->text, &len, e))
		return -1;
	x->doc = json_parse_wide(x->text, len, e);
	if (!x->doc)
		return err_in(e, "%s", x->flags->process);
	json_root(x->doc, "process", &root);
	const bool keeps_groups = x->config.process.keeps_groups;
	process_done(&x->config.process);
	const int rc = process_read(&root, &x->config.process, e);
	x->config.process.keeps_groups = keeps_groups;
	return rc;
}

/* "UID[:GID]" */
static int set_user(struct process *p, const char *text, struct err *e)
{
	char *end;

	p->uid = (uint32_t)strtoul(text, &end, 10);
	if (*end == ':' && end != text)
		p->gid = (uint32_t)strtoul(end + 1, &end, 10);
	return *end || end == text
		       ? err_set(e, ERR_USAGE, "--user '%.64s': UID[:GID] was expected",
				 text)
		       : 0;
}

/* Adds the capabilities of --cap.  `create` has warned of those that the bundle names. */
static void add_caps(struct execution *x)
{
	const struct list *names = &x->flags->caps;
	struct process *p = &x->config.process;

	p->unknown_cap = NULL;
	for (size_t i = 0; i < names->count; i++) {
		const int number = caps_parse(names->items[i], NULL);
		const uint64_t cap = number < 0 ? 0 : 1ull << number;
		p->caps[CAPS_BOUNDING] |= cap;
		p->caps[CAPS_EFFECTIVE] |= cap;
		p->caps[CAPS_PERMITTED] |= cap;
		p->has_caps = true;
		if (number < 0)
			p->unknown_cap = names->items[i];
	}
}

/* Makes the process from the container's own and the flags. */
static int adapt_process(struct execution *x, char **words, struct err *e)
{
	struct process *p = &x->config.process;
	const struct exec_flags *f = x->flags;

	if (!x->config.has_process)
		return err_set(e, ERR_USAGE, "config.json has no process; use --process");
	list_done(&p->args);
	for (; *words; words++)
		list_add(&p->args, *words);
	for (size_t i = 0; i < f->env.count; i++)
		list_set_env(&p->env, f->env.items[i]);
	add_caps(x);
	p->has_terminal = f->has_terminal;
	p->no_new_privs = p->no_new_privs || f->no_new_privs;
	p->cwd = f->cwd ? f->cwd : p->cwd;
	p->apparmor = f->apparmor ? f->apparmor : p->apparmor;
	p->selinux = f->label ? f->label : p->selinux;
	p->has_oom_score = false;
	return f->user ? set_user(p, f->user, e) : 0;
}

static int check_status(const struct execution *x, struct err *e)
{
	const enum state_status status = state_status(&x->state);

	if (status == STATE_PAUSED && !x->flags->ignores_pause)
		return err_set(e, ERR_BUSY, "cannot exec in container '%s': it is paused",
			       x->state.id);
	return status == STATE_STOPPED || status == STATE_CREATING
		       ? err_set(e, ERR_GONE,
				 "cannot exec: container not running: '%s' is %s",
				 x->state.id, state_word(status))
		       : 0;
}

static int prepare(struct execution *x, const struct globals *g, char **words,
		   struct err *e)
{
	const struct exec_flags *f = x->flags;

	if (state_open(g->root, words[0], &x->state, e) || check_status(x, e))
		return -1;
	AUTO_FREE char *path = state_config_path(&x->state);
	if (config_read(path, x->state.bundle, &x->config, e) ||
	    (f->process ? read_process(x, e) : adapt_process(x, words + 1, e)))
		return -1;
	const bool has_terminal = x->config.process.has_terminal;
	if (has_terminal && f->is_detached && !f->console)
		return err_set(e, ERR_USAGE, "a terminal takes --console-socket");
	if (filter_obtain(&x->config, &x->filter, e) ||
	    create_preserved(g, f->preserve, &x->preserved, e))
		return -1;
	process_warn(&x->config.process);
	if (has_terminal && f->console) {
		x->console = console_connect(f->console, e);
		return x->console < 0 ? -1 : 0;
	}
	return 0;
}

/* --- the process ------------------------------------------------------------------------ */

static int set_terminal(struct execution *x, struct err *e)
{
	const struct process *p = &x->config.process;
	struct console c = { -1, -1 };

	if (!p->has_terminal)
		return 0;
	int rc = console_make(&c, p->rows, p->cols, p->uid, e);
	if (!rc)
		rc = x->console >= 0 ? console_send(x->console, c.master, e)
				     : link_send(x->inner, LINK_TERMINAL, 0, c.master, e);
	rc = rc || console_take(&c, e);
	console_done(&c);
	return rc ? -1 : 0;
}

static int become(struct execution *x, struct err *e)
{
	struct process *p = &x->config.process;
	struct link_message m;
	AUTO_FREE char *path = NULL;

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* can't fail */
	if (init_enter_cgroups(x->inner, &m, e) || spaces_become_root(&x->config, e))
		return -1;
	(void)setsid(); /* fails only for the leader of a session, which is as good */
	if (set_terminal(x, e))
		return -1;
	if (chdir(p->cwd) && errno != EACCES)
		return err_sys(e, "chdir to process.cwd '%s'", p->cwd);
	identity_add_home(p);
	if (identity_find(p, &path, e))
		return -1;
	init_keep_fds(&x->preserved);
	if (identity_take(p, &x->filter, x->inner, e))
		return -1;
	return identity_execute(p, path, e);
}

_Noreturn static void run_process(struct execution *x)
{
	struct err e = { 0 };

	/* A folder of the host's is nothing for a process in a container. */
	own_close(&x->link);
	own_close(&x->state.folder);
	(void)become(x, &e); /* returns only with an error */
	link_send_error(x->inner, &e);
	_exit(1);
}

static int send_entry(int entry, void *arg, struct err *e)
{
	const struct execution *x = arg;

	return link_send(x->link, LINK_CGROUP, 0, entry, e);
}

static int enter_v2(const struct execution *x, struct err *e)
{
	const struct state *s = &x->state;

	if (x->flags->cgroup)
		return cgroups_join_below(s->cgroup, x->flags->cgroup, x->pid, e);
	return s->cgroup && cgroups_is_v2(s->cgroup)
		       ? cgroups_follow(s->cgroup, s->pid, x->pid, e)
		       : 0;
}

/* The process enters cgroups of v1 by itself: those of the container and, where there are
 * such, those of --cgroup below them.  A cgroup in the freezer of v1 is among them. */
static int enter_cgroups(struct execution *x, struct err *e)
{
	const char *v1 = x->state.v1, *below = x->flags->cgroup;

	if (enter_v2(x, e) || (v1 && cgroups_v1_open_each(v1, send_entry, x, e)))
		return -1;
	AUTO_FREE char *path =
		v1 && below ? text_format("%s/%s", v1, below + strspn(below, "/")) : NULL;
	return path ? cgroups_v1_open_each(path, send_entry, x, e) : 0;
}

/* Answers the process until it has executed the command. */
static int converse(struct execution *x, struct err *e)
{
	struct link_message m = { 0 };
	int fd = -1;

	if (enter_cgroups(x, e) || link_send(x->link, LINK_GO, (int)x->pid, -1, e))
		return -1;
	do {
		int rc = link_receive(x->link, &m, &fd, e);
		if (!rc && m.kind == LINK_TERMINAL)
			x->master = fd_take(&fd);
		if (!rc && m.kind == LINK_LISTENER)
			rc = filter_hand_on(&x->filter, fd, &x->state, (int)x->pid, e);
		own_close(&fd);
		if (rc)
			return -1;
	} while (m.kind != LINK_NONE);
	return create_pid_file(x->flags->pid_file, x->pid, e);
}

/* Runs in a process outside of the container, whose own file in /proc it may open. */
static int prepare_to_enter(void *arg, struct err *e)
{
	const struct execution *x = arg;

	/* The container's process is open by now: another one with its pid is not it. */
	if (state_birth(x->state.pid) != x->state.born)
		return err_set(e, ERR_GONE, "cannot exec: container not running");
	return identity_early(&x->config.process, (int)getpid(), e);
}

static int run(struct execution *x, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_sys(e, "make a socketpair");
	x->link = pair[0];
	x->inner = pair[1];
	const struct spaces_before before = {
		.does = prepare_to_enter,
		.arg = x,
		.takes_root = !x->config.spaces[SPACE_MOUNT].is_listed,
	};
	AUTO_CLOSE int cgroup = cgroups_open(x->state.cgroup);
	x->pid = spaces_join(x->state.pid, &before, cgroup, e);
	if (x->pid == 0) {
		own_close(&cgroup);
		run_process(x);
	}
	own_close(&x->inner);
	if (x->pid < 0)
		return -1;
	if (converse(x, e)) {
		(void)kill(x->pid, SIGKILL); /* it may have ended by itself */
		(void)worker_reap(x->pid);   /* the error before is what counts */
		return -1;
	}
	if (x->flags->is_detached)
		return 0;
	const int status = console_attend(fd_take(&x->master), (int)x->pid, e);
	return status < 0	     ? -1
	       : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				     : WEXITSTATUS(status);
}

static int exec_with(const struct exec_flags *f, const struct globals *g, char **words,
		     struct err *e)
{
	struct execution x = { .flags = f,
			       .state.folder = -1,
			       .link = -1,
			       .inner = -1,
			       .console = -1,
			       .master = -1 };

	if (!words[0] || (!f->process && !words[1]))
		return err_set(e, ERR_USAGE,
			       "usage: hutch oci exec [FLAG]... ID "
			       "(--process FILE | COMMAND [ARG]...)");
	const int rc = prepare(&x, g, words, e) ? -1 : run(&x, e);
	execution_done(&x);
	return rc;
}

int exec_verb(const struct globals *g, char **argv, struct err *e)
{
	struct exec_flags f = { 0 };
	const struct args_flag flags[] = {
		{ "process", 'p', ARGS_TEXT, &f.process, "FILE", "JSON of the process" },
		{ "console-socket", 0, ARGS_TEXT, &f.console, "PATH",
		  "a socket that gets the terminal's master" },
		{ "pid-file", 0, ARGS_TEXT, &f.pid_file, "FILE", "gets the process id" },
		{ "cwd", 0, ARGS_TEXT, &f.cwd, "PATH", "the working directory inside" },
		{ "user", 'u', ARGS_TEXT, &f.user, "UID[:GID]", "the user" },
		{ "env", 'e', ARGS_LIST, &f.env, "KEY=VALUE", "a variable" },
		{ "cap", 'c', ARGS_LIST, &f.caps, "CAP", "a capability" },
		{ "tty", 't', ARGS_SWITCH, &f.has_terminal, NULL, "with a terminal" },
		{ "detach", 'd', ARGS_SWITCH, &f.is_detached, NULL,
		  "return once the command runs" },
		{ "no-new-privs", 0, ARGS_SWITCH, &f.no_new_privs, NULL,
		  "execve(2) gives no privileges" },
		{ "ignore-paused", 0, ARGS_SWITCH, &f.ignores_pause, NULL,
		  "also in a container that is paused" },
		{ "preserve-fds", 0, ARGS_TEXT, &f.preserve, "N",
		  "hand on this many descriptors, from 3 on" },
		{ "apparmor", 0, ARGS_TEXT, &f.apparmor, "PROFILE", "of AppArmor" },
		{ "process-label", 0, ARGS_TEXT, &f.label, "LABEL", "of SELinux" },
		{ "cgroup", 0, ARGS_TEXT, &f.cgroup, "PATH",
		  "a cgroup that exists below the container's" },
	};
	const struct args a = { "exec [OPTIONS] ID (--process FILE | COMMAND [ARG]...)",
				flags, ARRAY_LEN(flags), true };
	int rc = args_read(&a, argv, e);

	/* The id comes before the command's words, so flags end at it. */
	if (!rc)
		rc = exec_with(&f, g, argv, e);
	list_done(&f.env);
	list_done(&f.caps);
	return rc;
}
