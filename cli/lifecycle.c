/* hutch pause, unpause, stop, kill, rename: verbs that are one request. */
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "cli/common/foreach_sandbox.h"
#include "cli/common/report.h"
#include "cli/verbs.h"
#include "policy/units.h"
#include "sandbox/launch/result.h"

/* Prints a note if `hutch pause --best-effort` could only send SIGSTOP to the
 * processes, which are neither frozen nor traced: a process inside can undo that. */
static void tell_signals(const struct client *c, struct json_view answer)
{
	if (json_view_is(json_view_get(answer, "by"), "signals"))
		note_print("note: sandbox '%s' is paused by signals (--best-effort): a "
			   "process inside can undo that", c->name);
}

int pause_main(char **argv)
{
	static const struct flag flags[] = { FLAG_QUIET };
	static const struct usage usage = {
		.synopsis = "hutch pause [-q] NAME...",
		.about = "Stops everything inside where it stands, until hutch unpause.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	static const struct foreach_sandbox pause = { .method = "pause",
						      .tell = tell_signals };
	enum flags_result got = flags_begin(argv, &usage);

	return got == FLAGS_READ   ? foreach_sandbox_ask(argv, &pause)
	       : got == FLAGS_HELP ? 0
				   : EXIT_HUTCH;
}

int unpause_main(char **argv)
{
	bool is_forced = false;
	const struct flag flags[] = {
		{ 'f', "force", NULL, "even if a protected file was replaced", &is_forced,
		  NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch unpause [-f] NAME...",
		.about = "Lets everything inside go on.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	enum flags_result got = flags_begin(argv, &usage);
	const struct foreach_sandbox unpause = { .method = "unpause",
				      .params = is_forced ? "{\"force\":true}" : NULL };

	return got == FLAGS_READ   ? foreach_sandbox_ask(argv, &unpause)
	       : got == FLAGS_HELP ? 0
				   : EXIT_HUTCH;
}

static int read_grace(const char *text, uint64_t *ret, struct err *e)
{
	if (!text)
		return 0;
	if (units_parse_number(text, ret, e) < 0) {
		(void)err_remedy(e, "it is in seconds: hutch stop -t 10 NAME");
		return err_in(e, "--time");
	}
	return *ret > 86400 ? err_set(e, ERR_USAGE, "--time takes at most 86400 seconds")
			    : 0;
}

int stop_main(char **argv)
{
	const char *time = NULL;
	const struct flag flags[] = {
		{ 't', "time", "SECONDS", "between SIGTERM and the end", NULL, &time },
		FLAG_QUIET,
	};
	const struct usage usage = {
		.synopsis = "hutch stop [-q] [-t SECONDS] NAME...",
		.about =
			"Sends SIGTERM to everything inside, and ends the sandbox when it has "
			"ended or\nthe time has passed.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};
	uint64_t grace = 0;
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (read_grace(time, &grace, &e) < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	AUTO_FREE char *params =
		time ? text_format("{\"grace\":%llu}", (unsigned long long)grace) : NULL;
	const struct foreach_sandbox stop = { .method = "stop",
					      .params = params,
					      .is_the_end = true };
	return foreach_sandbox_ask(argv, &stop);
}

int kill_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch kill NAME...",
		.about = "Ends sandboxes at once.",
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	static const struct foreach_sandbox kill = { .method = "kill",
						     .is_the_end = true };
	enum flags_result got = flags_begin(argv, &usage);

	return got == FLAGS_READ   ? foreach_sandbox_ask(argv, &kill)
	       : got == FLAGS_HELP ? 0
				   : EXIT_HUTCH;
}

static int rename_sandbox(const char *old, const char *name, struct err *e)
{
	AUTO_FREE char *quoted = json_write_quoted(name);
	AUTO_FREE char *params = text_format("{\"name\":%s}", quoted);
	struct client c = { 0 };
	struct json_view answer;

	if (registry_check_name(name, e) < 0 || client_open(&c, old, e) < 0)
		return -1;
	int rc = registry_make_way(name, e);
	if (rc == 0)
		rc = client_call(&c, "rename", params, &answer, e);
	client_done(&c);
	return rc;
}

int rename_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch rename OLD NEW",
		.about = "Gives a sandbox another name.",
		.operands_min = 2, .operands_max = 2,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(rename_sandbox(argv[0], argv[1], &e), &e);
}
