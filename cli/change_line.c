#include "cli/change_line.h"

#include <string.h>
#include <sys/stat.h>

#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "rootfs-tools/changes/changes_walk.h"

const char *change_line_type(const struct meeting *m)
{
	static const char *const names[] = { [CHANGES_STREAM_FOLDER] = "folder",
					     [CHANGES_STREAM_FILE] = "file",
					     [CHANGES_STREAM_LINK] = "link",
					     [CHANGES_STREAM_FIFO] = "fifo" };

	if (m->item && m->item->kind != CHANGES_STREAM_GONE)
		return names[m->item->kind];
	switch (m->host.st_mode & S_IFMT) {
	case S_IFDIR:
		return "folder";
	case S_IFREG:
		return "file";
	case S_IFLNK:
		return "link";
	case S_IFIFO:
		return "fifo";
	default:
		return "other";
	}
}

char *change_line_path(const char *target, const struct meeting *m)
{
	return text_format("%s/%s", strcmp(target, "/") ? target : "", m->path);
}

bool change_line_size(const struct meeting *m, uint64_t *ret)
{
	bool is_here = m->item && m->item->kind == CHANGES_STREAM_FILE,
	     was_here = m->kind == 'D' && S_ISREG(m->host.st_mode);

	*ret = is_here ? m->item->size : (uint64_t)m->host.st_size;
	return is_here || was_here;
}

void change_line_print(const char *target, const struct meeting *m, FILE *to)
{
	AUTO_FREE char *whole = change_line_path(target, m);
	AUTO_FREE char *path = term_escape_line(whole);
	AUTO_FREE char *link = term_escape_line(m->item ? m->item->link : "");
	bool is_folder = !strcmp(change_line_type(m), "folder");
	uint64_t size;

	if (change_line_size(m, &size))
		(void)fprintf(to, "%c %12llu %s", m->kind, (unsigned long long)size,
			      path);
	else
		(void)fprintf(to, "%c %12s %s%s", m->kind, "-", path,
			      is_folder ? "/" : "");
	(void)fprintf(to, "%s%s\n", *link ? " -> " : "", link);
}
