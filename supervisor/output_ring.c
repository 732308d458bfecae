#include "supervisor/output_ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

void output_ring_done(struct output_ring *k)
{
	free(k->bytes);
	*k = (struct output_ring){ 0 };
}

void output_ring_drop(struct output_ring *k)
{
	uint64_t end = k->end;

	output_ring_done(k);
	k->begin = k->end = end;
}

size_t output_ring_wants(const struct output_ring *k, size_t len)
{
	size_t have = (size_t)(k->end - k->begin),
	       room = k->room ? k->room : OUTPUT_RING_MIN;

	while (room < OUTPUT_RING_MAX && room - have < len)
		room *= 2;
	return room - k->room;
}

/* Copies bytes into the ring, if necessary in two parts; `len` is at most `room`. */
static void place(struct output_ring *k, uint64_t at, const uint8_t *from, size_t len)
{
	size_t start = (size_t)(at % k->room), first = smaller(len, k->room - start);

	memcpy(k->bytes + start, from, first);
	memcpy(k->bytes, from + first, len - first);
}

/* Enlarges the ring.  The index of a byte depends on the ring's size, so the kept bytes
 * are moved. */
static void grow(struct output_ring *k, size_t more)
{
	size_t have = (size_t)(k->end - k->begin);
	struct output_ring larger = { .bytes = mem_new(k->room + more),
				      .room = k->room + more,
				      .begin = k->begin,
				      .end = k->end };
	uint8_t *flat = mem_new(have);

	(void)output_ring_copy(k, k->begin, flat, have);
	place(&larger, k->begin, flat, have);
	free(flat);
	free(k->bytes);
	*k = larger;
}

void output_ring_add(struct output_ring *k, const void *bytes, size_t len, size_t more)
{
	size_t fits;

	if (more)
		grow(k, more);
	/* If there are more bytes than room, only the last ones are kept. */
	fits = smaller(len, k->room);
	k->end += len;
	if (fits)
		place(k, k->end - fits, (const uint8_t *)bytes + (len - fits), fits);
	if (k->end - k->begin > k->room)
		k->begin = k->end - k->room;
}

size_t output_ring_copy(const struct output_ring *k, uint64_t at, void *to, size_t max)
{
	size_t len = smaller(max, (size_t)(k->end - at));
	size_t start, first;

	if (len == 0)
		return 0;
	start = (size_t)(at % k->room);
	first = smaller(len, k->room - start);
	memcpy(to, k->bytes + start, first);
	memcpy((uint8_t *)to + first, k->bytes, len - first);
	return len;
}
