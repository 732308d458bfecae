/* verbs -- Apptainer's verbs.
 *
 * Each takes the words after the verb, prints its errors itself, and returns the exit
 * code that Apptainer would. */
#pragma once
#include <stddef.h>

/* the version of Apptainer whose words these are; clients compare it with their needs */
#define APPTAINER_VERSION "1.5.3"

/* the exit codes of Apptainer itself, as opposed to those of a command */
#define EXIT_FATAL   255
#define EXIT_MISUSED 1 /* the words could not be read */

/* rows of a table of flags (docker/args.h): flags that stand before the verb alone */
#define VERBS_BEFORE "it stands before the verb, as in apptainer --quiet exec"
#define VERBS_GLOBAL(name) { 0, name, false, NULL, NULL, VERBS_BEFORE }
#define VERBS_GLOBAL_FLAGS                                                         \
	VERBS_GLOBAL("quiet"), VERBS_GLOBAL("silent"), VERBS_GLOBAL("debug"), \
		VERBS_GLOBAL("verbose"), VERBS_GLOBAL("nocolor")

struct args;
struct err;

int exec_verb(char **argv);
int run_verb(char **argv);
int shell_verb(char **argv);
int instance_verb(char **argv);

int build_verb(char **argv);
int pull_verb(char **argv);

int inspect_verb(char **argv);
int cache_verb(char **argv);
int version_verb(char **argv);

/* Prints an error as Apptainer does, "FATAL:   ...", which callers look for.  Returns
 * EXIT_FATAL. */
int verbs_fatal(const struct err *e);

/* Prints an error about words that could not be read as Apptainer does, "Error for
 * command ...".  Returns EXIT_MISUSED. */
int verbs_misused(const char *verb, const struct err *e);

/* Prints an error of a verb whose words `a` has, by one of the two functions above. */
int verbs_fail(const char *verb, const struct args *a, const struct err *e);

/* Prints Apptainer's error about operands of which there are `got`, and at least `min`
 * should be; returns its exit code. */
int verbs_count_fails(const char *verb, size_t min, size_t got);

/* Prints "INFO:    ..." on stderr, unless notes are off. */
void verbs_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
