/* copying -- COPY and ADD: makes a layer of files from the context or another stage,
 * without running anything.
 *
 *	copying_digest		hashes the sources: content, kinds, names and modes
 *	copying_write		writes the layer's tar into a blob that has begun
 *
 * The calling process reads the context; jailed processes read layers, unpack archives
 * and place files. */
#pragma once
#include <stdbool.h>

#include "rootfs-tools/build/copy_layer.h"

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
	struct copy_layer copy_layer;
	int context;		     /* borrowed: the context's folder */
	const struct ignore *ignore; /* rules for the paths of the context that are not
				      * copied */
	const struct list *from; /* if set, files are copied from these layers of another
				  * stage, not from the context */
	const struct list *words; /* paths to copy; empty: only the destination folder is
				   * made */
	const struct heredoc *heredocs;
	size_t heredoc_count;
	bool unpacks; /* archives of the context are unpacked, as ADD does */
};

int copying_digest(const struct copying *c, struct hash *to, struct err *e);

/* Writes the layer's tar into `to`.  `total` gets the counts of what was written and of
 * what was left out. */
int copying_write(const struct copying *c, struct blob *to, struct outcome *total,
		  struct err *e);

/* Copies all bytes of a pipe into the blob. */
int copying_pour(int from, struct blob *to, struct err *e);

/* Adds the two blocks that end a tar. */
int copying_end(struct blob *to, struct err *e);
