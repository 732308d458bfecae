/* pack_output -- the output of a packing: headers, the content of files, and reports.
 *
 * Everything goes through the pack's `pending`, but for the content of large files,
 * which stays in the kernel. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "archive/tar.h"

struct err;
struct pack;

/* One file, link or folder to be added.  An item that the caller named must be
 * packed; an item found below it may have changed meanwhile, or be unreadable. */
struct pack_item {
	int at;		  /* borrowed */
	const char *name; /* its name in `at` */
	const char *as;	  /* its name in the tar */
	bool is_given;
	const struct tar_xattr *xattrs; /* borrowed; for its header */
	size_t xattr_count;
};

/* pack_flush() writes the pending bytes; pack_flush_much() does only if many have
 * gathered. */
int pack_flush(struct pack *p, struct err *e);
int pack_flush_much(struct pack *p, struct err *e);

/* Reports something about `path` that the tar itself does not show to its reader. */
void pack_tell(struct pack *p, const char *path, const char *why);

/* Reports that the item is left out, because of errno or of `why`; an error if the
 * caller named the item. */
int pack_leave_out(struct pack *p, const struct pack_item *i, struct err *e);
int pack_leave_out_kind(struct pack *p, const struct pack_item *i, const char *why,
			struct err *e);

/* Adds the item's header; `link` is the target of a link, else NULL.  TAR_OTHER: a
 * FIFO. */
void pack_header(struct pack *p, enum tar_type type, const struct pack_item *i,
		 const struct stat *st, const char *link);

/* Adds the header and the content of the regular file `fd`, which is read once:
 * always as many bytes as the header says. */
int pack_content(struct pack *p, int fd, const struct pack_item *i, struct stat *st,
		 struct err *e);

/* Adds zeros for the bytes from `from` to `to`. */
int pack_zeros(struct pack *p, uint64_t from, uint64_t to, struct err *e);
