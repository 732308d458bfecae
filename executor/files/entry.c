#include "executor/files/entry.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

unsigned char entry_type(int folder, const struct entry *d)
{
	struct stat st;

	if (d->type != DT_UNKNOWN)
		return d->type;
	if (fstatat(folder, d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}
