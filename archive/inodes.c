#include "archive/inodes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct inode {
	dev_t dev;
	ino_t ino; /* 0: an empty slot; no file system has an inode 0 */
	size_t text; /* offset in `texts`, counted from 1; 0: the file has no text */
};

void inodes_done(struct inodes *s)
{
	free(s->table);
	free(s->texts);
	*s = (struct inodes){ 0 };
}

/* Returns the slot of the file, or the empty slot where the file would be put.  The
 * table must have an empty slot, which ends the search. */
static struct inode *place_of(const struct inodes *s, dev_t dev, ino_t ino)
{
	/* Fibonacci hashing spreads inode numbers, which often follow each other, over
	 * the table. */
	uint64_t both = (uint64_t)ino ^ ((uint64_t)dev << 40);
	size_t at = (size_t)(both * 0x9e3779b97f4a7c15u >> 20) & (s->room - 1);
	struct inode *i = &s->table[at];

	for (; i->ino && (i->ino != ino || i->dev != dev); i = &s->table[at])
		at = (at + 1) & (s->room - 1);
	return i;
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

	return found && found->text ? s->texts + found->text - 1 : NULL;
}

/* Enlarges the table so that at least half of its slots stay empty, which keeps
 * searches short. */
static void grow(struct inodes *s)
{
	struct inodes larger = *s;

	if (2 * (s->count + 1) <= s->room)
		return;
	larger.room = s->room ? 2 * s->room : 64;
	larger.table = mem_zeroed(larger.room, sizeof(*larger.table));
	for (size_t n = 0; n < s->room; n++) {
		const struct inode *i = &s->table[n];
		if (i->ino)
			*place_of(&larger, i->dev, i->ino) = *i;
	}
	free(s->table);
	*s = larger;
}

/* Appends a text and returns its offset, counted from 1.  All texts share one
 * allocation, which is moved when it grows: each of many small ones would have a header of
 * its own. */
static size_t keep_text(struct inodes *s, const char *text)
{
	size_t len = strlen(text) + 1, at = s->texts_len;

	if (at + len > s->texts_room) {
		s->texts_room = 2 * (at + len);
		s->texts = mem_resize(s->texts, s->texts_room, 1);
	}
	memcpy(s->texts + at, text, len);
	s->texts_len += len;
	return at + 1;
}

void inodes_add(struct inodes *s, const struct stat *st, const char *text)
{
	if (!st->st_ino || inodes_has(s, st))
		return;
	grow(s);
	*place_of(s, st->st_dev, st->st_ino) = (struct inode){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.text = text ? keep_text(s, text) : 0,
	};
	s->count++;
}

void inodes_put(struct inodes *s, const struct stat *st, const char *text)
{
	if (!inodes_has(s, st)) {
		inodes_add(s, st, text);
		return;
	}
	struct inode *i = place_of(s, st->st_dev, st->st_ino);
	i->text = keep_text(s, text);
}
