#include "base/lean.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"

#define LARGE (256u << 10) /* bytes of a block that is musl's in each program */
_Static_assert(LARGE >= ARENA_LARGE, "the block would be the arena's");

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
	void *volatile first = malloc(LARGE); /* volatile: the compiler keeps the call */
	free(first);
	(void)setrlimit(RLIMIT_DATA, &own); /* cannot fail: this was the limit */
}

void lean_stack(const void *above)
{
	const uintptr_t page = (uintptr_t)getpagesize();
	/* The frame's return address lies at its base: two words. */
	const uintptr_t frame = (uintptr_t)above + 2 * sizeof(void *);
	const uintptr_t start = (frame + page - 1) & ~(page - 1);
	/* setenv(3) may have moved the environment to the heap, which is below the stack
	 * or above it; then nothing is given back. */
	const uintptr_t end = (uintptr_t)environ & ~(page - 1);

	if (end > start && end - start < (8u << 20))
		(void)madvise((void *)start, end - start, MADV_DONTNEED);
}
