#include "apptainer/bind_args.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apptainer/action_args.h"
#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "docker/mount_args.h"
#include "sandbox/kernel/host_user.h"

int bind_args_show(struct args *args, const char *source, const char *target,
		   const char *mode, struct err *e)
{
	AUTO_FREE char *real = realpath(source, NULL);
	const int missing = errno;
	/* A path that is absolute keeps its name, which may be that of an engine's
	 * socket. */
	const char *shown = real && source[0] != '/' ? real : source;

	list_add(&action_of(args)->targets, target);
	if (mount_args_bind(args, shown, target, mode, e) < 0)
		return -1;
	errno = missing;
	return real ? 0 : err_sys(e, "show %.200s", source);
}

static int take_one(struct args *args, char *spec, struct err *e)
{
	const char *source = strsep(&spec, ":"), *target = strsep(&spec, ":");
	const char *mode = spec ? spec : "rw";

	if (!*source)
		return err_set(e, ERR_USAGE, "the source is missing");
	if (strcmp(mode, "ro") != 0 && strcmp(mode, "rw") != 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "hutch has no mount option '%.60s'; there are ro and rw",
			       mode);
	if (target && *target && *target != '/')
		return err_set(e, ERR_USAGE, "'%.100s': a path inside begins with /",
			       target);
	return bind_args_show(args, source, target && *target ? target : source, mode, e);
}

int bind_args_flag(struct args *args, const char *value, struct err *e)
{
	AUTO_FREE char *copy = text_copy(value);
	char *rest = copy;

	for (char *one = strsep(&rest, ","); one; one = strsep(&rest, ","))
		if (*one && take_one(args, one, e) < 0)
			return err_in(e, "--bind %.200s", value);
	return 0;
}

int bind_args_home(struct args *args, const char *value, struct err *e)
{
	struct action *a = action_of(args);
	const char *colon = strchr(value, ':');
	AUTO_FREE char *source = colon ? text_format("%.*s", (int)(colon - value), value)
				       : text_copy(value);

	own_free(&a->home_source);
	own_free(&a->home);
	/* Without a target the folder is at its own path inside. */
	a->home_source = realpath(source, NULL);
	if (!a->home_source)
		a->home_source = text_copy(source);
	a->home = text_copy(colon && colon[1]  ? colon + 1
			    : source[0] == '/' ? source
					       : a->home_source);
	return a->home[0] == '/'
		       ? 0
		       : err_set(e, ERR_USAGE,
				 "--home %.200s: the home inside is an absolute path",
				 value);
}

int bind_args_show_home(struct action *a, struct err *e)
{
	if (!a->home || a->leaves_home_out)
		return 0;
	return bind_args_show(&a->args, a->home_source, a->home, "rw", e) < 0
		       ? err_in(e, "--home")
		       : 0;
}

int bind_args_scratch(struct args *args, const char *value, struct err *e)
{
	AUTO_FREE char *copy = text_copy(value);
	char *rest = copy;

	for (char *one = strsep(&rest, ","); one; one = strsep(&rest, ",")) {
		if (one[0] != '/')
			return err_set(e, ERR_USAGE,
				       "--scratch %.200s: a folder inside has an "
				       "absolute path",
				       value);
		bind_args_add_memory(action_of(args), one);
	}
	return 0;
}

void bind_args_add_memory(struct action *a, const char *target)
{
	if (list_has(&a->targets, target))
		return;
	list_add(&a->targets, target);
	list_add(&a->args.words, "--tmpfs");
	list_add(&a->args.words, target);
}

/* --- the current folder ------------------------------------------------------------ */

/* Whether `path` is `folder` or in it. */
static bool is_in(const char *path, const char *folder)
{
	const size_t len = strlen(folder);

	return !strncmp(path, folder, len) &&
	       (!path[len] || path[len] == '/' || !strcmp(folder, "/"));
}

static bool is_system(const char *path)
{
	static const char *const trees[] = { "/usr",   "/bin",	 "/sbin", "/lib",
					     "/lib32", "/lib64", "/etc",  "/dev",
					     "/proc",  "/sys",	 "/run",  "/boot" };
	static const char *const folders[] = { "/",	   "/var",  "/tmp",
					       "/var/tmp", "/home", "/opt",
					       "/srv",	   "/mnt",  "/root" };

	for (size_t i = 0; i < ARRAY_LEN(trees); i++)
		if (is_in(path, trees[i]))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (!strcmp(path, folders[i]))
			return true;
	return false;
}

/* Whether the folder is the user's home or holds it. */
static bool has_home(const char *path)
{
	const char *home = getenv("HOME");
	AUTO_FREE char *real = home ? realpath(home, NULL) : NULL;

	return real && is_in(real, path);
}

/* Runs as the user that the sandbox stands for. */
static int can_enter(void *arg, struct err *e)
{
	return faccessat(AT_FDCWD, arg, R_OK | X_OK, AT_EACCESS) < 0
		       ? err_sys(e, "enter %.200s", (const char *)arg)
		       : 0;
}

char *bind_args_current(struct action *a)
{
	AUTO_FREE char *path = realpath(".", NULL);
	struct err e;

	if (!path || is_system(path) || strpbrk(path, ":"))
		return NULL;
	if (has_home(path)) {
		note_print(
			"note: the current folder is not shown inside, since it is, or "
			"holds, your home; --bind shows it");
		return NULL;
	}
	if (host_user_as_client(can_enter, path, &e) < 0) {
		note_print("note: the current folder is not shown inside: the user that "
			   "the sandbox stands for may not enter it");
		return NULL;
	}
	if (!list_has(&a->targets, path) &&
	    bind_args_show(&a->args, path, path, "rw", &e) < 0)
		return NULL;
	return text_copy(path);
}
