/* copying -- COPY and ADD: what they take of the context or another stage becomes a
 * layer, without running anything.
 *
 *	copying_digest		what is copied, in a hash: content, kinds, names and modes
 *	copying_write		the layer's tar, into a blob that has begun
 *
 * Whoever reads the context is the caller; what reads layers, unpacks archives or places
 * anything is in a jail. */
#pragma once
#include <stdbool.h>

#include "rootfs-tools/placing.h"

struct blob;
struct err;
struct hash;
struct heredoc;
struct ignore;
struct list;
struct outcome;
struct store;

struct copying {
	const struct store *s;
	struct placing placing;
	int context;		     /* borrowed: a folder */
	const struct ignore *ignore; /* of the context */
	const struct list *from; /* the layers of another stage, instead of the context */
	const struct list *words; /* sources; none: only the destination is made */
	const struct heredoc *heredocs;
	size_t heredoc_count;
	bool unpacks; /* an archive of the context becomes what is in it */
};

int copying_digest(const struct copying *c, struct hash *to, struct err *e);

/* *told: how much, and what was left out. */
int copying_write(const struct copying *c, struct blob *to, struct outcome *told,
		  struct err *e);

/* Writes what comes from a pipe into the blob, to its end. */
int copying_pour(int from, struct blob *to, struct err *e);

/* The two blocks that end a tar. */
int copying_end(struct blob *to, struct err *e);
