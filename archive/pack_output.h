/* pack_output -- what a packing writes: headers, the content of files, and what it has
 * to say.
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

/* One thing to be added.  What was given by the caller must be had; what was found
 * below it may have changed, or be closed to us. */
struct pack_item {
	int at;		  /* borrowed */
	const char *name; /* in `at` */
	const char *as;	  /* in the tar */
	bool is_given;
	const struct tar_xattr *xattrs; /* borrowed; what is put into its header */
	size_t xattr_count;
};

/* Writes what is pending; the second one if it is much. */
int pack_flush(struct pack *p, struct err *e);
int pack_flush_much(struct pack *p, struct err *e);

/* Something about `path` that whoever reads the tar cannot see. */
void pack_tell(struct pack *p, const char *path, const char *why);

/* Tells that it is not in the tar, for what errno says or for `why`; an error if it was
 * given. */
int pack_leave_out(struct pack *p, const struct pack_item *i, struct err *e);
int pack_leave_out_kind(struct pack *p, const struct pack_item *i, const char *why,
			struct err *e);

/* The header of it; `link` is what a link points to, else NULL.  TAR_OTHER: a FIFO. */
void pack_header(struct pack *p, enum tar_type type, const struct pack_item *i,
		 const struct stat *st, const char *link);

/* The header and the content of the regular file `fd`, which is read once: always as
 * many bytes as the header says. */
int pack_content(struct pack *p, int fd, const struct pack_item *i, struct stat *st,
		 struct err *e);

/* Zeros for the bytes `from` to `to`. */
int pack_zeros(struct pack *p, uint64_t from, uint64_t to, struct err *e);
