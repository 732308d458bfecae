/* environment -- the variables that a command sees.
 *
 * These are exactly PATH HOME USER LOGNAME SHELL LANG TZ, TERM with a terminal, and
 * the variables that -e and --env-file name.  No other variable of the caller is
 * passed on. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The PATH that commands get. */
#define ENVIRONMENT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct err;
struct list;
struct policy;

/* Adds a variable: -e KEY=VALUE sets it; -e KEY takes the caller's value, and adds
 * nothing if the caller has none, as in docker. */
int environment_add(struct policy *p, const char *word, struct err *e);

/* Adds the variables of an --env-file: each line is as for -e; empty lines and lines
 * that start with # are skipped.  If the file has a 0 byte, then its entries end with 0
 * bytes and not with lines, as in /proc/PID/environ, and only empty ones are skipped.  A
 * missing name or a name with a blank in it is an error that names the line or the
 * entry.  The file has at most 1 MiB. */
int environment_add_file(struct policy *p, const char *path, struct err *e);

/* Add variables for --secret and --secret-file, as -e and --env-file do, but the
 * values are masked wherever they are shown.  A variable that the caller does not have
 * is an error, and no error contains a value. */
int environment_add_secret(struct policy *p, const char *word, struct err *e);
int environment_add_secret_file(struct policy *p, const char *path, struct err *e);

bool environment_is_secret(const struct policy *p, const char *name, size_t len);

/* Adds the values of all secrets to the redactor `ret`, which hides them in output.
 * -1: there is no room for all of them. */
struct redact;
int environment_mask(const struct policy *p, struct redact *ret, struct err *e);

/* Returns "PS1=(hutch NAME) ...", allocated: the prompt of a shell that has a terminal,
 * which tells its user that it is inside.  NULL: the sandbox has no name.  A shell's own
 * files, as images have them, may set another one. */
char *environment_prompt(const char *sandbox);

/* Writes the whole environment into *ret, defaults first.  `shell` is the image's
 * shell, `timezone` the value of TZ. */
void environment_build(const struct policy *p, uint32_t uid, const char *shell,
		       const char *timezone, struct list *ret);
