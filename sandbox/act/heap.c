#include "sandbox/act/heap.h"

#include <features.h>

#ifdef __GLIBC__
#include <malloc.h>

#define LARGE (128 << 10)

void heap_keep_small(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, LARGE);
}

void heap_give_back(void)
{
	(void)malloc_trim(0);
}
#else /* musl does so by itself */
void heap_keep_small(void)
{
}

void heap_give_back(void)
{
}
#endif
