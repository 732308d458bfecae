/* docker run, docker exec. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/own.h"
#include "docker/args.h"
#include "docker/attach.h"
#include "docker/container.h"
#include "docker/describe.h"
#include "docker/run_args.h"
#include "docker/user_policy.h"
#include "docker/verb.h"
#include "docker/verbs.h"
#include "sandbox/launch/result.h"

static int make_volumes(const struct args *a, struct err *e)
{
	for (size_t i = 0; i < a->volumes.count; i++)
		if (volume_make(a->volumes.items[i], e) < 0)
			return -1;
	return 0;
}

/* Makes the sandbox, and prints its id where docker prints that of a container. */
static int run_detached(const struct args *a, const struct list *words, struct err *e)
{
	struct container made;

	int code = verb_run(words, VERB_DROP, NULL, e);
	if (code != 0)
		return code;
	/* With --rm the main process may have ended already, and left nothing. */
	if (container_find(a->name, &made, NULL) == 0)
		(void)puts(made.id);
	else
		(void)puts(a->name);
	return 0;
}

/* An image that is named by its id, as `docker build -q` prints it, becomes a reference. */
static void name_image(char **word)
{
	char *reference = describe_reference(*word);

	if (reference) {
		free(*word);
		*word = reference;
	}
}

static int start(char **argv, const char *made_name, struct args *a, struct err *e)
{
	struct list words = { 0 };

	int rc = run_args_read(argv, made_name, a, &words, e);
	if (rc == 0) {
		name_image(&words.items[a->image_at]);
		rc = make_volumes(a, e);
	}
	if (rc == 0)
		rc = a->is_detached ? run_detached(a, &words, e)
		     : a->name	    ? attach_run(&words, a->name, a->removes, e)
				    : verb_become(&words, false, e);
	list_done(&words);
	return rc;
}

int run_verb(char **argv)
{
	char digits[9], name[16];
	struct args a = { 0 };
	struct err e;

	if (run_args_help(argv))
		return 0;
	AUTO_FREE char *policy = NULL;
	if (user_policy_find("docker.json", &policy, &a.opens_host, &e) < 0 ||
	    hex_random(digits, 8, &e) < 0)
		return verbs_fail(&e, EXIT_HUTCH);
	a.policy = policy;
	(void)snprintf(name, sizeof(name), "hutch-%s", digits);
	int rc = start(argv, name, &a, &e);
	args_done(&a);
	if (a.lacks_operands)
		return verbs_count_fails("run", 1, SIZE_MAX);
	return rc < 0 ? verbs_fail(&e, EXIT_HUTCH) : rc;
}

static int run_inside(const struct args *a, const char *box, char **command,
		      struct err *e)
{
	struct list words = { 0 };

	list_add(&words, "exec");
	if (a->is_detached)
		list_add(&words, "-d");
	for (size_t i = 0; i < a->words.count; i++)
		list_add(&words, a->words.items[i]);
	list_add(&words, box);
	list_add(&words, "--");
	for (; *command; command++)
		list_add(&words, *command);
	/* docker prints nothing where hutch prints the number of the process. */
	int rc = verb_become(&words, a->is_detached, e);
	list_done(&words);
	return rc;
}

int exec_verb(char **argv)
{
	struct args a = { 0 };
	struct container c;
	const char *box;
	struct err e;
	int code = 1;

	if (run_args_help_exec(argv))
		return 0;
	char **command = run_args_read_exec(argv, &a, &box, &e);
	if (!command)
		code = EXIT_HUTCH;
	else if (container_find(box, &c, &e) == 0) {
		if (c.is_ended)
			(void)err_set(&e, ERR_NOT_FOUND, "container %s is not running",
				      c.id);
		else {
			(void)run_inside(&a, c.name, command, &e);
			code = EXIT_HUTCH;
		}
	}
	args_done(&a);
	return a.lacks_operands ? verbs_count_fails("exec", 2, SIZE_MAX)
				: verbs_fail(&e, code);
}
