#include "docker/build_context.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/kernel/host_user.h"

#define DOCKERFILE_MAX (1u << 20) /* bytes */

/* A Dockerfile is a text; all archives that docker takes have a NUL, and most of them in
 * their first bytes. */
static int check_text(const char *text, size_t len, struct err *e)
{
	if (strlen(text) == len)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "build -: stdin is no Dockerfile, and hutch takes no archive there");
	return err_remedy(e, "unpack the archive, and name its folder");
}

struct context {
	char *folder; /* borrowed: a template of mkdtemp(3), then its result */
	const char *text;
	size_t len;
};

static void remove_folder(const char *folder)
{
	AUTO_FREE char *path = text_format("%s/Dockerfile", folder);

	(void)unlink(path); /* neither fails but where another has removed them */
	(void)rmdir(folder);
}

/* Runs as the user that builds, who could not read a folder of root's. */
static int make(void *arg, struct err *e)
{
	const struct context *c = arg;

	if (!mkdtemp(c->folder))
		return err_sys(e, "make a folder %s", c->folder);
	AUTO_FREE char *path = text_format("%s/Dockerfile", c->folder);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && io_write_all(fd, c->text, c->len) == 0)
		return 0;
	(void)err_sys(e, "write %s", path);
	remove_folder(c->folder);
	return -1;
}

int build_context_read(char **ret_folder, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	AUTO_FREE char *text = NULL;
	size_t len;

	if (io_read_file(STDIN_FILENO, "stdin", DOCKERFILE_MAX, &text, &len, e) < 0 ||
	    check_text(text, len, e) < 0)
		return -1;
	AUTO_FREE char *folder =
		text_format("%s/hutch-context.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	struct context made = { folder, text, len };
	if (host_user_as_client(make, &made, e) < 0)
		return -1;
	*ret_folder = folder;
	folder = NULL;
	return 0;
}

/* Runs as the same user, since the folder may have become a link to another's. */
static int clear(void *arg, struct err *e)
{
	(void)e;
	remove_folder(arg);
	return 0;
}

void build_context_remove(char *folder)
{
	struct err none;

	if (folder)
		(void)host_user_as_client(clear, folder, &none);
	free(folder);
}
