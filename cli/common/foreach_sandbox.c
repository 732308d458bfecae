#include "cli/common/foreach_sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/wait_line.h"
#include "cli/common/client.h"
#include "cli/common/report.h"
#include "sandbox/launch/result.h"

/* how many connections are open at a time: the usual RLIMIT_NOFILE is 1024 */
#define BATCH 128

struct asked {
	struct client client;
	int request; /* the request's number; -1: sending failed, and the error was
		      * printed */
};

void foreach_sandbox_settle(const char *name, const char *id)
{
	AUTO_FREE char *record = NULL;
	struct registry_item item;
	bool is_other = false;

	if (registry_look(name, &item, NULL) == 0) {
		is_other = strcmp(item.id, id) != 0;
		registry_item_done(&item);
	}
	/* If the lookup fails, the supervisor is gone, but its janitor may still be
	 * removing the sandbox's files: wait for it, too. */
	if (!is_other)
		(void)registry_wait(name, &record, NULL); /* registry_wait() fails if the
							   * sandbox is gone already,
							   * which is no error */
}

static void ask(struct asked *a, const char *name, const struct foreach_sandbox *what)
{
	struct err e;

	*a = (struct asked){ .request = -1 };
	if (client_open(&a->client, name, &e) == 0)
		a->request = client_send(&a->client, what->method, what->params, &e);
	if (a->request < 0)
		report_error(&e);
}

static int await(struct asked *a, const struct foreach_sandbox *what,
		 struct json_view *ret, struct err *e)
{
	struct client *c = &a->client;
	int rc = client_await(c, a->request, ret, e);

	if (!what->is_the_end)
		return rc;
	if (rc < 0 && !(c->is_greeted && c->is_closed))
		return -1;
	foreach_sandbox_settle(c->name, c->id);
	return 0;
}

/* Waits for the answer of one sandbox, and prints its name or the error.  Returns
 * true when the request was carried out. */
static bool collect(struct asked *a, const struct foreach_sandbox *what)
{
	struct client *c = &a->client;
	AUTO_FREE char *text = text_format("waiting for sandbox '%s'%s", c->name,
					   what->is_the_end ? " to end" : "");
	struct json_view answer = { 0 };
	struct wait_line w;
	struct err e;

	wait_line_start(&w, text);
	int rc = await(a, what, &answer, &e);
	wait_line_stop(&w);
	if (rc < 0) {
		report_error(&e);
		return false;
	}
	if (what->tell)
		what->tell(c, answer);
	(void)printf("%s\n", c->name);
	(void)report_flush(); /* writes the name now, since the next answer may take long;
			       * main() reports a failure */
	return true;
}

int foreach_sandbox_ask(char *const *names, const struct foreach_sandbox *what)
{
	struct asked batch[BATCH];
	int code = 0;

	while (*names) {
		size_t count = 0;
		for (; *names && count < BATCH; names++)
			ask(&batch[count++], *names, what);
		for (size_t i = 0; i < count; i++) {
			if (batch[i].request < 0 || !collect(&batch[i], what))
				code = EXIT_HUTCH;
			client_done(&batch[i].client);
		}
	}
	return code;
}
