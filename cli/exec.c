/* Theory of operation.
 *
 *	state		leaves it when
 *	ASKED		exec.start was answered			-> RUNNING
 *	RUNNING		the command has ended			-> DRAINING
 *	both		the connection ended, an error		-> DRAINING
 *	DRAINING	all output is delivered			   done
 *	any		a signal that the command does not
 *			take care of				   done
 *
 * Only bytes that are in the pipes when the command has ended are delivered: background
 * processes that it started may keep the writing ends open and live on. */
#include "cli/exec.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "base/utf8.h"
#include "cli/common/client.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "cli/pool_client.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/kernel/countdown.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/stdio.h"
#include "sandbox/kernel/terminal.h"
#include "sandbox/launch/janitor.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "sandbox/launch/supervise.h"
#include "sandbox/root/overlay_upper.h"

enum state { ASKED, RUNNING, DRAINING, DONE };

enum watch { WATCH_SOCKET, WATCH_SIGNALS, WATCH_PUMPS,
	     WATCH_COUNT = WATCH_PUMPS + STDIO_COUNT };

/* One command and its connection to the caller's stdio and terminal. */
struct visit {
	const struct policy *policy;
	struct client client;
	struct stdio stdio;
	struct terminal terminal;
	struct janitor janitor;
	int signals; /* owned: the descriptor that signals are read from */
	bool is_taken; /* the sandbox is from a pool, for this command alone */

	enum state state;
	int start; /* the number of the request exec.start; 0: the request was not sent */
	int64_t process;
	bool was_resized; /* the terminal's size has changed before the command ran,
			   * and is sent when the command runs */
	sigset_t held;	  /* signals that came before the command's start was reported;
			   * they are sent on to the command then */
	struct countdown countdown; /* the display of the time that is left (--timeout);
				     * the supervisor enforces the time-out */
	int exit_code;
	struct err error; /* the error of hutch itself; kind ERR_NONE: there is none */
};

/* --- the request ----------------------------------------------------------- */

static int put_text(FILE *to, const char *what, const char *text, struct err *e)
{
	AUTO_FREE char *quoted = json_write_quoted(text);

	if (!utf8_is_valid((const uint8_t *)text, strlen(text), false))
		return err_set(e, ERR_USAGE,
			       "%s '%.100s' is not UTF-8, which is all "
			       "that the control socket carries",
			       what, text);
	(void)fputs(quoted, to);
	return 0;
}

static int put_argv(FILE *to, const struct list *argv, struct err *e)
{
	(void)fputs("{\"argv\":[", to);
	for (size_t i = 0; i < argv->count; i++) {
		if (i)
			(void)fputc(',', to);
		if (put_text(to, "the argument", argv->items[i], e) < 0)
			return -1;
	}
	(void)fputc(']', to);
	return 0;
}

static int put_env(FILE *to, const struct list *env, struct err *e)
{
	(void)fputs(",\"env\":{", to);
	for (size_t i = 0; i < env->count; i++) {
		AUTO_FREE char *name = text_copy(env->items[i]);
		char *value = strchr(name, '=');
		*value++ = '\0'; /* environment_add() has checked that there is a '=' */
		if (i)
			(void)fputc(',', to);
		if (put_text(to, "the variable", name, e) < 0)
			return -1;
		(void)fputc(':', to);
		if (put_text(to, "the value", value, e) < 0)
			return err_set(e, ERR_USAGE,
				       "the value of %.60s is not UTF-8, which is all "
				       "that the control socket carries",
				       name);
	}
	(void)fputc('}', to);
	return 0;
}

static int put_secrets(FILE *to, const struct list *names, struct err *e)
{
	for (size_t i = 0; i < names->count; i++) {
		(void)fputs(i ? "," : ",\"secret\":[", to);
		if (put_text(to, "the variable", names->items[i], e) < 0)
			return -1;
	}
	(void)fputs(names->count ? "]" : "", to);
	return 0;
}

static int put_rest(FILE *to, const struct policy *p, bool detaches, struct err *e)
{
	uint32_t rows, cols;

	if (p->workdir && (fputs(",\"cwd\":", to), put_text(to, "-w", p->workdir, e) < 0))
		return -1;
	if (p->user && (fputs(",\"user\":", to), put_text(to, "-u", p->user, e) < 0))
		return -1;
	if (p->has_terminal) {
		terminal_size(isatty(0) ? 0 : 1, &rows, &cols);
		(void)fprintf(to, ",\"tty\":true,\"rows\":%u,\"cols\":%u", rows, cols);
	}
	if (p->timeout_ms)
		(void)fprintf(to, ",\"timeout\":%llu.%03llu",
			      (unsigned long long)p->timeout_ms / 1000,
			      (unsigned long long)p->timeout_ms % 1000);
	(void)fputs(detaches ? ",\"detach\":true}" : "}", to);
	return 0;
}

/* Writes the params of exec.start, allocated; NULL with an error. */
static char *start_params(const struct policy *p, bool detaches, struct err *e)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		abort();
	bool is_good =
		put_argv(to, &p->argv, e) == 0 && put_env(to, &p->env_set, e) == 0 &&
		put_secrets(to, &p->secrets, e) == 0 && put_rest(to, p, detaches, e) == 0;
	if (fclose(to) != 0)
		abort();
	if (!is_good)
		own_free(&text);
	return text;
}

/* --- what comes ------------------------------------------------------------ */

/* Begins to drain: waits only for output that is in the pipes already.  Only the
 * first call sets the exit code. */
static void drain(struct visit *v, int code)
{
	if (v->state >= DRAINING)
		return;
	v->exit_code = code;
	v->state = DRAINING;
	stdio_handed_over(&v->stdio);
	pump_done(&v->stdio.pumps[0]);
	pump_finish(&v->stdio.pumps[1]);
	pump_finish(&v->stdio.pumps[2]);
}

/* Stops serving the command, with the error that the caller has put into v->error. */
static void fail(struct visit *v)
{
	drain(v, v->client.exit_code);
}

/* Sends a request about the command without awaiting its answer; `more` begins
 * with a comma. */
static int request(struct visit *v, const char *method, const char *more)
{
	AUTO_FREE char *params =
		text_format("{\"process\":%lld%s}", (long long)v->process, more);
	int id = client_send(&v->client, method, params, &v->error);

	if (id < 0)
		fail(v);
	return id;
}

static void resize(struct visit *v)
{
	uint32_t rows, cols;

	terminal_size(0, &rows, &cols);
	AUTO_FREE char *more = text_format(",\"rows\":%u,\"cols\":%u", rows, cols);
	(void)request(v, "exec.resize", more);
}

static void forward(struct visit *v, int signo)
{
	AUTO_FREE char *more = text_format(",\"signal\":%d", signo);

	(void)request(v, "exec.signal", more);
}

/* Explains that the command was not found: a remedy for a sandbox that runs can only be
 * another command.  An error without the command's name stays as it is: the supervisor
 * has redacted a secret of the sandbox in it. */
static void explain_missing(const struct client *c, const struct policy *policy,
			    struct err *e)
{
	if (c->exit_code != EXIT_NOT_FOUND || !strstr(e->text, policy->argv.items[0]))
		return;
	(void)err_set(e, ERR_NOT_FOUND, "%.200s: command not found in sandbox '%s'",
		      policy->argv.items[0], c->name);
	if (*policy->argv.items[0] == '-')
		(void)err_remedy(
			e,
			"options stand in front of the name: hutch exec %.60s ... "
			"%s",
			policy->argv.items[0], c->name);
	(void)report_hint_at_shell(e, policy->argv.items[0]);
}

static void on_started(struct visit *v, const struct message *m)
{
	if (m->error.text) {
		(void)client_refused(&v->client, m->error, &v->error);
		explain_missing(&v->client, v->policy, &v->error);
		return fail(v);
	}
	if (!json_view_integer(json_view_get(m->result, "process"), &v->process)) {
		(void)err_set(&v->error, ERR_PROTOCOL, "sandbox '%s' sent no process "
						       "number",
			      v->client.name);
		return fail(v);
	}
	v->state = RUNNING;
	if (v->was_resized && v->state == RUNNING)
		resize(v);
	for (int signo = 1; signo < NSIG; signo++)
		if (v->state == RUNNING && sigismember(&v->held, signo) == 1)
			forward(v, signo);
}

/* Takes the report of a process's end.  The supervisor sends it to the client that started
 * the process, whether or not that client subscribes to events. */
static void on_event(struct visit *v, struct json_view event)
{
	enum { EVENT, PROCESS, CODE, TIMED_OUT };
	struct json_view_member m[] = { [EVENT] = { .key = "event" },
					[PROCESS] = { .key = "process" },
					[CODE] = { .key = "exit_code" },
					[TIMED_OUT] = { .key = "timed_out" } };
	bool timed_out = false;
	int64_t code = EXIT_HUTCH, process;

	json_view_members(event, m, ARRAY_LEN(m));
	if (!json_view_is(m[EVENT].value, "exited") ||
	    !json_view_integer(m[PROCESS].value, &process) || process != v->process)
		return;
	(void)json_view_integer(m[CODE].value, &code);
	(void)json_view_bool(m[TIMED_OUT].value, &timed_out);
	if (timed_out) {
		(void)err_set(&v->error, ERR_LIMIT,
			      "timed out after %.1f s; the command was ended",
			      (double)v->policy->timeout_ms / 1e3);
		code = EXIT_TIMED_OUT;
	}
	drain(v, (int)code & 255);
}

static void on_answer(struct visit *v, const struct message *m)
{
	if (v->state == ASKED && m->id == (unsigned)v->start)
		return on_started(v, m);
	if (v->state == RUNNING && m->id == 0 && json_view_is(m->method, "event"))
		on_event(v, m->params);
}

static void take_messages(struct visit *v)
{
	struct message m;
	int got;

	while (v->state < DRAINING &&
	       (got = client_next(&v->client, &m, &v->error)) != 0) {
		if (got < 0)
			return fail(v);
		on_answer(v, &m);
	}
}

static void on_socket(struct visit *v)
{
	if (client_fill(&v->client, &v->error) < 0)
		return fail(v);
	take_messages(v);
	if (v->state < DRAINING && v->client.is_closed) {
		(void)client_ended(&v->client, &v->error);
		/* The end of a sandbox kills all processes in it. */
		if (v->state == RUNNING && v->client.exit_code == EXIT_HUTCH)
			v->client.exit_code = 128 + SIGKILL;
		fail(v);
	}
}

/* --- signals --------------------------------------------------------------- */

/* Leaves the command because of a signal to hutch: the connection closes, and the
 * supervisor then ends the command. */
static void leave(struct visit *v, int signo)
{
	if (v->state < DRAINING)
		v->exit_code = 128 + signo;
	v->state = DONE;
}

static void on_signal(struct visit *v, int signo, int64_t now)
{
	if (signo == SIGWINCH) {
		if (v->policy->has_terminal && v->state == RUNNING)
			resize(v);
		v->was_resized = v->policy->has_terminal;
		return;
	}
	const bool may_ask = countdown_signal(&v->countdown, signo, now);
	if (v->state == RUNNING && may_ask)
		forward(v, signo);
	else if (v->state == ASKED && may_ask)
		(void)sigaddset(&v->held, signo);
	else if (signo != SIGUSR1 && signo != SIGUSR2)
		leave(v, signo);
}

static void on_signals(struct visit *v, int64_t now)
{
	struct signalfd_siginfo info;

	while (read(v->signals, &info, sizeof(info)) == sizeof(info))
		on_signal(v, (int)info.ssi_signo, now);
}

/* --- the loop -------------------------------------------------------------- */

static bool has_output_left(const struct visit *v)
{
	return pump_is_open(&v->stdio.pumps[1]) || pump_is_open(&v->stdio.pumps[2]);
}

static void watch_list(const struct visit *v, struct pollfd w[WATCH_COUNT])
{
	w[WATCH_SOCKET] = (struct pollfd){ .fd = v->state < DRAINING ? v->client.fd : -1,
					   .events = POLLIN };
	w[WATCH_SIGNALS] = (struct pollfd){ .fd = v->signals, .events = POLLIN };
	for (int i = 0; i < STDIO_COUNT; i++)
		w[WATCH_PUMPS + i] = pump_poll(&v->stdio.pumps[i]);
}

static void serve(struct visit *v, const struct pollfd w[WATCH_COUNT], int64_t now)
{
	for (int i = 0; i < STDIO_COUNT; i++)
		if (w[WATCH_PUMPS + i].revents)
			pump_run(&v->stdio.pumps[i]);
	if (w[WATCH_SOCKET].revents)
		on_socket(v);
	if (w[WATCH_SIGNALS].revents)
		on_signals(v, now);
	if (v->state < DRAINING && countdown_expire(&v->countdown, now) != COUNTDOWN_RUNS)
		leave(v, SIGKILL);
}

static void turn(struct visit *v)
{
	const int64_t due = v->state < DRAINING ? countdown_due(&v->countdown) : 0;
	struct pollfd w[WATCH_COUNT];

	watch_list(v, w);
	const int ready = poll(w, WATCH_COUNT, clock_wait(due, clock_ms()));
	if (ready >= 0) /* poll(2) fails with EINTR if this process was stopped and
			 * SIGCONT has come */
		serve(v, w, clock_ms());
}

/* --- begin and end --------------------------------------------------------- */

static void visit_init(struct visit *v, const struct policy *policy)
{
	*v = (struct visit){ .policy = policy, .terminal.fd = -1, .signals = -1,
			     .exit_code = EXIT_HUTCH };
	(void)sigemptyset(&v->held);
	stdio_init(&v->stdio);
	janitor_init(&v->janitor);
}

static void visit_done(struct visit *v)
{
	terminal_restore(&v->terminal);
	janitor_dismiss(&v->janitor);
	stdio_done(&v->stdio);
	client_done(&v->client);
	own_close(&v->signals);
}

/* Takes over the terminal.  The janitor restores the terminal's modes (termios(3)) if
 * this process is killed. */
static int take_terminal(struct visit *v, struct err *e)
{
	struct overlay_upper upper;
	struct cgroup cgroup;
	const struct chores chores = { .terminal = &v->terminal, .upper = &upper,
				       .cgroup = &cgroup };

	if (!v->stdio.has_terminal)
		return 0;
	overlay_upper_init(&upper);
	cgroup_init(&cgroup);
	if (terminal_open(&v->terminal, 0, e) < 0 ||
	    janitor_start(&v->janitor, &chores, e) < 0)
		return -1;
	return terminal_raw(&v->terminal, e);
}

/* Connects to the sandbox.  A sandbox from a pool is held by this connection, and
 * ends when the connection closes. */
static int connect_to(struct visit *v, const char *name, struct err *e)
{
	return v->is_taken ? pool_take(name, -1, &v->client, e)
			   : client_open(&v->client, name, e);
}

static int begin(struct visit *v, const char *name, struct err *e)
{
	AUTO_FREE char *params = start_params(v->policy, false, e);
	struct client_fds fds = { .count = STDIO_COUNT };

	v->signals = params ? supervise_signals(e) : -1;
	if (v->signals < 0 || connect_to(v, name, e) < 0)
		return -1;
	v->client.is_bound = true;
	if (stdio_open(&v->stdio, v->policy, e) < 0 || take_terminal(v, e) < 0)
		return -1;
	memcpy(fds.fds, v->stdio.inside, sizeof(v->stdio.inside));
	v->start = client_send_fds(&v->client, "exec.start", params, &fds, e);
	if (v->start < 0)
		return -1;
	stdio_handed_over(&v->stdio);
	return client_greet(&v->client, e);
}

static void play(struct visit *v)
{
	take_messages(v); /* messages that came with the greeting are in the buffer, and
			   * poll(2) does not report them */
	while (v->state < DRAINING || (v->state == DRAINING && has_output_left(v)))
		turn(v);
	if (v->error.kind == ERR_NONE && stdio_check(&v->stdio, &v->error) < 0 &&
	    v->exit_code == 0)
		v->exit_code = EXIT_HUTCH;
}

static int visit(const char *name, const struct policy *policy, bool is_taken)
{
	struct visit v;

	visit_init(&v, policy);
	v.is_taken = is_taken;
	if (begin(&v, name, &v.error) == 0)
		play(&v);
	visit_done(&v); /* restores the terminal's modes before an error or a note is
			 * printed */
	if (v.error.kind != ERR_NONE)
		report_masked(policy, &v.error);
	return v.exit_code;
}

/* Runs a command with -d: hutch does not wait for it, and the supervisor keeps its
 * output. */
static int start_detached(const char *name, const struct policy *policy)
{
	struct client c = { 0 };
	struct json_view answer;
	struct err e;
	int64_t process = 0;
	AUTO_FREE char *params = start_params(policy, true, &e);
	int code = EXIT_HUTCH;

	if (params && client_open(&c, name, &e) == 0) {
		if (client_call(&c, "exec.start", params, &answer, &e) == 0)
			code = 0;
		else
			code = c.exit_code, explain_missing(&c, policy, &e);
	}
	if (code)
		report_masked(policy, &e);
	else if (json_view_integer(json_view_get(answer, "process"), &process))
		(void)printf("%lld\n", (long long)process);
	client_done(&c);
	return code;
}

/* --- the words ------------------------------------------------------------- */

/* Passes TERM to a command that has a terminal: programs inside learn from TERM what
 * the terminal can do, such as colours. */
static void add_term(struct policy *policy)
{
	if (policy->has_terminal && !list_get_env(&policy->env_set, "TERM")) {
		const char *term = getenv("TERM");
		list_addf(&policy->env_set, "TERM=%s", term && *term ? term : "xterm");
	}
}

/* Keeps the secrets in this process out of core files.  The process stays dumpable,
 * since the supervisor looks at its user namespace before it accepts the connection
 * (ptrace(2), access mode checking). */
static void hold_secrets(const struct policy *policy)
{
	const struct rlimit none = { 0 };

	if (policy->secrets.count)
		(void)setrlimit(RLIMIT_CORE, &none); /* lowering RLIMIT_CORE never
						      * fails */
}

enum door { DOOR_NAME, DOOR_DETACHED, DOOR_POOL };

static int enter(const char *name, struct policy *policy, enum door door)
{
	struct err e;

	launch_ready();
	add_term(policy);
	report_secrets(policy);
	hold_secrets(policy);
	/* Root changes into the other user only after the flags were read, since a
	 * flag may name a variable of the caller's environment. */
	if (host_user_become_client(&e) < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	return door == DOOR_DETACHED ? start_detached(name, policy)
				     : visit(name, policy, door == DOOR_POOL);
}

/* Fills in the error about a name or command that is missing.  A word behind "--" is a
 * command. */
static int incomplete(const struct run_options *o, bool is_pool, struct err *e)
{
	const bool has_name = o->policy->argv.count && !o->has_dashes;
	const char *operand = has_name ? "CMD" : is_pool ? "POOL" : "NAME";

	(void)options_missing(is_pool ? "pool exec" : "exec", operand, e);
	return err_remedy(e, is_pool ? "hutch pool exec [OPTIONS] POOL [--] CMD [ARG...]"
				     : "hutch exec [OPTIONS] NAME [--] CMD [ARG...]");
}

/* Splits NAME [--] CMD [ARG...] into the name, allocated, and the command. */
static int split(const struct run_options *o, bool is_pool, char **ret_name,
		 struct err *e)
{
	struct list *words = &o->policy->argv;
	size_t skip = words->count > 1 && !strcmp(words->items[1], "--") ? 2 : 1;

	if (words->count <= skip)
		return incomplete(o, is_pool, e);
	if (!words->items[skip][0])
		return err_set(e, ERR_USAGE, "the command is an empty word");
	*ret_name = words->items[0];
	if (skip == 2)
		free(words->items[1]);
	words->count -= skip;
	memmove(words->items, words->items + skip,
		(words->count + 1) * sizeof(*words->items));
	return 0;
}

static int exec_words(char **argv, struct run_options *o, struct err *e)
{
	AUTO_FREE char *name = NULL;

	if (options_parse(argv, o, e) < 0)
		return -1;
	if (o->wants_help) {
		options_print_help(VERB_EXEC);
		return 0;
	}
	if (o->detaches && o->policy->is_interactive)
		return err_set(e, ERR_USAGE, "-d and -i exclude each other: a detached "
					     "command has no stdin of the caller's");
	if (split(o, false, &name, e) < 0)
		return -1;
	return enter(name, o->policy, o->detaches ? DOOR_DETACHED : DOOR_NAME);
}

static int pool_words(char **argv, struct run_options *o, struct err *e)
{
	AUTO_FREE char *pool = NULL;

	if (options_parse(argv, o, e) < 0)
		return -1;
	if (o->wants_help) {
		(void)printf("hutch pool exec is, with the name of a pool:\n\n");
		options_print_help(VERB_EXEC);
		return 0;
	}
	if (o->detaches)
		return err_set(e, ERR_USAGE,
			       "-d makes no sense for hutch pool exec, whose sandbox "
			       "ends with it");
	if (split(o, true, &pool, e) < 0)
		return -1;
	return enter(pool, o->policy, DOOR_POOL);
}

/* Shell code that executes the $SHELL of the sandbox, or else /bin/bash or /bin/sh. */
#define FIND_SHELL \
	"for s in \"$SHELL\" /bin/bash; do [ -x \"$s\" ] && exec \"$s\"; done; exec /bin/sh"

static int shell_words(char **argv, struct run_options *o, struct err *e)
{
	const char *name = argv[0] && argv[0][0] != '-' ? *argv++ : NULL;
	struct policy *policy = o->policy;

	if (options_parse(argv, o, e) < 0)
		return -1;
	if (o->wants_help) {
		options_print_help(VERB_SHELL);
		return 0;
	}
	if (policy->argv.count != (name ? 0 : 1)) {
		if (!name && !policy->argv.count)
			(void)options_missing("shell", "NAME", e);
		else
			(void)err_set(e, ERR_USAGE,
				      "hutch shell runs no command, but got '%.60s'",
				      policy->argv.items[name ? 0 : 1]);
		return err_remedy(e, "hutch shell NAME; a command: hutch exec NAME CMD");
	}
	AUTO_FREE char *copy = text_copy(name ? name : policy->argv.items[0]);
	list_done(&policy->argv);
	list_add(&policy->argv, "/bin/sh");
	list_add(&policy->argv, "-c");
	list_add(&policy->argv, FIND_SHELL);
	policy->is_interactive = true;
	policy->has_terminal = isatty(0);
	return enter(copy, policy, DOOR_NAME);
}

static int with_policy(char **argv, enum verb verb,
		       int (*words)(char **, struct run_options *, struct err *))
{
	struct policy policy;
	struct run_options options = { .verb = verb, .policy = &policy, .json_fd = -1 };
	struct err e;

	policy_init(&policy);
	int code = words(argv, &options, &e);
	if (code < 0) {
		report_error(&e);
		code = EXIT_HUTCH;
	}
	policy_done(&policy);
	return code;
}

int exec_main(char **argv)
{
	return with_policy(argv, VERB_EXEC, exec_words);
}

int exec_pool_main(char **argv)
{
	return with_policy(argv, VERB_EXEC, pool_words);
}

int shell_main(char **argv)
{
	return with_policy(argv, VERB_SHELL, shell_words);
}
