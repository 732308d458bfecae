/* Makes a sandbox, or connects to one. */
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "gateway/box_id.h"
#include "gateway/job.h"
#include "gateway/serve.h"
#include "hutch.h"
#include "policy/json/json.h"
#include "policy/named_user.h"

/* --- its connection ----------------------------------------------------------- */

/* Whether the sandbox has this server's label; `info` is the answer of its supervisor. */
static bool is_ours(const struct serve *s, const char *info, size_t len)
{
	AUTO_JSON struct json *doc = json_parse(info, len, NULL);
	struct json_at root, labels;

	if (!doc)
		return false;
	json_root(doc, "info", &root);
	return json_member(&root, "labels", &labels) &&
	       !strcmp(json_member_string(&labels, SERVE_LABEL, ""), s->name);
}

static void give_connection(struct job *j)
{
	struct hutch_error e;

	loop_unwatch(&j->s->loop, &j->watch); /* before its descriptors are gone */
	j->watch.fd = -1;
	AUTO_CLOSE int fd = hutch_detach(j->handle, &e);
	if (fd < 0) {
		job_fail_hutch(j, &e);
		return;
	}
	if (j->order.kind == ORDER_CREATE)
		list_add_once(&j->s->names, j->order.name);
	job_succeed(j, fd);
}

/* Works at one message of the handle.  Returns whether the job goes on. */
static bool handle_message(struct job *j, const struct hutch_message *m)
{
	struct hutch_error e;

	switch (m->type) {
	case HUTCH_READY:
		if (j->order.kind == ORDER_CREATE) {
			give_connection(j);
			return false;
		}
		if (hutch_info(j->handle, NULL, &e) >= 0)
			return true;
		job_fail_hutch(j, &e);
		return false;
	case HUTCH_ANSWER:
		if (m->error.kind != HUTCH_OK)
			job_fail_hutch(j, &m->error);
		else if (is_ours(j->s->serve, m->json, m->json_len))
			give_connection(j);
		else
			job_fail(j, "not_found", "this server has no such sandbox");
		return false;
	case HUTCH_ENDED:
		job_fail_hutch(j, &m->error);
		return false;
	default:
		return true;
	}
}

static void on_handle(void *context, uint32_t events)
{
	struct job *j = context;
	struct hutch_message *m = NULL;
	struct hutch_error e;
	bool goes_on = true;

	(void)events;
	while (goes_on) {
		const int n = hutch_next(j->handle, 0, &m, &e);

		if (n == 0)
			return;
		if (n < 0) {
			job_fail_hutch(j, &e);
			return;
		}
		goes_on = handle_message(j, m);
		hutch_message_free(m);
	}
}

static void watch_handle(struct job *j)
{
	struct hutch_error he;
	struct err e;
	const int fd = hutch_fd(j->handle, &he);

	j->watch = (struct watch){ fd, j, on_handle };
	if (fd < 0)
		job_fail_hutch(j, &he);
	else if (loop_watch(&j->s->loop, &j->watch, EPOLLIN, &e) < 0)
		job_fail_err(j, &e);
}

/* --- making one --------------------------------------------------------------- */

static bool is_shipped(const char *plugin)
{
	static const char *const names[] = { "agent_skills", "browser", "file_viewer",
					     "jupyter", "vscode" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(plugin, names[i]))
			return true;
	return false;
}

/* Refuses what would be more than a request may decide: a folder of this host as image, a
 * plugin of the operator's, a label that is not the server's. */
static int check_create(const struct serve *s, const struct order *o, struct err *e)
{
	struct named_user user;

	if (!box_id_is(s->pod, o->name))
		return err_set(e, ERR_USAGE, "'%s' is no name of a runtime", o->name);
	if (o->image[0] == '-' || o->image[0] == '/' || strstr(o->image, "dir:"))
		return err_set(e, ERR_REFUSED,
			       "image '%s': a client may only name images of registries",
			       o->image);
	if (o->workdir[0] && o->workdir[0] != '/')
		return err_set(e, ERR_USAGE,
			       "working_dir '%s' does not begin with a slash",
			       o->workdir);
	if (o->user[0] && strcmp(o->user, "root") != 0 &&
	    named_user_read(o->user, &user, e) < 0)
		return -1;
	for (size_t i = 0; i < o->plugins.count; i++)
		if (!is_shipped(o->plugins.items[i]))
			return err_set(e, ERR_NOT_FOUND, "hutch has no plugin '%s'",
				       o->plugins.items[i]);
	for (size_t i = 0; i < o->env.count; i++)
		if (!strchr(o->env.items[i], '=') || o->env.items[i][0] == '=')
			return err_set(e, ERR_USAGE,
				       "variable %zu has no name or no value", i);
	return 0;
}

/* Writes the variables to a file in memory, whose path `hutch create` reads: a command line
 * can be read by every user of this machine. */
static int write_variables(struct job *j, struct err *e)
{
	j->file = memfd_create("variables", MFD_CLOEXEC);
	if (j->file < 0)
		return err_sys(e, "memfd_create");
	for (size_t i = 0; i < j->order.env.count; i++) {
		const char *text = j->order.env.items[i];

		if (io_write_all(j->file, text, strlen(text) + 1) < 0)
			return err_sys(e, "write variables");
	}
	return 0;
}

static void add_options(struct job *j, struct list *args)
{
	const struct serve *s = j->s->serve;
	const struct order *o = &j->order;
	const char *image = s->image ? s->image : o->image;

	list_add(args, "--quiet");
	list_addf(args, "--label=%s=%s", SERVE_LABEL, s->name);
	for (size_t i = 0; i < o->labels.count; i++)
		list_addf(args, "--label=%s.%s", SERVE_LABEL, o->labels.items[i]);
	if (*image)
		list_addf(args, "--image=%s", image);
	if (s->memory > 0)
		list_addf(args, "--memory=%.0f", (double)s->memory * o->factor);
	if (s->cpus > 0)
		list_addf(args, "--cpus=%.3f", s->cpus * o->factor / 1000);
	if (*o->workdir)
		list_addf(args, "--workdir=%s", o->workdir);
	if (*o->user)
		list_addf(args, "--user=%s", o->user);
	if (o->env.count > 0)
		list_addf(args, "--env-file=/proc/%d/fd/%d", getpid(), j->file);
	for (size_t i = 0; i < o->plugins.count; i++)
		list_addf(args, "--plugin=%s", o->plugins.items[i]);
	for (size_t i = 0; i < o->port_count; i++)
		list_addf(args, "--publish=127.0.0.1:0:%u", o->ports[i]);
	if (o->is_main && o->is_whole)
		list_add(args, "--entrypoint=");
	if (s->pod && *image)
		list_add(args, "--keep");
	for (size_t i = 0; i < s->options.count; i++)
		list_add(args, s->options.items[i]);
	if (o->is_main)
		list_add(args, "--main");
	list_add(args, o->name);
}

void job_create(struct job *j)
{
	const struct hutch_how how = { .size = sizeof(how),
				       .program = j->s->serve->hutch };
	struct list args = { 0 };
	struct hutch_error he;
	struct err e;

	if (check_create(j->s->serve, &j->order, &e) < 0 || write_variables(j, &e) < 0) {
		job_fail_err(j, &e);
		return;
	}
	add_options(j, &args);
	if (j->order.is_main && j->order.argv.count > 0)
		list_add(&args, "--");
	for (size_t i = 0; j->order.is_main && i < j->order.argv.count; i++)
		list_add(&args, j->order.argv.items[i]);
	const int rc =
		hutch_create((const char *const *)args.items, &how, &j->handle, &he);
	list_done(&args);
	if (rc < 0)
		job_fail_hutch(j, &he);
	else
		watch_handle(j);
}

void job_attach(struct job *j)
{
	const struct hutch_how how = { .size = sizeof(how),
				       .program = j->s->serve->hutch };
	struct hutch_error e;

	if (hutch_attach(j->order.name, &how, &j->handle, &e) < 0) {
		job_fail_hutch(j, &e);
		return;
	}
	job_limit(j);
	watch_handle(j);
}
