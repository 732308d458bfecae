/* tar_to_zip -- turns a tar from a sandbox into the zip that a client downloads.
 *
 *	struct tar_to_zip *z = tar_to_zip_new(&limits, e);
 *
 *	tar_to_zip_write(z, piece, len, e);	for each piece of copy.out's output
 *	...					take and consume tar_to_zip_output(z)
 *	tar_to_zip_end(z, e);
 *	...					take the rest of tar_to_zip_output(z)
 *	tar_to_zip_free(z);
 *
 * Never waits.  The zip has files alone, without compression; the tar's folders are
 * dropped.  Names are those of the tar, without "." and empty parts; a byte that is no
 * UTF-8 becomes "_", since Python reads no zip with such a name in it.  Times before
 * 1980 become 1980, the first year that a zip can have.
 *
 * Links, hard links and devices are left out and counted: the tar has no content for
 * them.  `copy.out` with `contents` packs files in their places (docs/control.md).
 *
 * The tar is hostile.  It has the form that `archive/pack.h` writes, ustar with pax
 * records; GNU's extensions are ERR_PROTOCOL.  After an error the zip has to be thrown
 * away: it has no directory, so that no client takes it for whole.
 *
 * Memory: 64 KiB, the output that was not consumed, and for each file about 100 bytes
 * and its name. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct err;
struct tar_to_zip;

struct tar_to_zip_limits {
	uint64_t entries_max; /* entries of the tar; beyond each of these, ERR_LIMIT */
	uint64_t bytes_max;   /* bytes of all content */
	uint64_t names_max;   /* bytes of all names of files together */
};

/* How many bytes tar_to_zip_output() may hold: consume it after each piece, of at most a
 * MiB. */
#define TAR_TO_ZIP_OUTPUT_MAX (64u << 20)

struct tar_to_zip *tar_to_zip_new(const struct tar_to_zip_limits *limits, struct err *e);
/* Takes the next bytes of the tar; bytes behind its end are ignored. */
int tar_to_zip_write(struct tar_to_zip *z, const void *data, size_t len, struct err *e);
/* Ends the zip.  ERR_PROTOCOL: the tar's end has not come. */
int tar_to_zip_end(struct tar_to_zip *z, struct err *e);
struct buffer *tar_to_zip_output(struct tar_to_zip *z);
uint64_t tar_to_zip_left_out(const struct tar_to_zip *z);
void tar_to_zip_free(struct tar_to_zip *z);
