/* Finds out which of the host's files are unchanged since the sandbox began, or since
 * an earlier apply wrote them. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "rootfs-tools/changes/apply_parts.h"

#define RECORD_MAX (64u << 20)
/* A file's ctime in the record and in the set, which are compared as texts. */
#define CTIME	    "%lld.%09ld"
#define CTIME_OF(s) (long long)(s).st_ctim.tv_sec, (s).st_ctim.tv_nsec

/* Reads a line of the record, "DEV INO CTIME\n".  A last line without its newline was
 * cut by a kill and is ignored. */
static void read_line(struct apply *a, char *line)
{
	unsigned long long dev, ino;
	char when[40];

	if (sscanf(line, "%20llu %20llu %39s", &dev, &ino, when) != 3)
		return;
	const struct stat st = { .st_dev = (dev_t)dev, .st_ino = (ino_t)ino };
	inodes_put(&a->applied, &st, when);
}

int apply_record_read(struct apply *a, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (a->record < 0)
		return 0;
	if (io_read_file(a->record, "what was applied", RECORD_MAX, &text, &len, e) < 0)
		return -1;
	for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		read_line(a, at);
	}
	return 0;
}

void apply_record_add(struct apply *a, const struct meeting *m)
{
	struct stat st;

	if (fstatat(m->at, m->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	/* "DEV INO CTIME\n": the time is formatted once, for the record and the set. */
	AUTO_FREE char *line = text_format("%llu %llu " CTIME "\n",
					   (unsigned long long)st.st_dev,
					   (unsigned long long)st.st_ino, CTIME_OF(st));
	const size_t len = strlen(line);
	if (a->record >= 0)
		(void)io_write_all(a->record, line, len);
	line[len - 1] = '\0';
	inodes_put(&a->applied, &st, strrchr(line, ' ') + 1);
}

bool apply_is_changed(const struct apply *a, const struct stat *st)
{
	if (a->is_forced)
		return false;
	int64_t when = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;

	if (when <= a->started_ns)
		return false;
	const char *ours = inodes_get(&a->applied, st);
	AUTO_FREE char *text = text_format(CTIME, CTIME_OF(*st));
	return !ours || strcmp(ours, text) != 0;
}
