/* verbs -- Apptainer's verbs.
 *
 * Each takes the words after the verb, prints its errors itself, and returns the exit
 * code that Apptainer would. */
#pragma once
#include <stddef.h>

/* the version of Apptainer whose words these are; clients compare it with their needs */
#define APPTAINER_VERSION "1.5.3"

/* the exit code of Apptainer itself, as opposed to those of a command */
#define EXIT_FATAL 255

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

/* Prints Apptainer's error about operands of which there are `got`, and at least `min`
 * should be; returns its exit code. */
int verbs_count_fails(const char *verb, size_t min, size_t got);

/* Prints "INFO:    ..." on stderr, unless notes are off. */
void verbs_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
