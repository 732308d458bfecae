#include "egress/known_names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

struct known_name {
	struct known_name *next; /* owned */
	char *text;		 /* owned */
};

/* FNV-1a.  The guest can choose names that collide, but only as many a minute as are new
 * (name_rate.h), so that a list stays short. */
static size_t bucket_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash % KNOWN_NAMES_BUCKETS;
}

bool known_names_has(const struct known_names *k, const char *name)
{
	const struct known_name *n = k->buckets[bucket_of(name)];

	while (n && strcmp(n->text, name) != 0)
		n = n->next;
	return n;
}

void known_names_add(struct known_names *k, const char *name)
{
	struct known_name *n = malloc(sizeof(*n));

	if (!n)
		abort();
	if (k->count == KNOWN_NAMES_MAX)
		known_names_done(k);
	size_t bucket = bucket_of(name);
	*n = (struct known_name){ k->buckets[bucket], text_copy(name) };
	k->buckets[bucket] = n;
	k->count++;
}

void known_names_done(struct known_names *k)
{
	for (size_t i = 0; i < KNOWN_NAMES_BUCKETS; i++)
		for (struct known_name *n = k->buckets[i], *next; n; n = next) {
			next = n->next;
			free(n->text);
			free(n);
		}
	memset(k, 0, sizeof(*k));
}
