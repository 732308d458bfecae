/* tar -- the headers of a tar: blocks of 512 bytes (POSIX.1-2017, pax: "ustar
 * Interchange Format", "pax Header Block", "pax Extended Header"; GNU tar 1.34,
 * "Basic Tar Format").
 *
 * Text in a header may have any bytes.  Numbers are octal or, in GNU's form,
 * binary. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct err;

#define TAR_BLOCK 512

/* The largest size of one entry's header together with its extension headers. */
#define TAR_HEADER_MAX (4u << 20)

enum tar_type {
	TAR_FILE,
	TAR_HARD_LINK,
	TAR_LINK,
	TAR_FOLDER,
	TAR_OTHER,     /* a device, a FIFO, or an unknown type */
	TAR_LABEL,     /* a volume's name, which is skipped */
	TAR_PAX,       /* records about the next entry follow */
	TAR_PAX_ALL,   /* records about all entries follow */
	TAR_LONG_NAME, /* GNU: the next entry's name follows */
	TAR_LONG_LINK, /* GNU: the next entry's link target follows */
	TAR_UNREADABLE /* forms of GNU tar that are refused: a sparse file, a volume's
		        * second part, a folder's list */
};

/* An extended attribute, which star and others store in pax records
 * ("SCHILY.xattr.NAME"). */
struct tar_xattr {
	const char *name;
	const void *value; /* `len` bytes, which may include 0 */
	size_t len;
};

struct tar_entry {
	enum tar_type type;
	char flag;	  /* the type flag of the header, a character */
	const char *path; /* borrowed */
	const char *link; /* borrowed: what a link points to */
	uint32_t mode;	  /* permission bits, at most 07777 */
	uint64_t uid, gid;
	uint64_t size; /* bytes of the content after the header */
	int64_t mtime; /* seconds since 1970 */
	uint32_t mtime_ns;
	const struct tar_xattr *xattrs; /* borrowed; used only for writing:
					 * tar_decode() sets none */
	size_t xattr_count;
};

/* The buffers that hold the texts of a decoded header; struct tar_entry points into
 * them. */
struct tar_text {
	char path[257], link[101];
};

/* Returns `size` rounded up to whole blocks of 512 bytes. */
static inline uint64_t tar_padded(uint64_t size)
{
	return (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

/* Returns whether the 512 bytes are all zeros, as in the blocks that end a tar. */
bool tar_is_end(const uint8_t *block);

/* Decodes a header of 512 bytes that are not all zeros.  ERR_PROTOCOL: the bytes are
 * no header. */
int tar_decode(const uint8_t *block, struct tar_entry *ret, struct tar_text *text,
	       struct err *e);

/* How many attributes of one entry are kept. */
#define TAR_XATTRS_MAX 32

/* The pax records of an entry; a zeroed struct has none. */
struct tar_pax {
	const char *path, *link; /* borrowed from the records */
	bool has_size, has_uid, has_gid, has_mtime;
	uint64_t size, uid, gid;
	int64_t mtime;
	uint32_t mtime_ns;
	struct tar_xattr xattrs[TAR_XATTRS_MAX]; /* borrowed from the records */
	size_t xattr_count; /* counts also those beyond TAR_XATTRS_MAX, which are not
			     * stored */
};

/* Reads `len` bytes of pax records and modifies them: a 0 is put after each value.
 * Unknown keys are skipped.  ERR_PROTOCOL: the bytes are no records; ERR_UNSUPPORTED:
 * the records describe a sparse file. */
int tar_pax_decode(char *records, size_t len, struct tar_pax *to, struct err *e);

/* Copies the values of the records into the entry. */
void tar_pax_apply(const struct tar_pax *from, struct tar_entry *to);

/* Appends an entry's header to `out`, and before it pax records if the entry needs any.
 * The type is a file, a link, a hard link, a folder, or TAR_OTHER with its flag.  `out`
 * must have room for strlen(path) + strlen(link) + 4096 bytes and the attributes. */
void tar_encode(struct buffer *out, const struct tar_entry *entry);
