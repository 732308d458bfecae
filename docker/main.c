/* hutch-docker: docker's command line.  `hutch docker` is this program, and so is hutch
 * itself where its argv[0] is docker. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "docker/verbs.h"
#include "sandbox/launch/result.h"

static const struct verb {
	const char *name, *help;
	int (*main)(char **argv);
} verbs[] = {
	{ "run", "run a command in a new container", run_verb },
	{ "exec", "run a command in a container that runs", exec_verb },
	{ "ps", "list containers", ps_verb },
	{ "inspect", "all that is known of containers and images", inspect_verb },
	{ "logs", "the output of a container", logs_verb },
	{ "port", "the ports of this host that lead inside", port_verb },
	{ "start", "start containers again", start_verb },
	{ "stop", "end containers, by SIGTERM first", stop_verb },
	{ "kill", "end containers at once", kill_verb },
	{ "rm", "remove containers", rm_verb },
	{ "wait", "wait for the end of containers", wait_verb },
	{ "pause", "stop everything inside", pause_verb },
	{ "unpause", "let it go on", unpause_verb },
	{ "rename", "give a container another name", rename_verb },
	{ "cp", "copy files in or out", cp_verb },
	{ "pull", "fetch an image", pull_verb },
	{ "images", "list images", images_verb },
	{ "rmi", "remove images", rmi_verb },
	{ "tag", "give an image another name", tag_verb },
	{ "build", "make an image from a Dockerfile", build_verb },
	{ "volume", "create, ls, inspect and rm volumes", volume_verb },
	{ "version", "print versions", version_verb },
	{ "info", "tell about this host", info_verb },
};

/* docker's own other names of some verbs */
static const struct {
	const char *group, *verb, *is;
} synonyms[] = {
	{ "image", "ls", "images" }, { "image", "rm", "rmi" },
	{ "image", "pull", "pull" }, { "image", "build", "build" },
	{ "image", "tag", "tag" },   { "image", "inspect", "inspect" },
	{ "container", "ls", "ps" }, { "container", "list", "ps" },
};

int verbs_fail(const struct err *e, int code)
{
	const bool is_whole = !strncmp(e->text, "Error: ", 7);
	const bool is_daemon = e->kind == ERR_NOT_FOUND && code != EXIT_HUTCH;
	AUTO_FREE char *text = term_escape_line(e->text);
	AUTO_FREE char *remedy = term_escape_line(e->remedy);

	(void)fprintf(stderr, "%s%s\n",
		      is_whole	  ? ""
		      : is_daemon ? "Error response from daemon: "
				  : "docker: ",
		      text);
	if (*remedy)
		(void)fprintf(stderr, "docker: hint: %s\n", remedy);
	return code;
}

int verbs_count_fails(const char *verb, size_t min, size_t max)
{
	const size_t count = max < SIZE_MAX && max > 0 ? max : min;

	(void)fprintf(stderr, "\"docker %s\" ", verb);
	if (max == 0)
		(void)fprintf(stderr, "accepts no arguments");
	else
		(void)fprintf(stderr, "requires %s %zu argument%s",
			      max == SIZE_MAX ? "at least"
			      : min == max    ? "exactly"
					      : "at most",
			      count, count == 1 ? "" : "s");
	(void)fprintf(stderr, ".\nSee 'docker %s --help'.\n", verb);
	return 1;
}

int verbs_flags(char **argv, const struct usage *usage)
{
	/* flags_begin() would end with another code where operands are missing. */
	struct usage any = *usage;
	const char *verb = usage->synopsis + strlen("hutch docker ");
	size_t count = 0;

	any.operands_min = 0;
	any.operands_max = SIZE_MAX;
	const enum flags_result got = flags_begin(argv, &any);
	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	while (argv[count])
		count++;
	if (count >= usage->operands_min && count <= usage->operands_max)
		return -1;
	AUTO_FREE char *name = text_format("%.*s", (int)strcspn(verb, " "), verb);
	return verbs_count_fails(name, usage->operands_min, usage->operands_max);
}

static int print_help(void)
{
	(void)puts(
		"hutch docker VERB [OPTIONS]\n\ndocker's command line, with sandboxes of "
		"hutch.\n");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		(void)printf("  %-10s %s\n", verbs[i].name, verbs[i].help);
	(void)puts("\nMore: man hutch-docker");
	return 0;
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

/* Replaces "container ls" and the like by the verb that is meant.  Returns the words
 * behind the verb. */
static char **resolve(char **argv, const char **ret_name)
{
	*ret_name = argv[0];
	for (size_t i = 0; i < ARRAY_LEN(synonyms) && argv[1]; i++)
		if (!strcmp(synonyms[i].group, argv[0]) &&
		    !strcmp(synonyms[i].verb, argv[1])) {
			*ret_name = synonyms[i].is;
			return argv + 2;
		}
	if (strcmp(argv[0], "container") != 0 || !argv[1])
		return argv + 1;
	*ret_name = argv[1];
	return argv + 2;
}

static int unknown(const char *name)
{
	struct err e;

	if (name[0] != '-') {
		/* docker's words and its exit code */
		AUTO_FREE char *shown = term_escape_line(name);
		(void)fprintf(stderr,
			      "docker: '%s' is not a docker command.\n"
			      "See 'docker --help'\n",
			      shown);
		return 1;
	}
	(void)err_set(&e, ERR_USAGE,
		      "%.60s stands where docker's verb is expected; hutch has no "
		      "daemon, and no flag of one",
		      name);
	(void)err_remedy(&e, "man hutch-docker lists the verbs");
	return verbs_fail(&e, EXIT_HUTCH);
}

int main(int argc, char **argv)
{
	const char *name;

	report_begin();
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help"))
		return report_exit(print_help());
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v")) {
		(void)puts("Docker version " DOCKER_VERSION
			   ", build hutch-" HUTCH_VERSION);
		return report_exit(0);
	}
	char **words = resolve(argv + 1, &name);
	const struct verb *verb = find_verb(name);
	return verb ? report_exit(verb->main(words)) : unknown(name);
}
