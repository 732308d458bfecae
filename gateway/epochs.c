#include "gateway/epochs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/regular.h"
#include "gateway/serve.h"
#include "store/folders.h"

static char *folder_of(const struct serve *s)
{
	AUTO_FREE char *data = folder_path(FOLDER_DATA);

	return data ? text_format("%s/serve/%s.epochs", data, s->name) : NULL;
}

unsigned epochs_get(const struct serve *s, const char *id)
{
	AUTO_FREE char *folder = folder_of(s);
	AUTO_FREE char *path = folder ? text_format("%s/%s", folder, id) : NULL;
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int fd = path ? regular_open(AT_FDCWD, path, O_NOFOLLOW, path, NULL)
				 : -1;
	size_t len;

	if (fd < 0 || io_read_file(fd, path, 16, &text, &len, NULL) < 0)
		return 0;
	return (unsigned)strtoul(text, NULL, 10);
}

unsigned epochs_next(const struct serve *s, const char *id, struct err *e)
{
	const unsigned next = epochs_get(s, id) + 1;
	AUTO_FREE char *folder = folder_of(s);

	if (!folder)
		(void)err_set(e, ERR_NOT_FOUND, "there is no data folder: HOME is not set");
	if (!folder || folder_create(folder, e) < 0)
		return 0;
	AUTO_FREE char *path = text_format("%s/%s", folder, id);
	AUTO_FREE char *made = text_format("%s.new", path);
	AUTO_CLOSE int fd =
		open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || dprintf(fd, "%u", next) < 0 || rename(made, path) < 0) {
		(void)err_sys(e, "write %s", path);
		return 0;
	}
	return next;
}

void epochs_forget(const struct serve *s, const char *id)
{
	AUTO_FREE char *folder = folder_of(s);
	AUTO_FREE char *path = folder ? text_format("%s/%s", folder, id) : NULL;

	if (path)
		(void)unlink(path); /* most have none */
}
