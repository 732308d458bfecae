/* docker volume: folders beside hutch's data folder, by their names. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/json_write.h"
#include "base/own.h"
#include "docker/describe.h"
#include "docker/mount_args.h"
#include "docker/verbs.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/launch/result.h"
#include "store/folders.h"
#include "store/rm_tree.h"

static char *volumes_folder(struct err *e)
{
	AUTO_FREE char *data = folder_path(FOLDER_DATA);

	if (data)
		return text_format("%s-volumes", data);
	(void)err_set(e, ERR_UNSUPPORTED, "volumes: this user has no data folder (HOME)");
	return NULL;
}

/* Makes the folders as the user that sandboxes run for: the inside writes to them. */
static int make(void *name, struct err *e)
{
	AUTO_FREE char *path = mount_args_volume(name);

	if (!path)
		return err_set(e, ERR_UNSUPPORTED,
			       "volume %s: the user that sandboxes run for has no data "
			       "folder (HOME)",
			       (const char *)name);
	return folder_create(path, e);
}

int volume_make(const char *name, struct err *e)
{
	AUTO_FREE char *copy = text_copy(name);

	if (mount_args_check_volume(name, e) < 0)
		return -1;
	return host_user_as_client(make, copy, e);
}

static bool exists(const char *name)
{
	AUTO_FREE char *path = mount_args_volume(name);

	return path && access(path, F_OK) == 0;
}

static int create(char **argv, struct err *e)
{
	char made[HEX_RANDOM_MAX + 1];
	const char *name = argv[0];

	if (name && (name[0] == '-' || argv[1]))
		return err_set(e, ERR_UNSUPPORTED,
			       "docker volume create: hutch takes a name and no flag");
	if (!name && hex_random(made, HEX_RANDOM_MAX, e) < 0)
		return -1;
	name = name ? name : made;
	if (volume_make(name, e) < 0)
		return -1;
	(void)puts(name);
	return 0;
}

static int list_all(char **argv, struct err *e)
{
	const bool is_quiet = argv[0] &&
			      (!strcmp(argv[0], "-q") || !strcmp(argv[0], "--quiet"));
	AUTO_FREE char *folder = volumes_folder(e);

	if (!folder)
		return -1;
	if (argv[is_quiet])
		return err_set(e, ERR_UNSUPPORTED,
			       "docker volume ls: hutch takes -q alone");
	if (!is_quiet)
		(void)puts("DRIVER    VOLUME NAME");
	DIR *dir = opendir(folder);
	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir))
		if (mount_args_check_volume(d->d_name, NULL) == 0)
			(void)printf("%s%s\n", is_quiet ? "" : "local     ", d->d_name);
	if (dir)
		(void)closedir(dir);
	return 0;
}

static int missing(const char *name, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, "get %.64s: no such volume", name);
}

static char *volume_object(const char *name, struct err *e)
{
	struct buffer b;

	if (mount_args_check_volume(name, NULL) < 0 || !exists(name)) {
		(void)missing(name, e);
		return NULL;
	}
	AUTO_FREE char *path = mount_args_volume(name);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "Driver", "local");
	json_write_text(&b, "Mountpoint", path);
	json_write_text(&b, "Name", name);
	json_write_text(&b, "Scope", "local");
	json_write_close(&b, "}");
	return json_write_end(&b);
}

static int inspect(char **argv, struct err *e)
{
	const char *template = NULL, *between = "";
	int rc = 0;

	if (argv[1] && (!strcmp(argv[0], "-f") || !strcmp(argv[0], "--format"))) {
		template = argv[1];
		argv += 2;
	} else {
		(void)fputs("[", stdout);
	}
	for (; *argv && rc == 0; argv++) {
		AUTO_FREE char *object = volume_object(*argv, e);
		if (object && !template)
			(void)printf("%s%s", between, object);
		rc = !object	? -1
		     : template ? describe_by_template(object, template, e)
				: 0;
		between = ",";
	}
	if (!template)
		(void)puts("]");
	return rc;
}

static int remove_one(void *arg, struct err *e)
{
	const char *name = arg;
	AUTO_FREE char *folder = volumes_folder(e);

	if (!folder)
		return -1;
	AUTO_CLOSE int at = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return err_sys(e, "open %s", folder);
	rm_tree_remove(at, name);
	return faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
		       ? err_set(e, ERR_SYSTEM, "remove volume %s: a part of it stays",
				 name)
		       : 0;
}

static int remove_all(char **argv, struct err *e)
{
	const bool is_forced = argv[0] &&
			       (!strcmp(argv[0], "-f") || !strcmp(argv[0], "--force"));

	for (argv += is_forced; *argv; argv++) {
		AUTO_FREE char *name = text_copy(*argv);
		const bool is_there = mount_args_check_volume(name, NULL) == 0 &&
				      exists(name);
		if (!is_there && !is_forced)
			return missing(name, e);
		if (is_there && host_user_as_client(remove_one, name, e) < 0)
			return -1;
		(void)puts(name);
	}
	return 0;
}

int volume_verb(char **argv)
{
	static const struct {
		const char *name;
		int (*verb)(char **argv, struct err *e);
		bool needs_name;
	} verbs[] = { { "create", create, false },
		      { "ls", list_all, false },
		      { "inspect", inspect, true },
		      { "rm", remove_all, true } };
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(verbs) && argv[0]; i++) {
		if (strcmp(verbs[i].name, argv[0]) != 0)
			continue;
		if (verbs[i].needs_name && !argv[1])
			break;
		return verbs[i].verb(argv + 1, &e) < 0 ? verbs_fail(&e, 1) : 0;
	}
	(void)err_set(&e, ERR_USAGE,
		      "docker volume takes create [NAME], ls [-q], inspect NAME... "
		      "or rm [-f] NAME...");
	return verbs_fail(&e, EXIT_HUTCH);
}
