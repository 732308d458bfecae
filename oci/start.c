#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <poll.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "oci/args.h"
#include "oci/config.h"
#include "oci/filter.h"
#include "oci/link.h"
#include "oci/log.h"
#include "oci/notify.h"
#include "oci/verbs.h"

/* The time to wait for the end of a killed process. */
#define PATIENCE_MS 10000

/* Reads the copy of the configuration that `create` has kept. */
static int read_config(const struct state *s, struct config *ret, struct err *e)
{
	AUTO_FREE char *path = state_config_path(s);

	return config_read(path, s->bundle ? s->bundle : "/", ret, e);
}

/* Connects to the waiting process.  The socket's file goes first, so that two starts
 * cannot both succeed, and so that the container no longer counts as created. */
static int connect_to(struct state *s, struct err *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d/start",
		       s->folder); /* fits */
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return err_sys(e, "reach the container's waiting process");
	if (unlinkat(s->folder, "start", 0))
		return err_set(e, ERR_BUSY, "container '%s' is being started already",
			       s->id);
	return fd_take(&fd);
}

/* Lets the process go on, until it has executed the command. */
static int converse(int link, const struct config *c, const struct state *s,
		    struct err *e)
{
	struct filter f = { 0 };
	struct link_message m = { 0 };
	int fd = -1;

	if (filter_read(c, &f, e) || link_send(link, LINK_GO, 0, -1, e))
		return -1;
	do {
		int rc = link_receive(link, &m, &fd, e);
		if (!rc && m.kind == LINK_LISTENER)
			rc = filter_hand_on(&f, fd, s, (int)s->pid, e);
		own_close(&fd);
		if (rc)
			return -1;
	} while (m.kind != LINK_NONE);
	return 0;
}

/* Kills the process and waits for its end.  It is known by its birth, so a pid that was
 * given to another process is left alone. */
static int end_process(const struct state *s, struct err *e)
{
	AUTO_CLOSE int fd = sys_pidfd_open(s->pid, 0);

	if (fd < 0 || state_birth(s->pid) != s->born)
		return 0;
	if (sys_pidfd_send_signal(fd, SIGKILL) && errno != ESRCH)
		return err_sys(e, "kill process %d", (int)s->pid);
	/* A pidfd is readable when the process is a zombie, whose parent need not be this
	 * process. */
	const int rc = await_ready(fd, POLLIN, clock_ms() + PATIENCE_MS);
	if (rc < 0)
		return err_sys(e, "wait for process %d", (int)s->pid);
	return rc ? 0
		  : err_set(e, ERR_BUSY,
			    "process %d of container '%s' was killed, but has not ended: "
			    "a freezer of cgroup v1 may hold it",
			    (int)s->pid, s->id);
}

/* The command runs already, so a hook that must not fail ends it. */
static int run_poststart(const struct state *s, const struct config *c, struct err *e)
{
	AUTO_FREE char *state = state_json(s, STATE_RUNNING);
	struct err why = { 0 };

	if (hooks_run(&c->hooks, HOOK_POSTSTART, state, &why) == 0)
		return 0;
	if (c->hooks.may_fail_late) {
		log_warning(&why);
		return 0;
	}
	*e = why;
	(void)end_process(s, NULL); /* the hook's error is what counts */
	return -1;
}

static int start_with(struct state *s, const struct config *c, struct err *e)
{
	struct err why = { 0 };
	AUTO_CLOSE int notify = notify_open(s, &why);
	AUTO_CLOSE int link = why.kind ? -1 : connect_to(s, e);

	if (why.kind)
		*e = why;
	if (link < 0)
		return -1;
	if (converse(link, c, s, e)) {
		/* The process is on its way to its end, which `delete` is to find. */
		(void)end_process(s, NULL); /* the error before is what counts */
		return -1;
	}
	if (run_poststart(s, c, e))
		return -1;
	return notify < 0 ? 0 : notify_hand_on(notify, s, e);
}

int start_container(struct state *s, struct err *e)
{
	const enum state_status status = state_status(s);
	struct config c;

	if (status != STATE_CREATED)
		return err_set(e, ERR_BUSY,
			       "cannot start container '%s': it is %s, not created",
			       s->id, state_word(status));
	if (read_config(s, &c, e))
		return -1;
	const int rc = c.has_process
			       ? start_with(s, &c, e)
			       : err_set(e, ERR_USAGE, "config.json has no process");
	config_done(&c);
	return rc;
}

int start_verb(const struct globals *g, char **argv, struct err *e)
{
	const struct args a = { .usage = "start ID" };
	AUTO_STATE struct state s = { .folder = -1 };

	if (args_read(&a, argv, e) || args_count(&a, argv, 1, 1, e) ||
	    state_open(g->root, argv[0], &s, e))
		return -1;
	return start_container(&s, e);
}

/* --- the end ---------------------------------------------------------------------------- */

static void run_poststop(const struct state *s)
{
	struct config c;
	struct err e = { 0 };

	if (read_config(s, &c, &e) == 0) {
		AUTO_FREE char *state = state_json(s, STATE_STOPPED);
		if (hooks_run(&c.hooks, HOOK_POSTSTOP, state, &e))
			log_warning(&e);
		config_done(&c);
	}
}

int delete_container(struct state *s, bool is_forced, struct err *e)
{
	const enum state_status status = state_status(s);

	if (!is_forced && status != STATE_STOPPED && status != STATE_CREATED)
		return err_set(e, ERR_BUSY,
			       "cannot delete container '%s': it is %s, not stopped",
			       s->id, state_word(status));
	/* A process that has frozen itself in a cgroup of v1 is thawed by that. */
	if (status != STATE_STOPPED && s->cgroup && access(s->cgroup, F_OK) == 0 &&
	    cgroups_signal(s->cgroup, SIGKILL, e))
		return -1;
	if (status != STATE_STOPPED && s->pid && end_process(s, e))
		return -1;
	const struct cgroups_place place = state_place(s);
	if (cgroups_remove(&place, e))
		return -1;
	if (s->pid)
		run_poststop(s);
	return state_remove(s, e);
}

static int delete_one(const struct globals *g, const char *id, bool is_forced,
		      struct err *e)
{
	AUTO_STATE struct state s = { .folder = -1 };

	if (state_open(g->root, id, &s, e))
		return is_forced && e->kind == ERR_NOT_FOUND ? 0 : -1;
	return delete_container(&s, is_forced, e);
}

/* Removes all containers whose ids match an extended regular expression (regex(7)).  A container
 * that cannot be removed is a warning, as with crun, and the others are removed. */
static int delete_matches(const struct globals *g, const char *pattern, bool is_forced,
			  struct err *e)
{
	struct list ids = { 0 };
	regex_t re;

	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB))
		return err_set(e, ERR_USAGE, "invalid regular expression '%.64s'",
			       pattern);
	const int rc = state_ids(g->root, &ids, e);
	for (size_t i = 0; i < ids.count; i++) {
		struct err why = { 0 };
		if (regexec(&re, ids.items[i], 0, NULL, 0) == 0 &&
		    delete_one(g, ids.items[i], is_forced, &why))
			log_warning(&why);
	}
	list_done(&ids);
	regfree(&re);
	return rc;
}

int delete_verb(const struct globals *g, char **argv, struct err *e)
{
	bool is_forced = false, is_regex = false;
	const struct args_flag flags[] = {
		{ "force", 'f', ARGS_SWITCH, &is_forced, NULL,
		  "end it first; none is no error" },
		{ "regex", 'r', ARGS_SWITCH, &is_regex, NULL,
		  "ID is an extended regular expression; all that match are removed" },
	};
	const struct args a = { "delete [OPTIONS] ID", flags, ARRAY_LEN(flags), false };

	if (args_read(&a, argv, e) || args_count(&a, argv, 1, 1, e))
		return -1;
	return (is_regex ? delete_matches : delete_one)(g, argv[0], is_forced, e);
}
