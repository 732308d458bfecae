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
