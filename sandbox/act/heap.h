/* heap -- memory of what serves for hours goes back to the kernel. */
#pragma once

/* What is large comes from the kernel and goes back to it; by default glibc raises both
 * bounds with what it has seen (mallopt(3)).  Once, at the start. */
void heap_keep_small(void);

/* What is free at this moment, wherever it lies (malloc_trim(3)). */
void heap_give_back(void);
