/* ranged -- layers for sandboxes with ranges (run --idmap ranges): in these each file belongs
 * to the id inside that user.hutch.stat of the layer names (rootfs-tools/layers.h).
 *
 *	ranged/lock		flock(2), alone: by whoever adds or removes
 *	ranged/MAPS/HEX/fs	a copy of layers/HEX/fs (rootfs-tools/replica.h)
 *	ranged/MAPS/HEX/about	as layers have it
 *	ranged/MAPS/.XXX	what is not done yet, or is being removed; left over where
 *				nobody has the lock
 *
 * MAPS is what idmaps_print() says (sandbox/idmap.h).  With other maps the files would belong
 * to others, so each has a folder of its own: what a sandbox has mounted is never replaced.
 *
 * The files belong to subordinate ids: they are made, counted and removed in a jail that has
 * these.  Where newuidmap does not grant them any more, only root can remove the files.
 *
 * Who uses an image holds its lock, and what an image needs is not removed; the store's lock
 * is taken before this one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest;
struct err;
struct idmaps;
struct list;
struct store;

/* What is to be copied. */
struct ranged_todo {
	size_t layers;
	uint64_t entries, bytes;
};

/* Makes what is missing of these layers, which are there.  If somebody else is at it, waits.
 * `begins` is told once before it begins; may be NULL.  The caller holds the store's lock. */
int ranged_make(const struct store *s, const struct idmaps *maps, const struct list *hexes,
		void (*begins)(const struct ranged_todo *), struct err *e);

/* Bytes of files in all of them, as they were when they were made. */
uint64_t ranged_bytes(const struct store *s);

struct ranged_collecting {
	const struct list *needed; /* digests, sorted */
	bool only_looks;
	size_t count;	/* so far */
	uint64_t bytes; /* of files */
};

/* Removes those of layers that are not needed, and what is left over.  -1: not all of it
 * could be removed; the rest was.  The caller holds the store's lock alone. */
int ranged_collect(const struct store *s, struct ranged_collecting *c, struct err *e);

/* Removes those of one layer. */
int ranged_remove(const struct store *s, const char *hex, struct err *e);

/* Looks whether each is what it was when it was made.  `is_sure`: it is not; else it could
 * not be looked at, and `why` says so too. */
struct ranged_verifying {
	void *who;
	void (*on_wrong)(void *who, const char *maps, const char *hex, bool is_sure,
			 const struct err *why);
	size_t count; /* looked at */
};

int ranged_verify(const struct store *s, struct ranged_verifying *v, struct err *e);
