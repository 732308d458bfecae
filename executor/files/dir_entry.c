#include "executor/files/dir_entry.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

unsigned char dir_entry_type(int folder, const struct dir_entry *d)
{
	struct stat st;

	if (d->type != DT_UNKNOWN)
		return d->type;
	if (fstatat(folder, d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}
