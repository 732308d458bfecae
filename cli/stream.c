/* hutch connect and hutch act NAME: connect stdin and stdout with a sandbox. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/bridge.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/verbs.h"
#include "sandbox/launch/result.h"

/* Ignores SIGPIPE: if a reader is gone, write(2) then fails with EPIPE and does not
 * kill hutch. */
static void ignore_pipes(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
}

/* --- connect --------------------------------------------------------------- */

static int connect_to(const char *name, struct err *e)
{
	int fd = registry_connect(name, e);

	if (fd < 0)
		return e->kind == ERR_NOT_FOUND ? client_absent(name, e) : -1;
	return bridge(fd, "", 0, e) == BRIDGE_FAILED ? -1 : 0;
}

/* Writes one line to stdout, with the connection as a descriptor or with the error.
 * The hello is exchanged first: the supervisor checks the process that has
 * connected, which must still live then. */
static int hand_over(const char *name, struct err *e)
{
	struct client c = { 0 };

	e->kind = ERR_NONE;
	if (client_open(&c, name, e) == 0)
		(void)client_greet(&c, e); /* a failure is stored in `e`, and written to
					    * stdout below */
	const bool is_there = e->kind == ERR_NONE;
	AUTO_FREE char *error = result_error_json(e);
	AUTO_FREE char *line = text_format("{\"error\":%s}\n", error);
	if (fd_pass_send(1, line, strlen(line), &c.fd, is_there) < 0)
		(void)err_sys(
			e,
			"hand the connection over to stdout, which takes a unix socket");
	client_done(&c);
	return e->kind == ERR_NONE ? 0 : -1;
}

int connect_main(char **argv)
{
	bool hands_over = false;
	const struct flag flags[] = {
		{ 'd', "descriptor", NULL, "pass the connection over stdout, a socket",
		  &hands_over, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch connect [-d] NAME",
		.about = "The sandbox's control socket over stdin and stdout.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	ignore_pipes();
	return report_end(hands_over ? hand_over(argv[0], &e) : connect_to(argv[0], &e),
			  &e);
}

/* --- act ------------------------------------------------------------------- */

/* Returns whether the sandbox has ended, or its name belongs to another sandbox by
 * now. */
static bool has_ended(const struct client *c)
{
	struct registry_item item;

	if (registry_look(c->name, &item, NULL) < 0)
		return true;
	bool is_same = !strcmp(item.id, c->id);
	registry_item_done(&item);
	return !is_same;
}

static int stream(struct client *c, const char *params, struct err *e)
{
	struct message none;
	struct json_view answer;

	if (client_call(c, "act.stream", params, &answer, e) < 0)
		return -1;
	/* The connection subscribed to no notifications, so all bytes in the
	 * buffer are observations. */
	(void)client_next(c, &none, NULL);
	const enum bridge_end end = bridge(fd_take(&c->fd), buffer_data(&c->in),
					   buffer_len(&c->in), e);
	if (end == BRIDGE_FAILED)
		return -1;
	if (end == BRIDGE_UNREAD)
		return err_set(e, ERR_SYSTEM, "stdout has no reader any more");
	if (end == BRIDGE_CLOSED || has_ended(c))
		return client_ended(c, e);
	return 0;
}

static int act_in(const char *name, const char *params)
{
	struct client c;
	struct err e;

	if (client_open(&c, name, &e) < 0)
		return report_end(-1, &e);
	const int code = report_end(stream(&c, params, &e), &e);
	client_done(&c);
	return code;
}

int act_named(char **argv)
{
	bool streams = false, confirms = false;
	const struct flag flags[] = {
		{ 0, "stream", NULL, "events of output as it comes, too", &streams,
		  NULL },
		{ 0, "confirm", NULL, "ask the client about actions", &confirms, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch act NAME [--stream] [--confirm]",
		.about = "Actions as JSON lines on stdin, in a sandbox that has a name.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = 1,
	};
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	ignore_pipes();
	AUTO_FREE char *params = text_format("{\"stream\":%s,\"confirm\":%s}",
					     streams ? "true" : "false",
					     confirms ? "true" : "false");
	return act_in(argv[0], params);
}
