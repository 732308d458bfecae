/* docker wait.
 *
 * docker waits for the end of the main process, also where that is started again.  hutch
 * wait waits for the end of the sandbox, which is the same where nothing is restarted. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "docker/container.h"
#include "docker/verb.h"
#include "docker/verbs.h"
#include "sandbox/kernel/host_user.h"

struct life {
	const struct container *container; /* borrowed */
	bool is_over; /* the main process has ended, with `exit_code` */
	int64_t exit_code;
};

static int wait_for_process(struct client *c, struct life *l, struct err *e)
{
	struct json_view info, how;
	int64_t process;

	if (client_call(c, "info", NULL, &info, e) < 0)
		return -1;
	struct json_view rule = json_view_get(info, "main.restart");
	if (!json_view_integer(json_view_get(info, "main.process"), &process) ||
	    json_view_is(rule, "no"))
		return 0;
	AUTO_FREE char *params = text_format("{\"process\":%lld}", (long long)process);
	if (client_call(c, "exec.wait", params, &how, e) < 0)
		return -1;
	l->is_over = json_view_integer(json_view_get(how, "exit_code"), &l->exit_code);
	return 0;
}

/* Waits as the user whose sandbox this is. */
static int wait_for_life(void *arg, struct err *e)
{
	struct life *l = arg;
	struct client c = { 0 };

	if (client_open(&c, l->container->name, e) < 0)
		return -1;
	int rc = wait_for_process(&c, l, e);
	client_done(&c);
	return rc;
}

/* Waits for one, and prints its exit code. */
static int wait_one(const char *word, struct err *e)
{
	struct container c;
	struct list words = { 0 };

	if (container_find(word, &c, e) < 0)
		return -1;
	struct life life = { .container = &c };
	/* An error is most often that the sandbox ends just now, and hutch wait tells all
	 * others. */
	if (!c.is_ended)
		(void)host_user_as_client(wait_for_life, &life, e);
	if (life.is_over) {
		(void)printf("%lld\n", (long long)life.exit_code);
		(void)fflush(stdout); /* the next one may be printed by a child */
		return 0;
	}
	list_add(&words, "wait");
	list_add(&words, container_word(&c));
	int code = verb_run(&words, VERB_SHOW, NULL, e);
	list_done(&words);
	return code < 0 ? -1 : code != 0;
}

int wait_verb(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch docker wait CONTAINER...",
		.about = "Waits for ends, and prints exit codes.",
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};
	struct err e;
	int code = verbs_flags(argv, &usage);

	if (code >= 0)
		return code;
	for (code = 0; *argv; argv++) {
		int one = wait_one(*argv, &e);
		code |= one < 0 ? verbs_fail(&e, 1) : one;
	}
	return code;
}
