#include "gateway/zip/zip_to_tar.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/entry_path.h"
#include "archive/tar.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "gateway/zip/zip.h"

/* A header with records about a long name, zeros behind content, and the tar's end. */
#define PENDING_MAX (ZIP_NAME_MAX + 8192)

struct zip_to_tar {
	struct zip_reader *zip; /* owned */
	struct zip_to_tar_limits limits;
	uint64_t bytes_left;   /* how many bytes of content there may still be */
	struct buffer pending; /* bytes of the tar that stand before further content */
	uint64_t content;      /* bytes of the entry that are still to come */
	uint64_t padding;      /* zeros behind them */
	bool is_open;	       /* an entry's content is being given out */
	bool is_over;	       /* the tar's end is pending, or given out */
	bool has_failed;
	struct err error;
};

struct zip_to_tar *zip_to_tar_new(int file, const struct zip_to_tar_limits *limits,
				  struct err *e)
{
	struct stat st;
	uint64_t most;

	if (fstat(file, &st) < 0) {
		(void)err_sys(e, "look at the zip");
		return NULL;
	}
	struct zip_reader *zip = zip_reader_new(file, limits->entries_max, e);
	if (!zip)
		return NULL;
	struct zip_to_tar *z = mem_zeroed(1, sizeof(*z));
	z->zip = zip;
	z->limits = *limits;
	if (__builtin_mul_overflow((uint64_t)st.st_size, ZIP_RATIO_MAX, &most))
		most = UINT64_MAX;
	z->bytes_left = most < limits->bytes_max ? most : limits->bytes_max;
	buffer_init(&z->pending, PENDING_MAX);
	return z;
}

void zip_to_tar_free(struct zip_to_tar *z)
{
	if (!z)
		return;
	zip_reader_free(z->zip);
	buffer_done(&z->pending);
	free(z);
}

/* --- entries ----------------------------------------------------------------- */

/* Puts a name that a client chose in front of an error. */
static int in_entry(const char *path, struct err *e)
{
	AUTO_FREE char *shown = term_escape_line(path);

	return err_in(e, "the zip's entry '%.200s'", shown);
}

static int check_name(const char *path, struct err *e)
{
	struct entry_path parts;
	struct err why;
	int result;

	if (*path == '/')
		return err_set(e, ERR_PROTOCOL, "an absolute name is not unpacked");
	if (strlen(path) > ZIP_NAME_MAX)
		return err_set(e, ERR_PROTOCOL, "the name is too long");
	entry_path_init(&parts);
	result = entry_path_read(&parts, path, NULL, &why);
	if (result == 0 && !*entry_path_whole(&parts))
		result = -1;
	entry_path_done(&parts);
	return result < 0 ? err_set(e, ERR_PROTOCOL,
				    "it has no name, or a part of the name is \"..\" or "
				    "too long")
			  : 0;
}

static int check_entry(struct zip_to_tar *z, const struct zip_entry *entry, struct err *e)
{
	if (check_name(entry->path, e) < 0)
		return -1;
	if (entry->type == ZIP_OTHER)
		return err_set(e, ERR_PROTOCOL, "links and devices are not unpacked");
	if (entry->type == ZIP_FILE && entry->size > z->bytes_left)
		return err_set(e, ERR_LIMIT, "the zip unpacks to too many bytes");
	return 0;
}

/* Begins an entry: its header is pending then. */
static void begin_entry(struct zip_to_tar *z, const struct zip_entry *entry)
{
	bool is_file = entry->type == ZIP_FILE;
	const struct tar_entry header = {
		.type = is_file ? TAR_FILE : TAR_FOLDER,
		.path = entry->path,
		/* The owner can always read, change and remove what was uploaded. */
		.mode = (entry->mode & 0777) | (is_file ? 0600 : 0700),
		.size = is_file ? entry->size : 0,
		.mtime = z->limits.now,
	};

	tar_encode(&z->pending, &header);
	z->content = header.size;
	z->padding = tar_padded(header.size) - header.size;
	z->bytes_left -= header.size;
	z->is_open = is_file;
}

static void put_zeros(struct zip_to_tar *z, size_t len)
{
	memset(mem_or_abort(buffer_reserve(&z->pending, len)), 0, len);
	buffer_added(&z->pending, len);
}

static int next_entry(struct zip_to_tar *z, struct err *e)
{
	struct zip_entry entry;
	int more = zip_reader_next(z->zip, &entry, e);

	if (more < 0)
		return -1;
	if (more == 0) {
		put_zeros(z, (size_t)2 * TAR_BLOCK);
		z->is_over = true;
		return 0;
	}
	if (check_entry(z, &entry, e) < 0)
		return in_entry(entry.path, e);
	begin_entry(z, &entry);
	return 0;
}

/* --- pieces ------------------------------------------------------------------ */

static ssize_t take_pending(struct zip_to_tar *z, void *to, size_t len)
{
	size_t all = buffer_len(&z->pending), n = all < len ? all : len;

	memcpy(to, buffer_data(&z->pending), n);
	buffer_consume(&z->pending, n);
	return (ssize_t)n;
}

/* Unpacks the next bytes of the entry.  The content must be as long as the header that
 * was given out says. */
static ssize_t take_content(struct zip_to_tar *z, void *to, size_t len, struct err *e)
{
	char more;

	if (z->content > 0 && len > z->content)
		len = (size_t)z->content;
	ssize_t n =
		zip_reader_data(z->zip, z->content ? to : &more, z->content ? len : 1, e);
	if (n < 0)
		return -1;
	if ((n > 0) != (z->content > 0))
		return err_set(
			e, ERR_PROTOCOL,
			"unpack the zip: the content has not the size that it says");
	z->content -= (uint64_t)n;
	if (n == 0) {
		put_zeros(z, (size_t)z->padding);
		z->is_open = false;
	}
	return n;
}

/* Gives the next bytes; 0: there are none yet, or the tar is over. */
static ssize_t step(struct zip_to_tar *z, void *to, size_t len, struct err *e)
{
	if (buffer_len(&z->pending) > 0)
		return take_pending(z, to, len);
	if (z->is_open)
		return take_content(z, to, len, e);
	return next_entry(z, e);
}

ssize_t zip_to_tar_read(struct zip_to_tar *z, void *to, size_t len, struct err *e)
{
	size_t got = 0;

	while (!z->has_failed && got < len &&
	       !(z->is_over && buffer_len(&z->pending) == 0)) {
		ssize_t n = step(z, (char *)to + got, len - got, &z->error);
		z->has_failed = n < 0;
		got += n > 0 ? (size_t)n : 0;
	}
	if (got > 0 || !z->has_failed)
		return (ssize_t)got;
	if (e)
		*e = z->error;
	return -1;
}
