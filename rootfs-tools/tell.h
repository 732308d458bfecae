/* tell -- what is in an upper layer, told by a process in a jail to one that is not.
 *
 *	struct tell t;
 *
 *	tell_begin(&t, upper, e);
 *	while ((more = tell_next(&t, &item, e)) > 0)
 *		while ((len = tell_read(&t, &data, e)) > 0)	(of a file, if it is wanted)
 *			...
 *	tell_done(&t);
 *
 * The jail's process walks what the inside wrote (rootfs-tools/delta.h), and what it says
 * is foreign too: here each path is checked to be one part below the folder that was told
 * last, each number to be in its range.
 *
 * Content comes where it is asked for; each asking is a turn for both processes, which is
 * what most of the time goes to.  Whoever wants nearly all begins with
 * tell_begin_with_content(): then that of a small file comes along unasked. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "sandbox/cli/party.h"

struct err;
struct idmaps;

enum tell_kind {
	TELL_FOLDER,
	TELL_FOLDER_END, /* behind all that is in it */
	TELL_FILE,
	TELL_LINK,
	TELL_FIFO,
	TELL_GONE,
	TELL_LEFT_OUT, /* `link` says why */
	TELL_KIND_COUNT
};

#define TELL_PATH_MAX (2u << 20)
#define TELL_SMALL    (64u << 10) /* bytes, of a file whose content may come along */

/* What stands in front of each, in the order of this machine's bytes; behind it the path
 * and the link.  Content is pieces of 64 KiB at most, each behind its length as 32 bits,
 * after the last a length of 0 and a byte that is 0 if it is whole. */
struct tell_head {
	uint32_t kind, flags, mode, mtime_ns;
	uint64_t size;
	int64_t mtime;
	uint32_t path_len, link_len;
};
#define TELL_COVERED 1u	  /* a flag */
#define TELL_ALONG   2u	  /* another: its content is next, as if it had been asked for */
#define TELL_ALL     255u /* a kind: there is no more */

struct tell_item {
	enum tell_kind kind;
	const char *path; /* below the upper; good until the next, as all of it */
	const char *name; /* its last part */
	const char *link; /* what it points to */
	uint32_t mode;	  /* 07777 */
	uint64_t size;
	int64_t mtime;
	uint32_t mtime_ns;
	bool is_covered; /* a folder, of which nothing is to be seen of the lower one */
};

struct tell {
	struct party party;
	int fd; /* owned: both ways */
	bool is_broken; /* by an error of the telling, not of one file */
	/* Private. */
	char *text; /* owned: of the item */
	char *here; /* owned: the folder where we are, "" or "a/b" */
	struct buffer in;
	enum { TELL_IDLE, TELL_ASKABLE, TELL_IN_CONTENT } state;
	uint64_t told; /* items */
	size_t depth;
};

/* `upper` is borrowed.  After a failure too, tell_done() is to be called. */
int tell_begin(struct tell *t, int upper, struct err *e);
/* Its files belong to ids of these (sandbox/idmap.h); NULL: to one. */
int tell_begin_ranges(struct tell *t, int upper, const struct idmaps *ranges, struct err *e);

/* The same, where content comes along, which is read the same way. */
int tell_begin_with_content(struct tell *t, int upper, struct err *e);

/* The same for somebody who tells already, at the other end of the socket `fd`, which is
 * taken over. */
void tell_listen(struct tell *t, int fd);
void tell_done(struct tell *t);

/* 1: *ret is one more.  0: that was all.  -1: the telling is broken. */
int tell_next(struct tell *t, struct tell_item *ret, struct err *e);

/* The next piece of the file that was told last: its length; 0 behind the last.  -1 without
 * t->is_broken: this file cannot be had whole, for it may not be read, or was changed
 * while it was (ERR_BUSY). */
ssize_t tell_read(struct tell *t, const uint8_t **ret, struct err *e);
