/* hutch-apptainer: the command line of Apptainer.  `hutch apptainer` is this program, and
 * so is hutch itself where its argv[0] is apptainer or singularity. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "apptainer/verbs.h"
#include "base/err.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/report.h"
#include "docker/args.h"

static int help_verb(char **argv);

static const struct verb {
	const char *name, *help; /* help NULL: the verb is not listed */
	int (*main)(char **argv);
	const char *refused; /* main NULL: why hutch has no such verb */
} verbs[] = {
	{ "exec", "run a command in an image or instance", exec_verb, NULL },
	{ "run", "run what an image has to be run", run_verb, NULL },
	{ "shell", "a shell in an image or instance", shell_verb, NULL },
	{ "build", "make a folder or file of an image", build_verb, NULL },
	{ "pull", "fetch an image into a file", pull_verb, NULL },
	{ "instance", "start, list and stop instances", instance_verb, NULL },
	{ "inspect", "the labels of an image", inspect_verb, NULL },
	{ "cache", "clean and list what is kept of images", cache_verb, NULL },
	{ "version", "print the version", version_verb, NULL },
	{ "help", NULL, help_verb, NULL },

	{ "test", NULL, NULL, "hutch runs no tests of images; exec runs a command" },
	{ "push", NULL, NULL, "hutch pushes nothing; skopeo copy can" },
	{ "sign", NULL, NULL, "hutch signs nothing" },
	{ "verify", NULL, NULL, "hutch checks no signatures" },
	{ "sif", NULL, NULL, "build --sandbox unpacks a SIF" },
	{ "oci", NULL, NULL, "hutch-oci is another program" },
	{ "overlay", NULL, NULL, "exec --overlay takes an empty folder" },
	{ "remote", NULL, NULL, "hutch asks registries by docker:// alone" },
	{ "registry", NULL, NULL,
	  "docker login or skopeo login writes what hutch reads" },
	{ "key", NULL, NULL, "hutch checks no signatures" },
	{ "plugin", NULL, NULL, "hutch has no plugins of Apptainer's" },
	{ "config", NULL, NULL, "hutch has no settings; man hutch-policy has policies" },
	{ "capability", NULL, NULL, "exec --add-caps names them" },
	{ "search", NULL, NULL, "hutch searches no registry" },
	{ "delete", NULL, NULL, "hutch asks registries by docker:// alone" },
	{ "run-help", NULL, NULL, "hutch reads no help of images" },
	{ "checkpoint", NULL, NULL, "hutch makes no checkpoints" },
};

/* --- messages ---------------------------------------------------------------------- */

static void print_remedy(const struct err *e)
{
	AUTO_FREE char *remedy = term_escape_line(e->remedy);

	if (*remedy)
		(void)fprintf(stderr, "HINT:    %s\n", remedy);
}

int verbs_fatal(const struct err *e)
{
	AUTO_FREE char *text = term_escape_line(e->text);

	(void)fprintf(stderr, "FATAL:   %s\n", text);
	print_remedy(e);
	return EXIT_FATAL;
}

int verbs_misused(const char *verb, const struct err *e)
{
	AUTO_FREE char *text = term_escape_line(e->text);

	(void)fprintf(stderr, "Error for command \"%s\": %s\n", verb, text);
	print_remedy(e);
	return EXIT_MISUSED;
}

int verbs_fail(const char *verb, const struct args *a, const struct err *e)
{
	return a->is_misread ? verbs_misused(verb, e) : verbs_fatal(e);
}

int verbs_count_fails(const char *verb, size_t min, size_t got)
{
	(void)fprintf(stderr,
		      "Error for command \"%s\": requires %zu arg(s), received %zu\n"
		      "See 'apptainer %s --help'.\n",
		      verb, min, got, verb);
	return EXIT_MISUSED;
}

void verbs_info(const char *format, ...)
{
	va_list args;

	if (note_is_silent())
		return;
	va_start(args, format);
	AUTO_FREE char *text = NULL;
	int len = vasprintf(&text, format, args);
	va_end(args);
	AUTO_FREE char *shown = len < 0 ? NULL : term_escape_line(text);
	(void)fprintf(stderr, "INFO:    %s\n", shown ? shown : "");
}

static int help_verb(char **argv)
{
	(void)argv;
	(void)puts(
		"hutch apptainer [--quiet] VERB [OPTIONS]\n\nApptainer's command line, "
		"with sandboxes of hutch.\n");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].help)
			(void)printf("  %-10s %s\n", verbs[i].name, verbs[i].help);
	(void)puts("\nMore: man hutch-apptainer");
	return 0;
}

/* --- the words before the verb ----------------------------------------------------- */

static int unknown_flag(const char *word, struct err *e)
{
	static const char *const names[] = { "--quiet",	 "--silent",  "--debug",
					     "--help",	 "--verbose", "--version",
					     "--nocolor" };
	struct nearest n;

	nearest_init(&n, word, strlen(word));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		nearest_try(&n, names[i]);
	(void)err_set(e, ERR_USAGE, "unknown flag: %.60s", word);
	(void)nearest_suggest(&n, "", e);
	return err_remedy(
		e, "the flags of a verb stand behind it: apptainer exec %.60s ...", word);
}

/* Takes one flag.  Debugging output, and colours, are Apptainer's own; hutch writes
 * neither. */
static int take_global(const char *word, struct err *e)
{
	static const char *const quiet[] = { "-q", "--quiet", "-s", "--silent" };
	static const char *const without_effect[] = { "-d", "--debug", "-v", "--verbose",
						      "--nocolor" };

	for (size_t i = 0; i < ARRAY_LEN(quiet); i++)
		if (!strcmp(word, quiet[i]))
			return note_silence() < 0 ? err_sys(e, "%s", word) : 0;
	for (size_t i = 0; i < ARRAY_LEN(without_effect); i++)
		if (!strcmp(word, without_effect[i]))
			return 0;
	return unknown_flag(word, e);
}

static const struct verb *find_verb(const char *name, struct err *e)
{
	struct nearest n;

	nearest_init(&n, name, strlen(name));
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (!strcmp(verbs[i].name, name) && verbs[i].main)
			return &verbs[i];
		if (!strcmp(verbs[i].name, name)) {
			(void)err_set(e, ERR_UNSUPPORTED, "apptainer %s: %s", name,
				      verbs[i].refused);
			return NULL;
		}
		if (verbs[i].main)
			nearest_try(&n, verbs[i].name);
	}
	(void)err_set(e, ERR_USAGE, "unknown command \"%.60s\" for \"apptainer\"", name);
	(void)nearest_suggest(&n, "", e);
	(void)err_remedy(e, "man hutch-apptainer lists the verbs");
	return NULL;
}

/* Whether the word is a flag that is a verb as well. */
static const char *verb_of_flag(const char *word)
{
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return "help";
	return word;
}

int main(int argc, char **argv)
{
	struct err e;

	report_begin();
	for (argv++; argc > 1 && *argv; argv++) {
		const char *name = verb_of_flag(*argv);
		if (!strcmp(name, "--version")) {
			(void)puts("apptainer version " APPTAINER_VERSION);
			return report_exit(0);
		}
		if (name[0] != '-') {
			const struct verb *verb = find_verb(name, &e);
			return verb		     ? report_exit(verb->main(argv + 1))
			       : e.kind == ERR_USAGE ? verbs_misused("apptainer", &e)
						     : verbs_fatal(&e);
		}
		if (take_global(name, &e) < 0)
			return verbs_misused("apptainer", &e);
	}
	(void)help_verb(argv);
	return report_exit(EXIT_MISUSED);
}
