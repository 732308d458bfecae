/* zip_to_tar -- turns a zip that a client sent into a tar, to be unpacked in a sandbox.
 *
 *	struct zip_to_tar *z = zip_to_tar_new(file, &limits, e);
 *
 *	while ((len = zip_to_tar_read(z, piece, sizeof(piece), e)) > 0)
 *		...			hutch_exec_write() to a copy.in
 *	zip_to_tar_free(z);
 *
 * The tar comes in pieces, as large as the caller asks for; a call reads the file and
 * waits for nothing else.  The tar has the zip's files and folders, in the order of
 * their content in the zip.  The first call reads the zip's whole directory.
 *
 * An absolute name, a ".." in one, a link, a device, and content that does not fit its
 * size or checksum are errors; earlier entries have been given out by then.  Execution
 * bits are kept; setuid, setgid and sticky bits are not.  All times are `now`, as for
 * files that Python's shutil.unpack_archive() makes.
 *
 * Memory: 64 KiB, and 160 bytes for each entry of the zip. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct zip_to_tar;

struct zip_to_tar_limits {
	uint64_t entries_max; /* beyond it, and beyond bytes_max, ERR_LIMIT */
	uint64_t bytes_max;   /* bytes of all content, unpacked */
	int64_t now;	      /* seconds since 1970 */
};

/* Bytes of a name. */
#define ZIP_NAME_MAX 4096

/* Deflate packs at most 1032 bytes into one.  A zip that unpacks to more has entries that
 * share their content, and is ERR_LIMIT. */
#define ZIP_RATIO_MAX 1032

/* `file` is borrowed, and can be read at any offset.  NULL, with an error. */
struct zip_to_tar *zip_to_tar_new(int file, const struct zip_to_tar_limits *limits,
				  struct err *e);
/* Gives up to `len` bytes of the tar: their number, 0 at its end.  After an error, -1
 * again. */
ssize_t zip_to_tar_read(struct zip_to_tar *z, void *to, size_t len, struct err *e);
void zip_to_tar_free(struct zip_to_tar *z);
