/* verbs -- docker's verbs.
 *
 * Each takes the words after the verb, prints its errors itself, and returns the exit
 * code that docker would. */
#pragma once
#include <stddef.h>

/* the version of docker whose words these are; clients compare it with their needs */
#define DOCKER_VERSION "27.5.1"

struct err;
struct usage;

int run_verb(char **argv);
int exec_verb(char **argv);

int ps_verb(char **argv);
int inspect_verb(char **argv);
int port_verb(char **argv);
int logs_verb(char **argv);

int start_verb(char **argv);
int stop_verb(char **argv);
int kill_verb(char **argv);
int rm_verb(char **argv);
int wait_verb(char **argv);
int pause_verb(char **argv);
int unpause_verb(char **argv);
int rename_verb(char **argv);
int cp_verb(char **argv);

int pull_verb(char **argv);
int images_verb(char **argv);
int rmi_verb(char **argv);
int build_verb(char **argv);
int tag_verb(char **argv);

int version_verb(char **argv);
int info_verb(char **argv);

int volume_verb(char **argv);
/* Makes the folders of volumes that do not exist yet. */
int volume_make(const char *name, struct err *e);

/* Reads the flags of a verb.  Returns -1 to go on, or the exit code. */
int verbs_flags(char **argv, const struct usage *usage);

/* Prints docker's error about a number of operands that is not from `min` to `max`, and
 * returns docker's exit code, which is not that of a wrong flag. */
int verbs_count_fails(const char *verb, size_t min, size_t max);

/* Prints an error as docker does, and returns `code`.  An error about a container is
 * "Error response from daemon: ...", which callers look for. */
int verbs_fail(const struct err *e, int code);
