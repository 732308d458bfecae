#include "rootfs-tools/changes/apply_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/content.h"
#include "base/own.h"
#include "rootfs-tools/changes/changes_walk.h"

struct apply_attributes apply_attributes_of(const struct meeting *m)
{
	const bool has_group = m->exists && S_ISREG(m->host.st_mode) &&
			       m->host.st_gid != getegid();

	return (struct apply_attributes){
		.mode = m->item->mode & 0777,
		.group = has_group ? m->host.st_gid : (gid_t)-1,
		.mtime = { .tv_sec = m->item->mtime, .tv_nsec = m->item->mtime_ns },
	};
}

void apply_attributes_set(const struct apply_attributes *a, int fd)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, a->mtime };

	if (a->group != (gid_t)-1 && fchown(fd, (uid_t)-1, a->group) < 0)
		errno = 0; /* then the file gets our own group, as any new file does */
	(void)fchmod(fd, a->mode);
	(void)futimens(fd, times); /* failure is ignored: the time matters less than
				    * content and mode */
}

bool apply_job_can(const struct meeting *m)
{
	return m->item && m->item->kind == CHANGES_STREAM_FILE &&
	       m->item->size <= APPLY_JOB_MAX && strlen(m->name) <= NAME_MAX;
}

int apply_job_fill(struct apply_job *j, const struct meeting *m, struct err *e)
{
	const char *compared = m->may_be_same ? m->name : "";
	const uint8_t *data;
	ssize_t len;

	memcpy(j->compared, compared, strlen(compared) + 1);
	j->attributes = apply_attributes_of(m);
	j->len = 0;
	while ((len = changes_stream_read(m->content, &data, e)) > 0) {
		size_t room = APPLY_JOB_MAX - j->len;
		size_t some = (size_t)len < room ? (size_t)len : room;
		memcpy(j->data + j->len, data, some);
		j->len += some;
	}
	return len < 0 ? -1 : 0;
}

bool apply_job_is_same(const struct apply_job *j, int at)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(at, j->compared, flags);
	uint8_t there[16 << 10];
	size_t seen = 0;
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, there, sizeof(there))) > 0) {
		if ((size_t)n > j->len - seen ||
		    memcmp(j->data + seen, there, (size_t)n) != 0)
			return false;
		seen += (size_t)n;
	}
	return n == 0 && seen == j->len;
}

/* Writes the content.  Zeros become holes: a sandbox can make terabytes of holes for
 * free, and these must not fill the host's disk. */
static int write_content(const struct apply_job *j, int fd)
{
	const int is_hole = content_write_piece(fd, j->data, j->len);

	return is_hole > 0 ? ftruncate(fd, (off_t)j->len) : is_hole;
}

/* Makes the file.  A file of that name was left by an apply that was killed, where no sweep
 * has come by since: only one apply at a time has the name. */
static int make_file(int at, const char *temporary)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	const int fd = openat(at, temporary, flags, 0600);

	if (fd >= 0 || errno != EEXIST)
		return fd;
	if (unlinkat(at, temporary, 0) == 0)
		return openat(at, temporary, flags, 0600);
	errno = EEXIST;
	return -1;
}

void apply_job_make(struct apply_job *j, int at, const char *temporary)
{
	AUTO_CLOSE int fd = make_file(at, temporary);

	if (fd >= 0 && write_content(j, fd) == 0) {
		apply_attributes_set(&j->attributes, fd);
		j->end = APPLY_JOB_MADE;
		return;
	}
	j->error = errno;
	j->end = fd < 0 ? APPLY_JOB_UNMADE : APPLY_JOB_UNWRITTEN;
	if (fd >= 0)
		(void)unlinkat(at, temporary, 0);
}
