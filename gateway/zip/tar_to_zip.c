#include "gateway/zip/tar_to_zip.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive/entry_path.h"
#include "archive/tar.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "base/utf8.h"
#include "gateway/zip/zip.h"

/* A path, a link's target, and the records about them. */
#define RECORDS_MAX (16u << 10)
#define NAME_BYTES  4096

/* 1980-01-01, and the last second of a zip's field of 32 bits. */
#define MTIME_MIN INT64_C(315532800)
#define MTIME_MAX INT64_C(0xffffffff)

/* The meaning of the tar's next bytes. */
enum stage { HEADER, RECORDS, CONTENT, SKIPPED, ENDED, STAGES };

struct tar_to_zip {
	struct zip_writer *zip; /* owned */
	struct buffer out;
	struct tar_to_zip_limits limits;
	uint64_t entries, bytes, names, left_out;
	enum stage stage;
	uint64_t left;	  /* bytes of CONTENT or SKIPPED that are still to come */
	uint64_t padding; /* bytes behind CONTENT */
	size_t records_len;
	struct buffer part; /* a header or records, until they are whole */
	char *records;	    /* owned: the records about the next entry; NULL: none */
	struct tar_pax pax; /* borrows from `records` */
};

struct tar_to_zip *tar_to_zip_new(const struct tar_to_zip_limits *limits, struct err *e)
{
	struct tar_to_zip *z = mem_zeroed(1, sizeof(*z));

	z->limits = *limits;
	buffer_init(&z->out, TAR_TO_ZIP_OUTPUT_MAX);
	buffer_init(&z->part, RECORDS_MAX + TAR_BLOCK);
	z->zip = zip_writer_new(&z->out, e);
	if (z->zip)
		return z;
	tar_to_zip_free(z);
	return NULL;
}

void tar_to_zip_free(struct tar_to_zip *z)
{
	if (!z)
		return;
	zip_writer_free(z->zip);
	buffer_done(&z->out);
	buffer_done(&z->part);
	free(z->records);
	free(z);
}

struct buffer *tar_to_zip_output(struct tar_to_zip *z)
{
	return &z->out;
}

uint64_t tar_to_zip_left_out(const struct tar_to_zip *z)
{
	return z->left_out;
}

/* --- names ------------------------------------------------------------------- */

/* Returns the name with "_" in place of each byte that is in no character of UTF-8,
 * allocated.  Thus no part of a name becomes too long. */
static char *in_utf8(const char *name)
{
	char *text = text_copy(name);
	size_t left = strlen(text);

	for (char *at = text; left > 0;) {
		size_t len = utf8_length(at, left);
		if (len == 0)
			*at = '_';
		at += len ? len : 1;
		left -= len ? len : 1;
	}
	return text;
}

/* Puts a name that the sandbox chose in front of an error. */
static int in_entry(const char *path, struct err *e)
{
	AUTO_FREE char *shown = term_escape_line(path);

	return err_in(e, "'%.200s' in the tar", shown);
}

/* Reads the name of a file; the result is allocated, or NULL. */
static char *name_of(const char *path, struct err *e)
{
	struct entry_path parts;
	char *name = NULL;

	entry_path_init(&parts);
	if (strlen(path) <= NAME_BYTES &&
	    entry_path_read(&parts, path, NULL, NULL) == 0 && *entry_path_whole(&parts))
		name = in_utf8(entry_path_whole(&parts));
	else
		(void)err_set(e, ERR_PROTOCOL,
			      "it has no name, or one that leads out of the "
			      "folder or is too long");
	entry_path_done(&parts);
	return name;
}

/* --- entries ----------------------------------------------------------------- */

static int64_t clamped(int64_t mtime)
{
	return mtime < MTIME_MIN ? MTIME_MIN : mtime > MTIME_MAX ? MTIME_MAX : mtime;
}

static int add_file(struct tar_to_zip *z, const struct tar_entry *entry, struct err *e)
{
	AUTO_FREE char *name = name_of(entry->path, e);

	if (!name)
		return -1;
	z->names += strlen(name);
	if (entry->size > z->limits.bytes_max - z->bytes ||
	    z->names > z->limits.names_max)
		return err_set(e, ERR_LIMIT, "the folder is too large for a download");
	z->bytes += entry->size;
	const struct zip_entry as = {
		.path = name,
		.type = ZIP_FILE,
		.mode = entry->mode & 0777,
		.size = entry->size,
		.mtime = clamped(entry->mtime),
	};
	return zip_writer_add(z->zip, &as, e);
}

/* Begins an entry whose header, and the records before it, are whole. */
static int begin_entry(struct tar_to_zip *z, const struct tar_entry *entry, struct err *e)
{
	if (++z->entries > z->limits.entries_max)
		return err_set(e, ERR_LIMIT,
			       "the folder has too many files for a download");
	if (entry->type == TAR_FILE && add_file(z, entry, e) < 0)
		return in_entry(entry->path, e);
	z->left_out += entry->type != TAR_FILE && entry->type != TAR_FOLDER;
	z->stage = entry->type == TAR_FILE ? CONTENT : SKIPPED;
	z->padding = tar_padded(entry->size) - entry->size;
	z->left = entry->size;
	return 0;
}

static int begin_records(struct tar_to_zip *z, const struct tar_entry *entry,
			 struct err *e)
{
	if (z->records || entry->size > RECORDS_MAX)
		return err_set(e, ERR_LIMIT, "a header in the tar is too long");
	z->records_len = (size_t)entry->size;
	z->stage = RECORDS;
	return 0;
}

static int on_header(struct tar_to_zip *z, const uint8_t *block, struct err *e)
{
	struct tar_text text;
	struct tar_entry entry;

	if (tar_is_end(block)) {
		z->stage = ENDED;
		return 0;
	}
	if (tar_decode(block, &entry, &text, e) < 0)
		return -1;
	if (entry.type == TAR_PAX)
		return begin_records(z, &entry, e);
	if (entry.type > TAR_OTHER)
		return err_set(e, ERR_PROTOCOL,
			       "the tar has a form that hutch does not write");
	tar_pax_apply(&z->pax, &entry);
	int result = begin_entry(z, &entry, e);
	own_free(&z->records);
	z->pax = (struct tar_pax){ 0 };
	return result;
}

static int on_records(struct tar_to_zip *z, const uint8_t *bytes, struct err *e)
{
	z->records = mem_new(z->records_len + 1);
	memcpy(z->records, bytes, z->records_len);
	z->records[z->records_len] = '\0';
	z->stage = HEADER;
	return tar_pax_decode(z->records, z->records_len, &z->pax, e);
}

/* --- pieces ------------------------------------------------------------------ */

/* A piece of the tar, of which the first bytes are consumed. */
struct piece {
	const uint8_t *at;
	size_t len;
};

static size_t consume(struct piece *p, uint64_t most)
{
	size_t n = p->len < most ? p->len : (size_t)most;

	p->at += n;
	p->len -= n;
	return n;
}

/* Gathers `len` bytes, and hands them on once they are whole. */
static int gather(struct tar_to_zip *z, struct piece *p, size_t len,
		  int (*whole)(struct tar_to_zip *, const uint8_t *, struct err *),
		  struct err *e)
{
	const uint8_t *from = p->at;
	size_t n = consume(p, len - buffer_len(&z->part));

	if (!buffer_append(&z->part, from, n))
		return err_set(e, ERR_LIMIT, "a header in the tar is too long");
	if (buffer_len(&z->part) < len)
		return 0;
	int result = whole(z, buffer_data(&z->part), e);
	buffer_consume(&z->part, len);
	return result;
}

static int take_header(struct tar_to_zip *z, struct piece *p, struct err *e)
{
	return gather(z, p, TAR_BLOCK, on_header, e);
}

static int take_records(struct tar_to_zip *z, struct piece *p, struct err *e)
{
	return gather(z, p, (size_t)tar_padded(z->records_len), on_records, e);
}

static int take_content(struct tar_to_zip *z, struct piece *p, struct err *e)
{
	const uint8_t *from = p->at;
	size_t n = consume(p, z->left);

	z->left -= n;
	if (n > 0 && zip_writer_data(z->zip, from, n, e) < 0)
		return -1;
	if (z->left == 0) {
		z->left = z->padding;
		z->padding = 0;
		z->stage = SKIPPED;
	}
	return 0;
}

static int take_skipped(struct tar_to_zip *z, struct piece *p, struct err *e)
{
	(void)e;
	z->left -= consume(p, z->left);
	if (z->left == 0 && z->padding > 0) {
		z->left = z->padding;
		z->padding = 0;
	}
	if (z->left == 0)
		z->stage = HEADER;
	return 0;
}

static int take_rest(struct tar_to_zip *z, struct piece *p, struct err *e)
{
	(void)z;
	(void)e;
	p->len = 0;
	return 0;
}

static int (*const takes[])(struct tar_to_zip *, struct piece *, struct err *) = {
	[HEADER] = take_header,	  [RECORDS] = take_records, [CONTENT] = take_content,
	[SKIPPED] = take_skipped, [ENDED] = take_rest,
};
static_assert(ARRAY_LEN(takes) == STAGES, "a stage has no row");

int tar_to_zip_write(struct tar_to_zip *z, const void *data, size_t len, struct err *e)
{
	struct piece p = { data, len };

	while (p.len > 0)
		if (takes[z->stage](z, &p, e) < 0)
			return -1;
	return 0;
}

int tar_to_zip_end(struct tar_to_zip *z, struct err *e)
{
	if (z->stage != ENDED)
		return err_set(e, ERR_PROTOCOL, "the tar stops before its end");
	return zip_writer_end(z->zip, e);
}
