#include "sandbox/monitor/trace_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

#define SLOTS (2 * TRACE_SET_PATHS) /* the size of the hash table: a power of two, and
				     * never more than half full */

void trace_set_done(struct trace_set *t)
{
	free(t->bytes);
	free(t->paths);
	free(t->slots);
	free(t->addresses);
	*t = (struct trace_set){ 0 };
}

/* Returns the hash of a path.  The hash has a seed, since a program that
 * chooses the paths must not be able to choose the slots. */
static uint64_t hash(const struct trace_set *t, const char *path, size_t len)
{
	uint64_t h = t->seed ^ len;

	for (size_t i = 0; i < len; i++) {
		h = (h ^ (unsigned char)path[i]) * (t->seed | 1);
		h ^= h >> 29;
	}
	return h;
}

static void begin(struct trace_set *t)
{
	t->slots = mem_zeroed(SLOTS, sizeof(*t->slots));
	t->paths = mem_zeroed(TRACE_SET_PATHS, sizeof(*t->paths));
	if (getrandom(&t->seed, sizeof(t->seed), 0) != sizeof(t->seed))
		abort(); /* cannot happen: getrandom(2) never refuses so few bytes */
}

/* Returns the slot that holds the path, or that is to hold it. */
static uint32_t *find_slot(const struct trace_set *t, const char *path, size_t len)
{
	size_t at = hash(t, path, len) & (SLOTS - 1);

	while (t->slots[at] && strcmp(trace_set_text(t, t->slots[at] - 1), path) != 0)
		at = (at + 1) & (SLOTS - 1);
	return &t->slots[at];
}

static bool has_room(const struct trace_set *t, size_t size)
{
	return t->count < TRACE_SET_PATHS && size <= TRACE_SET_BYTES - t->len;
}

static void append(struct trace_set *t, const char *path, size_t size)
{
	if (size > t->room - t->len) {
		t->room = 2 * (t->room + size);
		t->bytes = mem_resize(t->bytes, t->room, 1);
	}
	memcpy(t->bytes + t->len, path, size);
	t->paths[t->count++] = (struct trace_set_path){ .at = (uint32_t)t->len };
	t->len += size;
}

void trace_set_add(struct trace_set *t, const char *path, unsigned use)
{
	const size_t len = strlen(path);

	if (!t->slots)
		begin(t);
	uint32_t *slot = find_slot(t, path, len);
	if (!*slot && !has_room(t, len + 1)) {
		t->lost++;
		return;
	}
	if (!*slot) {
		append(t, path, len + 1);
		*slot = (uint32_t)t->count;
	}
	t->paths[*slot - 1].use |= use;
}

void trace_set_add_address(struct trace_set *t, const char *text)
{
	for (size_t i = 0; i < t->address_count; i++)
		if (!strcmp(t->addresses[i], text))
			return;
	if (t->address_count == TRACE_SET_ADDRESSES) {
		t->lost_addresses++;
		return;
	}
	if (!t->addresses)
		t->addresses = mem_zeroed(TRACE_SET_ADDRESSES, sizeof(*t->addresses));
	(void)snprintf(t->addresses[t->address_count++], sizeof(*t->addresses), "%s",
		       text);
}

/* --- paths ------------------------------------------------------------------------ */

/* Appends one name to the `len` bytes of the path in `to`. */
static bool add_name(char *to, size_t *len, const char *name, size_t size)
{
	if (size == 0 || (size == 1 && name[0] == '.'))
		return true;
	if (size == 2 && name[0] == '.' && name[1] == '.') {
		while (*len && to[--*len] != '/')
			;
		return true;
	}
	if (size + 2 > TRACE_SET_PATH_MAX - *len)
		return false;
	to[(*len)++] = '/';
	memcpy(to + *len, name, size);
	*len += size;
	return true;
}

static bool add_names(char *to, size_t *len, const char *names)
{
	while (*names) {
		const size_t size = strcspn(names, "/");

		if (!add_name(to, len, names, size))
			return false;
		names += size + (names[size] == '/');
	}
	return true;
}

bool trace_set_join(const char *base, const char *path, char *ret)
{
	size_t len = 0;

	if (*path != '/' && (*base != '/' || !add_names(ret, &len, base)))
		return false;
	if (!add_names(ret, &len, path))
		return false;
	if (len == 0)
		ret[len++] = '/';
	ret[len] = '\0';
	return true;
}
