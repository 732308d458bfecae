#include "lib/opening.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/common/client.h"
#include "lib/call.h"
#include "lib/connect.h"
#include "lib/error.h"
#include "lib/handle.h"
#include "lib/pool_take.h"

#define SAID_MAX 8192 /* the most bytes of the helper's output; an object with an error
		       * fits */

/* --- begin ----------------------------------------------------------------- */

static int start_helper(struct hutch *h, char *const *argv, int says_as,
			struct hutch_error *e)
{
	const struct helper_plan plan = {
		.program = h->program, .argv = argv, .says_as = says_as, .notes = h->notes
	};

	if (helper_start(&h->helper, &plan, e) < 0)
		return -1;
	return handle_watch(h, h->helper.ended, e);
}

int opening_create(struct hutch *h, const char *verb, const char *const *args,
		   struct hutch_error *e)
{
	size_t count = 0, n = 0;

	while (args[count])
		count++;
	AUTO_FREE const char **argv = calloc(count + 4, sizeof(*argv));
	if (!argv)
		return error_memory(e);
	argv[n++] = "hutch";
	argv[n++] = verb;
	argv[n++] = "--json=3";
	memcpy(argv + n, args, count * sizeof(*argv));
	h->stage = CREATING;
	/* The cast drops const: the parameter's type in posix_spawn(3) is older than
	 * const, but posix_spawn(3) does not write to the strings. */
	return start_helper(h, (char *const *)(uintptr_t)argv, 3, e);
}

static int start_finding(struct hutch *h, struct hutch_error *e)
{
	char program[] = "hutch", verb[] = "connect", flag[] = "--descriptor";
	char *argv[] = { program, verb, flag, h->name, NULL };

	h->stage = FINDING;
	return start_helper(h, argv, 1, e);
}

/* Makes the timer for the answer to hello: a supervisor that has not answered when
 * the timer expires is stuck. */
static int make_timer(struct hutch *h, struct hutch_error *e)
{
	h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (h->timer < 0)
		return error_sys(e, "make a timer for sandbox '%s'", h->name);
	return handle_watch(h, h->timer, e);
}

void opening_start_timer(struct hutch *h)
{
	const struct itimerspec due = { .it_value.tv_sec = CLIENT_PATIENCE_MS / 1000 };

	(void)timerfd_settime(h->timer, 0, &due, NULL); /* timerfd_settime(2) cannot fail:
							 * the time is valid */
}

static int start_taking(struct hutch *h, struct hutch_error *e)
{
	char program[] = "hutch", verb[] = "pool", how[] = "take",
	     flag[] = "--descriptor";
	char *argv[] = { program, verb, how, flag, h->name, NULL };

	h->stage = TAKING;
	return start_helper(h, argv, 1, e);
}

int opening_ask(struct hutch *h, int *pool, struct hutch_error *e)
{
	const int asked = pool_take_begin(h, pool, e);

	h->stage = AWAITING_POOL;
	if (asked <= 0)
		return asked < 0 ? -1 : start_taking(h, e);
	if (make_timer(h, e) < 0)
		return -1;
	opening_start_timer(h);
	return 0;
}

int opening_take(struct hutch *h, struct hutch_error *e)
{
	AUTO_CLOSE int pool = connect_to_pool(h->name);

	return opening_ask(h, &pool, e);
}

static int greet(struct hutch *h, struct hutch_error *e)
{
	h->stage = GREETING;
	if (handle_watch(h, h->socket, e) < 0 || make_timer(h, e) < 0)
		return -1;
	/* The hello is sent with the first call, or when a thread waits or polls; the
	 * timer runs from then on. */
	return writer_greet(h, e);
}

int opening_find(struct hutch *h, struct hutch_error *e)
{
	h->socket = connect_straight(h->name);
	return h->socket < 0 ? start_finding(h, e) : greet(h, e);
}

/* --- go on ----------------------------------------------------------------- */

static bool is_readable(int fd)
{
	struct pollfd w = { .fd = fd, .events = POLLIN };

	return poll(&w, 1, 0) > 0;
}

static int judge(const struct hutch *h, const char *said, size_t len,
		 struct hutch_error *e)
{
	static const char *const tasks[] = { [CREATING] = "make sandbox",
					     [TAKING] = "take a sandbox of pool",
					     [FINDING] = "connect to sandbox" };
	struct json_view object;

	/* Sets the error for output that is no JSON: the program was killed, or is
	 * not hutch. */
	if (json_view_scan(&object, said, len, NULL) < 0) {
		(void)error_set(e, HUTCH_SYSTEM,
			    "%s, which was to %s '%s', ended without saying how it went",
			    h->program, tasks[h->stage], h->name);
		return error_remedy(e, "is it a hutch of this version?");
	}
	const struct json_view error = json_view_get(object, "error");
	return json_view_type(error) == JSON_NULL ? 0 : error_object(e, error);
}

/* Takes over the connection from `hutch connect`, which has exchanged the hello
 * already. */
static int take_connection(struct hutch *h, int *fd, struct hutch_error *e)
{
	if (*fd < 0)
		return error_set(e, HUTCH_PROTOCOL,
			     "%s has no connection to sandbox '%s' to hand over",
			     h->program, h->name);
	h->socket = fd_take(fd);
	if (handle_watch(h, h->socket, e) < 0)
		return -1;
	handle_open(h);
	return 0;
}

/* Takes over a sandbox that a pool has handed out: its name, and the connection, on
 * which no hello was sent yet. */
static int take_sandbox(struct hutch *h, const char *said, int *fd, struct hutch_error *e)
{
	struct json_view object = { 0 };

	(void)json_view_scan(&object, said, strlen(said),
			     NULL); /* json_view_scan() cannot fail, since judge() has
				     * scanned the same text */
	if (*fd < 0 || !handle_rename(h, json_view_get(object, "sandbox")))
		return error_set(e, HUTCH_PROTOCOL,
			     "%s has no sandbox of pool '%s' to hand over", h->program,
			     h->name);
	h->socket = fd_take(fd);
	return greet(h, e);
}

static int finish_helper(struct hutch *h, struct hutch_error *e)
{
	char said[SAID_MAX];
	int fd;

	(void)epoll_ctl(h->io, EPOLL_CTL_DEL, h->helper.ended, NULL);
	const size_t len = helper_finish(&h->helper, said, sizeof(said), &fd);
	AUTO_CLOSE int got = fd;
	if (judge(h, said, len, e) < 0)
		return -1;
	if (got == FD_PASS_LOST)
		return handle_lost(h, e);
	if (h->stage == TAKING)
		return take_sandbox(h, said, &got, e);
	return h->stage == CREATING ? opening_find(h, e) : take_connection(h, &got, e);
}

static int stuck(const struct hutch *h, struct hutch_error *e)
{
	if (h->stage == AWAITING_POOL) {
		(void)error_set(e, HUTCH_TIMEOUT,
			    "the keeper of pool '%s' does not answer: it was stopped, or "
			    "is stuck",
			    h->name);
		return error_remedy(e, "end it, a process called hutch-pool; the "
				       "sandboxes that wait in it end, too");
	}
	(void)error_set(e, HUTCH_TIMEOUT,
		    "sandbox '%s' does not answer: its supervisor was stopped or "
		    "is stuck",
		    h->name);
	return error_remedy(e, "hutch rm -f %s ends it", h->name);
}

static bool is_late(const struct hutch *h)
{
	uint64_t times;

	return h->timer >= 0 && read(h->timer, &times, sizeof(times)) == sizeof(times);
}

static int ask_on(struct hutch *h, bool *ret_went_on, struct hutch_error *e)
{
	const int rc = pool_take_step(h, ret_went_on, e);

	return rc > 0 ? greet(h, e) : rc;
}

bool opening_step(struct hutch *h)
{
	bool goes_on = true;
	int rc = 0;

	if (h->stage == AWAITING_POOL)
		rc = ask_on(h, &goes_on, &h->why);
	else if (h->stage < AWAITING_POOL && is_readable(h->helper.ended))
		rc = finish_helper(h, &h->why);
	else
		goes_on = false;
	/* The timer is read only if no bytes have come: bytes that came in time are
	 * taken even if this code runs late. */
	if (rc == 0 && h->stage == AWAITING_POOL && !goes_on && is_late(h))
		rc = stuck(h, &h->why);
	if (rc < 0)
		handle_end(h);
	return goes_on || rc < 0;
}

void opening_expire(struct hutch *h)
{
	if (h->stage != GREETING || !is_late(h))
		return;
	(void)stuck(h, &h->why);
	handle_end(h);
}
