/* resolve -- openat2(2) with RESOLVE_NO_MAGICLINKS, or RESOLVE_BENEATH and no links at all,
 * also where there is no such call: with --protect-missing it is not there, since what it
 * is asked for is in memory (sandbox/deputy.h). */
#pragma once

struct open_how;

int resolve_open(int folder, const char *path, const struct open_how *how);

/* An absolute path with no link on the way: ELOOP. */
int resolve_open_real(const char *path, int flags);
