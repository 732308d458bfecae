/* resolve -- opens files as openat2(2) does with RESOLVE_NO_MAGICLINKS, or with
 * RESOLVE_BENEATH and no links at all, also where the kernel or a filter refuses
 * openat2(2).  With --protect-missing openat2(2) is refused inside, since a filter
 * cannot see its flags, which are in memory (sandbox/monitor/broker.h). */
#pragma once

struct open_how;
struct stat;

int resolve_open(int folder, const char *path, const struct open_how *how);

/* Opens an absolute path; fails with ELOOP if a link is on the way. */
int resolve_open_real(const char *path, int flags);

/* The folder that resolve_look_real() looked in last: paths that are looked at one behind
 * the other often share one.  Begins as RESOLVE_FOLDER_NONE. */
struct resolve_folder {
	int fd;	    /* owned: O_PATH of the folder; -1: none */
	char *path; /* owned: its path, which had no link; NULL: none */
};

#define RESOLVE_FOLDER_NONE ((struct resolve_folder){ .fd = -1 })
#define AUTO_FOLDER	    __attribute__((cleanup(resolve_folder_done)))

/* Describes the file at a plain absolute path (base/path.h); fails with ELOOP if it is a
 * link, or if a link is on the way.  A kept folder is not looked up again, wherever it was
 * moved since: the caller finds out when it opens the path. */
int resolve_look_real(struct resolve_folder *kept, const char *path, struct stat *ret);
void resolve_folder_done(struct resolve_folder *kept);
