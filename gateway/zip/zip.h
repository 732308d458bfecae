/* zip -- reads and writes the entries of a zip; libarchive is named in zip.c alone.
 *
 * Names are UTF-8.  libarchive converts them by the locale of the thread, and drops
 * those that do not fit into it, so each call here has C.UTF-8 for its duration
 * (uselocale(3)).
 *
 * A zip may be hostile.  The reader admits plain and deflated content alone: other
 * methods take memory as the zip demands.  Encrypted content is an error.  A name ends
 * at its first 0, as for Python's zipfile.
 *
 * Sources: APPNOTE.TXT 6.3.10 (PKWARE); archive_read(3), archive_write(3). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buffer;
struct err;
struct zip_reader;
struct zip_writer;

enum zip_type { ZIP_FILE, ZIP_FOLDER, ZIP_OTHER };

struct zip_entry {
	const char *path; /* borrowed; when read, good until the next entry */
	enum zip_type type;
	uint32_t mode; /* permission bits, at most 07777 */
	uint64_t size; /* bytes of the content, unpacked, as the zip says */
	int64_t mtime; /* for writing: seconds since 1970 */
};

/* Reads the zip in `file`, which is borrowed and can be read at any offset; its own
 * offset stays.  `entries_max`: a zip with more entries is ERR_LIMIT, and takes no more
 * memory. */
struct zip_reader *zip_reader_new(int file, uint64_t entries_max, struct err *e);
/* Goes to the next entry.  1, or 0 behind the last one.  Unread content is skipped. */
int zip_reader_next(struct zip_reader *r, struct zip_entry *ret, struct err *e);
/* Unpacks up to `len` bytes of the entry's content: their number, 0 at its end. */
ssize_t zip_reader_data(struct zip_reader *r, void *to, size_t len, struct err *e);
void zip_reader_free(struct zip_reader *r);

/* Writes a zip of plain files, without compression, to the end of `out`, which is
 * borrowed.  ERR_LIMIT: `out` is full.  An entry gets exactly `size` bytes of content.
 * The writer keeps each entry's name until zip_writer_end(). */
struct zip_writer *zip_writer_new(struct buffer *out, struct err *e);
int zip_writer_add(struct zip_writer *w, const struct zip_entry *entry, struct err *e);
int zip_writer_data(struct zip_writer *w, const void *data, size_t len, struct err *e);
int zip_writer_end(struct zip_writer *w, struct err *e);
/* Without zip_writer_end() before, nothing more is written. */
void zip_writer_free(struct zip_writer *w);
