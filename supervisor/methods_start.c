#include "supervisor/methods.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/environment.h"
#include "sandbox/launch/launch.h"
#include "supervisor/records.h"
#include "supervisor/request.h"
#include "supervisor/supervisor.h"

static int get_argv(const struct request *call, struct job *j)
{
	struct json_at list, item = { 0 };
	const char *word;

	if (!json_member(&call->request->params, "argv", &list))
		return err_set(call->e, ERR_USAGE, "params.argv: missing");
	if (json_expect(&list, JSON_ARRAY, call->e) < 0)
		return -1;
	while (json_step(&list, &item)) {
		if (json_string(&item, &word, call->e) < 0)
			return -1;
		list_add(&j->argv, word);
	}
	return j->argv.count ? 0 : err_set(call->e, ERR_USAGE, "params.argv: empty");
}

/* Sets a variable.  It can replace only one of the first `count`, which are those of
 * the sandbox: the variables of the request have different names, and searching them
 * would be slow, as there may be a hundred thousand. */
static void set_env(struct list *env, size_t count, const char *key, const char *value)
{
	const struct list own = { .items = env->items, .count = count }; /* a view */
	AUTO_FREE char *word = text_format("%s=%s", key, value);

	if (list_get_env(&own, key))
		list_set_env(env, word);
	else
		list_add(env, word);
}

/* Adds the variables that each command of the sandbox gets.  Those from the account of
 * a user that must be looked up are added later. */
static void add_own(const struct request *call, struct job *j)
{
	const struct plan *plan = &call->s->launch->plan;
	const char *shell = list_get_env(&plan->env, "SHELL");
	const char *zone = list_get_env(&plan->env, "TZ");

	if (j->user || j->exec.uid == plan->uid)
		for (size_t i = 0; i < plan->env.count; i++)
			list_add(&j->env, plan->env.items[i]);
	else
		environment_build(call->s->launch->policy, j->exec.uid,
				  shell ? shell : "/bin/sh", zone ? zone : "UTC",
				  &j->env);
	variables_apply(&call->s->dispatcher.variables, &j->env);
}

/* Adds the variables that a command on a terminal gets, unless the sandbox has them. */
static void add_terminal(const struct request *call, struct job *j)
{
	AUTO_FREE char *prompt = environment_prompt(call->s->entry->name);

	if (!list_get_env(&j->env, "TERM"))
		list_add(&j->env, "TERM=xterm-256color");
	if (!list_get_env(&j->env, "PS1"))
		list_add(&j->env, prompt);
}

static int get_env(const struct request *call, struct job *j)
{
	struct json_at env, item = { 0 };
	const char *key, *value;

	add_own(call, j);
	if (j->has_terminal)
		add_terminal(call, j);
	const size_t own = j->env.count;
	if (!json_member(&call->request->params, "env", &env))
		return 0;
	if (json_expect(&env, JSON_OBJECT, call->e) < 0)
		return -1;
	while (json_step_key(&env, &item, &key)) {
		if (json_string(&item, &value, call->e) < 0)
			return -1;
		if (!*key || strchr(key, '='))
			return err_set(call->e, ERR_USAGE,
				       "params.env: '%.100s' is no name", key);
		set_env(&j->env, own, key, value);
		j->said |= methods_user_variable(key);
	}
	return 0;
}

/* Reads the secrets of the request.  From now on their values are hidden in the output
 * of all processes. */
static int get_secret(const struct request *call, const struct job *j)
{
	struct json_at list, item = { 0 };
	const char *name;
	bool is_hidden;

	if (!json_member(&call->request->params, "secret", &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, call->e) < 0)
		return -1;
	while (json_step(&list, &item)) {
		if (json_string(&item, &name, call->e) < 0)
			return -1;
		const char *value = list_get_env(&j->env, name);
		if (!value)
			return err_set(call->e, ERR_USAGE,
				       "params.secret: there is no variable "
				       "'%.60s'",
				       name);
		if (dispatcher_hide(&call->s->dispatcher, value, &is_hidden, call->e) < 0)
			return -1;
	}
	return 0;
}

static int get_place(const struct request *call, struct job *j)
{
	const char *cwd = NULL;
	uint64_t rows = 24, cols = 80;

	if (request_text(call, "cwd", &cwd) < 0 ||
	    request_uint(call, "rows", 65535, &rows) < 0 ||
	    request_uint(call, "cols", 65535, &cols) < 0)
		return -1;
	if (cwd && !*cwd)
		return err_set(call->e, ERR_USAGE, "params.cwd: empty");
	j->cwd = !cwd || *cwd == '/' ? text_copy(cwd ? cwd : j->exec.cwd)
				     : text_format("%s/%s", j->exec.cwd, cwd);
	j->exec.cwd = j->cwd;
	j->exec.rows = (uint32_t)rows;
	j->exec.cols = (uint32_t)cols;
	return 0;
}

static int get_job(const struct request *call, struct job *j)
{
	j->exec = launch_command(call->s->launch);
	if (get_argv(call, j) < 0 || request_bool(call, "tty", &j->has_terminal) < 0 ||
	    request_bool(call, "detach", &j->is_detached) < 0 ||
	    request_seconds(call, "timeout", &j->timeout_ms) < 0 ||
	    methods_get_user(call, j) < 0 || get_env(call, j) < 0 ||
	    get_secret(call, j) < 0 || get_place(call, j) < 0)
		return -1;
	j->exec.argv = j->argv.items;
	j->exec.env = j->env.items;
	j->exec.flags = j->has_terminal ? EXEC_PTY : 0;
	return 0;
}

static int check_fds(const struct request *call, bool *ret_has_stdin)
{
	unsigned count = call->fds->count;

	*ret_has_stdin = false;
	if (count != 0 && count != CONNECTION_FDS)
		return err_set(call->e, ERR_USAGE,
			       "three descriptors were expected, or none");
	if (request_bool(call, "stdin", ret_has_stdin) < 0)
		return -1;
	if (count != 0 && *ret_has_stdin)
		return err_set(call->e, ERR_USAGE,
			       "params.stdin: the descriptors have one");
	return 0;
}

/* Refuses a job whose client has disconnected meanwhile: the job would be ended at
 * once. */
static int check_client(const struct request *call, const struct job *j)
{
	if (j->is_detached || !connection_is_deserted(&call->client->conn))
		return 0;
	return err_set(call->e, ERR_GONE, "its client has gone");
}

/* If the descriptor is a pipe, opens the pipe again through /proc (proc(5)).  The new
 * open file description has its own O_NONBLOCK flag: in a shared one the client could
 * clear the flag, and a write to the full pipe would block pid 1 forever.  Landlock
 * does not restrict this.  Other files are not reopened, since their file system might
 * not answer. */
static void own_pipe(int *fd)
{
	const int flags = fcntl(*fd, F_GETFL);
	char path[32], is[sizeof("pipe:") - 1];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	if (flags < 0 || readlink(path, is, sizeof(is)) != sizeof(is) ||
	    memcmp(is, "pipe:", sizeof(is)) != 0)
		return;
	const int own = open(path, (flags & O_ACCMODE) | O_NONBLOCK | O_CLOEXEC);
	if (own < 0)
		return;
	own_close(fd);
	*fd = own;
}

/* Takes the descriptors that the client has passed; makes pipes if there are none. */
static int take_fds(const struct request *call, struct job *j, bool has_stdin)
{
	if (outputs_reserve(call->s, call->e) < 0)
		return -1;
	if (call->fds->count) {
		j->fds = *call->fds;
		*call->fds = (struct connection_fds){ 0 };
		/* With a terminal, pid 1 copies between these descriptors and the
		 * terminal. */
		for (unsigned i = 0; j->has_terminal && i < j->fds.count; i++)
			own_pipe(&j->fds.fds[i]);
		return 0;
	}
	j->capture = capture_new(has_stdin, j->has_terminal, &j->fds, call->e);
	return j->capture ? 0 : -1;
}

uint32_t methods_new_process(struct supervisor *s)
{
	uint32_t id = queue_new_id(&s->dispatcher.queue);

	while (jobs_find(&s->jobs, id))
		id = queue_new_id(&s->dispatcher.queue);
	return id;
}

/* Hands the job over to jobs.h.  On failure the caller still owns it. */
static int begin(const struct request *call, struct job *j, bool has_stdin)
{
	struct supervisor *s = call->s;

	if (check_client(call, j) < 0 || take_fds(call, j, has_stdin) < 0)
		return RPC_FAILED;
	j->id = methods_new_process(s);
	j->owner = call->client;
	j->begun_ms = events_now();
	/* If the user must be looked up first, the audit log gets the entry later, with
	 * the user's ids. */
	if (!j->user && records_begin(s, call->client, j, call->e) < 0)
		return RPC_FAILED;
	if (jobs_add(&s->jobs, j, call->e) < 0) {
		records_end(s, j, call->e->text);
		return RPC_FAILED;
	}
	if (j->capture)
		outputs_view(call->client, j);
	j->request = request_take_id(call);
	call->client->under_way++;
	supervisor_look_at_clock(s); /* writing to the audit log may have taken long */
	jobs_send(&s->jobs, s->now_ms);
	return 0;
}

int methods_start(const struct request *call)
{
	struct job *j;
	bool has_stdin;
	int code = RPC_PARAMS;

	if (request_busy(call) < 0)
		return RPC_FAILED;
	j = mem_zeroed(1, sizeof(*j));
	if (get_job(call, j) == 0 && check_fds(call, &has_stdin) == 0)
		code = begin(call, j, has_stdin);
	if (code != 0)
		job_free(j);
	return code;
}

/* --- copies ------------------------------------------------------------------- */

/* Makes a job from a copy request.  The executor copies with its own code, so `argv`
 * describes the copy and names no program. */
static int get_copy(const struct request *call, struct job *j, uint32_t flags)
{
	const char *path = NULL, *name = NULL;
	bool follows = false, contents = false, is_file = false, parents = false;

	if (request_text(call, "path", &path) < 0 ||
	    request_text(call, "name", &name) < 0 ||
	    request_bool(call, "follow", &follows) < 0 ||
	    request_bool(call, "contents", &contents) < 0 ||
	    request_bool(call, "file", &is_file) < 0 ||
	    request_bool(call, "parents", &parents) < 0)
		return -1;
	if (is_file ? !name : parents)
		return err_set(call->e, ERR_USAGE,
			       "params: a file needs a name, and parents a file");
	if (!path || !*path)
		return err_set(call->e, ERR_USAGE, "params.path: %s",
			       path ? "empty" : "missing");
	if (call->fds->count != 0 && call->fds->count != CONNECTION_FDS)
		return err_set(call->e, ERR_USAGE,
			       "three descriptors were expected, or none");
	j->exec = launch_command(call->s->launch);
	list_add(&j->argv, call->request->method);
	list_add(&j->argv, path);
	if (name)
		list_add(&j->argv, name);
	j->cwd = text_copy(j->exec.cwd);
	j->exec.cwd = j->cwd;
	j->exec.argv = j->argv.items;
	j->exec.env = &j->argv.items[j->argv.count]; /* an empty list: the NULL at the
						      * end of argv */
	j->exec.flags = flags | (follows ? EXEC_FOLLOW : 0) |
			(contents ? EXEC_CONTENTS : 0) | (is_file ? EXEC_FILE : 0) |
			(parents ? EXEC_PARENTS : 0);
	return 0;
}

static int copy(const struct request *call, uint32_t flags)
{
	struct job *j;
	int code = RPC_PARAMS;

	if (request_busy(call) < 0)
		return RPC_FAILED;
	j = mem_zeroed(1, sizeof(*j));
	if (get_copy(call, j, flags) == 0)
		code = begin(call, j, flags == EXEC_UNPACK && !call->fds->count);
	if (code != 0)
		job_free(j);
	return code;
}

int methods_copy_out(const struct request *call)
{
	return copy(call, EXEC_PACK);
}

int methods_copy_in(const struct request *call)
{
	return copy(call, EXEC_UNPACK);
}
