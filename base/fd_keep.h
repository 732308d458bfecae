/* fd_keep -- closes all descriptors of this process but some. */
#pragma once
#include <stddef.h>

#define FD_KEEP_MAX 128

/* Closes all descriptors above 2 that are not in `keep`, which has up to FD_KEEP_MAX; negative
 * numbers in it are ignored.  Returns -1 with errno set. */
int fd_keep(const int *keep, size_t count);
