#include "supervisor/main_process.h"

#include <signal.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "supervisor/capture.h"
#include "supervisor/records.h"
#include "supervisor/supervisor.h"

/* Returns the job, with copies of the words and variables that the launch has planned. */
static struct job *new_job(const struct supervisor *s)
{
	const struct plan *plan = &s->launch->plan;
	struct job *j = mem_zeroed(1, sizeof(*j));

	j->exec = launch_command(s->launch);
	for (size_t i = 0; i < plan->argv.count; i++)
		list_add(&j->argv, plan->argv.items[i]);
	for (size_t i = 0; i < plan->env.count; i++)
		list_add(&j->env, plan->env.items[i]);
	j->cwd = text_copy(plan->workdir);
	j->exec.argv = j->argv.items;
	j->exec.env = j->env.items;
	j->exec.cwd = j->cwd;
	j->exec.flags = EXEC_ALONE; /* it decides what its children are told */
	j->is_detached = true;
	j->begun_ms = events_now();
	return j;
}

static int begin(struct supervisor *s, struct job *j, struct err *e)
{
	j->capture = capture_new(false, false, &j->fds, e);
	if (!j->capture)
		return -1;
	j->id = queue_new_id(&s->dispatcher.queue);
	if (records_begin(s, NULL, j, e) < 0)
		return -1;
	if (jobs_add(&s->jobs, j, e) < 0) {
		records_end(s, j, e->text);
		return -1;
	}
	return 0;
}

void main_process_start(struct supervisor *s)
{
	struct job *j = new_job(s);
	struct err e;

	if (begin(s, j, &e) < 0) {
		job_free(j);
		main_process_failed(s, EXIT_HUTCH, &e);
		return;
	}
	s->main.job = j->id;
	supervisor_look_at_clock(s); /* writing to the audit log may have taken long */
	jobs_send(&s->jobs, s->now_ms);
}

bool main_process_is(const struct supervisor *s, const struct job *j)
{
	return s->main.job != 0 && j->id == s->main.job;
}

bool main_process_is_alive(const struct supervisor *s)
{
	const struct job *j = s->main.job ? jobs_find(&s->jobs, s->main.job) : NULL;

	return j && j->state != JOB_ENDED;
}

void main_process_failed(struct supervisor *s, int exit_code, const struct err *e)
{
	s->main.failed = exit_code;
	supervisor_end(s, "error", exit_code, NULL, e);
}

void main_process_ended(struct supervisor *s, int exit_code)
{
	supervisor_end(s, s->is_stopping ? "stopped" : "exited", exit_code, NULL, NULL);
}

bool main_process_stop(struct supervisor *s)
{
	const struct job *j = jobs_find(&s->jobs, s->main.job);
	struct err e;

	if (!j || (j->state != JOB_ASKED && j->state != JOB_RUNNING))
		return false;
	if (channel_send_signal(&s->instance.channel, s->main.job, SIGTERM, &e) < 0)
		instance_broke_protocol(&s->instance, &e);
	return true;
}
