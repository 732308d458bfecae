/* arena -- memory for a program that lives as long as one command.
 *
 * A launch makes some hundred small allocations, frees few, and forks twice in
 * between.  libc spreads them over mappings of its own, and each of those is
 * copied at a fork, faulted in and taken down again.  Here they lie one behind
 * the other in the program's own zeroed data; only the newest can be given
 * back.  What is large, or comes when the arena is used up, is a mapping of its
 * own and goes when it is released, so that nothing grows over time.
 *
 * Results are aligned to 16 bytes, as malloc(3) has it.  One thread only. */
#pragma once
#include <stddef.h>

#define ARENA_SIZE  (8u << 20) /* of which only what is used is there */
#define ARENA_LARGE (32u << 10) /* from here on: a mapping */

/* NULL with ENOMEM, as malloc(3). */
void *arena_allocate(size_t size);

/* As realloc(3): `p` stays as it was when NULL is returned. */
void *arena_resize(void *p, size_t size);

/* As free(3). */
void arena_release(void *p);
