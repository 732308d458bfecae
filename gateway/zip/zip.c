#include "gateway/zip/zip.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/mem.h"

#define PIECE (32u << 10)

/* A zip without entries, which libarchive does not recognize. */
static const uint8_t EMPTY[22] = { 'P', 'K', 5, 6 };

/* The first bytes of a zip's record about an entry in its central directory. */
static const uint8_t MARK[] = { 'P', 'K', 1, 2 };

static locale_t utf8_new(struct err *e)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);

	if (!utf8)
		(void)err_set(e, ERR_UNSUPPORTED,
			      "the C library has no locale C.UTF-8, which zips need");
	return utf8;
}

static void utf8_free(locale_t utf8)
{
	if (utf8)
		freelocale(utf8);
}

/* Returns -1 with libarchive's words, some of which have bytes of the zip's. */
static int is_wrong(struct archive *a, const char *doing, struct err *e)
{
	const char *why = archive_error_string(a);

	(void)err_set(e, ERR_PROTOCOL, "%s: %.300s", doing, why ? why : "it is damaged");
	if (e)
		err_sanitize(e);
	return -1;
}

/* --- reading ----------------------------------------------------------------- */

struct zip_reader {
	struct archive *archive; /* owned */
	locale_t utf8;		 /* owned */
	int file;		 /* borrowed */
	int64_t at, size;
	bool is_empty; /* there is no archive open */
	uint64_t entries, entries_max;
	/* Before the first entry libarchive reads the whole central directory, and
	 * allocates memory for each record in it, however many the zip says there are.
	 * So the records are counted in the bytes that libarchive gets. */
	bool has_begun;
	size_t matched; /* how many bytes of MARK the last bytes were */
	uint64_t marks;
	uint8_t piece[PIECE];
};

/* Returns whether the bytes so far have no more records than libarchive may keep.  It
 * reads the end of the file twice, up to 16 KiB of it, and so some records. */
static bool count_marks(struct zip_reader *r, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint8_t byte = r->piece[i];
		bool goes_on = byte == MARK[r->matched];
		r->matched = goes_on ? r->matched + 1 : byte == MARK[0];
		if (r->matched == sizeof(MARK)) {
			r->matched = 0;
			r->marks++;
		}
	}
	return r->marks / 2 <= r->entries_max + 16384 / 46;
}

static la_ssize_t on_read(struct archive *a, void *context, const void **ret)
{
	struct zip_reader *r = context;
	ssize_t n = pread(r->file, r->piece, sizeof(r->piece), r->at);

	*ret = r->piece;
	if (n < 0)
		archive_set_error(a, EIO, "the file cannot be read");
	if (n <= 0)
		return n;
	r->at += n;
	if (r->has_begun || count_marks(r, (size_t)n))
		return n;
	r->entries = UINT64_MAX;
	return -1;
}

static la_int64_t on_seek(struct archive *a, void *context, la_int64_t offset, int whence)
{
	struct zip_reader *r = context;
	int64_t from = whence == SEEK_CUR ? r->at : whence == SEEK_END ? r->size : 0;

	(void)a;
	if (__builtin_add_overflow(from, offset, &r->at) || r->at < 0)
		return ARCHIVE_FATAL;
	r->matched = 0;
	return r->at;
}

static bool is_empty(struct zip_reader *r)
{
	return r->size == sizeof(EMPTY) &&
	       pread(r->file, r->piece, sizeof(EMPTY), 0) == sizeof(EMPTY) &&
	       !memcmp(r->piece, EMPTY, sizeof(EMPTY));
}

static int reader_open(struct zip_reader *r, struct err *e)
{
	struct archive *a = r->archive;
	struct stat st;

	if (fstat(r->file, &st) < 0)
		return err_sys(e, "look at the zip");
	r->size = st.st_size;
	r->is_empty = is_empty(r);
	if (r->is_empty)
		return 0;
	if (archive_read_support_format_zip_seekable(a) != ARCHIVE_OK ||
	    archive_read_set_read_callback(a, on_read) != ARCHIVE_OK ||
	    archive_read_set_seek_callback(a, on_seek) != ARCHIVE_OK ||
	    archive_read_set_callback_data(a, r) != ARCHIVE_OK ||
	    archive_read_open1(a) != ARCHIVE_OK)
		return is_wrong(a, "read the zip", e);
	return 0;
}

struct zip_reader *zip_reader_new(int file, uint64_t entries_max, struct err *e)
{
	struct zip_reader *r = mem_zeroed(1, sizeof(*r));

	r->file = file;
	r->entries_max = entries_max;
	r->archive = mem_or_abort(archive_read_new());
	r->utf8 = utf8_new(e);
	if (r->utf8 && reader_open(r, e) == 0)
		return r;
	zip_reader_free(r);
	return NULL;
}

void zip_reader_free(struct zip_reader *r)
{
	if (!r)
		return;
	(void)archive_read_free(r->archive); /* the archive was only read */
	utf8_free(r->utf8);
	free(r);
}

static enum zip_type type_of(struct archive_entry *entry)
{
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return ZIP_FILE;
	case AE_IFDIR:
		return ZIP_FOLDER;
	default:
		return ZIP_OTHER;
	}
}

/* libarchive tells the method of an entry in words alone: "ZIP 2.0 (deflation)". */
static bool is_read(struct archive *a)
{
	const char *format = archive_format_name(a);

	return format &&
	       (strstr(format, "(uncompressed)") || strstr(format, "(deflation)"));
}

static int take_entry(struct zip_reader *r, struct archive_entry *entry,
		      struct zip_entry *ret, struct err *e)
{
	const char *path = archive_entry_pathname(entry);

	if (!path)
		return err_set(e, ERR_PROTOCOL, "read the zip: a name is no UTF-8");
	if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0)
		return err_set(e, ERR_PROTOCOL, "read the zip: an entry has no size");
	*ret = (struct zip_entry){
		.path = path,
		.type = type_of(entry),
		.mode = archive_entry_perm(entry) & 07777,
		.size = (uint64_t)archive_entry_size(entry),
	};
	if (archive_entry_is_encrypted(entry) ||
	    (ret->type == ZIP_FILE && !is_read(r->archive)))
		return err_set(e, ERR_UNSUPPORTED,
			       "read the zip: an entry is encrypted, or compressed by "
			       "another method than deflate");
	return 1;
}

int zip_reader_next(struct zip_reader *r, struct zip_entry *ret, struct err *e)
{
	struct archive_entry *entry;

	if (r->is_empty)
		return 0;
	locale_t before = uselocale(r->utf8);
	int rc = archive_read_next_header(r->archive, &entry), result = 0;

	r->has_begun = true;
	if (r->entries == UINT64_MAX ||
	    (rc == ARCHIVE_OK && ++r->entries > r->entries_max))
		result = err_set(e, ERR_LIMIT, "the zip has too many entries");
	else if (rc != ARCHIVE_EOF)
		result = rc == ARCHIVE_OK ? take_entry(r, entry, ret, e)
					  : is_wrong(r->archive, "read the zip", e);
	(void)uselocale(before);
	return result;
}

ssize_t zip_reader_data(struct zip_reader *r, void *to, size_t len, struct err *e)
{
	/* ARCHIVE_WARN is among the errors: a wrong checksum, a wrong size. */
	ssize_t n = archive_read_data(r->archive, to, len);

	return n < 0 ? is_wrong(r->archive, "unpack the zip", e) : n;
}

/* --- writing ----------------------------------------------------------------- */

struct zip_writer {
	struct archive *archive;     /* owned */
	struct archive_entry *entry; /* owned */
	locale_t utf8;		     /* owned */
	struct buffer *out;	     /* borrowed; NULL: the output is dropped */
	bool is_full;		     /* some output did not fit */
};

/* Never fails: libarchive 3.6 leaks memory of an archive whose output has failed. */
static la_ssize_t on_write(struct archive *a, void *context, const void *data, size_t len)
{
	struct zip_writer *w = context;

	(void)a;
	if (w->out && !buffer_append(w->out, data, len))
		w->is_full = true;
	return (la_ssize_t)len;
}

/* Returns the result of a call: 0 if it was good. */
static int result_of(struct zip_writer *w, bool is_good, struct err *e)
{
	if (w->is_full)
		return err_set(e, ERR_LIMIT, "write the zip: there is no room for it");
	return is_good ? 0 : is_wrong(w->archive, "write the zip", e);
}

static int writer_open(struct zip_writer *w, struct err *e)
{
	struct archive *a = w->archive;

	/* Without blocks, each byte comes as soon as it is known. */
	bool is_good = archive_write_set_format_zip(a) == ARCHIVE_OK &&
		       archive_write_zip_set_compression_store(a) == ARCHIVE_OK &&
		       archive_write_set_bytes_per_block(a, 0) == ARCHIVE_OK &&
		       archive_write_open(a, w, NULL, on_write, NULL) == ARCHIVE_OK;
	return result_of(w, is_good, e);
}

struct zip_writer *zip_writer_new(struct buffer *out, struct err *e)
{
	struct zip_writer *w = mem_zeroed(1, sizeof(*w));

	w->out = out;
	w->archive = mem_or_abort(archive_write_new());
	w->entry = mem_or_abort(archive_entry_new());
	w->utf8 = utf8_new(e);
	if (w->utf8 && writer_open(w, e) == 0)
		return w;
	zip_writer_free(w);
	return NULL;
}

int zip_writer_add(struct zip_writer *w, const struct zip_entry *entry, struct err *e)
{
	locale_t before = uselocale(w->utf8);

	archive_entry_clear(w->entry);
	archive_entry_set_pathname(w->entry, entry->path);
	archive_entry_set_filetype(w->entry, AE_IFREG);
	archive_entry_set_perm(w->entry, entry->mode);
	archive_entry_set_size(w->entry, (la_int64_t)entry->size);
	archive_entry_set_mtime(w->entry, entry->mtime, 0);
	int rc = archive_write_header(w->archive, w->entry);
	(void)uselocale(before);
	return result_of(w, rc == ARCHIVE_OK, e);
}

int zip_writer_data(struct zip_writer *w, const void *data, size_t len, struct err *e)
{
	la_ssize_t n = archive_write_data(w->archive, data, len);

	return result_of(w, n == (la_ssize_t)len, e);
}

int zip_writer_end(struct zip_writer *w, struct err *e)
{
	return result_of(w, archive_write_close(w->archive) == ARCHIVE_OK, e);
}

void zip_writer_free(struct zip_writer *w)
{
	if (!w)
		return;
	/* libarchive ends an archive when it frees it. */
	w->out = NULL;
	(void)archive_write_free(w->archive); /* the output is dropped */
	archive_entry_free(w->entry);
	utf8_free(w->utf8);
	free(w);
}
