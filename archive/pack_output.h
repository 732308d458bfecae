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
	int at;		  /* borrowed: the folder that `name` is looked up in */
	const char *name; /* the item's name in `at` */
	const char *as;	  /* the item's name in the tar */
	bool is_given;
	const struct tar_xattr *xattrs; /* borrowed; the attributes to be written in
					 * the item's header */
	size_t xattr_count;
};

/* pack_flush() writes the pending bytes; pack_flush_much() writes them only if many
 * have gathered. */
int pack_flush(struct pack *p, struct err *e);
int pack_flush_much(struct pack *p, struct err *e);

/* Reports to on_left_out, with the reason `why`, that the file `path` is left out or
 * not whole. */
void pack_tell(struct pack *p, const char *path, const char *why);

/* pack_leave_out() reports that the item is left out for the reason in errno,
 * pack_leave_out_kind() for the reason `why`.  Both fail if the caller named the item,
 * since such an item must be packed. */
int pack_leave_out(struct pack *p, const struct pack_item *i, struct err *e);
int pack_leave_out_kind(struct pack *p, const struct pack_item *i, const char *why,
			struct err *e);

/* Adds the item's header; `link` is the target of a link, else NULL.  The type
 * TAR_OTHER writes a FIFO. */
void pack_header(struct pack *p, enum tar_type type, const struct pack_item *i,
		 const struct stat *st, const char *link);

/* Adds the header and the content of the regular file `fd`.  The file is read once,
 * and always as many bytes are written as the header says. */
int pack_content(struct pack *p, int fd, const struct pack_item *i, struct stat *st,
		 struct err *e);

/* Adds zeros for the bytes from `from` to `to`. */
int pack_zeros(struct pack *p, uint64_t from, uint64_t to, struct err *e);
