#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "oci/args.h"
#include "oci/cgroups_v1.h"
#include "oci/config.h"
#include "oci/console.h"
#include "oci/filter.h"
#include "oci/identity.h"
#include "oci/init.h"
#include "oci/link.h"
#include "oci/mounts_detached.h"
#include "oci/notify.h"
#include "oci/resources.h"
#include "oci/spaces.h"
#include "oci/verbs.h"

/* A creation in progress. */
struct creation {
	const struct globals *globals;
	const struct create_flags *flags;
	struct config config;
	struct resources resources;
	struct filter filter;
	struct state *state; /* borrowed */
	struct preserved preserved;
	int *detached; /* owned: of mounts_detach() */
	char *name;    /* owned: of a cgroup of its own */
	struct notify notify;
	int link, inner, console, waiting; /* owned */
	int master;			   /* owned */
	pid_t pid;			   /* 0: none yet */
};

static void creation_done(struct creation *c)
{
	own_close(&c->link);
	own_close(&c->inner);
	own_close(&c->console);
	own_close(&c->waiting);
	own_close(&c->master);
	own_close(&c->notify.mount);
	free(c->name);
	mounts_release(&c->config, c->detached);
	resources_done(&c->resources);
	filter_done(&c->filter);
	config_done(&c->config);
}

int create_pid_file(const char *path, pid_t pid, struct err *e)
{
	char text[24];

	if (!path)
		return 0;
	AUTO_FREE char *temp = text_format("%s.hutch-%d", path, (int)getpid());
	const int len = snprintf(text, sizeof(text), "%d", (int)pid);
	AUTO_CLOSE int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || io_write_all(fd, text, (size_t)len) || rename(temp, path)) {
		(void)err_sys(e, "write the pid file %s", path);
		(void)unlink(temp); /* the error before is what counts */
		return -1;
	}
	return 0;
}

/* Reads a number of descriptors. */
static int read_count(const char *text, const char *name, size_t *ret, struct err *e)
{
	char *end;

	*ret = 0;
	if (!text || !*text)
		return 0;
	*ret = strtoul(text, &end, 10);
	return *end || end == text || *ret > VERBS_FDS
		       ? err_set(e, ERR_USAGE, "%s: a number up to %d was expected", name,
				 VERBS_FDS)
		       : 0;
}

int create_preserved(const struct globals *g, const char *text, struct preserved *ret,
		     struct err *e)
{
	size_t more;

	*ret = (struct preserved){ .listened = 0 };
	if (read_count(text, "--preserve-fds", &more, e) ||
	    read_count(getenv("LISTEN_FDS"), "LISTEN_FDS", &ret->listened, e))
		return -1;
	const size_t count = more + ret->listened;
	for (size_t i = 0; i < VERBS_FDS; i++) {
		const uint64_t bit = g->inherited[i / 64] & 1ull << (i % 64);
		if (i < count)
			ret->bits[i / 64] |= bit;
		else if (bit)
			(void)close(3 + (int)i); /* it is open, and not this program's */
	}
	return 0;
}

/* --- before the process ---------------------------------------------------------------- */

/* Returns the annotations as one line of JSON, allocated; NULL: there are none. */
static char *write_annotations(const struct config *c)
{
	struct list pairs = { 0 };

	if (!c->annotation_count)
		return NULL;
	for (size_t i = 0; i < c->annotation_count; i++) {
		AUTO_FREE char *key = json_write_quoted(c->annotations[i].key);
		AUTO_FREE char *value = json_write_quoted(c->annotations[i].value);
		list_addf(&pairs, "%s:%s", key, value);
	}
	AUTO_FREE char *inner = list_join(&pairs, 0, ",");
	list_done(&pairs);
	return text_format("{%s}", inner);
}

static char *now_text(void)
{
	struct timespec now;
	struct tm tm;
	char text[64];

	(void)clock_gettime(CLOCK_REALTIME, &now); /* can't fail */
	(void)gmtime_r(&now.tv_sec, &tm);	   /* fails only beyond the year 2^31 */
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm); /* fits */
	return text_format("%s.%09ldZ", text, now.tv_nsec);
}

static void describe(struct creation *c, const char *bundle)
{
	struct state *s = c->state;

	s->bundle = text_copy(bundle);
	s->root = text_copy(c->config.root);
	s->created = now_text();
	s->version = text_copy(c->config.version);
	s->annotations = write_annotations(&c->config);
}

/* Makes the socket at which the process waits.  The path through the folder's descriptor
 * is short enough for any --root (unix(7)). */
static int listen_for_start(struct creation *c, struct err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/start",
		       c->state->folder); /* fits */
	c->waiting = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (c->waiting < 0 || bind(c->waiting, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(c->waiting, 1))
		return err_sys(e, "make the socket %s/start", c->state->path);
	return 0;
}

static int check(const struct creation *c, struct err *e)
{
	const bool has_terminal = c->config.has_process && c->config.process.has_terminal;
	struct stat st;

	if (has_terminal && c->flags->is_detached && !c->flags->console)
		return err_set(e, ERR_USAGE, "process.terminal takes --console-socket");
	if (!has_terminal && c->flags->console)
		return err_set(e, ERR_USAGE, "--console-socket takes process.terminal");
	if (stat(c->config.root, &st))
		return err_sys(e, "root.path %s", c->config.root);
	return S_ISDIR(st.st_mode)
		       ? 0
		       : err_set(e, ERR_USAGE, "root.path %s: not a directory",
				 c->config.root);
}

/* Reads everything that can be wrong before anything is made. */
static int prepare(struct creation *c, const char *bundle, struct err *e)
{
	AUTO_FREE char *path = c->flags->config && c->flags->config[0] == '/'
				       ? text_copy(c->flags->config)
				       : text_format("%s/%s", bundle,
						     c->flags->config ? c->flags->config
								      : "config.json");

	if (config_read(path, bundle, &c->config, e) || check(c, e) ||
	    resources_read(&c->config.resources, &c->resources, e) ||
	    filter_obtain(&c->config, &c->filter, e) ||
	    mounts_detach(&c->config, bundle, &c->detached, e) ||
	    create_preserved(c->globals, c->flags->preserve, &c->preserved, e))
		return -1;
	process_warn(&c->config.process);
	if (c->flags->console) {
		c->console = console_connect(c->flags->console, e);
		if (c->console < 0)
			return -1;
	}
	return 0;
}

/* --- the process ------------------------------------------------------------------------ */

static struct cgroups_order cgroups_of(const struct creation *c)
{
	return (struct cgroups_order){ .manager = c->globals->manager,
				       .path = c->config.cgroups_path,
				       .id = c->state->id,
				       .name = c->name,
				       .resources = &c->resources };
}

static int clone_process(struct creation *c, struct err *e)
{
	const struct cgroups_order cgroups = cgroups_of(c);
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_sys(e, "make a socketpair");
	c->link = pair[0];
	c->inner = pair[1];
	AUTO_CLOSE int cgroup = cgroups_open(c->state->cgroup);
	const pid_t pid = spaces_clone(&c->config, cgroup, e);
	if (pid == 0) {
		/* A folder of the host's is nothing for a process in a container. */
		own_close(&c->link);
		own_close(&cgroup);
		own_close(&c->state->folder);
		struct init_order o = {
			.config = &c->config,
			.state = c->state,
			.cgroups = &cgroups,
			.filter = &c->filter,
			.link = c->inner,
			.console = c->console,
			.waiting = c->waiting,
			.has_old_keyring = c->flags->has_old_keyring,
			.keeps_root = c->flags->keeps_root,
			.preserved = &c->preserved,
			.detached = c->detached,
			.notify = &c->notify,
		};
		init_run(&o);
	}
	c->pid = pid > 0 ? pid : 0;
	own_close(&c->inner);
	own_close(&c->waiting);
	return pid < 0 ? -1 : 0;
}

static int send_entry(int entry, void *arg, struct err *e)
{
	const struct creation *c = arg;

	return link_send(c->link, LINK_CGROUP, 0, entry, e);
}

/* The name holds as long as the container's folder: of two containers that have one id, below
 * two --root, the cgroup of one would be killed with the other. */
static int make_cgroup(struct creation *c, struct err *e)
{
	struct cgroups_place place;
	struct stat st;

	if (fstat(c->state->folder, &st))
		return err_sys(e, "stat %s", c->state->path);
	c->name = text_format("%s.%jx-%jx", c->state->id, (uintmax_t)st.st_dev,
			      (uintmax_t)st.st_ino);
	const struct cgroups_order o = cgroups_of(c);
	const int rc = cgroups_make(&o, &place, e);
	state_set_place(c->state, &place);
	return rc;
}

static int enter_cgroup(struct creation *c, struct err *e)
{
	const struct cgroups_order o = cgroups_of(c);
	struct cgroups_place place = state_place(c->state);

	const int rc = cgroups_enter(&o, c->pid, &place, e);
	state_set_place(c->state, &place);
	return rc || (place.v1 && cgroups_v1_open_each(place.v1, send_entry, c, e)) ? -1
										    : 0;
}

static int run_hooks(struct creation *c, struct err *e)
{
	AUTO_FREE char *state = state_json(c->state, STATE_CREATED);

	return hooks_run(&c->config.hooks, HOOK_PRESTART, state, e) ||
			       hooks_run(&c->config.hooks, HOOK_CREATE_RUNTIME, state, e)
		       ? -1
		       : 0;
}

/* Answers the process until it is ready. */
static int converse(struct creation *c, struct err *e)
{
	struct link_message m = { 0 };
	int fd;

	if (link_send(c->link, LINK_GO, (int)c->pid, -1, e))
		return -1;
	while (m.kind != LINK_READY) {
		if (link_receive(c->link, &m, &fd, e))
			return -1;
		if (m.kind == LINK_NONE)
			return err_set(e, ERR_GONE,
				       "the container's process ended during its set-up");
		if (m.kind == LINK_HOOKS &&
		    (run_hooks(c, e) || link_send(c->link, LINK_GO, 0, -1, e)))
			return -1;
		if (m.kind == LINK_TERMINAL)
			c->master = fd_take(&fd);
		own_close(&fd);
	}
	return 0;
}

static int make(struct creation *c, struct err *e)
{
	struct state *s = c->state;

	if (notify_prepare(s, &c->config, &c->notify, e) ||
	    state_keep_config(s, c->config.text, c->config.len, e) ||
	    listen_for_start(c, e) || make_cgroup(c, e) || clone_process(c, e))
		return -1;
	s->pid = c->pid;
	if (spaces_map_ids(&c->config, c->pid, e) || enter_cgroup(c, e) ||
	    identity_early(&c->config.process, (int)c->pid, e) || state_save(s, e) ||
	    converse(c, e))
		return -1;
	s->is_ready = true;
	return state_save(s, e) || create_pid_file(c->flags->pid_file, c->pid, e) ? -1
										  : 0;
}

/* Removes what a failed creation has made.  Its own failures are ignored: the error that
 * led here is the one to report. */
static void undo(struct creation *c)
{
	struct err ignored;

	if (c->pid) {
		(void)kill(c->pid, SIGKILL);
		(void)worker_reap(c->pid);
	}
	const struct cgroups_place place = state_place(c->state);
	(void)cgroups_remove(&place, &ignored);
	if (c->pid) {
		AUTO_FREE char *state = state_json(c->state, STATE_STOPPED);
		(void)hooks_run(&c->config.hooks, HOOK_POSTSTOP, state, &ignored);
	}
	(void)state_remove(c->state, &ignored);
}

int create_container(const struct globals *g, const struct create_flags *f,
		     const char *id, struct created *ret, struct err *e)
{
	struct creation c = { .globals = g,
			      .flags = f,
			      .state = &ret->state,
			      .link = -1,
			      .inner = -1,
			      .console = -1,
			      .waiting = -1,
			      .master = -1,
			      .notify.mount = -1 };
	AUTO_FREE char *bundle = realpath(f->bundle ? f->bundle : ".", NULL);

	*ret = (struct created){ .state.folder = -1, .master = -1 };
	if (!bundle)
		return err_sys(e, "--bundle %s", f->bundle ? f->bundle : ".");
	int rc = prepare(&c, bundle, e) || state_create(g->root, id, &ret->state, e);
	if (!rc) {
		describe(&c, bundle);
		rc = make(&c, e);
		if (rc)
			undo(&c);
	}
	ret->master = fd_take(&c.master);
	creation_done(&c);
	if (rc) {
		own_close(&ret->master);
		state_done(&ret->state);
	}
	return rc ? -1 : 0;
}
