#include "gateway/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/box_id.h"
#include "gateway/epochs.h"
#include "gateway/job.h"
#include "gateway/loop.h"
#include "gateway/order.h"
#include "gateway/command.h"
#include "gateway/serve.h"
#include "hutch.h"
#include "policy/json/json.h"
#include "policy/named_user.h"
#include "store/folders.h"

#define JOBS_MAX 64 /* requests under way; no more is read until one is answered */

/* --- answers ------------------------------------------------------------------ */

static void watch_link(struct spawner *s)
{
	(void)loop_watch(&s->loop, &s->link, s->jobs < JOBS_MAX ? EPOLLIN : 0, NULL);
}

static void job_free(struct job *j)
{
	struct spawner *s = j->s;

	loop_stop(&s->loop, &j->timer);
	job_build_forget(j);
	if (j->handle) {
		if (j->watch.fd > 0)
			loop_unwatch(&s->loop, &j->watch);
		hutch_close(j->handle);
	}
	own_close(&j->file);
	order_done(&j->order);
	free(j);
	s->jobs--;
	watch_link(s);
}

/* Waits until the front takes its answers.  False: a signal has come first, and a front that
 * was taken over must not keep the server from its end. */
static bool wait_for_front(const struct spawner *s)
{
	struct pollfd both[] = { { .fd = s->link.fd, .events = POLLOUT },
				 { .fd = s->signals.fd, .events = POLLIN } };

	while (poll(both, ARRAY_LEN(both), -1) < 0 && errno == EINTR)
		;
	return both[1].revents == 0;
}

static bool send_all(const struct spawner *s, const struct msghdr *m)
{
	while (sendmsg(s->link.fd, m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		if (errno != EAGAIN || !wait_for_front(s))
			return false;
	return true;
}

/* Sends an answer, and ends the job.  The front reads all the time; one that does not is
 * broken, and is waited for. */
static void send_answer(struct job *j, const char *json, int fd)
{
	struct iovec bytes = { (void *)(uintptr_t)json, strlen(json) };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	if (!send_all(j->s, &m))
		j->s->is_over = true;
	job_free(j);
}

void job_succeed(struct job *j, int fd)
{
	AUTO_FREE char *json =
		text_format("{\"id\":%llu}", (unsigned long long)j->order.id);

	send_answer(j, json, fd);
}

void job_fail(struct job *j, const char *kind, const char *message)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_number(&b, "id", (int64_t)j->order.id);
	json_write_open(&b, "error", "{");
	json_write_text(&b, "kind", kind);
	json_write_text(&b, "message", message);
	json_write_close(&b, "}}");
	AUTO_FREE char *json = json_write_end(&b);
	send_answer(j, json, -1);
}

void job_fail_err(struct job *j, const struct err *e)
{
	job_fail(j, err_kind_name(e->kind), e->text);
}

static void fail_hutch(struct job *j, const struct hutch_error *e)
{
	job_fail(j, hutch_kind_name(e->kind), e->message);
}

/* --- sandboxes ---------------------------------------------------------------- */

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
		fail_hutch(j, &e);
		return;
	}
	if (j->order.kind == ORDER_CREATE)
		list_add_once(&j->s->names, j->order.name);
	job_succeed(j, fd);
}

/* Takes one message of the handle; false: there is none, or the job has ended. */
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
		fail_hutch(j, &e);
		return false;
	case HUTCH_ANSWER:
		if (m->error.kind != HUTCH_OK)
			fail_hutch(j, &m->error);
		else if (is_ours(j->s->serve, m->json, m->json_len))
			give_connection(j);
		else
			job_fail(j, "not_found", "this server has no such sandbox");
		return false;
	case HUTCH_ENDED:
		fail_hutch(j, &m->error);
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
			fail_hutch(j, &e);
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
		fail_hutch(j, &he);
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

static void create(struct job *j)
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
		fail_hutch(j, &he);
	else
		watch_handle(j);
}

static void on_late(void *context)
{
	job_fail(context, "timeout", "the sandbox's supervisor does not answer");
}

void job_limit(struct job *j)
{
	j->timer = (struct timer){ .context = j, .expired = on_late };
	loop_start(&j->s->loop, &j->timer, JOB_CONNECT_MS);
}

static void attach(struct job *j)
{
	const struct hutch_how how = { .size = sizeof(how),
				       .program = j->s->serve->hutch };
	struct hutch_error e;

	if (hutch_attach(j->order.name, &how, &j->handle, &e) < 0) {
		fail_hutch(j, &e);
		return;
	}
	job_limit(j);
	watch_handle(j);
}

/* --- what programs do --------------------------------------------------------- */

/* Adds its epoch to each line of the list, and keeps its name. */
static char *with_epochs(struct spawner *s, char *lines)
{
	struct buffer b;

	json_write_begin(&b);
	for (char *line; (line = strsep(&lines, "\n"));) {
		AUTO_FREE char *name = strndup(line, strcspn(line, "\t"));
		AUTO_FREE char *more = text_format("%s\t%u\n", line,
						   name ? epochs_get(s->serve, name) : 0);

		if (!name || !box_id_is(s->serve->pod, name))
			continue;
		list_add_once(&s->names, name);
		(void)buffer_append(&b, more, strlen(more));
	}
	return json_write_end(&b);
}

static void forget_name(struct list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->items[i], name) != 0)
			continue;
		free(l->items[i]);
		l->items[i] = l->items[--l->count];
		l->items[l->count] = NULL;
		return;
	}
}

/* Answers with a text of any length, in a file: a packet has room for a short one alone. */
static void say_text(struct job *j, const char *text)
{
	struct err e;
	AUTO_CLOSE int fd = memfd_create("said", MFD_CLOEXEC);

	if (fd >= 0 && io_write_all(fd, text, strlen(text)) == 0 &&
	    lseek(fd, 0, SEEK_SET) == 0) {
		job_succeed(j, fd);
		return;
	}
	(void)err_sys(&e, "write an answer");
	job_fail_err(j, &e);
}

static void say_number(struct job *j, unsigned number)
{
	AUTO_FREE char *json = text_format("{\"id\":%llu,\"said\":%u}",
					   (unsigned long long)j->order.id, number);

	send_answer(j, json, -1);
}

static void on_command(void *context, struct command *p)
{
	struct job *j = context;
	const enum order_kind kind = j->order.kind;
	AUTO_FREE char *said = text_format("%.*s", (int)buffer_len(&p->said),
					   (const char *)buffer_data(&p->said));
	AUTO_FREE char *why = text_format("%.*s", (int)buffer_len(&p->complaint),
					  (const char *)buffer_data(&p->complaint));

	if (p->exit_code != 0) {
		job_fail(j, kind == ORDER_LIST ? "system" : "not_found",
			 *why ? why : "hutch ended without saying why");
	} else if (p->said.is_cut) {
		job_fail(j, "limit", "the answer of hutch is too long");
	} else if (kind == ORDER_REMOVE) {
		epochs_forget(j->s->serve, j->order.name);
		forget_name(&j->s->names, j->order.name);
		job_succeed(j, -1);
	} else if (kind == ORDER_START) {
		attach(j);
	} else {
		AUTO_FREE char *text = kind == ORDER_LIST ? with_epochs(j->s, said)
							  : text_copy(said);
		say_text(j, text);
	}
}

static void run(struct job *j, struct list *args, int in)
{
	struct err e;

	if (!command_start(&j->s->loop, j->s->serve->hutch, args->items, in, j,
			   on_command, &e))
		job_fail_err(j, &e);
	list_done(args);
}

static void start_it(struct job *j)
{
	struct list args = { 0 };

	list_add(&args, "hutch");
	list_add(&args, "start");
	list_add(&args, "--quiet");
	list_add(&args, j->order.name);
	run(j, &args, -1);
}

static void note_resumed(struct job *j)
{
	struct err e;
	const unsigned next = epochs_next(j->s->serve, j->order.name, &e);

	if (next == 0)
		job_fail_err(j, &e);
	else
		say_number(j, next);
}

static void remove_it(struct job *j)
{
	struct list args = { 0 };

	list_add(&args, "hutch");
	list_add(&args, "rm");
	list_add(&args, "--force");
	list_add(&args, j->order.name);
	run(j, &args, -1);
}

/* The list is lines of a name, a state, and the labels by which the front knows a sandbox
 * again, with tabs between them; the front lets no control character into a label. */
static void list_all(struct job *j)
{
	struct list args = { 0 };

	list_add(&args, "hutch");
	list_add(&args, "ps");
	list_add(&args, "--all");
	list_addf(&args, "--filter=label=%s=%s", SERVE_LABEL, j->s->serve->name);
	list_add(&args,
		 "--format={{.Name}}\\t{{.State}}\\t{{.Label \"hutch.serve.kind\"}}\\t"
		 "{{.Label \"hutch.serve.session\"}}");
	run(j, &args, -1);
}

static void look_at_image(struct job *j)
{
	struct list args = { 0 };

	list_add(&args, "hutch");
	list_add(&args, "image");
	list_add(&args, "inspect");
	list_add(&args, "--");
	list_add(&args, j->order.name);
	run(j, &args, -1);
}

/* Makes a file without a name on the disk, which the front fills with what a client sends. */
static int make_spool(struct err *e)
{
	AUTO_FREE char *cache = folder_path(FOLDER_CACHE);

	if (!cache || folder_create(cache, e) < 0)
		return cache ? -1 : err_set(e, ERR_NOT_FOUND, "there is no cache folder");
	const int fd = open(cache, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	AUTO_FREE char *path = text_format("%s/.spool.XXXXXX", cache);
	AUTO_CLOSE int named = mkostemp(path, O_CLOEXEC);
	if (named < 0 || unlink(path) < 0)
		return err_sys(e, "make a file in %s", cache);
	return fd_take(&named);
}

static void spool(struct job *j)
{
	struct err e;
	AUTO_CLOSE int fd = make_spool(&e);

	if (fd < 0)
		job_fail_err(j, &e);
	else
		job_succeed(j, fd);
}

/* --- requests ----------------------------------------------------------------- */

static bool names_sandbox(enum order_kind kind)
{
	return kind == ORDER_ATTACH || kind == ORDER_START || kind == ORDER_REMOVE ||
	       kind == ORDER_RESUMED;
}

/* A name that a front could have from elsewhere reaches no sandbox of another server's. */
static void begin(struct job *j)
{
	if (names_sandbox(j->order.kind) && !list_has(&j->s->names, j->order.name)) {
		job_fail(j, "not_found", "this server has no such sandbox");
		return;
	}
	switch (j->order.kind) {
	case ORDER_CREATE:
		create(j);
		return;
	case ORDER_ATTACH:
		attach(j);
		return;
	case ORDER_START:
		start_it(j);
		return;
	case ORDER_LIST:
		list_all(j);
		return;
	case ORDER_REMOVE:
		remove_it(j);
		return;
	case ORDER_RESUMED:
		note_resumed(j);
		return;
	case ORDER_IMAGE_LOOK:
		look_at_image(j);
		return;
	case ORDER_SPOOL:
		spool(j);
		return;
	case ORDER_BUILD:
		job_build(j);
		return;
	case ORDER_KINDS:
		break;
	}
	job_fail(j, "internal",
		 "the request is of no kind"); /* order_read() lets none through */
}

static void on_link(void *context, uint32_t events)
{
	struct spawner *s = context;
	struct err e;
	int came = -1;
	const ssize_t n = fd_pass_receive(s->link.fd, s->packet, ORDER_MAX, &came);
	AUTO_CLOSE int fd = came < 0 ? -1 : came; /* most requests take none */

	(void)events;
	if (n <= 0) {
		s->is_over |= n == 0 || (errno != EAGAIN && errno != EINTR);
		return;
	}
	struct job *j = calloc(1, sizeof(*j));
	if (!j) {
		s->is_over = true;
		return;
	}
	*j = (struct job){ .s = s, .file = -1 };
	s->jobs++;
	watch_link(s);
	const int rc = order_read(s->packet, (size_t)n, &j->order, &e);
	if (j->order.id == 0) { /* no answer could be told from others */
		s->is_over = true;
		job_free(j);
	} else if (rc < 0) {
		job_fail_err(j, &e);
	} else {
		if (j->order.kind == ORDER_BUILD)
			j->file = fd_take(&fd);
		begin(j);
	}
}

/* Tells the front once to stop; a second signal ends both. */
static void on_signal(void *context, uint32_t events)
{
	struct spawner *s = context;
	struct signalfd_siginfo info;

	(void)events;
	if (read(s->signals.fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (s->is_told || send(s->link.fd, "s", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		s->is_over = true;
	s->is_told = true;
}

static void on_stopped(void *context, struct command *p)
{
	bool *is_done = context;

	(void)p; /* one that did not stop is found again by the next server */
	*is_done = true;
}

/* Stops all sandboxes, whose files stay where they are kept; the front has ended. */
static int drain(struct spawner *s, struct err *e)
{
	struct list args = { 0 };
	bool is_done = s->names.count == 0;
	int rc = 0;

	list_add(&args, "hutch");
	list_add(&args, "stop");
	list_add(&args, "--quiet");
	for (size_t i = 0; i < s->names.count; i++)
		list_add(&args, s->names.items[i]);
	if (!is_done && !command_start(&s->loop, s->serve->hutch, args.items, -1,
				       &is_done, on_stopped, e))
		rc = -1;
	list_done(&args);
	while (rc == 0 && !is_done)
		rc = loop_step(&s->loop, -1, e);
	return rc;
}

int spawner_run(const struct serve *serve, int link, int signals, struct err *e)
{
	struct spawner s = { .serve = serve };
	int rc = loop_init(&s.loop, e);

	s.link = (struct watch){ link, &s, on_link };
	s.signals = (struct watch){ signals, &s, on_signal };
	s.packet = malloc(ORDER_MAX);
	if (rc == 0 && !s.packet)
		rc = err_sys(e, "serve requests");
	if (rc == 0)
		rc = loop_watch(&s.loop, &s.link, EPOLLIN, e);
	if (rc == 0)
		rc = loop_watch(&s.loop, &s.signals, EPOLLIN, e);
	while (rc == 0 && !s.is_over)
		rc = loop_step(&s.loop, -1, e);
	job_build_end_all(&s);
	if (rc == 0 && s.is_told && serve->drains) {
		loop_unwatch(&s.loop, &s.link);
		rc = drain(&s, e);
	}
	free(s.packet);
	list_done(&s.names);
	loop_done(&s.loop);
	return rc;
}
