#include "base/lean.h"

#include <stdlib.h>
#include <sys/resource.h>

#define NO_ARENAS (256u << 10) /* more than fits into the arena (arena.h) */

void lean_heap(void)
{
	struct rlimit own, none;

	if (getrlimit(RLIMIT_DATA, &own) < 0)
		return;
	/* With a soft limit of 0, brk(2) fails, while mmap(2) and mprotect(2) succeed up
	 * to the hard limit (may_expand_vm() in mm/mmap.c). */
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = own.rlim_max };
	if (setrlimit(RLIMIT_DATA, &none) < 0)
		return;
	void *volatile first = malloc(NO_ARENAS); /* volatile: the compiler keeps the
						   * call */
	free(first);
	(void)setrlimit(RLIMIT_DATA, &own); /* cannot fail: this was the limit */
}
