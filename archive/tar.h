/* tar -- the headers of a tar: blocks of 512 bytes (POSIX.1-2017, pax: "ustar
 * Interchange Format", "pax Header Block", "pax Extended Header"; GNU tar 1.34,
 * "Basic Tar Format").
 *
 * Text in a header is bytes.  Numbers are octal or, as GNU has it, binary. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct err;

#define TAR_BLOCK 512

/* The most that one header with all that extends it may have. */
#define TAR_HEADER_MAX (4u << 20)

enum tar_type {
	TAR_FILE,
	TAR_HARD_LINK,
	TAR_LINK,
	TAR_FOLDER,
	TAR_OTHER,     /* a device, a FIFO, or what nobody knows */
	TAR_LABEL,     /* the name of a volume: says nothing */
	TAR_PAX,       /* what follows are records about the next entry */
	TAR_PAX_ALL,   /* ... about all */
	TAR_LONG_NAME, /* GNU: what follows is the next entry's name */
	TAR_LONG_LINK, /* ... is what it is a link to */
	TAR_UNREADABLE /* GNU: sparse, a volume's second part, a folder's list */
};

/* An extended attribute, as star has them in pax records ("SCHILY.xattr.NAME"). */
struct tar_xattr {
	const char *name;
	const void *value; /* any bytes */
	size_t len;
};

struct tar_entry {
	enum tar_type type;
	char flag;	  /* the type as the header has it */
	const char *path; /* borrowed */
	const char *link; /* borrowed: what a link points to */
	uint32_t mode;	  /* 07777 */
	uint64_t uid, gid;
	uint64_t size; /* of what follows */
	int64_t mtime; /* seconds since 1970 */
	uint32_t mtime_ns;
	const struct tar_xattr *xattrs; /* borrowed; to be written, reading sets none */
	size_t xattr_count;
};

/* Where the texts of a decoded header are. */
struct tar_text {
	char path[257], link[101];
};

/* What `size` bytes take up in whole blocks. */
static inline uint64_t tar_padded(uint64_t size)
{
	return (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

/* Whether these 512 bytes are zeros, which ends a tar. */
bool tar_is_end(const uint8_t *block);

/* Decodes 512 bytes that are not zeros.  ERR_PROTOCOL: they are no header. */
int tar_decode(const uint8_t *block, struct tar_entry *ret, struct tar_text *text,
	       struct err *e);

/* How many of them are kept of one entry. */
#define TAR_XATTRS_MAX 32

/* What pax records say about the entry behind them; a zeroed struct says nothing. */
struct tar_pax {
	const char *path, *link; /* borrowed from the records */
	bool has_size, has_uid, has_gid, has_mtime;
	uint64_t size, uid, gid;
	int64_t mtime;
	uint32_t mtime_ns;
	struct tar_xattr xattrs[TAR_XATTRS_MAX]; /* borrowed from the records */
	size_t xattr_count; /* those beyond the most count too, and are not there */
};

/* Reads `len` bytes of records, which are changed: a 0 ends each value.  Other keys
 * are passed over.  ERR_PROTOCOL: they are none; ERR_UNSUPPORTED: a sparse file. */
int tar_pax_decode(char *records, size_t len, struct tar_pax *to, struct err *e);

/* Puts what they say into the entry. */
void tar_pax_apply(const struct tar_pax *from, struct tar_entry *to);

/* Appends the header of an entry of one of the first four types, or of TAR_OTHER with its
 * flag, with pax records before it if it needs any: at most strlen(path) + strlen(link) +
 * 4096 bytes, and what the attributes take. */
void tar_encode(struct buffer *out, const struct tar_entry *entry);
