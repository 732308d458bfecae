#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/path.h"
#include "sandbox/learn/learn.h"

#define FROM "--learn"

static const char *name_of(const struct learn *l)
{
	const char *slash = strrchr(l->out, '/');

	return slash ? slash + 1 : l->out;
}

static int is_there(const struct learn *l, struct err *e)
{
	(void)err_set(e, ERR_EXISTS,
		      FROM " %.300s: it is there already, and is not written over",
		      l->out);
	return err_remedy(e, "name another file, or remove it");
}

/* Refuses an OUT whose folder the command can write to: the command could put a file
 * of its own there, and a person would take it for the policy that hutch wrote. */
static int check_apart(const struct learn *l, const char *folder, struct err *e)
{
	for (size_t i = 0; i < l->asked->volume_count; i++) {
		const struct volume *v = &l->asked->volumes[i];
		AUTO_FREE char *source = v->source ? realpath(v->source, NULL) : NULL;
		if (!source || !v->is_writable || v->is_cow ||
		    !path_below(folder, source))
			continue;
		(void)err_set(e, ERR_REFUSED,
			      FROM " %.200s would be in a folder that the "
				   "command may write to",
			      l->out);
		(void)err_from(e, v->from);
		return err_remedy(e, "name a file that is elsewhere");
	}
	return 0;
}

int learn_open_out(struct learn *l, struct err *e)
{
	const char *slash = strrchr(l->out, '/');
	AUTO_FREE char *folder =
		slash ? text_format("%.*s/", (int)(slash - l->out), l->out)
		      : text_copy(".");
	AUTO_FREE char *real = realpath(folder, NULL);
	struct stat st;

	if (!*name_of(l))
		return err_set(e, ERR_USAGE, FROM " names no file");
	l->folder = real ? open(real, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (l->folder < 0)
		return err_sys(e, FROM " %.300s: open its folder", l->out);
	if (fstatat(l->folder, name_of(l), &st, AT_SYMLINK_NOFOLLOW) == 0)
		return is_there(l, e);
	if (faccessat(l->folder, ".", W_OK | X_OK, 0) < 0) {
		(void)err_sys(e, FROM " %.300s: write to its folder", l->out);
		return err_remedy(e,
				  "user %u, for whom the sandbox stands, must be able to",
				  geteuid());
	}
	l->file = openat(l->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	return check_apart(l, real, e);
}

/* Gives OUT's file its name by link(2), which never replaces a file.  Returns
 * 1 if this file system does not support that. */
static int give_name(const struct learn *l, struct err *e)
{
	AUTO_FREE char *fd = text_format("/proc/self/fd/%d", l->file);

	if (linkat(AT_FDCWD, fd, l->folder, name_of(l), AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return errno == EEXIST ? is_there(l, e) : 1;
}

static int write_text(int fd, const struct learn *l, const char *text, struct err *e)
{
	if (io_write_all(fd, text, strlen(text)) < 0 || fsync(fd) < 0)
		return err_sys(e, FROM " %.300s: write it", l->out);
	return 0;
}

/* Writes OUT's content to a file of another name, which link(2) then also names OUT,
 * for a file system without O_TMPFILE.  If hutch is killed here, the file with the
 * other name stays. */
static int write_aside(const struct learn *l, const char *text, struct err *e)
{
	AUTO_FREE char *aside = text_format(".%.200s.%d", name_of(l), getpid());
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(l->folder, aside, flags, 0600);

	if (fd < 0)
		return err_sys(e, FROM " %.300s: make a file beside it", l->out);
	int result = write_text(fd, l, text, e);
	if (result == 0 && linkat(l->folder, aside, l->folder, name_of(l), 0) < 0)
		result = errno == EEXIST
				 ? is_there(l, e)
				 : err_sys(e, FROM " %.300s: give it its name", l->out);
	(void)unlinkat(l->folder, aside, 0); /* the file exists: this process has just
					      * made it */
	return result;
}

int learn_write_out(const struct learn *l, const char *text, struct err *e)
{
	if (l->file < 0)
		return write_aside(l, text, e);
	if (write_text(l->file, l, text, e) < 0)
		return -1;
	int named = give_name(l, e);
	return named > 0 ? write_aside(l, text, e) : named;
}
