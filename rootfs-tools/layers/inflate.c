#include "rootfs-tools/layers/inflate.h"

#include <archive.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/layers/gunzip.h"
#include "rootfs-tools/layers/shared_library.h"

#define PIECE (256u << 10)

/* The functions of libarchive that are used: archive_read_new() is lib.read_new(). */
#define CALLS(X)                                                                        \
	X(error_string)                                                                 \
	X(filter_count) X(read_data_block) X(read_free) X(read_new) X(read_next_header) \
		X(read_open) X(read_support_filter_gzip) X(read_support_filter_xz)      \
			X(read_support_filter_zstd) X(read_support_format_raw)

static struct {
#define MEMBER(name) __typeof__(archive_##name) *name;
	CALLS(MEMBER)
} lib;

bool inflate_knows(const void *first, size_t len)
{
	static const char gzip[] = "\x1f\x8b", zstd[] = "\x28\xb5\x2f\xfd",
			  xz[] = "\xfd\x37zXZ";

	return len >= INFLATE_MARK && (!memcmp(first, gzip, 2) ||
				       !memcmp(first, zstd, 4) || !memcmp(first, xz, 6));
}

/* Returns whether gunzip can take the bytes at the present offset of `in`.  A pipe
 * cannot be read twice, so libarchive takes a pipe. */
static bool is_gunzips(int in)
{
	uint8_t first[INFLATE_MARK];
	off_t at = lseek(in, 0, SEEK_CUR);
	ssize_t got = at < 0 ? 0 : pread(in, first, sizeof(first), at);

	return gunzip_begin() && got > 0 && gunzip_takes(first, (size_t)got);
}

int inflate_begin(int in, struct err *e)
{
#define CALL(name) SHARED_LIBRARY_CALL(archive_##name, &lib.name),
	static const struct shared_library_call calls[] = { CALLS(CALL) };

	if (is_gunzips(in))
		return 0;
	return shared_library_load("libarchive.so.13", "libarchive13", calls,
				   ARRAY_LEN(calls), e);
}

static int is_damaged(struct archive *a, struct err *e)
{
	const char *why = lib.error_string(a);

	return err_set(e, ERR_PROTOCOL, "decompress the data: %.200s",
		       why ? why : "it is damaged");
}

/* The input of libarchive: the bytes that were read to recognize the format, and then
 * the rest of the file. */
struct source {
	int in;	      /* borrowed */
	uint8_t *piece; /* owned */
	size_t len;   /* bytes in `piece` not yet handed to libarchive */
};

static la_ssize_t hand_on(struct archive *a, void *context, const void **ret)
{
	struct source *s = context;
	ssize_t got = (ssize_t)s->len;

	(void)a;
	s->len = 0;
	if (got == 0)
		got = io_read_full(s->in, s->piece, PIECE);
	*ret = s->piece;
	return got;
}

static int start(struct archive *a, struct source *s, struct err *e)
{
	struct archive_entry *only;

	if (lib.read_support_filter_gzip(a) != ARCHIVE_OK ||
	    lib.read_support_filter_zstd(a) != ARCHIVE_OK ||
	    lib.read_support_filter_xz(a) != ARCHIVE_OK)
		return err_set(e, ERR_UNSUPPORTED,
			       "libarchive was built without gzip, zstd or xz");
	if (lib.read_support_format_raw(a) != ARCHIVE_OK ||
	    lib.read_open(a, s, NULL, hand_on, NULL) != ARCHIVE_OK ||
	    lib.read_next_header(a, &only) != ARCHIVE_OK)
		return is_damaged(a, e);
	/* libarchive counts the plain data as one filter, so 2 is one compression. */
	if (lib.filter_count(a) > 2)
		return err_set(e, ERR_PROTOCOL, "the data is compressed more than once");
	return 0;
}

static int pass_on(struct archive *a, int out, struct err *e)
{
	const void *piece;
	la_int64_t at;
	size_t len;
	int rc;

	while ((rc = lib.read_data_block(a, &piece, &len, &at)) == ARCHIVE_OK)
		if (io_write_all(out, piece, len) < 0)
			return err_sys(e, "pass on the decompressed data");
	return rc == ARCHIVE_EOF ? 0 : is_damaged(a, e);
}

static int by_libarchive(struct source *s, int out, struct err *e)
{
	if (!lib.read_new)
		return err_set(e, ERR_BUSY, "the compressed file was changed meanwhile");
	struct archive *a = mem_or_abort(lib.read_new());
	int rc = start(a, s, e) < 0 ? -1 : pass_on(a, out, e);

	(void)lib.read_free(a); /* the result does not matter: the archive was only
				 * read */
	return rc;
}

int inflate_all(int in, int out, struct err *e)
{
	AUTO_FREE uint8_t *piece = mem_new(PIECE);
	ssize_t got = io_read_full(in, piece, PIECE);

	if (got < 0)
		return err_sys(e, "read the compressed data");
	if (gunzip_takes(piece, (size_t)got))
		return gunzip_all(piece, (size_t)got, in, out, e);
	struct source s = { .in = in, .piece = piece, .len = (size_t)got };
	return by_libarchive(&s, out, e);
}
