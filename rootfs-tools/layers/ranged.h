/* ranged -- copies of layers for sandboxes with ranges (run --idmap ranges).  In a copy
 * each file belongs to the id inside that user.hutch.stat of the layer names
 * (rootfs-tools/layers/layers.h).
 *
 *	ranged/lock		flock(2), exclusive, while copies are added or removed
 *	ranged/MAPS/HEX/fs	a copy of layers/HEX/fs (rootfs-tools/layers/image_copy.h)
 *	ranged/MAPS/HEX/about	as layers have it
 *	ranged/MAPS/.XXX	an unfinished copy, or one that is being removed; a
 *				leftover if no process holds the lock
 *
 * MAPS is the text of idmaps_print() (sandbox/kernel/idmap.h).  With other maps the files would
 * belong to other ids, so each MAPS has a folder of its own: a mounted copy is never
 * replaced.
 *
 * The files belong to subordinate ids, so they are made, counted and removed in a jail
 * that has these ids.  If newuidmap no longer grants the ids, only root can remove the
 * files.
 *
 * A sandbox holds the lock of its image, and layers that an image needs are not removed;
 * the store's lock is taken before this one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest;
struct err;
struct idmaps;
struct list;
struct store;

/* The work that is to be done: counts of the copies that are missing. */
struct ranged_todo {
	size_t layers;
	uint64_t entries, bytes;
};

/* Makes the missing copies of these layers, which are in the store.  Waits while
 * another process holds the lock.  `begins`, if not NULL, is called once before the
 * first copy is made.  The caller holds the store's lock. */
int ranged_make(const struct store *s, const struct idmaps *maps,
		const struct list *hexes, void (*begins)(const struct ranged_todo *),
		struct err *e);

/* Returns the bytes of files in all copies, as recorded when the copies were made. */
uint64_t ranged_bytes(const struct store *s);

struct ranged_collecting {
	const struct list *needed; /* digests of the layers whose copies stay, sorted */
	bool only_looks;
	size_t count;	/* count of removed copies so far */
	uint64_t bytes; /* bytes of the removed files */
};

/* Removes copies of layers that are not needed, and leftovers.  -1: some copies could
 * not be removed; all others have been.  The caller holds the store's lock
 * exclusively. */
int ranged_collect(const struct store *s, struct ranged_collecting *c, struct err *e);

/* Removes the copies of one layer. */
int ranged_remove(const struct store *s, const char *hex, struct err *e);

/* Counts each copy's files again, to find damage.  The callback gets each copy with a
 * fault, and the reason in `why`.  `is_sure`: the copy has changed; if false, the copy
 * could not be read. */
struct ranged_verifying {
	void *context;
	void (*on_wrong)(void *context, const char *maps, const char *hex, bool is_sure,
			 const struct err *why);
	size_t count; /* copies that were counted */
};

int ranged_verify(const struct store *s, struct ranged_verifying *v, struct err *e);
