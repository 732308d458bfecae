/* context -- the context of a build that comes from a descriptor, as the stdin of
 * `docker build -` does: a tar, which may be compressed by gzip, zstd or xz, or the text
 * of a Dockerfile alone.
 *
 * The bytes are not trusted.  A tar is unpacked by processes in jails into a folder of
 * the store's tmp (rootfs-tools/layers/layer_pipeline.h).  Names and links in that folder
 * are foreign, too, so the caller opens no file there but by openat2(2) with
 * RESOLVE_IN_ROOT. */
#pragma once
#include <stdint.h>

struct err;
struct store;

struct context {
	int folder; /* owned; the tar's files; an empty folder if a Dockerfile came */
	char *text; /* owned; the Dockerfile that came in place of a tar; else NULL */
	uint64_t
		left_out; /* devices, FIFOs and sockets of the tar, which were not made */
	/* Private. */
	int stage;  /* owned; the folder in tmp of the store, and its lock */
	char *name; /* owned; the name of `stage` */
};

void context_init(struct context *c);

/* Reads `in` from its present offset to its end.  A kind of archive that is not known is
 * ERR_UNSUPPORTED. */
int context_read(struct context *c, const struct store *s, int in, struct err *e);

/* Removes the folder.  If the process is killed before that, the next process that makes
 * a folder in tmp of the store removes it. */
void context_done(struct context *c, const struct store *s);
