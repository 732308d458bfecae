/* hutch: a safe place for an agent to act. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/cli/doctor.h"
#include "sandbox/cli/report.h"
#include "sandbox/cli/run.h"
#include "sandbox/program.h"
#include "sandbox/result.h"

#ifndef HUTCH_VERSION
#define HUTCH_VERSION "0.1.0"
#endif

static int print_version(char **argv)
{
	(void)argv;
	(void)printf("hutch %s\n", HUTCH_VERSION);
	return 0;
}

static int print_help(char **argv);

/* Verbs that need a library are programs of their own. */
static int run_program(const char *program, char **argv)
{
	AUTO_FREE char *path = NULL;
	struct list words = { 0 };
	struct err e;

	if (program_find(program, &path, &e) < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	list_add(&words, program);
	for (; *argv; argv++)
		list_add(&words, *argv);
	(void)execv(path, words.items);
	(void)err_sys(&e, "execute %s", path);
	report_error(&e);
	list_done(&words);
	return EXIT_HUTCH;
}

static int act_main(char **argv)
{
	return run_program("hutch-act", argv);
}

static int create_main(char **argv)
{
	return run_program("hutch-supervise", argv);
}

static const struct verb {
	const char *name, *help;
	int (*main)(char **argv); /* argv starts behind the verb */
} verbs[] = {
	{ "run", "one command in a fresh sandbox", run_main },
	{ "act", "actions as JSON lines, in a fresh sandbox", act_main },
	{ "create", "a sandbox that lives on under a name", create_main },
	{ "doctor", "what this host lacks, and what would change it", doctor_main },
	{ "version", "print the version", print_version },
	{ "help", "print this", print_help },
};

static int print_help(char **argv)
{
	char *help[] = { (char[]){ "--help" }, NULL };

	if (argv[0] && !strcmp(argv[0], "run"))
		return run_main(help);
	if (argv[0] && !strcmp(argv[0], "act"))
		return act_main(help);
	if (argv[0] && !strcmp(argv[0], "create"))
		return create_main(help);
	if (argv[0] && !strcmp(argv[0], "doctor"))
		return doctor_main(help);
	(void)printf("hutch VERB [OPTIONS]\n\nA safe place for an agent to act on this machine.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		(void)printf("  %-10s %s\n", verbs[i].name, verbs[i].help);
	(void)printf("\nhutch run --help lists the flags; man hutch-run explains them.\n");
	return 0;
}

static int unknown_verb(const char *name)
{
	struct err e;

	(void)err_set(&e, ERR_USAGE, "'%.60s' is not a hutch command", name);
	(void)err_remedy(&e, "hutch help lists them; to run a program: hutch run %.60s", name);
	report_error(&e);
	return EXIT_HUTCH;
}

int main(int argc, char **argv)
{
	if (io_fill_standard() < 0)
		return EXIT_HUTCH;
	if (argc < 2) {
		(void)print_help(argv + argc);
		return EXIT_HUTCH;
	}
	const char *name = argv[1];
	if (!strcmp(name, "--version"))
		name = "version";
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (!strcmp(name, verbs[i].name))
			return verbs[i].main(argv + 2);
	return unknown_verb(name);
}
