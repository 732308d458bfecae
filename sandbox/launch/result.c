#include "sandbox/launch/result.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "egress/launch/refused_host.h"
#include "protocol/message.h"
#include "sandbox/monitor/denials.h"

static const char *const status_names[] = {
	[RUN_EXITED] = "exited", [RUN_SIGNALED] = "signaled",
	[RUN_TIMEOUT] = "timeout", [RUN_OOM] = "oom",
	[RUN_SETUP_ERROR] = "setup-error",
};
_Static_assert(ARRAY_LEN(status_names) == RUN_STATUS_COUNT, "a status has no name");

const char *result_status_name(enum run_status status)
{
	return status_names[status];
}

void result_exited(struct result *r, int code)
{
	r->status = RUN_EXITED;
	r->exit_code = code;
}

void result_signaled(struct result *r, int signal)
{
	r->status = RUN_SIGNALED;
	r->signal = signal;
	r->exit_code = 128 + signal;
}

void result_timeout(struct result *r)
{
	r->status = RUN_TIMEOUT;
	r->exit_code = EXIT_TIMED_OUT;
}

void result_oom(struct result *r, const struct err *error)
{
	result_signaled(r, SIGKILL);
	r->status = RUN_OOM;
	r->error = *error;
}

void result_failed(struct result *r, int code, const struct err *error)
{
	r->status = RUN_SETUP_ERROR;
	r->exit_code = code;
	r->error = *error;
}

static void add_hosts(struct result *r, const struct refused_hosts *hosts)
{
	AUTO_FREE char *calls = r->refused, *json = refused_hosts_json(hosts);

	r->refused = text_format("%s%s%s", calls, *calls && *json ? "," : "", json);
	for (size_t i = 0; i < hosts->count; i++) {
		AUTO_FREE char *sentence = refused_host_sentence(&hosts->items[i]);
		AUTO_FREE char *remedy = refused_host_remedy(&hosts->items[i]);
		list_add(&r->refusal_notes, sentence);
		list_add(&r->refusal_notes, remedy);
	}
}

void result_refused(struct result *r, const struct denials *denials,
		    const struct refused_hosts *hosts)
{
	own_free(&r->refused);
	list_done(&r->refusal_notes);
	r->refused = denials_json(denials);
	for (size_t i = 0; i < denials->count; i++) {
		AUTO_FREE char *sentence = refused_call_sentence(&denials->calls[i]);
		AUTO_FREE char *remedy = refused_call_remedy(&denials->calls[i]);
		list_add(&r->refusal_notes, sentence);
		list_add(&r->refusal_notes, remedy);
	}
	if (hosts)
		add_hosts(r, hosts);
}

void result_done(struct result *r)
{
	own_free(&r->refused);
	list_done(&r->refusal_notes);
}

char *result_error_json(const struct err *error)
{
	if (error->kind == ERR_NONE)
		return text_copy("null");
	struct buffer b;
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "kind", err_kind_name(error->kind));
	json_write_text(&b, "message", error->text);
	json_write_text(&b, "remedy", error->remedy[0] ? error->remedy : NULL);
	json_write_close(&b, "}");
	return json_write_end(&b);
}

/* Returns hutch's exit code for a command that did not start, as shells have it: 126 if
 * its program was found but could not be run, 127 if it was not found. */
static int exit_code_for(const struct failed *failed)
{
	if (failed->stage == EXEC_STAGE_EXECVE)
		return EXIT_CANNOT_RUN;
	if (failed->stage != EXEC_STAGE_LOOKUP)
		return EXIT_HUTCH;
	return failed->sys == EACCES ? EXIT_CANNOT_RUN : EXIT_NOT_FOUND;
}

void result_undelivered(struct result *r, const struct err *why)
{
	if (r->exit_code == 0)
		r->exit_code = EXIT_HUTCH;
	if (r->error.kind == ERR_NONE)
		r->error = *why;
}

/* Explains why a program that was found could not be executed (execve(2)). */
static void explain_program(uint32_t sys, struct err *e)
{
	static const struct {
		uint32_t sys;
		const char *remedy;
	} reasons[] = {
		{ ENOENT, "its interpreter, after #! or its dynamic loader, is not inside" },
		{ EACCES, "a command is a file that may be executed (chmod +x), no folder" },
		{ ENOEXEC, "a script begins with #!INTERPRETER; a program has to be of this "
			   "machine's architecture" },
	};

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].sys == sys)
			(void)err_remedy(e, "%s", reasons[i].remedy);
}

int result_not_started(const struct failed *failed, const struct exec *x, struct err *e)
{
	bool is_folder = failed->stage == EXEC_STAGE_CWD;

	errno = (int)failed->sys;
	(void)err_sys(e, "%s: %.200s", exec_stage_name(failed->stage),
		      is_folder ? x->cwd : x->argv[0]);
	if (failed->stage == EXEC_STAGE_EXECVE)
		explain_program(failed->sys, e);
	if (is_folder && failed->sys == EACCES)
		(void)err_remedy(
			e, "the owner or the mode of that folder does not let the "
			   "command in; a folder of the host (--workspace, -v) must "
			   "be one that you may enter yourself");
	else if (is_folder)
		(void)err_remedy(e, "-w takes a folder that exists inside");
	return exit_code_for(failed);
}

const char *result_degraded_name(unsigned i)
{
	static const char *const flags[DEGRADED_COUNT] = { "memory", "cpus", "pids-limit",
							   "disk", "image", "isolation",
							   "protect", "pause" };

	return flags[i];
}

void result_write_degraded(struct buffer *b, unsigned degraded)
{
	json_write_open(b, "degraded", "[");
	for (unsigned i = 0; i < DEGRADED_COUNT; i++)
		if (degraded & 1u << i)
			json_write_text(b, NULL, result_degraded_name(i));
	json_write_close(b, "]");
}

char *result_json(const struct result *r)
{
	AUTO_FREE char *error = result_error_json(&r->error);
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_number(&b, "version", 1);
	json_write_text(&b, "status", status_names[r->status]);
	json_write_number(&b, "exit_code", r->exit_code);
	json_write_count(&b, "signal", (uint64_t)r->signal);
	json_write_format(&b, "wall_s", "%.6f", r->wall_s);
	json_write_format(&b, "user_s", "%.6f", r->user_s);
	json_write_format(&b, "sys_s", "%.6f", r->sys_s);
	json_write_count(&b, "memory_peak_bytes", r->memory_peak);
	json_write_count(&b, "pids_peak", r->pids_peak);
	result_write_degraded(&b, r->degraded);
	json_write_open(&b, "refused", "[");
	json_write_raw(&b, NULL, r->refused ? r->refused : "");
	json_write_close(&b, "]");
	json_write_open(&b, "network", "{");
	json_write_text(&b, "mode", r->network);
	json_write_text(&b, "form", r->network_form);
	json_write_close(&b, "}");
	json_write_raw(&b, "error", error);
	json_write_close(&b, "}");
	return json_write_end(&b);
}
