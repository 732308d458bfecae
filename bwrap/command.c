#include "bwrap/command.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "bwrap/args.h"

/* The folders without $PATH, as glibc has them. */
#define DEFAULT_PATH "/bin:/usr/bin"

int command_chdir(const struct args *a, const char *old, struct err *e)
{
	const char *home = getenv("HOME"), *now = "/";

	if (a->chdir) {
		if (chdir(a->chdir) < 0)
			return err_sys(e, "Can't chdir to %.300s", a->chdir);
		now = a->chdir;
	} else if (old && chdir(old) == 0) {
		now = old;
	} else if (home && chdir(home) == 0) {
		now = home;
	}
	return setenv("PWD", now, 1) < 0 ? err_sys(e, "set PWD") : 0;
}

/* A script without "#!" is one of sh, as execvp(3) of glibc has it. */
static void exec_script(const char *path, char *const *argv)
{
	struct list words = { 0 };

	list_add(&words, "/bin/sh");
	list_add(&words, path);
	for (argv++; *argv; argv++)
		list_add(&words, *argv);
	(void)execv(words.items[0], words.items);
	list_done(&words);
}

static void exec_path(const char *path, char *const *argv)
{
	(void)execv(path, argv);
	if (errno == ENOEXEC)
		exec_script(path, argv);
}

/* Whether the next folder of $PATH is to be tried after a failure. */
static bool may_be_elsewhere(int sys)
{
	return sys == ENOENT || sys == ENOTDIR || sys == EACCES || sys == ENODEV ||
	       sys == ESTALE || sys == ETIMEDOUT;
}

/* Tries the folders of $PATH in turn; errno is EACCES if one had the file and the kernel
 * refused it. */
static void exec_found(const char *name, char *const *argv)
{
	const char *path = getenv("PATH") ? getenv("PATH") : DEFAULT_PATH;
	bool is_refused = false;
	char file[PATH_MAX];

	for (;;) {
		const size_t len = strcspn(path, ":");
		const int n = snprintf(file, sizeof(file), "%.*s%s%s", (int)len, path,
				       len ? "/" : "", name);
		if (n < (int)sizeof(file)) {
			exec_path(file, argv);
			if (!may_be_elsewhere(errno))
				return;
			is_refused |= errno == EACCES;
		}
		if (!path[len])
			break;
		path += len + 1;
	}
	errno = is_refused ? EACCES : ENOENT;
}

int command_exec(const struct args *a, struct err *e)
{
	const char *name = a->command[0];

	if (a->argv0)
		a->command[0] = (char *)(uintptr_t)a->argv0;
	if (!*name)
		errno = ENOENT;
	else if (strchr(name, '/'))
		exec_path(name, a->command);
	else
		exec_found(name, a->command);
	return err_sys(e, "execvp %.300s", name);
}
