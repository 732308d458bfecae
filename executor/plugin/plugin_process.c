#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/variables.h"
#include "executor/plugin/plugin.h"
#include "executor/plugin/plugins.h"
#include "executor/process/processes.h"
#include "executor/process/spawn.h"
#include "executor/process/tree.h"
#include "executor/process/user.h"
#include "executor/session/sessions.h"
#include "executor/wire/send_queue.h"

/* The shortest and the longest time between the end of a process and the start of the
 * next one. */
#define BACK_OFF_MS	100
#define BACK_OFF_MAX_MS 30000
/* How often the pipe of a process that has ended is read, 64 KiB each time: as often as
 * the largest pipe of an ordinary user needs (pipe(7)), since a process that is no
 * descendant may have opened it, and go on writing. */
#define LAST_READS 16

void plugin_say_state(const struct plugin *p, enum plugin_state state, const char *reason)
{
	struct reply a = { .id = p->id };

	buffer_init(&a.end, SEND_QUEUE_END_MAX);
	/* cannot fail: the reason is shorter than the buffer's bound */
	(void)plugin_put_state(&a.end, p->id, state, reason, NULL);
	send_queue_add(p->set->replies, &a);
}

/* --- the end ------------------------------------------------------------------------ */

void plugin_let_go(struct plugin *p)
{
	own_close(&p->in);
	own_close(&p->out);
	own_close(&p->errors);
	own_close(&p->status);
	buffer_done(&p->to);
	buffer_done(&p->from);
	buffer_init(&p->to, PLUGIN_LINE_MAX + PLUGIN_LINE_MAX / 2);
	buffer_init(&p->from, PLUGIN_LINE_MAX + 1);
	p->scanned = 0;
	p->due = INT64_MAX;
}

void plugin_end_process(struct plugin *p)
{
	if (p->set->proc >= 0)
		tree_end(p->set->proc, p->pid);
	(void)kill(-p->pid, SIGKILL);
	(void)kill(p->pid, SIGKILL);
}

/* Computes when the next process may be started. */
static void back_off(struct plugin *p, int64_t now)
{
	int64_t ms = BACK_OFF_MS;

	p->ends = p->has_answered ? 1 : p->ends + 1;
	p->has_answered = false;
	for (unsigned i = 1; i < p->ends && ms < BACK_OFF_MAX_MS; i++)
		ms *= 2;
	p->not_before = now + (ms < BACK_OFF_MAX_MS ? ms : BACK_OFF_MAX_MS);
}

/* Returns the reason with the last words of the process, allocated. */
static char *with_tail(const struct plugin *p, const char *reason)
{
	size_t len = p->tail_len;

	while (len > 0 && (unsigned char)p->tail[len - 1] <= ' ')
		len--;
	return len == 0 ? text_format("the plugin '%s': %s", p->name, reason)
			: text_format("the plugin '%s': %s; it wrote last:\n%.*s", p->name,
				      reason, (int)len, p->tail);
}

/* Keeps the reason, tells it, and fails the call under way. */
static void note_failure(struct plugin *p, const char *reason)
{
	free(p->failure);
	p->failure = with_tail(p, reason);
	plugin_say_state(p, PLUGIN_FAILED, p->failure);
	if (p->call.id)
		plugin_answer_failure(
			p, p->call.stopped ? p->call.stopped : OUTCOME_ERROR, p->failure);
}

void plugin_fail(struct plugin *p, int64_t now, const char *fmt, ...)
{
	char reason[ERR_TEXT_MAX + 200];
	va_list more;

	va_start(more, fmt);
	(void)vsnprintf(reason, sizeof(reason), fmt, more);
	va_end(more);
	plugin_read_errors(p);
	if (p->pid != 0)
		plugin_end_process(p);
	note_failure(p, reason);
	back_off(p, now);
	plugin_let_go(p);
	p->phase = PLUGIN_KILLED;
	p->due = now + PLUGIN_REAPED_MS;
}

void plugin_give_up(struct plugin *p, int64_t now, const char *reason)
{
	if (p->phase == PLUGIN_BEGINS || p->phase == PLUGIN_UP)
		plugin_fail(p, now, "%s", reason);
	else
		note_failure(p, reason);
	p->phase = PLUGIN_DEAD;
}

bool plugin_read_end(struct plugin *p)
{
	struct failed told;

	if (p->status < 0 || spawn_result(p->status, &told) != SPAWN_FAILED)
		return false;
	own_close(&p->status);
	p->end = told;
	return true;
}

/* Describes how a process has ended that was not killed by the executor; `status` is its
 * keeper's, which was killed together with it if it has told nothing. */
static void describe_end(const struct plugin *p, int status, char *to, size_t size)
{
	if (p->end.stage == SPAWN_ENDED)
		status = (int)p->end.sys;
	else if (p->end.stage != EXEC_STAGE_NONE) {
		(void)snprintf(to, size, "'%.100s' could not be started: %s: %s",
			       p->manifest.command.items[0],
			       exec_stage_name(p->end.stage), err_words((int)p->end.sys));
		return;
	}
	if (WIFSIGNALED(status))
		(void)snprintf(to, size, "its process was ended by signal %d (%s)",
			       WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		(void)snprintf(to, size, "its process has ended, with exit code %d",
			       WEXITSTATUS(status));
}

void plugin_ended(struct plugin *p, int status, int64_t now)
{
	char reason[ERR_TEXT_MAX];
	bool was_killed = p->phase == PLUGIN_KILLED || p->phase == PLUGIN_DEAD;

	p->pid = 0;
	(void)plugin_read_end(p);
	processes_release(p->set->processes, PLUGIN_FDS);
	/* its last lines, which may be an answer */
	for (int i = 0; !was_killed && i < LAST_READS && plugin_read(p, now); i++)
		;
	if (p->phase == PLUGIN_DEAD)
		return;
	if (p->phase != PLUGIN_KILLED) {
		plugin_read_errors(p);
		describe_end(p, status, reason, sizeof(reason));
		note_failure(p, reason);
		back_off(p, now);
		plugin_let_go(p);
	}
	p->phase = PLUGIN_OFF;
}

void plugin_read_errors(struct plugin *p)
{
	char got[PLUGIN_TAIL];
	ssize_t n = read(p->errors, got, sizeof(got));

	if (n == 0)
		own_close(&p->errors);
	if (n <= 0)
		return;
	for (char *at = got; at < got + n; at++)
		if (!*at)
			*at = '?'; /* the tail is told as a text, which ends with its
				    * first NUL */
	size_t len = (size_t)n, kept = PLUGIN_TAIL - len;
	kept = kept < p->tail_len ? kept : p->tail_len;
	memmove(p->tail, p->tail + p->tail_len - kept, kept);
	memcpy(p->tail + kept, got, len);
	p->tail_len = kept + len;
}

/* --- the start ---------------------------------------------------------------------- */

/* Returns the environment of the process. */
static struct list environment_of(const struct plugin *p)
{
	struct list env = { 0 };

	for (char *const *at = p->exec.env; *at; at++)
		list_add(&env, *at);
	variables_apply(&p->set->sessions->variables, &env);
	for (size_t i = 0; i < p->manifest.environment.count; i++) {
		char *one = manifest_expand(p->manifest.environment.items[i], p->folder);
		list_set_env(&env, one);
		free(one);
	}
	char *name = text_format("HUTCH_PLUGIN=%s", p->name);
	char *folder = text_format("HUTCH_PLUGIN_DIR=%s", p->folder);
	list_set_env(&env, name);
	list_set_env(&env, folder);
	free(name);
	free(folder);
	return env;
}

static struct list command_of(const struct plugin *p)
{
	struct list argv = { 0 };

	for (size_t i = 0; i < p->manifest.command.count; i++) {
		char *one = manifest_expand(p->manifest.command.items[i], p->folder);
		list_add(&argv, one);
		free(one);
	}
	return argv;
}

/* Makes a pipe; our end does not block.  *ret_theirs must be closed by the caller. */
static int make_pipe(int *ret_ours, int *ret_theirs, bool is_ours_read)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*ret_ours = ends[is_ours_read ? 0 : 1];
	*ret_theirs = ends[is_ours_read ? 1 : 0];
	/* cannot fail; the process's end of the pipe stays blocking */
	(void)fcntl(*ret_ours, F_SETFL, O_NONBLOCK);
	return 0;
}

static int spawn(struct plugin *p, struct list *argv, struct list *env)
{
	AUTO_CLOSE int in = -1, out = -1, errors = -1;
	struct exec exec = p->exec;

	exec.argv = argv->items;
	exec.env = env->items;
	exec.flags = EXEC_TREE;
	if (make_pipe(&p->in, &in, false) < 0 || make_pipe(&p->out, &out, true) < 0 ||
	    make_pipe(&p->errors, &errors, true) < 0)
		return -1;
	const struct spawn how = { .exec = &exec,
				   .self = p->set->user,
				   .stdio = { in, out, errors },
				   .cgroup = p->set->processes->cgroup.procs,
				   .is_kept = true };
	p->pid = spawn_command(&how, &p->status);
	return p->pid < 0 ? -1 : 0;
}

/* Returns the first program or file that the plugin requires and that is not there, as
 * far as the executor's user sees; NULL: nothing is missing. */
static const char *missing(const struct plugin *p, char *const *env)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < p->manifest.programs.count; i++) {
		const char *name = p->manifest.programs.items[i];
		if (!spawn_find(env, name, path))
			return name;
	}
	for (size_t i = 0; i < p->manifest.files.count; i++)
		if (access(p->manifest.files.items[i], F_OK) < 0)
			return p->manifest.files.items[i];
	return NULL;
}

static void fail_start(struct plugin *p, int64_t now, int sys)
{
	char reason[200];

	(void)snprintf(reason, sizeof(reason), "it could not be started: %s",
		       err_words(sys));
	p->pid = 0;
	note_failure(p, reason);
	back_off(p, now);
	plugin_let_go(p);
}

void plugin_start(struct plugin *p, int64_t now)
{
	struct list env = environment_of(p), argv = command_of(p);
	const char *what = missing(p, env.items);
	char reason[ERR_TEXT_MAX];

	p->tail_len = 0;
	p->end = (struct failed){ 0 };
	if (what) {
		(void)snprintf(reason, sizeof(reason),
			       "it requires '%.200s', which is not in the sandbox", what);
		plugin_give_up(p, now, reason);
	} else if (!processes_reserve(p->set->processes, PLUGIN_FDS)) {
		fail_start(p, now, EMFILE);
	} else if (spawn(p, &argv, &env) < 0) {
		fail_start(p, now, errno);
		processes_release(p->set->processes, PLUGIN_FDS);
	} else {
		p->phase = PLUGIN_BEGINS;
		p->due = now + p->manifest.ready_ms;
		plugin_say_state(p, PLUGIN_STARTING, "");
	}
	list_done(&env);
	list_done(&argv);
}
