#include "archive/inodes.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"

struct inode {
	dev_t dev;
	ino_t ino; /* 0: an empty place; no file system has such a file */
	char *text; /* owned */
};

void inodes_done(struct inodes *s)
{
	for (size_t i = 0; i < s->room; i++)
		free(s->table[i].text);
	free(s->table);
	*s = (struct inodes){ 0 };
}

/* Where it is, or the empty place where it would be. Needs a place that is empty. */
static struct inode *place_of(const struct inodes *s, dev_t dev, ino_t ino)
{
	/* Fibonacci hashing: inode numbers come in rows. */
	uint64_t hash = ((uint64_t)ino ^ ((uint64_t)dev << 40)) * 0x9e3779b97f4a7c15u;
	size_t at = (size_t)(hash >> 20) & (s->room - 1);

	while (s->table[at].ino && (s->table[at].ino != ino || s->table[at].dev != dev))
		at = (at + 1) & (s->room - 1);
	return &s->table[at];
}

static const struct inode *find(const struct inodes *s, const struct stat *st)
{
	if (!s->room || !st->st_ino)
		return NULL;
	const struct inode *found = place_of(s, st->st_dev, st->st_ino);
	return found->ino ? found : NULL;
}

bool inodes_has(const struct inodes *s, const struct stat *st)
{
	return find(s, st);
}

const char *inodes_get(const struct inodes *s, const struct stat *st)
{
	const struct inode *found = find(s, st);

	return found ? found->text : NULL;
}

/* At most half of the places are taken. */
static void grow(struct inodes *s)
{
	struct inodes larger = { .count = s->count, .room = s->room ? 2 * s->room : 64 };

	if (2 * (s->count + 1) <= s->room)
		return;
	larger.table = mem_zeroed(larger.room, sizeof(*larger.table));
	for (size_t i = 0; i < s->room; i++)
		if (s->table[i].ino)
			*place_of(&larger, s->table[i].dev, s->table[i].ino) = s->table[i];
	free(s->table);
	*s = larger;
}

void inodes_add(struct inodes *s, const struct stat *st, const char *text)
{
	if (!st->st_ino || inodes_has(s, st))
		return;
	grow(s);
	*place_of(s, st->st_dev, st->st_ino) = (struct inode){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.text = text ? text_copy(text) : NULL,
	};
	s->count++;
}
