#include "docker/user_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/regular.h"
#include "store/folders.h"

#define POLICY_MAX 65536

int user_policy_find(const char *name, char **ret_path, bool *ret_opens, struct err *e)
{
	struct err why;
	struct stat st;
	AUTO_FREE char *config = folder_path(FOLDER_CONFIG);
	AUTO_FREE char *path = config ? text_format("%s/%s", config, name) : NULL;
	AUTO_FREE char *text = calloc(1, POLICY_MAX + 1);

	*ret_path = NULL;
	if (!path || !text)
		return 0;
	AUTO_FREE char *about = text_format("the policy %s", path);
	AUTO_CLOSE int fd = regular_open(AT_FDCWD, path, 0, about, &why);
	/* A link that leads nowhere is a policy that cannot be read. */
	if (fd < 0 && (why.sys == ENOENT || why.sys == ENOTDIR) && lstat(path, &st) < 0)
		return 0;
	if (fd < 0) {
		*e = why;
		return -1;
	}
	/* hutch reads the policy, and reports what is wrong with it. */
	*ret_opens = read(fd, text, POLICY_MAX) > 0 && strstr(text, "\"@host:");
	*ret_path = path;
	path = NULL;
	return 0;
}
