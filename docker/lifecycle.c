/* docker start, stop, kill, rm, pause, unpause, rename, cp. */
#include <ctype.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "docker/container.h"
#include "docker/verb.h"
#include "docker/verbs.h"
#include "policy/signal_name.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/launch/result.h"

/* Runs a verb of hutch for one container; its exit code is docker's: 0 or 1. */
static int run_one(const struct list *verb, const char *box, enum verb_output output,
		   struct err *e)
{
	struct list words = { 0 };

	for (size_t i = 0; i < verb->count; i++)
		list_add(&words, verb->items[i]);
	list_add(&words, box);
	int code = verb_run(&words, output, NULL, e);
	list_done(&words);
	return code < 0 ? -1 : code != 0;
}

/* How a verb treats the containers that it is given. */
struct steer {
	const struct list *verb; /* the words of hutch */
	bool skips_ended;	 /* for one that has ended there is nothing to do */
	bool skips_running;	 /* nor is there for one that runs */
	const char *refuses_ended;
};

static int is_not_running(const char *tried, const char *word, const struct container *c,
			  struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, "%s: %.60s: container %s is not running", tried,
		       word, c->id);
}

/* Steers one container and prints the word that it was named by. */
static int steer_one(const struct steer *s, const char *word)
{
	struct container c;
	struct err e;

	if (container_find(word, &c, &e) < 0)
		return verbs_fail(&e, 1);
	if (c.is_ended && s->refuses_ended) {
		(void)is_not_running(s->refuses_ended, word, &c, &e);
		return verbs_fail(&e, 1);
	}
	const bool is_done = c.is_ended ? s->skips_ended : s->skips_running;
	int code = is_done ? 0 : run_one(s->verb, container_word(&c), VERB_DROP, &e);
	if (code < 0)
		return verbs_fail(&e, 1);
	if (code == 0)
		(void)puts(word);
	return code;
}

static int steer(const struct steer *s, char **words)
{
	int code = 0;

	for (; *words; words++)
		code |= steer_one(s, *words);
	return code;
}

/* Steers by a verb that has no flags, and takes no container that has ended. */
static int steer_running(char **argv, const struct usage *usage, const char *verb,
			 const char *refuses_ended)
{
	struct list words = { 0 };
	int code = verbs_flags(argv, usage);

	if (code >= 0)
		return code;
	list_add(&words, verb);
	code = steer(&(struct steer){ .verb = &words, .refuses_ended = refuses_ended },
		     argv);
	list_done(&words);
	return code;
}

int pause_verb(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch docker pause CONTAINER...",
		.about = "Stops everything inside.",
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};

	return steer_running(argv, &usage, "pause", "Cannot pause container");
}

int unpause_verb(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch docker unpause CONTAINER...",
		.about = "Lets everything inside go on.",
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};

	return steer_running(argv, &usage, "unpause", "Cannot unpause container");
}

int start_verb(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch docker start CONTAINER...",
		.about = "Starts containers again that have ended.",
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};

	struct list words = { 0 };
	int code = verbs_flags(argv, &usage);

	if (code >= 0)
		return code;
	list_add(&words, "start");
	code = steer(&(struct steer){ .verb = &words, .skips_running = true }, argv);
	list_done(&words);
	return code;
}

/* Whether hutch stop may judge the value; it is not asked about a container that has
 * ended. */
static bool is_seconds(const char *value)
{
	return *value && strspn(value, "0123456789") == strlen(value);
}

int stop_verb(char **argv)
{
	const char *seconds = NULL;
	const struct flag flags[] = {
		{ 't', "time", "SECONDS", "how long it has to end (10)", NULL, &seconds },
		{ 0, "timeout", "SECONDS", "the same", NULL, &seconds },
	};
	const struct usage usage = {
		.synopsis = "hutch docker stop [OPTIONS] CONTAINER...",
		.about = "Sends the stop signal, SIGTERM by default, and ends the container.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};
	struct list words = { 0 };
	int code = verbs_flags(argv, &usage);

	if (code >= 0)
		return code;
	if (seconds && !is_seconds(seconds)) {
		struct err e;
		(void)err_set(&e, ERR_USAGE,
			      "invalid argument \"%.60s\" for \"-t, --time\" flag",
			      seconds);
		return verbs_fail(&e, EXIT_HUTCH);
	}
	list_add(&words, "stop");
	if (seconds) {
		list_add(&words, "-t");
		list_add(&words, seconds);
	}
	code = steer(&(struct steer){ .verb = &words, .skips_ended = true }, argv);
	list_done(&words);
	return code;
}

struct sent {
	const char *name; /* borrowed */
	int number;
};

/* Asks for the number of the main process, and sends it the signal.  A container that
 * hutch create has made without --main has none. */
static int send_signal(void *arg, struct err *e)
{
	const struct sent *sent = arg;
	struct json_view answer;
	struct client c = { 0 };
	int64_t process;

	if (client_open(&c, sent->name, e) < 0)
		return -1;
	int rc = client_call(&c, "info", NULL, &answer, e);
	if (rc == 0 &&
	    !json_view_integer(json_view_get(answer, "main.process"), &process))
		rc = err_set(e, ERR_UNSUPPORTED, "sandbox %s has no main process",
			     sent->name);
	if (rc == 0) {
		AUTO_FREE char *params = text_format("{\"process\":%lld,\"signal\":%d}",
						     (long long)process, sent->number);
		rc = client_call(&c, "exec.signal", params, &answer, e);
	}
	client_done(&c);
	return rc;
}

/* Sends a signal to the main process of each container. */
static int signal_all(int number, char **words)
{
	struct container box;
	struct err e;
	int code = 0;

	for (; *words; words++) {
		struct sent sent = { box.name, number };
		int rc = container_find(*words, &box, &e);
		if (rc == 0 && box.is_ended)
			rc = is_not_running("cannot kill container", *words, &box, &e);
		if (rc == 0)
			rc = host_user_as_client(send_signal, &sent, &e);
		if (rc == 0)
			(void)puts(*words);
		else
			code = verbs_fail(&e, 1);
	}
	return code;
}

/* docker takes names in any case. */
static int read_signal(const char *word)
{
	AUTO_FREE char *upper = text_copy(word);

	for (char *c = upper; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return signal_name_parse(upper);
}

int kill_verb(char **argv)
{
	const char *signal = "KILL";
	const struct flag flags[] = {
		{ 's', "signal", "SIGNAL", "the signal for the main process (KILL)", NULL,
		  &signal },
	};
	const struct usage usage = {
		.synopsis = "hutch docker kill [OPTIONS] CONTAINER...",
		.about =
			"Ends containers at once, or sends their main processes a signal.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};
	struct list words = { 0 };
	struct err e;
	int code = verbs_flags(argv, &usage);

	if (code >= 0)
		return code;
	const int number = read_signal(signal);
	if (!number) {
		(void)err_set(&e, ERR_NOT_FOUND, "Invalid signal: %.60s", signal);
		return verbs_fail(&e, 1);
	}
	if (number != SIGKILL)
		return signal_all(number, argv);
	list_add(&words, "kill");
	code = steer(&(struct steer){ .verb = &words,
				      .refuses_ended = "cannot kill container" },
		     argv);
	list_done(&words);
	return code;
}

/* Removes one; with -f, a container that is not there is no error, as in docker. */
static int rm_one(const char *word, bool is_forced)
{
	struct list verb = { 0 };
	struct container c;
	struct err e;

	if (container_find(word, &c, &e) < 0) {
		const bool is_fine = is_forced && e.kind == ERR_NOT_FOUND;
		return verbs_fail(&e, is_fine ? 0 : 1);
	}
	if (!c.is_ended && !is_forced) {
		(void)err_set(
			&e, ERR_NOT_FOUND,
			"cannot remove container \"%.60s\": container is running: stop "
			"the container before removing or force remove",
			word);
		return verbs_fail(&e, 1);
	}
	list_add(&verb, "rm");
	list_add(&verb, "-q");
	if (is_forced)
		list_add(&verb, "-f");
	int code = run_one(&verb, container_word(&c), VERB_DROP, &e);
	list_done(&verb);
	if (code < 0)
		return verbs_fail(&e, 1);
	if (code == 0)
		(void)puts(word);
	return code;
}

int rm_verb(char **argv)
{
	bool is_forced = false, removes_volumes = false;
	const struct flag flags[] = {
		{ 'f', "force", NULL, "end those that run", &is_forced, NULL },
		{ 'v', "volumes", NULL, "accepted: there are no volumes without a name",
		  &removes_volumes, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch docker rm [OPTIONS] CONTAINER...",
		.about = "Removes containers.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};
	int code = verbs_flags(argv, &usage);

	if (code >= 0)
		return code;
	for (code = 0; *argv; argv++)
		code |= rm_one(*argv, is_forced);
	return code;
}

int rename_verb(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch docker rename CONTAINER NAME",
		.about = "Gives a container another name.",
		.operands_min = 2,
		.operands_max = 2,
	};
	struct list words = { 0 };
	struct container c;
	struct err e;
	int code = verbs_flags(argv, &usage);

	if (code >= 0)
		return code;
	if (container_find(argv[0], &c, &e) < 0)
		return verbs_fail(&e, 1);
	list_add(&words, "rename");
	list_add(&words, "--");
	list_add(&words, container_word(&c));
	code = run_one(&words, argv[1], VERB_DROP, &e);
	list_done(&words);
	return code < 0 ? verbs_fail(&e, 1) : code;
}

/* Puts hutch's word for the container into CONTAINER:PATH.  A path of this host stays as
 * it is, and so does "-". */
static int add_place(struct list *words, const char *place, struct err *e)
{
	const char *colon = strchr(place, ':');
	struct container c;

	if (!colon || place[0] == '/' || place[0] == '.') {
		list_add(words, place);
		return 0;
	}
	AUTO_FREE char *box = strndup(place, (size_t)(colon - place));
	if (!box)
		abort();
	if (container_find(box, &c, e) < 0)
		return -1;
	/* docker's paths begin at the root. */
	list_addf(words, "%s:%s%s", container_word(&c), colon[1] == '/' ? "" : "/",
		  colon + 1);
	return 0;
}

int cp_verb(char **argv)
{
	bool follows = false, is_quiet = false;
	const struct flag flags[] = {
		{ 'L', "follow-link", NULL, "copy the target of SRC", &follows, NULL },
		{ 'q', "quiet", NULL, "no notes", &is_quiet, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch docker cp [OPTIONS] SRC DST",
		.about = "Copies files into a container or out of it: CONTAINER:PATH.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 2,
		.operands_max = 2,
	};
	struct list words = { 0 };
	struct err e;
	int code = verbs_flags(argv, &usage);

	if (code >= 0)
		return code;
	list_add(&words, "cp");
	if (follows)
		list_add(&words, "-L");
	if (is_quiet)
		list_add(&words, "-q");
	list_add(&words, "--");
	int rc = add_place(&words, argv[0], &e) < 0 ? -1 : add_place(&words, argv[1], &e);
	rc = rc < 0 ? -1 : verb_run(&words, VERB_SHOW, NULL, &e);
	list_done(&words);
	return rc < 0 ? verbs_fail(&e, 1) : rc != 0;
}
