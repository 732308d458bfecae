#include "base/fd_keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel.h"

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

int fd_keep(const int *keep, size_t count)
{
	int sorted[FD_KEEP_MAX];
	unsigned first = 3;

	if (count > FD_KEEP_MAX) {
		errno = E2BIG;
		return -1;
	}
	if (count > 0)
		memcpy(sorted, keep, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_number);
	for (size_t i = 0; i < count; i++) {
		if (sorted[i] < (int)first)
			continue;
		if (sorted[i] > (int)first &&
		    sys_close_range(first, (unsigned)sorted[i] - 1, 0) < 0)
			return -1;
		first = (unsigned)sorted[i] + 1;
	}
	return sys_close_range(first, ~0u, 0);
}
