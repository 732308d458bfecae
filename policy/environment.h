/* environment -- the variables that a command sees.
 *
 * Exactly PATH HOME USER LOGNAME SHELL LANG TZ, TERM with a terminal, and what
 * -e and --env-file name.  Nothing of the caller's passes otherwise. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The PATH that commands get. */
#define ENVIRONMENT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct err;
struct list;
struct policy;

/* -e KEY=VALUE sets it; -e KEY takes the caller's value, and where the caller
 * has none adds nothing, as docker does. */
int environment_add(struct policy *p, const char *word, struct err *e);

/* --env-file: lines as for -e; empty lines and lines that start with # are
 * passed over.  A NUL byte, a missing name or a name with a blank in it is an
 * error that names the line.  At most 1 MiB. */
int environment_add_file(struct policy *p, const char *path, struct err *e);

/* --secret and --secret-file: the same, and what is set so is to be hidden where it
 * is shown.  A caller who has no value is an error, and no error tells a value. */
int environment_add_secret(struct policy *p, const char *word, struct err *e);
int environment_add_secret_file(struct policy *p, const char *path, struct err *e);

bool environment_is_secret(const struct policy *p, const char *name, size_t len);

/* Adds the values of all secrets.  -1: there is no room for them. */
struct mask;
int environment_mask(const struct policy *p, struct mask *ret, struct err *e);

/* Writes the whole environment into *ret, defaults first. `shell` is the
 * program that the image has, `timezone` the value of TZ. */
void environment_build(const struct policy *p, uint32_t uid, const char *shell,
		       const char *timezone, struct list *ret);
