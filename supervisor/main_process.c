#include "supervisor/main_process.h"

#include <signal.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/common/report.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "supervisor/capture.h"
#include "supervisor/methods.h"
#include "supervisor/records.h"
#include "supervisor/supervisor.h"

/* The most bytes of JSON that the sandbox's info has of the command: the copy of the info in
 * the registry is bounded (REGISTRY_TEXT_MAX), and labels may take half of that. */
#define ARGV_SHOWN 8192
/* In a shorter time no process can end by itself, so that none is asked to (rm -f). */
#define ASKED_MS 2

bool main_process_is(const struct supervisor *s, const struct job *j)
{
	return s->main.process && j->id == s->main.process;
}

bool main_process_is_alive(const struct supervisor *s)
{
	return s->main.state == MAIN_STARTING || s->main.state == MAIN_RUNNING;
}

/* --- its start ---------------------------------------------------------------- */

static void add_all(struct list *to, const struct list *from)
{
	for (size_t i = 0; i < from->count; i++)
		list_add(to, from->items[i]);
}

static struct job *make_job(struct supervisor *s)
{
	const struct plan *plan = &s->launch->plan;
	struct job *j = mem_zeroed(1, sizeof(*j));

	j->exec = launch_command(s->launch);
	add_all(&j->argv, &plan->argv);
	add_all(&j->env, &plan->env);
	j->cwd = text_copy(j->exec.cwd);
	j->exec.argv = j->argv.items;
	j->exec.env = j->env.items;
	j->exec.cwd = j->cwd;
	j->exec.flags = EXEC_ALONE;
	j->is_detached = true;
	j->id = methods_new_process(s);
	j->begun_ms = events_now();
	return j;
}

/* Hands the job over to jobs.h.  On failure the caller still owns it. */
static int begin(struct supervisor *s, struct job *j, struct err *e)
{
	if (outputs_reserve(s, e) < 0)
		return -1;
	j->capture = capture_new(false, false, &j->fds, e);
	if (!j->capture || records_begin(s, NULL, j, e) < 0)
		return -1;
	if (jobs_add(&s->jobs, j, e) == 0)
		return 0;
	records_end(s, j, e->text);
	return -1;
}

static void start(struct supervisor *s)
{
	struct job *j = make_job(s);
	struct err e;

	s->main.state = MAIN_STARTING;
	s->main.process = j->id;
	if (begin(s, j, &e) == 0)
		return;
	job_free(j);
	(void)err_in(&e, "start the main process");
	supervisor_end(s, "error", EXIT_HUTCH, NULL, &e);
}

static void note(struct supervisor *s)
{
	AUTO_FREE char *info = supervisor_info(s);
	struct err e;

	if (registry_set_info(s->entry, info, &e) < 0) /* on failure: the registry still
							* has the old info, which is
							* shown after the end */
		supervisor_log_add_err(&s->supervisor_log, LOG_LEVEL_WARN, "supervisor",
				       &e);
}

void main_process_started(struct supervisor *s)
{
	s->main.state = MAIN_RUNNING;
	restarts_begin(&s->main.restarts, s->now_ms);
	note(s);
	supervisor_ready(s);
}

void main_process_failed(struct supervisor *s, int exit_code, struct err *e)
{
	const struct launch *l = s->launch;

	s->main.state = MAIN_OVER;
	if (exit_code == EXIT_NOT_FOUND && l->plan.store_image)
		report_explain_missing_in(e, l->plan.argv.items[0], l->store_image.name);
	supervisor_end(s, "error", exit_code, NULL, e);
}

/* --- its end ------------------------------------------------------------------ */

/* Ends the sandbox with its main process.  The kernel may have killed that for want of
 * memory. */
static void end(struct supervisor *s, const struct job *j)
{
	struct usage used = { 0 };

	s->main.state = MAIN_OVER;
	note(s);
	if (j->exited.is_signaled && j->exited.status == SIGKILL)
		cgroup_usage(&s->launch->cgroup, &used);
	if (used.oom_kills)
		supervisor_end(s, "oom", s->main.exit_code,
			       used.is_over_limit ? "memory" : NULL, NULL);
	else
		supervisor_end(s, "exited", s->main.exit_code, NULL, NULL);
}

static void delay(struct supervisor *s, int64_t delay_ms)
{
	struct main_process *m = &s->main;
	AUTO_FREE char *more = text_format("\"process\":%u,\"exit_code\":%d,"
					   "\"restarts\":%u,\"delay_s\":%.3f",
					   m->process, m->exit_code, m->restarts.count,
					   (double)delay_ms / 1000);

	m->state = MAIN_DELAYED;
	m->owes_kill = true;
	supervisor_event(s, "restart", more);
	note(s);
}

void main_process_ended(struct supervisor *s, const struct job *j)
{
	struct main_process *m = &s->main;

	m->has_exited = true;
	m->exit_code = j->exited.is_signaled ? 128 + (int)j->exited.status
					     : (int)j->exited.status;
	if (s->ending.reason) {
		m->state = MAIN_OVER;
	} else if (s->is_stopping) {
		m->state = MAIN_OVER;
		note(s);
		supervisor_end(s, "stopped", 0, NULL, NULL);
	} else {
		int64_t delay_ms = restarts_next(&m->restarts, m->exit_code, s->now_ms);
		if (delay_ms)
			delay(s, delay_ms);
		else
			end(s, j);
	}
}

static void send_signal(struct supervisor *s, uint32_t process, int signo)
{
	struct err e;

	if (channel_send_signal(&s->instance.channel, process, (uint32_t)signo, &e) < 0)
		instance_broke_protocol(&s->instance, &e);
}

void main_process_look(struct supervisor *s)
{
	struct main_process *m = &s->main;

	if (instance_is_over(&s->instance) || s->is_stopping)
		return;
	if (m->state == MAIN_NEW && s->instance.state == INSTANCE_READY)
		start(s);
	if (!m->owes_kill || pause_is(s))
		return;
	m->owes_kill = false;
	send_signal(s, 0, SIGKILL);
	clocks_restart(&s->clocks, m->restarts.delay_ms, s->now_ms);
}

void main_process_again(struct supervisor *s)
{
	clocks_restart(&s->clocks, 0, s->now_ms);
	if (s->main.state != MAIN_DELAYED || s->is_stopping)
		return;
	start(s);
	jobs_send(&s->jobs, s->now_ms); /* this turn of the loop has sent its requests
					 * already */
}

void main_process_stop(struct supervisor *s, uint64_t grace_ms)
{
	clocks_restart(&s->clocks, 0, s->now_ms);
	if (s->main.state != MAIN_RUNNING || grace_ms < ASKED_MS) {
		supervisor_end(s, "stopped", 0, NULL, NULL);
		return;
	}
	clocks_end(&s->clocks, grace_ms, s->now_ms);
	send_signal(s, s->main.process, s->main.stop_signal);
}

int main_process_code(const struct supervisor *s)
{
	const struct main_process *m = &s->main;

	if (m->state == MAIN_NONE)
		return 0;
	return m->state == MAIN_RUNNING || !m->has_exited ? 128 + SIGKILL : m->exit_code;
}

/* --- told --------------------------------------------------------------------- */

static const char *state_word(enum main_state state)
{
	switch (state) {
	case MAIN_RUNNING:
		return "running";
	case MAIN_DELAYED:
		return "restarting";
	case MAIN_OVER:
		return "exited";
	case MAIN_NONE:
	case MAIN_NEW:
	case MAIN_STARTING:
		break;
	}
	return "starting";
}

static void put_argv(const struct list *argv, struct buffer *b)
{
	size_t left = ARGV_SHOWN;

	json_write_open(b, "argv", "[");
	for (size_t i = 0; i < argv->count; i++) {
		AUTO_FREE char *word = json_write_quoted(argv->items[i]);
		if (strlen(word) > left)
			break;
		json_write_raw(b, NULL, word);
		left -= strlen(word);
	}
	json_write_close(b, "]");
}

void main_process_put(const struct supervisor *s, struct buffer *b)
{
	const struct main_process *m = &s->main;
	AUTO_FREE char *rule = restart_rule_print(&m->restarts.rule);

	if (m->state == MAIN_NONE) {
		json_write_raw(b, "main", "null");
		return;
	}
	json_write_open(b, "main", "{");
	put_argv(&s->launch->plan.argv, b);
	json_write_count(b, "process", m->process);
	json_write_text(b, "state", state_word(m->state));
	if (m->has_exited)
		json_write_number(b, "exit_code", m->exit_code);
	else
		json_write_raw(b, "exit_code", "null");
	json_write_text(b, "restart", rule);
	json_write_number(b, "restarts", m->restarts.count);
	json_write_close(b, "}");
}
