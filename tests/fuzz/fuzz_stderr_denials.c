/* Outputs of commands, of any bytes: the denials found are a few absolute
 * paths, each within one line, with an errno that has a phrase. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "actions/stderr_denials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct stderr_denials *c)
{
	size_t len = strlen(c->path);

	if (*c->path != '/' || len >= 2 * PATH_MAX)
		abort();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)c->path[i] < ' ')
			abort();
	if (c->sys != EROFS && c->sys != EACCES && c->sys != EPERM)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stderr_denials found[STDERR_DENIALS_MAX];
	size_t count =
		stderr_denials_find(data, size, size & 1 ? "/workspace" : NULL, found);

	for (size_t i = 0; i < count; i++)
		look_at(&found[i]);
	stderr_denials_done(found, count);
	return 0;
}
