/* hutch rm and hutch wait: remove ended sandboxes, or wait for their end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/wait_line.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "cli/common/foreach_sandbox.h"
#include "cli/common/report.h"
#include "cli/verbs.h"
#include "rootfs-tools/changes/kept_changes.h"
#include "sandbox/launch/result.h"
#include "sandbox/root/cow.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/registry_watch.h"
#include "sandbox/state/saved_spec.h"

/* How long a supervisor may take to end its sandbox when it is told to. */
#define END_MS 10000

/* --- rm -------------------------------------------------------------------- */

/* Opens a pidfd of the process that listens on the socket.  The pid (SO_PEERCRED) may
 * have been reused if that process has ended since; but then the connection has
 * ended, too, so the connection is checked after the pidfd was opened. */
static int supervisor_of(const struct client *c, struct err *e)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct pollfd w = { .fd = c->fd };

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_sys(e, "find the supervisor of sandbox '%s'", c->name);
	if (peer.pid <= 1 || peer.uid != geteuid())
		return err_set(e, ERR_REFUSED,
			       "the supervisor of sandbox '%s' is a process that "
			       "cannot be ended from here",
			       c->name);
	AUTO_CLOSE int pidfd = sys_pidfd_open(peer.pid, 0);
	if (pidfd < 0)
		return err_sys(e, "open the supervisor of sandbox '%s'", c->name);
	if (poll(&w, 1, 0) != 0 && (w.revents & (POLLHUP | POLLERR)))
		return err_set(e, ERR_SYSTEM, "the supervisor of sandbox '%s' has ended",
			       c->name);
	return fd_take(&pidfd);
}

/* Kills the supervisor, which does not answer.  The kernel ends the sandbox when its
 * supervisor dies, and the janitor tidies up.  Closes `pidfd`; if that is -1, there is no
 * supervisor to be had, and the reason is in `e` already. */
static int kill_supervisor(const char *name, int pidfd, struct err *e)
{
	AUTO_CLOSE int mine = pidfd;

	if (mine < 0)
		return -1;
	if (sys_pidfd_send_signal(mine, SIGKILL) < 0 && errno != ESRCH)
		return err_sys(e, "kill the supervisor of sandbox '%s'", name);
	return 0;
}

/* Ends a sandbox with which there is no connection: its supervisor still builds it, was stopped
 * before it had a socket, or accepts none.  `e` has the reason why there is no connection, and
 * keeps it if the supervisor cannot be found. */
static int end_unconnected(const char *name, const char *id, struct err *e)
{
	struct err why;
	const int pidfd = registry_supervisor(name, id, &why);

	if (pidfd < 0)
		return why.kind == ERR_NOT_FOUND ? 0 : -1;
	return kill_supervisor(name, pidfd, e);
}

/* Asks the supervisor to end the sandbox; kills a supervisor that does not do so in
 * time.  `*ret_is_told`: the supervisor has answered, which it does when the record of the
 * end is in its place, and the name is free. */
static int end_connected(struct client *c, bool *ret_is_told, struct err *e)
{
	struct json_view answer;

	c->due_ms = clock_ms() + END_MS;
	*ret_is_told = client_call(c, "stop", "{\"grace\":0}", &answer, e) == 0;
	if (*ret_is_told || c->is_closed)
		return 0;
	return c->is_stuck ? kill_supervisor(c->name, supervisor_of(c, e), e) : -1;
}

/* A sandbox that is not found has ended meanwhile. */
static int end(const char *name, const char *id, bool *ret_is_told, struct err *e)
{
	struct client c = { 0 };

	*ret_is_told = false;
	if (client_open(&c, name, e) < 0)
		return e->kind == ERR_NOT_FOUND ? 0 : end_unconnected(name, id, e);
	int rc = end_connected(&c, ret_is_told, e);
	client_done(&c);
	return rc;
}

/* Finds the kept sandbox.  If `id` is given it must match, since one sandbox's
 * id may be another one's name. */
static int find_kept(const char *name, const char *id, struct saved_spec *ret,
		     struct err *e)
{
	if (saved_spec_find(name, ret, e) < 0)
		return -1;
	if (!id || !strcmp(ret->id, id))
		return 0;
	saved_spec_done(ret);
	return err_set(e, ERR_NOT_FOUND, "no sandbox named '%s' is kept", name);
}

/* Removes the files of an ended sandbox, whose record is in its place.  `id`: only this
 * sandbox; NULL: any with that name. */
static int forget_recorded(const char *called, const char *id, struct err *e)
{
	const char *name = id ? id : called;
	struct saved_spec kept;
	struct err why;

	int removed = find_kept(called, id, &kept, &why);
	if (removed < 0 && why.kind != ERR_NOT_FOUND) {
		*e = why;
		return -1;
	}
	if (removed == 0 && saved_spec_remove(&kept, e) < 0) {
		saved_spec_done(&kept);
		return -1;
	}
	if (removed == 0)
		(void)registry_forget(kept.id, NULL); /* records of earlier ends of this
						       * sandbox may have other names */
	saved_spec_done(&kept);
	return registry_forget(name, removed == 0 ? NULL : e) < 0 ? removed : 0;
}

/* Does the same as forget_recorded().  If the supervisor was just killed, its janitor may
 * still be at work, and the sandbox is then neither live nor recorded as ended, so this
 * waits for the record. */
static int forget(const char *called, const char *id, struct err *e)
{
	AUTO_FREE char *record = NULL;

	(void)registry_wait(id ? id : called, &record, NULL); /* registry_wait() fails if
							       * no record of this
							       * sandbox's end will
							       * come */
	return forget_recorded(called, id, e);
}

/* Waits until the supervisor has freed the name, which it does right after it has written the
 * record of the end, and kills one that does not do so in time.  The supervisor itself may live
 * on for its clients. */
static int end_slow(const char *name, const char *id, struct err *e)
{
	struct err why;

	AUTO_CLOSE int freed = registry_watch_name(name, id, e);
	if (freed < 0)
		return e->kind == ERR_NOT_FOUND ? 0 : -1;
	/* The name may have been freed before the watch. */
	AUTO_CLOSE int pidfd = registry_supervisor(name, id, &why);
	if (pidfd < 0)
		return 0;
	struct pollfd w[] = { { .fd = freed, .events = POLLIN },
			      { .fd = pidfd, .events = POLLIN } };
	const int ready = poll(w, ARRAY_LEN(w), END_MS);
	if (ready < 0)
		return err_sys(e, "wait for the end of sandbox '%s'", name);
	return ready ? 0 : kill_supervisor(name, fd_take(&pidfd), e);
}

/* Lets a janitor go on that was stopped (SIGSTOP): it tidies up after a supervisor that is
 * killed, and until then the name is taken; a supervisor that ends waits for it. */
static void wake_janitor(const char *name)
{
	struct err none;
	AUTO_CLOSE int janitor = registry_janitor(name, &none);

	if (janitor >= 0)
		(void)sys_pidfd_send_signal(janitor, SIGCONT); /* fails if it has ended */
}

/* Ends the sandbox.  Afterwards its record is in its place, or will not come. */
static int end_for_good(const char *name, const char *id, bool *ret_is_told,
			struct err *e)
{
	AUTO_FREE char *text = text_format("waiting for sandbox '%s' to end", name);
	struct wait_line w;

	wait_line_start(&w, text);
	int rc = end(name, id, ret_is_told, e);
	if (rc == 0 && !*ret_is_told)
		rc = end_slow(name, id, e);
	if (rc == 0 && !*ret_is_told)
		foreach_sandbox_settle(name, id);
	wait_line_stop(&w);
	return rc;
}

static int remove_one(const char *name, bool is_forced, struct err *e)
{
	struct registry_entry entry;
	char id[REGISTRY_ID_LEN + 1];
	bool is_told;

	wake_janitor(name);
	if (registry_open(name, &entry, e) < 0)
		return e->kind == ERR_NOT_FOUND ? forget(name, NULL, e) : -1;
	memcpy(id, entry.id, sizeof(id));
	registry_done(&entry);
	if (!is_forced) {
		(void)err_set(e, ERR_BUSY, "sandbox '%s' has not ended", name);
		return err_remedy(e, "hutch stop %s first, or hutch rm -f %s", name,
				  name);
	}
	if (end_for_good(name, id, &is_told, e) < 0)
		return -1;
	if (is_told && forget_recorded(name, id, e) == 0)
		return 0;
	/* A sandbox made with --rm has removed its files itself, so there is nothing
	 * to forget, which is no error.  If the supervisor could not record the end, its
	 * janitor does. */
	if (is_told)
		foreach_sandbox_settle(name, id);
	return forget(name, id, e) < 0 && e->kind != ERR_NOT_FOUND ? -1 : 0;
}

/* Says how large the kept changes in folders shown with :cow are.  A launch that was
 * killed has not counted them, so they are counted here. */
static void tell_kept(const char *id)
{
	struct cow c;

	if (cow_find(id, &c, NULL) < 0)
		return;
	bool is_settled = c.has_sum || c.is_live || cow_lock(&c, NULL) < 0;
	if (is_settled || kept_changes_settle(&c, NULL) != 0)
		note_print("changes are kept as %s; hutch diff|apply|discard %s", c.name,
			   c.name);
	cow_done(&c);
}

/* Finds the id of the kept changes before the sandbox ends: after its end a name that
 * the sandbox got from `hutch rename` would no longer lead to the changes. */
static void find_changes(const char *name, char id[COW_ID_LEN + 1])
{
	struct cow c;

	id[0] = '\0';
	if (cow_find(name, &c, NULL) < 0)
		return;
	memcpy(id, c.id, COW_ID_LEN + 1);
	cow_done(&c);
}

static int remove_and_tell(const char *name, bool is_forced, struct err *e)
{
	char id[COW_ID_LEN + 1];

	find_changes(name, id);
	if (remove_one(name, is_forced, e) < 0)
		return -1;
	(void)printf("%s\n", name);
	(void)report_flush(); /* main() reports a failure to write stdout */
	if (id[0])
		tell_kept(id);
	return 0;
}

int rm_main(char **argv)
{
	bool is_forced = false;
	const struct flag flags[] = {
		{ 'f', "force", NULL, "end those that live, even stuck ones", &is_forced,
		  NULL },
		FLAG_QUIET,
	};
	const struct usage usage = {
		.synopsis = "hutch rm [-fq] NAME...",
		.about = "Removes the records, logs and files of sandboxes that have "
			 "ended.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	int code = 0;
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	for (; *argv; argv++) {
		if (remove_and_tell(*argv, is_forced, &e) < 0) {
			if (e.kind == ERR_NOT_FOUND)
				(void)client_absent(*argv, &e);
			report_error(&e);
			code = EXIT_HUTCH;
		}
	}
	return code;
}

/* --- wait ------------------------------------------------------------------ */

static int wait_one(const char *name, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct json_view record;
	int64_t code = 0;

	AUTO_FREE char *line = text_format("waiting for sandbox '%s' to end", name);
	struct wait_line w;
	wait_line_start(&w, line);
	int rc = registry_wait(name, &text, e);
	wait_line_stop(&w);
	if (rc < 0)
		return e->kind == ERR_NOT_FOUND ? client_absent(name, e) : -1;
	if (json_view_scan(&record, text, strlen(text), e) < 0 ||
	    !json_view_integer(json_view_get(record, "exit_code"), &code))
		return err_set(e, ERR_INTERNAL, "the record of the end of sandbox '%s' "
						"is not valid", name);
	(void)printf("%lld\n", (long long)code);
	(void)report_flush(); /* main() reports a failure to write stdout */
	return 0;
}

int wait_main(char **argv)
{
	static const struct flag flags[] = { FLAG_QUIET };
	static const struct usage usage = {
		.synopsis = "hutch wait [-q] NAME...",
		.about = "Waits until sandboxes have ended, and prints their exit codes.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	int code = 0;
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	for (; *argv; argv++)
		if (wait_one(*argv, &e) < 0) {
			report_error(&e);
			code = EXIT_HUTCH;
		}
	return code;
}
