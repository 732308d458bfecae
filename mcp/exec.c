/* The tools that run commands: exec, exec_output, exec_kill. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "mcp/job.h"
#include "mcp/tool_result.h"
#include "mcp/server.h"
#include "mcp/tools.h"
#include "sandbox/launch/result.h"

#define TIMEOUT_MS 120000 /* of a command that is waited for */
#define STDIN_MAX  (1u << 20)

/* The tags of requests. */
enum { STARTED = 1, WRITTEN, ENDED, ATTACHED, LISTED, SIGNALLED };

/* Runs bash where there is one, else sh. */
static const char shell[] = "if [ -x /bin/bash ]; then exec /bin/bash -c \"$0\"; fi; "
			    "exec /bin/sh -c \"$0\"";

/* --- exec ------------------------------------------------------------------ */

static bool get_bool(const struct job *j, const char *key)
{
	struct json_at at;
	bool value = false;

	if (json_member(&j->arguments, key, &at))
		(void)json_bool(&at, &value, NULL); /* tools_check() has seen it */
	return value;
}

static uint64_t get_ms(const struct job *j, const char *key, uint64_t other)
{
	struct json_at at;
	double seconds;

	if (!json_member(&j->arguments, key, &at) || json_number(&at, &seconds, NULL) < 0)
		return other;
	return seconds < 0.001 ? 1 : (uint64_t)(seconds * 1000);
}

/* Adds the texts of an array, or the members of an object as "NAME=VALUE". */
static void get_texts(const struct job *j, const char *key, struct list *to)
{
	struct json_at list, item = { 0 };
	const char *name, *text;

	if (!json_member(&j->arguments, key, &list))
		return;
	if (json_type(&list) == JSON_ARRAY)
		while (json_step(&list, &item) && json_string(&item, &text, NULL) == 0)
			list_add(to, text);
	else
		while (json_step_key(&list, &item, &name) &&
		       json_string(&item, &text, NULL) == 0)
			list_addf(to, "%s=%s", name, text);
}

/* Fills in the command.  Returns false after failing. */
static bool get_command(struct job *j, struct list *argv)
{
	const char *command = json_member_string(&j->arguments, "command", NULL);
	struct json_at words;
	const bool has_words = json_member(&j->arguments, "argv", &words);

	if (!command == !has_words) {
		job_fail(j, "exec takes either command or argv");
		return false;
	}
	if (has_words) {
		get_texts(j, "argv", argv);
		return true;
	}
	list_add(argv, "/bin/sh");
	list_add(argv, "-c");
	list_add(argv, shell);
	list_add(argv, command);
	return true;
}

static const char *get_input(const struct job *j)
{
	return json_member_string(&j->arguments, "stdin", NULL);
}

void exec_start(struct job *j)
{
	const bool is_background = get_bool(j, "background");
	const char *input = get_input(j);
	struct list argv = { 0 }, env = { 0 };
	struct hutch_error e;

	if (input && strlen(input) > STDIN_MAX) {
		job_fail(j, "stdin: at most 1 MiB; write_file takes more");
		return;
	}
	capture_init(&j->out);
	capture_init(&j->err);
	get_texts(j, "env", &env);
	if (get_command(j, &argv)) {
		const struct hutch_exec x = {
			.size = sizeof(x),
			.argv = (const char *const *)argv.items,
			.env = (const char *const *)env.items,
			.cwd = json_member_string(&j->arguments, "cwd", NULL),
			.flags = (is_background ? HUTCH_DETACH : 0u) |
				 (input ? HUTCH_STDIN : 0u),
			.timeout_ms = get_ms(j, "timeout", is_background ? 0 : TIMEOUT_MS)
		};
		job_check_sent(j, hutch_exec(j->box, &x, JOB_TAG(STARTED), &e), &e);
	}
	list_done(&argv);
	list_done(&env);
}

/* Writes the members that all three tools have. */
static void begin_result(const struct job *j, struct tool_result *r)
{
	tool_result_init(r);
	json_write_text(&r->structured, "sandbox_id", j->name);
	json_write_number(&r->structured, "exec_id", j->process);
}

static void tell_background(struct job *j)
{
	AUTO_FREE char *text = text_format("exec_id %" PRId64, j->process);
	struct tool_result r;

	begin_result(j, &r);
	json_write_bool(&r.structured, "running", true);
	tool_result_text(&r, text, strlen(text));
	job_done(j, &r);
}

/* Sends the input, and asks for the end where the call waits for it. */
static void follow(struct job *j, bool is_background)
{
	const char *text = get_input(j);
	struct hutch_error e;
	int64_t sent = 0;

	if (text) {
		const struct hutch_input input = { .size = sizeof(input),
						   .data = text,
						   .len = strlen(text),
						   .flags = HUTCH_EOF };
		sent = hutch_exec_write(j->box, j->process, &input, JOB_TAG(WRITTEN), &e);
	}
	if (sent >= 0 && !is_background)
		sent = hutch_exec_wait(j->box, j->process, JOB_TAG(ENDED), &e);
	if (sent < 0)
		job_fail_hutch(j, &e);
	else if (is_background && !text)
		tell_background(j);
}

/* Writes how a command has ended: `json` is the answer of exec.wait; NULL: it runs. */
static void write_end(struct buffer *b, const char *json, struct buffer *text)
{
	int64_t code = 0;
	int is_late = 0;

	(void)hutch_json_bool(json, "timed_out", &is_late);
	const bool has_code = json && hutch_json_integer(json, "exit_code", &code);
	if (is_late)
		code = EXIT_TIMED_OUT; /* as `hutch exec` has it */
	json_write_bool(b, "running", !json);
	if (has_code)
		json_write_number(b, "exit_code", code);
	else
		json_write_raw(b, "exit_code", "null");
	json_write_bool(b, "timed_out", is_late);
	AUTO_FREE char *line = !json	 ? text_copy("[running]")
			       : is_late ? text_copy("[killed: its time was over]")
					 : text_format("[exit code %" PRId64 "]", code);
	(void)buffer_append(text, line, strlen(line)); /* the buffer has no bound */
}

/* Adds an output to the text for the model, on lines of its own. */
static void add_output(struct buffer *text, const char *title, const char *from,
		       size_t len)
{
	if (!len)
		return;
	(void)buffer_append(text, title, strlen(title));
	(void)buffer_append(text, from, len);
	if (from[len - 1] != '\n')
		(void)buffer_append(text, "\n", 1);
}

/* Sends what the command has printed, and how it has ended. */
static void tell(struct job *j, const char *end)
{
	size_t out_len, err_len;
	AUTO_FREE char *out = capture_text(&j->out, &out_len);
	AUTO_FREE char *err = capture_text(&j->err, &err_len);
	struct buffer text;
	struct tool_result r;

	buffer_init(&text, SIZE_MAX);
	begin_result(j, &r);
	json_write_bytes(&r.structured, "stdout", out, out_len);
	json_write_bytes(&r.structured, "stderr", err, err_len);
	json_write_format(&r.structured, "left_out_bytes", "%" PRIu64,
			  capture_lost(&j->out) + capture_lost(&j->err) + j->lost);
	add_output(&text, "", out, out_len);
	add_output(&text, "[stderr]\n", err, err_len);
	write_end(&r.structured, end, &text);
	tool_result_text(&r, buffer_data(&text), buffer_len(&text));
	buffer_done(&text);
	job_done(j, &r);
}

static void take_output(struct job *j, const struct hutch_message *m)
{
	capture_add(m->stream == 2 ? &j->err : &j->out, m->data, m->data_len);
	j->lost += m->dropped;
	job_progress(j, m);
}

void exec_take(struct job *j, const struct hutch_message *m)
{
	const bool is_background = get_bool(j, "background");

	if (m->type == HUTCH_OUTPUT) {
		take_output(j, m);
	} else if (m->type != HUTCH_ANSWER) {
		return;
	} else if (m->tag == JOB_TAG(WRITTEN)) {
		/* An error is none: a command may end without reading its input. */
		if (is_background)
			tell_background(j);
	} else if (m->error.kind != HUTCH_OK) {
		job_fail_hutch(j, &m->error);
	} else if (m->tag == JOB_TAG(ENDED)) {
		tell(j, m->json);
	} else {
		(void)hutch_json_integer(m->json, "process", &j->process);
		follow(j, is_background);
	}
}

/* --- exec_output ----------------------------------------------------------- */

static int64_t get_process(const struct job *j)
{
	return (int64_t)json_member_uint(&j->arguments, "exec_id", 0);
}

/* Asks for the output that is kept, for the state, and for the end.  The state says
 * whether the end is worth waiting for. */
void exec_output_start(struct job *j)
{
	const uint64_t wait_ms = get_ms(j, "wait", 0);
	struct hutch_error e;

	j->process = get_process(j);
	capture_init(&j->out);
	capture_init(&j->err);
	if (wait_ms)
		loop_start(&j->server->loop, &j->timer, (int64_t)wait_ms);
	else
		j->is_over_time = true;
	int64_t sent = hutch_exec_attach(j->box, j->process, JOB_TAG(ATTACHED), &e);
	if (sent >= 0)
		sent = hutch_exec_list(j->box, JOB_TAG(LISTED), &e);
	if (sent >= 0)
		sent = hutch_exec_wait(j->box, j->process, JOB_TAG(ENDED), &e);
	job_check_sent(j, sent, &e);
}

/* Whether the output that was kept has come. */
static bool has_output(const struct job *j)
{
	return j->has_wanted && j->out.seen + j->err.seen + j->lost >= j->wanted;
}

static void look(struct job *j)
{
	if (j->exit)
		tell(j, j->exit);
	else if (j->is_over_time && j->has_state && j->is_running && has_output(j))
		tell(j, NULL);
}

void exec_output_late(struct job *j)
{
	j->is_over_time = true;
	look(j);
}

static void read_kept(struct job *j, const char *json)
{
	static const char *const paths[] = { "kept.stdout", "kept.stderr" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		int64_t kept = 0;

		if (hutch_json_integer(json, paths[i], &kept) && kept > 0)
			j->wanted += (uint64_t)kept;
	}
	j->has_wanted = true;
}

/* Finds the process in the answer of exec.list. */
static void read_state(struct job *j, const struct hutch_message *m)
{
	AUTO_JSON struct json *doc = json_parse(m->json, m->json_len, NULL);
	struct json_at list, item = { 0 };

	j->has_state = true;
	if (!doc)
		return;
	json_root(doc, "list", &list);
	while (json_step(&list, &item))
		if (json_member_uint(&item, "process", 0) == (uint64_t)j->process)
			j->is_running = !strcmp(json_member_string(&item, "state", ""),
						"running");
}

void exec_output_take(struct job *j, const struct hutch_message *m)
{
	if (m->type == HUTCH_OUTPUT) {
		take_output(j, m);
	} else if (m->type != HUTCH_ANSWER) {
		return;
	} else if (m->error.kind != HUTCH_OK) {
		job_fail_hutch(j, &m->error);
		return;
	} else if (m->tag == JOB_TAG(ATTACHED)) {
		read_kept(j, m->json);
	} else if (m->tag == JOB_TAG(LISTED)) {
		read_state(j, m);
	} else {
		j->exit = text_copy(m->json);
	}
	look(j);
}

/* --- exec_kill ------------------------------------------------------------- */

static const struct {
	const char *name;
	int number;
} signals[] = { { "TERM", SIGTERM }, { "INT", SIGINT }, { "KILL", SIGKILL } };

void exec_kill_start(struct job *j)
{
	const char *name = json_member_string(&j->arguments, "signal", "KILL");
	struct hutch_error e;

	j->process = get_process(j);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		if (strcmp(name, signals[i].name) != 0)
			continue;
		job_check_sent(j,
			       hutch_exec_signal(j->box, j->process, signals[i].number,
						 JOB_TAG(SIGNALLED), &e),
			       &e);
		return;
	}
	job_fail(j, "signal: it is TERM, INT or KILL");
}

void exec_kill_take(struct job *j, const struct hutch_message *m)
{
	static const char text[] = "The signal was sent.";
	struct tool_result r;

	if (m->type != HUTCH_ANSWER)
		return;
	if (m->error.kind != HUTCH_OK) {
		job_fail_hutch(j, &m->error);
		return;
	}
	begin_result(j, &r);
	tool_result_text(&r, text, strlen(text));
	job_done(j, &r);
}
