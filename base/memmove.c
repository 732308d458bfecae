/* memmove(3), and memcpy(3) by the same code, for programs that are linked with musl:
 * musl's own is one `rep movs`, whose start costs more than most copies here, which
 * are a few bytes of text. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LARGE 512 /* the size in bytes from which on `rep movs` is as fast */

/* Types for loads and stores: they may be unaligned and may alias any other type. */
typedef uint64_t word16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t word8 __attribute__((aligned(1), may_alias));
typedef uint32_t word4 __attribute__((aligned(1), may_alias));
typedef uint16_t word2 __attribute__((aligned(1), may_alias));

/* Moves the first and the last sizeof(type) bytes, which overlap if `n` is less than
 * 2 * sizeof(type): both are read before either is written. */
#define MOVE_ENDS(type, to, from, n)                                            \
	do {                                                                    \
		const type first = *(const type *)(from);                       \
		const type last = *(const type *)((from) + (n) - sizeof(type)); \
		*(type *)(to) = first;                                          \
		*(type *)((to) + (n) - sizeof(type)) = last;                    \
	} while (0)

static void move_small(unsigned char *to, const unsigned char *from, size_t n)
{
	if (n >= 8)
		MOVE_ENDS(word8, to, from, n);
	else if (n >= 4)
		MOVE_ENDS(word4, to, from, n);
	else if (n >= 2)
		MOVE_ENDS(word2, to, from, n);
	else if (n)
		*to = *from;
}

static void move_up(unsigned char *to, const unsigned char *from, size_t n)
{
	const word16 last = *(const word16 *)(from + n - 16);
	unsigned char *end = to + n - 16;

	for (; to < end; to += 16, from += 16)
		*(word16 *)to = *(const word16 *)from;
	*(word16 *)end = last;
}

static void move_down(unsigned char *to, const unsigned char *from, size_t n)
{
	const word16 first = *(const word16 *)from;

	for (; n > 16; n -= 16)
		*(word16 *)(to + n - 16) = *(const word16 *)(from + n - 16);
	*(word16 *)to = first;
}

static void move_many(unsigned char *to, const unsigned char *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

void *memmove(void *to, const void *from, size_t n)
{
	if (n < 16)
		move_small(to, from, n);
	else if ((uintptr_t)to - (uintptr_t)from < n)
		move_down(to, from, n);
	else if (n < LARGE)
		move_up(to, from, n);
	else
		move_many(to, from, n);
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
	__attribute__((alias("memmove")));
