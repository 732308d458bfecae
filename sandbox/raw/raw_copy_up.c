#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/raw/raw_parts.h"
#include "sandbox/raw/raw_plan.h"

#define DEPTH_MAX 256

/* A copy in progress: from the folder `from` to the folder `to`. */
struct copy {
	int from, to;
	unsigned depth;
	const struct raw_step *step;
};

static int copy_folder(const struct copy *c, struct err *e);

static int fail(const struct copy *c, const char *name, struct err *e)
{
	return err_sys(e, "copy %.200s/%.200s up", c->step->target, name);
}

/* Gives the new file the owner and the mode of the old one.  The owner comes first, since a
 * change of it takes set-user-ID away. */
static int dress(const struct copy *c, const char *name, const struct stat *st,
		 struct err *e)
{
	if (fchownat(c->to, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(c, name, e);
	if (!S_ISLNK(st->st_mode) && fchmodat(c->to, name, st->st_mode & 07777, 0) < 0)
		return fail(c, name, e);
	return 0;
}

static int copy_file(const struct copy *c, const char *name, struct err *e)
{
	AUTO_CLOSE int from = openat(
		c->from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	AUTO_CLOSE int to = openat(
		c->to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return from < 0 || to < 0 ? fail(c, name, e) : raw_copy(from, to, c->step, e);
}

static int copy_link(const struct copy *c, const char *name, struct err *e)
{
	char to[PATH_MAX];
	const ssize_t n = readlinkat(c->from, name, to, sizeof(to) - 1);

	if (n < 0)
		return fail(c, name, e);
	to[n] = '\0';
	return symlinkat(to, c->to, name) < 0 ? fail(c, name, e) : 0;
}

static int copy_below(const struct copy *c, const char *name, struct err *e)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	if (c->depth == DEPTH_MAX)
		return err_set(e, ERR_LIMIT, "copy %.300s up: folders are too deep",
			       c->step->target);
	if (mkdirat(c->to, name, 0700) < 0)
		return fail(c, name, e);
	AUTO_CLOSE int from = openat(c->from, name, flags);
	AUTO_CLOSE int to = openat(c->to, name, flags);
	const struct copy below = { from, to, c->depth + 1, c->step };
	return from < 0 || to < 0 ? fail(c, name, e) : copy_folder(&below, e);
}

/* Devices, sockets and pipes are left out. */
static int copy_entry(const struct copy *c, const char *name, struct err *e)
{
	struct stat st;
	int rc;

	if (fstatat(c->from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(c, name, e);
	if (S_ISDIR(st.st_mode))
		rc = copy_below(c, name, e);
	else if (S_ISREG(st.st_mode))
		rc = copy_file(c, name, e);
	else if (S_ISLNK(st.st_mode))
		rc = copy_link(c, name, e);
	else
		return 0;
	return rc < 0 ? -1 : dress(c, name, &st, e);
}

static int copy_folder(const struct copy *c, struct err *e)
{
	const int own = fcntl(c->from, F_DUPFD_CLOEXEC, 0);
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	int rc = 0;

	if (!dir)
		return fail(c, ".", e);
	for (struct dirent *d; rc == 0 && (d = readdir(dir));)
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			rc = copy_entry(c, d->d_name, e);
	(void)closedir(dir); /* it was only read */
	return rc;
}

int raw_copy_up(struct raw_tree *t, int mount, const struct raw_step *s, struct err *e)
{
	struct err why = { 0 };
	struct stat st;
	AUTO_CLOSE int there = raw_target_open(t, s, &why);

	if (there < 0 && why.sys == ENOENT)
		return 0;
	if (there < 0) {
		*e = why;
		return -1;
	}
	const struct raw_fd_path old = raw_fd_path(there), new = raw_fd_path(mount);
	AUTO_CLOSE int from = open(old.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int to = open(new.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from < 0 || to < 0 || fstat(from, &st) < 0)
		return err_sys(e, "copy %.300s up", s->target);
	if (fchown(to, st.st_uid, st.st_gid) < 0 || fchmod(to, st.st_mode & 07777) < 0)
		return err_sys(e, "copy the owner of %.300s up", s->target);
	const struct copy c = { from, to, 0, s };
	return copy_folder(&c, e);
}
