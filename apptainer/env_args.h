/* env_args -- the variables that Apptainer's words and the caller's environment name for
 * the inside, each as KEY=VALUE.
 *
 * Nothing else of the caller's environment goes inside. */
#pragma once
#include <stddef.h>

struct err;
struct list;

/* Adds the variables of one --env, "A=1" or "A=1,B=2".  A piece between commas that does
 * not begin with NAME= belongs to the value before it. */
int env_args_flag(struct list *env, const char *value, struct err *e);

/* Adds those of a file: assignments as a shell reads them, with quotes.  Nothing is
 * expanded, so an unquoted $ is an error. */
int env_args_file(struct list *env, const char *path, struct err *e);
int env_args_text(struct list *env, const char *text, struct err *e);

/* Adds NAME=VALUE for each APPTAINERENV_NAME and SINGULARITYENV_NAME of the caller's. */
void env_args_caller(struct list *env);

/* Returns the length of a name that a shell can export, at the beginning of `text`; 0:
 * there is none. */
size_t env_args_name(const char *text);
