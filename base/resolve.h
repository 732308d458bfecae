/* resolve -- opens files as openat2(2) does with RESOLVE_NO_MAGICLINKS, or with
 * RESOLVE_BENEATH and no links at all, also where the kernel or a filter refuses
 * openat2(2).  With --protect-missing openat2(2) is refused inside, since a filter
 * cannot see its flags, which are in memory (sandbox/monitor/broker.h). */
#pragma once

struct open_how;

int resolve_open(int folder, const char *path, const struct open_how *how);

/* Opens an absolute path; fails with ELOOP if a link is on the way. */
int resolve_open_real(const char *path, int flags);
