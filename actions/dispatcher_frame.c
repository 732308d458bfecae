#include "actions/dispatcher.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "actions/action.h"
#include "actions/denial_reason.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/list.h"
#include "base/own.h"
#include "protocol/action.h"
#include "protocol/message.h"
#include "sandbox/cgroup/cgroup.h"

static int untimely(const struct frame *f, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "it sent '%s' about %u at the wrong time",
		       message_name(f->type), f->id);
}

static int on_started(struct dispatcher *d, const struct frame *f, struct err *e)
{
	struct session *s = queue_session_by_id(&d->queue, f->id);
	uint32_t pid;

	if (!s || !s->is_opening)
		return untimely(f, e);
	if (message_get_started(f, &pid, e) < 0)
		return -1;
	s->is_opening = false;
	s->is_open = true;
	s->pid = (pid_t)pid;
	dispatcher_close(d, s); /* ends the session if its only action was cancelled
				 * while the shell started */
	return 0;
}

/* Finds the task to which a refused system call is told. A call from a process that has
 * left its session (setsid(2)), or never was in one, is told to the only running task,
 * if there is just one. A call from a session without a running task comes from a
 * process that an earlier command left behind, and is told to none. */
static struct task *task_of(struct dispatcher *d, pid_t session, bool is_alone)
{
	for (size_t i = 0; session && i < d->queue.session_count; i++) {
		const struct session *s = &d->queue.sessions[i];
		if (s->is_open && s->pid == session)
			return s->first && s->first->is_sent ? s->first : NULL;
	}
	return is_alone ? queue_only(&d->queue) : NULL;
}

void dispatcher_refused(struct dispatcher *d, const struct refused_call *c, pid_t session,
			bool is_alone)
{
	struct task *t = task_of(d, session, is_alone);
	size_t i = 0;

	if (!t)
		return;
	while (i < t->refused_count && (t->refused[i].call.nr != c->call.nr ||
					t->refused[i].call.argument != c->call.argument))
		i++;
	if (i == TASK_REFUSED)
		return;
	if (i == t->refused_count) {
		t->refused[t->refused_count++] = *c;
		t->refused[i].count = 0;
	}
	t->refused[i].count++;
}

void dispatcher_refused_host(struct dispatcher *d, const struct refused_host *h,
			     bool is_alone)
{
	struct task *t = is_alone ? queue_only(&d->queue) : NULL;

	if (t)
		refused_hosts_count(&t->hosts, h);
}

static void finish_not_started(struct dispatcher *d, struct task *first,
			       const struct failed *f)
{
	AUTO_FREE char *cwd = dispatcher_cwd(d, first->session);
	const char *what = f->stage == EXEC_STAGE_CWD ? cwd : DISPATCHER_SHELL;
	AUTO_FREE char *text = text_format("ERROR: no shell could be started: %s: %s: %s",
					   exec_stage_name(f->stage), what,
					   err_words((int)f->sys));

	/* The executor answers ECANCELED when it is stopping
	 * (executor/session/session.c). */
	if (f->sys == ECANCELED)
		dispatcher_finish_error(d, first, "HUTCH$SANDBOX_ENDED",
					"ERROR: the sandbox is stopping");
	else
		dispatcher_finish_error(d, first, "HUTCH$NO_SHELL", text);
}

/* Called when a session's shell could not be started: a command that waits for it fails.
 * The next command tries again; other actions do without a shell. */
static int on_failed(struct dispatcher *d, const struct frame *f, struct err *e)
{
	struct session *s = queue_session_by_id(&d->queue, f->id);
	struct failed failed;

	if (!s || !s->is_opening)
		return untimely(f, e);
	if (message_get_failed(f, &failed, e) < 0)
		return -1;
	s->is_opening = false;
	s->has_no_shell = true;
	if (s->first && s->first->action.kind == ACT_RUN)
		finish_not_started(d, s->first, &failed);
	else
		dispatcher_close(d, s);
	return 0;
}

/* Sends output to one client. A client that has not read its observations either, so
 * that some still wait in its reply queue, gets no output; the bytes are only counted.
 * In most cases dispatcher_start() has held the command before that. */
static void tell_output(struct asker *to, const struct observed *o)
{
	struct dispatcher_client *c = to->client;

	if (!c || !c->streams)
		return;
	if (dispatcher_is_behind(c)) {
		to->dropped += o->len;
		return;
	}
	dispatcher_tell_dropped(to, o->action);
	observe_output(c->out, o, c->is_rpc);
}

/* Sends output, already redacted, to every client that waits for the action. */
static void tell_all(struct task *t, const void *data, size_t len)
{
	const struct observed o = { .action = &t->action, .content = data, .len = len };

	for (size_t i = 0; i < t->asker_count && o.len > 0; i++)
		tell_output(&t->askers[i], &o);
}

void dispatcher_flush_output(struct dispatcher *d, struct task *t)
{
	struct buffer shown;

	if (!t->is_streamed || redact_is_empty(&d->secrets))
		return;
	buffer_init(&shown, REDACT_GROWTH * REDACT_BYTES);
	redact_flush(&t->session->shown, &shown);
	tell_all(t, buffer_data(&shown), buffer_len(&shown));
	buffer_done(&shown);
}

static void tell_masked(struct dispatcher *d, struct task *t, struct bytes text)
{
	struct buffer shown;

	buffer_init(&shown, REDACT_GROWTH * (REDACT_BYTES + ACTION_CHUNK));
	redact_feed(&d->secrets, &t->session->shown, text.data, text.len, &shown);
	tell_all(t, buffer_data(&shown), buffer_len(&shown));
	buffer_done(&shown);
}

static int on_output(struct dispatcher *d, struct task *t, const struct frame *f,
		     struct err *e)
{
	struct bytes text;

	if (!t->is_streamed)
		return untimely(f, e);
	if (action_get_text(f, &text, e) < 0)
		return -1;
	if (redact_is_empty(&d->secrets))
		tell_all(t, text.data, text.len);
	else
		tell_masked(d, t, text);
	return 0;
}

static int on_content(struct dispatcher *d, struct task *t, const struct frame *f,
		      struct err *e)
{
	struct bytes text;

	(void)d;
	if (action_get_text(f, &text, e) < 0)
		return -1;
	if (!buffer_append(&t->content, text.data, text.len))
		return err_set(e, ERR_PROTOCOL, "it sent more content than it may");
	return 0;
}

/* Returns the memory limit if the command was killed because of it, else 0. Two signs
 * are needed: the command ended by SIGKILL, and since the last check the kernel has
 * counted an OOM kill in this cgroup, due to its own limit and not to the machine's
 * memory. */
static uint64_t oom_limit(struct dispatcher *d, const struct report *r)
{
	struct usage used;

	if (!d->cgroup || r->exit_code != 128 + SIGKILL)
		return 0;
	cgroup_usage(d->cgroup, &used);
	bool is_oom = used.oom_kills > d->oom_kills && used.is_over_limit;
	d->oom_kills = used.oom_kills;
	return is_oom ? d->memory_limit : 0;
}

/* Keeps the content received so far as that of the previous command, which ended while
 * no action waited for it. An action can have one such report. */
static int keep_previous(struct task *t, const struct frame *f, struct err *e)
{
	if (t->has_previous)
		return untimely(f, e);
	t->has_previous = true;
	t->previous = t->content;
	buffer_init(&t->content, t->previous.max);
	return 0;
}

/* Returns the path of the session's log. Only the number in its name comes from the
 * sandbox. */
static char *log_path(const struct task *t, const struct report *r)
{
	char label[DISPATCHER_LABEL_MAX];

	if (!r->log)
		return NULL;
	dispatcher_label(t->session, label);
	return text_format("/run/hutch/log/%s-%u", label, r->log);
}

static int on_report(struct dispatcher *d, struct task *t, const struct frame *f,
		     struct err *e)
{
	struct report r;
	struct buffer line;

	if (t->action.kind != ACT_RUN)
		return untimely(f, e);
	if (action_get_report(f, &r, e) < 0)
		return -1;
	if (r.flags & REPORT_PREVIOUS)
		return keep_previous(t, f, e);
	AUTO_FREE char *log = log_path(t, &r);
	struct observed o = dispatcher_observed(d, t);
	o.oom_limit = oom_limit(d, &r);
	o.log = log;
	struct denial_reason reason = { 0 };
	if (r.state == REPORT_COMPLETED && r.exit_code != 0)
		denial_reason_output(&reason, &d->why, action_name(&t->action), o.content,
				     o.len, r.cwd);
	denial_reason_tell(&reason, &o);
	buffer_init(&line, DISPATCHER_LINE_MAX);
	observe_run(&line, &o, &r, &d->sandbox_info);
	denial_reason_done(&reason);
	dispatcher_note_report(t, &r);
	dispatcher_finish(d, t, &line);
	return 0;
}

/* --- files ------------------------------------------------------------------------ */

static uint32_t errno_of(uint32_t outcome, uint32_t sys)
{
	return outcome == OUTCOME_NOT_FOUND ? ENOENT : outcome == OUTCOME_DONE ? 0 : sys;
}

static int on_done(struct dispatcher *d, struct task *t, const struct frame *f,
		   struct err *e)
{
	struct done done;
	struct buffer line;

	if (t->action.kind != ACT_WRITE &&
	    (t->action.kind != ACT_READ || action_is_edit(&t->action)))
		return untimely(f, e);
	if (action_get_done(f, &done, e) < 0)
		return -1;
	struct observed o = dispatcher_observed(d, t);
	struct denial_reason reason = { 0 };
	denial_reason_path(&reason, &d->why, action_name(&t->action), done.path,
		  errno_of(done.outcome, done.sys));
	denial_reason_tell(&reason, &o);
	buffer_init(&line, DISPATCHER_LINE_MAX);
	if (t->action.kind == ACT_READ)
		observe_read(&line, &o, &done);
	else
		observe_write(&line, &o, &done);
	denial_reason_done(&reason);
	dispatcher_note_outcome(t, done.outcome);
	dispatcher_finish(d, t, &line);
	return 0;
}

/* Returns whether an edit failed: the editor reports errors only in its text. */
static bool is_edit_error(const struct observed *o)
{
	static const char words[] = "ERROR:";

	return o->len >= sizeof(words) - 1 &&
	       !memcmp(o->content, words, sizeof(words) - 1);
}

static int on_edited(struct dispatcher *d, struct task *t, const struct frame *f,
		     struct err *e)
{
	struct edited x;
	struct buffer line;

	if (!action_is_edit(&t->action))
		return untimely(f, e);
	if (action_get_edited(f, &x, e) < 0)
		return -1;
	const struct observed o = dispatcher_observed(d, t);
	if (x.text_len > o.len)
		return err_set(e, ERR_PROTOCOL, "it sent less text than it said");
	buffer_init(&line, DISPATCHER_LINE_MAX);
	observe_edit(&line, &o, &x);
	dispatcher_note_outcome(t, is_edit_error(&o) ? OUTCOME_ERROR : x.outcome);
	dispatcher_finish(d, t, &line);
	return 0;
}

static int on_returned(struct dispatcher *d, struct task *t, const struct frame *f,
		       struct err *e)
{
	struct returned x;
	struct buffer line;

	if (!action_is_errand(&t->action))
		return untimely(f, e);
	if (action_get_returned(f, &x, e) < 0)
		return -1;
	struct observed o = dispatcher_observed(d, t);
	struct denial_reason reason = { 0 };
	denial_reason_path(&reason, &d->why, action_name(&t->action), x.path,
		  errno_of(x.outcome, x.sys));
	denial_reason_tell(&reason, &o);
	buffer_init(&line, DISPATCHER_LINE_MAX);
	observe_errand(&line, &o, &x);
	denial_reason_done(&reason);
	dispatcher_note_outcome(t, x.outcome);
	dispatcher_finish(d, t, &line);
	return 0;
}

void dispatcher_finish_late(struct dispatcher *d, struct task *t)
{
	const struct returned x = { .outcome = OUTCOME_TIMED_OUT, .path = t->action.path,
				    .cwd = d->shell.cwd, .stat.target = "" };
	const struct observed o = dispatcher_observed(d, t);
	struct buffer line;

	buffer_init(&line, DISPATCHER_LINE_MAX);
	observe_errand(&line, &o, &x);
	dispatcher_note_outcome(t, x.outcome);
	dispatcher_finish(d, t, &line);
}

static const struct frame_handler {
	int (*session)(struct dispatcher *, const struct frame *, struct err *);
	int (*task)(struct dispatcher *, struct task *, const struct frame *,
		    struct err *);
	int (*plugin)(struct dispatcher *, struct known_plugin *, const struct frame *,
		      struct err *);
} frame_handlers[MSG_COUNT] = {
	[MSG_STARTED] = { .session = on_started },
	[MSG_FAILED] = { .session = on_failed },
	[MSG_OUTPUT] = { .task = on_output },
	[MSG_CONTENT] = { .task = on_content },
	[MSG_REPORT] = { .task = on_report },
	[MSG_DONE] = { .task = on_done },
	[MSG_EDITED] = { .task = on_edited },
	[MSG_RETURNED] = { .task = on_returned },
	[MSG_OFFER] = { .plugin = dispatcher_offer },
	[MSG_STATE] = { .plugin = dispatcher_state },
	[MSG_ANSWERED] = { .task = dispatcher_answered },
};

int dispatcher_frame(struct dispatcher *d, const struct frame *f, struct err *e)
{
	const struct frame_handler *a = f->type < MSG_COUNT ? &frame_handlers[f->type]
							    : NULL;

	if (!a || (!a->session && !a->task && !a->plugin))
		return err_set(e, ERR_PROTOCOL, "it sent a message of type %u", f->type);
	if (a->session)
		return a->session(d, f, e);
	if (a->plugin) {
		struct known_plugin *p = plugin_table_find(&d->plugins, f->id);
		return p ? a->plugin(d, p, f, e) : untimely(f, e);
	}
	struct task *t = queue_under_way(&d->queue, f->id);
	return t ? a->task(d, t, f, e) : untimely(f, e);
}
