#include "base/path.h"

#include <string.h>

const char *path_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	if (!strcmp(folder, "/"))
		return path[1] ? path : path + 1;
	if (strncmp(path, folder, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

bool path_is_plain(const char *path)
{
	if (*path != '/')
		return false;
	for (const char *name = path; *name == '/'; name += strcspn(name, "/")) {
		const size_t len = strcspn(++name, "/");
		const bool has_dots = len <= 2 && !strncmp(name, "..", len);
		if (has_dots) /* an empty name, too */
			return false;
	}
	return true;
}

bool path_is_unquoted(const char *path)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"/._-+@:";

	return !path[strspn(path, plain)];
}
