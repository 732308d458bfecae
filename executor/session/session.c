#include "executor/session/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/variables.h"
#include "executor/process/all_processes.h"
#include "executor/process/cgroup.h"
#include "executor/process/processes.h"
#include "executor/process/spawn.h"
#include "executor/session/env_script.h"
#include "executor/session/session_output.h"
#include "executor/session/shell_inner.h"
#include "protocol/action.h"

/* At most this many bytes are read from one terminal in one turn of the executor's loop,
 * so that every session gets its share. */
#define READ_PER_TURN (64u << 10)
/* The most bytes that are read from a terminal after a command or shell has ended: more
 * than the kernel buffers for a terminal (relay.c). */
#define DRAIN_MAX (128u << 10)

/* If the shell's start takes longer than this, because of ~/.bashrc, the shell is killed,
 * and started again without ~/.bashrc. */
#define START_MS 10000
/* If the start without ~/.bashrc takes longer than this, the session fails; a process
 * inside may have stopped the shell.  Both limits are shorter than the time for which the
 * host waits for an answer (actions/dispatcher_start.c). */
#define BARE_MS 30000
/* A shell that takes longer than this to set its variables is killed; a trap on DEBUG may
 * delay it. */
#define SET_MS 5000

/* The cost of looking in /proc for an inner shell, in units of drawing work
 * (display.h). */
#define LOOK_WORK 4096
/* An inner shell that does not read from its terminal yet is checked again after this
 * delay. */
#define INNER_MS 5

#define EXIT_NOT_STARTED 126

/* After this many failures to set its variables, the shell runs the command without them.
 * The next command tries again. */
#define SETS_MAX 3

/* --- idle sessions ---------------------------------------------------------- */

/* Takes the session's descriptors out of the epoll(7).  Must be called also before they
 * are closed: a child that has not called execve(2) yet may still have copies of them
 * open, and the epoll(7) would go on reporting them. */
static void unpark(struct session *s)
{
	if (s->parked < 0)
		return;
	(void)epoll_ctl(s->parked, EPOLL_CTL_DEL, s->shell.reports, NULL);
	(void)epoll_ctl(s->parked, EPOLL_CTL_DEL, s->shell.terminal.master, NULL);
	s->parked = -1;
}

/* --- the shell's life ------------------------------------------------------ */

static void set_text(char **to, const char *text)
{
	if (*to && strcmp(*to, text) == 0)
		return;
	free(*to);
	*to = mem_copy(text, strlen(text) + 1);
}

void session_drop_command(struct session *s)
{
	free(s->pending);
	s->pending = NULL;
	s->is_pending = false;
}

static void end_command(struct session *s, uint32_t status, enum session_state state)
{
	s->status = status;
	s->key_due = s->hit_due = INT64_MAX;
	session_drop_command(s);
	if (s->action.id)
		session_answer(s, s->action.kills ? REPORT_CANCELLED : REPORT_COMPLETED,
			       0);
	else
		s->is_unread = true;
	s->state = state;
}

/* Handles a shell that could not be started.  In a session that was open before, the
 * waiting command is answered with the reason. */
static void cannot_start(struct session *s, const struct failed *why)
{
	char text[200];

	s->shell.pid = 0;
	shell_done(&s->shell);
	s->state = SESSION_DEAD;
	if (!s->is_opened) {
		session_say_failed(s, why);
		return;
	}
	session_drop_ahead(s);
	int len = snprintf(text, sizeof(text),
			   "hutch: the shell could not be started: %s: %s",
			   exec_stage_name(why->stage), err_words((int)why->sys));
	session_show(s, text, (size_t)len);
	session_drop_command(s);
	end_command(s, EXIT_NOT_STARTED, SESSION_DEAD);
}

/* The working directories in which a shell can be started.  The first start of a session
 * uses only the one of the request; a later start tries all three in this order. */
enum { PLACE_LAST, PLACE_FIRST, PLACE_ROOT, PLACES };

static const char *place_of(const struct session *s)
{
	if (!s->is_opened || s->place == PLACE_FIRST)
		return s->exec.cwd;
	return s->place == PLACE_LAST && s->cwd && *s->cwd ? s->cwd
	       : s->place == PLACE_ROOT		  ? "/"
						  : s->exec.cwd;
}

/* Replaces the environment of the request by a copy that this session owns, at the first
 * change of a variable. */
static void own_environment(struct session *s)
{
	if (s->exec_number)
		return;
	for (char *const *at = s->exec.env; *at; at++)
		list_add(&s->env, *at);
	list_add(&s->env, "="); /* adds and removes a dummy, so that `env.items` is
				 * allocated even if no variable is left */
	list_unset_env(&s->env, "");
	free(s->exec.env);
}

void session_refresh(struct session *s)
{
	if (s->exec_number == s->variables->number)
		return;
	own_environment(s);
	variables_apply(s->variables, &s->env);
	s->exec.env = s->env.items;
	s->exec_number = s->variables->number;
}

static struct shell_how how_of(const struct session *s)
{
	return (struct shell_how){ .exec = &s->exec, .cwd = place_of(s), .self = s->user,
				   .cgroup = s->cgroup->procs, .is_bare = s->is_bare };
}

static void start(struct session *s, int64_t now)
{
	session_refresh(s);
	const struct shell_how how = how_of(s);
	struct failed why;

	s->known = s->exec_number;
	s->state = SESSION_STARTING;
	s->is_put_off = s->all_processes->is_traced;
	if (s->is_put_off) {
		s->start_due =
			now + 1; /* all_processes_now() stands still until the pause ends,
				  * so the start is due then */
		return;
	}
	s->start_due = now + (s->is_bare ? BARE_MS : START_MS);
	if (shell_start(&s->shell, &how, &why) < 0)
		cannot_start(s, &why);
	else if (all_processes_is_stopped(s->all_processes))
		(void)kill(s->shell.pid, SIGSTOP); /* a shell that died during a pause was
						    * replaced by this one, which must be
						    * stopped, too */
}

void session_start_late(struct session *s, int64_t now)
{
	const struct failed none = { EXEC_STAGE_EXECVE, ECANCELED };

	if (s->all_processes->is_ending)
		cannot_start(s, &none);
	else
		start(s, now);
}

static void start_again(struct session *s, int64_t now)
{
	s->shell.pid = 0;
	shell_done(&s->shell);
	start(s, now);
}

static void begin_start(struct session *s, int64_t now)
{
	s->is_bare = false;
	s->place = PLACE_LAST;
	start(s, now);
}

/* Called when the child that was to become the shell has reported a failure before its
 * execve(2). */
static void start_failed(struct session *s, const struct failed *why, int64_t now)
{
	bool is_elsewhere = s->is_opened && why->stage == EXEC_STAGE_CWD &&
			    s->place + 1 < PLACES && !s->all_processes->is_ending;

	if (!is_elsewhere) {
		cannot_start(s, why);
		return;
	}
	s->place++;
	start_again(s, now);
}

/* --- shells that a command began --------------------------------------------- */

/* Adjusts the number of reserved descriptors to what the shells use.  If no more can be
 * reserved, the inner shell is given up. */
static void count_fds(struct session *s)
{
	size_t used = shell_more_fds(&s->shell);

	if (s->more_fds > used)
		processes_release(s->processes, s->more_fds - used);
	else if (s->more_fds < used &&
		 !processes_reserve(s->processes, used - s->more_fds)) {
		inner_drop(&s->shell);
		return;
	}
	s->more_fds = used;
}

/* Looks for an inner shell: the running command may be, or may have started, a shell that
 * waits at its prompt.  Driving such a shell requires a new process, so during a pause
 * the check is put off; its clock stands still until the pause ends. */
static void look_for_inner(struct session *s, int64_t now)
{
	const struct shell_how how = how_of(s);

	if (all_processes_is_paused(s->all_processes)) {
		s->inner_due = now + 1;
		return;
	}
	if (s->state != SESSION_RUNNING || s->all_processes->is_ending ||
	    terminal_is_by_line(&s->shell.terminal))
		return;
	s->screen.display.work += LOOK_WORK;
	pid_t pid = inner_find(&s->shell, s->proc, &how);
	if (pid > 0)
		(void)inner_adopt(&s->shell, pid, &how);
	count_fds(s);
}

void session_type_inner(struct session *s, int64_t now)
{
	const struct shell_how how = how_of(s);

	s->inner_due = INT64_MAX;
	if (!s->shell.coming.pid) {
		look_for_inner(s, now);
		return;
	}
	bool again = buffer_len(&s->ahead) > 0 || /* output of the inner shell is not
						   * drawn yet */
		     inner_type(&s->shell, s->proc, &how, &s->screen);

	s->inner_due = again ? now + INNER_MS : INT64_MAX;
	count_fds(s);
}

static void look_at_status(struct session *s, int64_t now)
{
	struct failed why;

	if (s->shell.coming.pid) {
		session_type_inner(s, now);
		return;
	}
	enum spawn_state state = spawn_result(s->shell.status, &why);

	if (state == SPAWN_PENDING)
		return;
	own_close(&s->shell.status);
	if (state == SPAWN_FAILED)
		start_failed(s, &why, now);
}

static void give(struct session *s, int64_t now)
{
	const struct bytes command = { s->pending, s->pending_len };

	s->state = SESSION_RUNNING;
	s->begun = now;
	if (shell_run(&s->shell, command) < 0)
		(void)kill(s->shell.pid, SIGKILL); /* the action ends when the shell's
						    * death is noticed */
}

/* Gives the shell the variables that have changed since it was last given any, before it
 * runs its command. */
static void set_variables(struct session *s, int64_t now)
{
	struct buffer script;

	buffer_init(&script, ENV_SCRIPT_MAX);
	env_script_write(&script, s->variables, s->known);
	const struct bytes commands = { buffer_data(&script), buffer_len(&script) };
	s->state = SESSION_SETTING;
	s->start_due = now + SET_MS;
	s->being_set = s->variables->number;
	if (shell_set(&s->shell, commands) < 0)
		(void)kill(s->shell.pid, SIGKILL); /* the next shell is started with these
						    * variables in its environment */
	buffer_done(&script);
}

/* Called when the shell is ready for a command: begins the pending command, if there is
 * one. */
static void go_on(struct session *s, int64_t now)
{
	s->state = SESSION_READY;
	if (!s->is_pending)
		return;
	if (s->known != s->variables->number && s->sets < SETS_MAX) {
		set_variables(s, now);
		return;
	}
	s->is_pending = false; /* the command's text is kept, since begin_again() may need
			        * it */
	give(s, now);
}

static void be_ready(struct session *s, int64_t now)
{
	size_t max = DRAIN_MAX;

	(void)session_read(s, &max, now); /* reads and discards the output of start-up
					   * files, since the session is still in
					   * SESSION_STARTING */
	if (!s->is_opened)
		session_say_started(s);
	go_on(s, now);
}

/* Called when the script that sets variables has ended.  A late SIGINT for an earlier
 * command may have interrupted the script; then it runs again. */
static void end_setting(struct session *s, const struct shell_report *r, int64_t now)
{
	bool is_done = r->has_begun && r->status == 0;

	s->sets = is_done ? 0 : s->sets + 1;
	if (is_done)
		s->known = s->being_set;
	shell_settle(&s->shell);
	go_on(s, now);
}

/* Gives the shell a command a second time if a SIGINT for an earlier command interrupted
 * it before it did anything.  Returns false if it must not be given again. */
static bool give_again(struct session *s, int64_t now)
{
	if (s->is_second || s->is_interrupted || s->action.kills)
		return false;
	s->is_second = true;
	give(s, now);
	return true;
}

/* Reads all output that is still in the terminal, which may take several turns of the
 * loop.  Returns false if there is more to read. */
static bool drain(struct session *s, int64_t now)
{
	if (!s->is_draining)
		s->drain_left = DRAIN_MAX;
	/* layer: session-drain */
	s->is_draining = !session_read(s, &s->drain_left, now) && s->drain_left > 0;
	return !s->is_draining;
}

static void go_on_reported(struct session *s, int64_t now)
{
	if (!drain(s, now))
		return;
	s->is_reported = false;
	if (!s->has_begun) {
		session_forget(s); /* the command did nothing, so the output is only a
				    * part of the executor's own command line */
		if (give_again(s, now))
			return;
	}
	shell_settle(&s->shell);
	end_command(s, s->status, SESSION_READY);
}

/* Ends the command after all output was read that it had printed before its report. */
static void end_by_report(struct session *s, const struct shell_report *r, int64_t now)
{
	s->is_reported = true;
	s->has_begun = r->has_begun;
	s->status = r->status;
	s->is_draining = false;
	go_on_reported(s, now);
}

static void take_report(struct session *s, int64_t now)
{
	struct shell *sh = &s->shell;
	const size_t depth = sh->depth;
	struct shell_report r;

	if (!shell_report(sh, &r))
		return;
	/* `known` belongs to one shell: an inner shell that was just entered starts with
	 * its parent's value, and the parent gets its own value back later. */
	if (sh->depth > depth)
		sh->outer[depth].known = s->known;
	else if (sh->depth < depth)
		s->known = sh->outer[sh->depth].known;
	count_fds(s);
	set_text(&s->cwd, r.cwd);
	set_text(&s->python, r.python);
	s->background = r.background;
	if (s->state == SESSION_STARTING)
		be_ready(s, now);
	else if (s->state == SESSION_SETTING)
		end_setting(s, &r, now);
	else if (s->state == SESSION_RUNNING)
		end_by_report(s, &r, now);
}

static uint32_t code_of(int status)
{
	return (uint32_t)(WIFSIGNALED(status) ? 128 + WTERMSIG(status)
					      : WEXITSTATUS(status));
}

static void died_starting(struct session *s, int64_t now)
{
	const struct failed no_shell = { EXEC_STAGE_EXECVE, s->all_processes->is_ending
								    ? ECANCELED
								    : ENOEXEC };

	if (s->shell.status >= 0)
		look_at_status(s, now);
	if (s->state != SESSION_STARTING || s->shell.pid > 0 || s->is_put_off)
		return; /* the child failed before its execve(2), and start_failed() has
			 * handled that */
	if (s->is_bare || s->all_processes->is_ending) {
		cannot_start(s, &no_shell);
		return;
	}
	s->is_bare = true; /* ~/.bashrc may have made the shell exit, so the next start
			    * does without it */
	start_again(s, now);
}

/* Starts a new shell and runs the command in it, if the dead shell had not begun the
 * command yet.  Does so once for each command; returns false if it does not. */
static bool begin_again(struct session *s, int64_t now)
{
	if (s->state != SESSION_RUNNING || s->is_second || s->action.kills ||
	    s->all_processes->is_ending || shell_has_begun(&s->shell))
		return false;
	s->is_second = s->is_pending = s->is_new = true;
	shell_done(&s->shell);
	begin_start(s, now);
	return true;
}

/* Finishes the handling of a dead shell, once all its output was read.  Until then the
 * session's state stays, but the dead shell gets no command; a command that arrives
 * meanwhile runs in the next shell. */
static void go_on_ending(struct session *s, int64_t now)
{
	const uint32_t status = s->is_reported ? s->status : code_of(s->ending);

	if (!drain(s, now))
		return;
	s->is_ending = s->is_reported = false;
	session_drop_ahead(s);
	if (begin_again(s, now))
		return;
	shell_done(&s->shell);
	if (s->state == SESSION_RUNNING)
		end_command(s, status, SESSION_DEAD);
	s->state = SESSION_DEAD;
	if (!s->is_pending)
		return;
	s->is_new = true;
	begin_start(s, now);
}

void session_reaped(struct session *s, int status, int64_t now)
{
	unpark(s);
	s->shell.pid = 0;
	if (s->state == SESSION_STARTING) {
		died_starting(s, now);
		return;
	}
	s->is_ending = true;
	s->is_draining = false;
	s->ending = status;
	go_on_ending(s, now);
}

/* --- requests -------------------------------------------------------------- */

/* Returns the number of rows or columns of the terminal: `size`, or `max` if `size` is
 * larger, or 0 or 1. */
static unsigned limited(uint32_t size, unsigned max)
{
	return size > 1 && size < max ? size : max;
}

struct session *session_new(uint32_t id, uint8_t *request, const struct exec *exec,
			    const struct session_world *world, int64_t now)
{
	struct session *s = mem_zeroed(1, sizeof(*s));
	s->id = id;
	s->request = request;
	s->exec = *exec;
	s->replies = world->replies;
	s->user = world->user;
	s->cgroup = world->cgroup;
	s->all_processes = world->all_processes;
	s->variables = world->variables;
	s->processes = world->processes;
	s->proc = world->proc;
	s->key_due = s->inner_due = s->hit_due = INT64_MAX;
	s->parked = -1;
	screen_init(&s->screen, limited(exec->rows, SCREEN_ROWS),
		    limited(exec->cols, SCREEN_COLS));
	output_log_init(&s->output_log, world->output_logs, exec->argv[1]);
	begin_start(s, now);
	return s;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	unpark(s);
	session_forget(s); /* session_forget() must come first, since it uses the label in
			    * `request` */
	session_drop_ahead(s);
	shell_done(&s->shell);
	count_fds(s);
	if (s->exec_number)
		s->exec.env = NULL; /* `env` owns the environment, and list_done() frees
				     * it */
	list_done(&s->env);
	exec_done(&s->exec);
	free(s->request);
	free(s->pending);
	free(s->cwd);
	free(s->python);
	free(s);
}

void session_command(struct session *s, struct bytes command, int64_t now)
{
	session_drop_command(s);
	s->pending = mem_copy(command.data, command.len);
	s->pending_len = command.len;
	s->reports = 0;
	s->is_second = s->is_interrupted = false;
	s->is_pending = true;
	s->sets = 0;
	if (s->state == SESSION_READY && !s->is_ending)
		go_on(s, now);
	if (s->state != SESSION_DEAD)
		return;
	s->is_new = true;
	begin_start(s, now);
}

/* --- poll ------------------------------------------------------------------ */

/* Adds an entry if `fd` is open and there are events to wait for. */
static size_t watch(struct pollfd *fds, size_t count, int fd, int events)
{
	if (fd < 0 || !events)
		return count;
	fds[count] = (struct pollfd){ .fd = fd, .events = (short)events };
	return count + 1;
}

/* Returns true if no action waits for the session, and the terminal has taken all typed
 * input. */
static bool is_idle(const struct session *s)
{
	const struct shell *sh = &s->shell;

	return s->state == SESSION_READY && !s->action.id && !s->is_ending &&
	       buffer_len(&s->ahead) == 0 && sh->status < 0 && sh->reports >= 0 &&
	       sh->terminal.master >= 0 && buffer_len(&sh->typed) == 0;
}

void session_park(struct session *s, int epoll)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = s->id };
	const bool was_idle = s->was_idle;

	s->was_idle = is_idle(s);
	if (!s->was_idle) {
		unpark(s);
		return;
	}
	if (s->parked >= 0 || epoll < 0 || !was_idle)
		return;
	s->parked = epoll;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, s->shell.reports, &event) < 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, s->shell.terminal.master, &event) < 0)
		unpark(s);
}

void session_stir(struct session *s, int64_t now)
{
	size_t max = READ_PER_TURN;

	unpark(s);
	(void)session_read(s, &max, now);
	if (s->shell.reports >= 0)
		take_report(s, now);
}

size_t session_watch(struct session *s, struct pollfd *fds, bool is_full)
{
	const struct shell *sh = &s->shell;
	s->is_waiting = (is_full || s->action.is_held) && session_is_streaming(s);
	int reads = s->is_waiting ? 0 : POLLIN;
	int writes = buffer_len(&sh->typed) > 0 ? POLLOUT : 0;

	s->watched = 0;
	if (s->state == SESSION_DEAD || s->parked >= 0 || s->is_ending || s->is_reported)
		return 0;
	s->watched = watch(fds, s->watched, sh->status, POLLIN);
	s->watched = watch(fds, s->watched, sh->reports, POLLIN);
	s->watched = watch(fds, s->watched, sh->terminal.master, reads | writes);
	return s->watched;
}

static int happened(const struct session *s, const struct pollfd *fds, int fd)
{
	for (size_t i = 0; i < s->watched && fd >= 0; i++)
		if (fds[i].fd == fd)
			return fds[i].revents;
	return 0;
}

bool session_has_more(const struct session *s)
{
	return s->is_ending || s->is_reported ||
	       (buffer_len(&s->ahead) > 0 && !s->is_waiting);
}

static void serve_output(struct session *s, int64_t now)
{
	size_t max = READ_PER_TURN;

	if (s->work == 0 && s->state != SESSION_STARTING)
		return; /* an inner shell can have printed its prompt only if there is new
			 * output */
	(void)session_read(s, &max, now);
	look_for_inner(s, now);
}

/* Continues to handle the end of a command or shell, which took more than one turn
 * because the session's share of work was used up.  Returns false if there is no such
 * end. */
static bool go_on_with_end(struct session *s, int64_t now)
{
	if (s->is_ending)
		go_on_ending(s, now);
	else if (s->is_reported)
		go_on_reported(s, now);
	else
		return false;
	return true;
}

void session_serve(struct session *s, const struct pollfd *fds, int64_t now)
{
	if (go_on_with_end(s, now))
		return;
	int status = happened(s, fds, s->shell.status);
	int reports = happened(s, fds, s->shell.reports);
	int master = happened(s, fds, s->shell.terminal.master);

	if (status) {
		look_at_status(s, now);
		return; /* the entries for poll(2) may belong to a shell that was
			 * replaced */
	}
	if (master & POLLOUT)
		shell_type_more(&s->shell);
	if (master & ~POLLOUT || session_has_more(s))
		serve_output(s, now);
	if (reports)
		take_report(s, now);
}
