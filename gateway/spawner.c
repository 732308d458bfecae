#include "gateway/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/box_id.h"
#include "gateway/epochs.h"
#include "gateway/job.h"
#include "gateway/loop.h"
#include "gateway/order.h"
#include "gateway/command.h"
#include "gateway/serve.h"
#include "store/folders.h"

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
		job_attach(j);
	} else {
		AUTO_FREE char *text = kind == ORDER_LIST ? with_epochs(j->s, said)
							  : text_copy(said);
		job_say_text(j, text);
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
		job_say_number(j, next);
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
		job_create(j);
		return;
	case ORDER_ATTACH:
		job_attach(j);
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
	jobs_watch(s);
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
