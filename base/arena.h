/* arena -- memory for a program that lives as long as one command, and for the start of
 * one that lives on.
 *
 * A launch makes some hundred small allocations, frees few, and forks several times in
 * between.  libc spreads them over mappings of its own, and each of those is copied at a
 * fork, faulted in and taken down again.  In the arena the blocks lie one behind the other
 * in one mapping, and only the newest can be given back.  If a block does
 * not fit, malloc(3) takes it from libc (base/malloc.c).  A program that lives on closes
 * the arena when it has started, since the arena does not use freed memory again.
 *
 * Blocks are aligned to 16 bytes, like malloc(3)'s.  One thread only. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The bytes of the arena; its pages that are not touched take no memory. */
#define ARENA_SIZE (8u << 20)
/* A block of this many bytes or more does not fit. */
#define ARENA_LARGE (32u << 10)

struct err;

/* Maps the arena, which the first allocation does otherwise.  A main() calls this first, so
 * that a limit too low for the arena is an error of this call, not of a later one. */
int arena_open(struct err *e);

/* Allocates a block like malloc(3), whose content is not zeroed.  Returns NULL if it does
 * not fit, or the arena is closed. */
void *arena_allocate(size_t size);

/* Changes the size of block `p` in its place.  Returns false, and leaves the block as it
 * was, if the place does not suffice. */
bool arena_grow(void *p, size_t size);

/* Returns how many bytes the block has; at least as many as were asked for. */
size_t arena_size_of(void *p);

/* Returns whether the block is of the arena. */
bool arena_holds(const void *p);

/* Releases a block of the arena. */
void arena_release(void *p);

/* Makes all later allocations fail.  The blocks of the arena stay, and can grow and be
 * released. */
void arena_close(void);
