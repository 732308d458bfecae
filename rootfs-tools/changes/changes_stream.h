/* changes_stream -- the items of an upper layer, sent by a jailed process to one that
 * is not jailed.
 *
 *	struct changes_stream t;
 *
 *	changes_stream_begin(&t, upper, e);
 *	while ((more = changes_stream_next(&t, &item, e)) > 0)
 *		while ((len = changes_stream_read(&t, &data, e)) > 0)	(of a file, if it is wanted)
 *			...
 *	changes_stream_done(&t);
 *
 * The jailed process walks the files that the sandbox wrote
 * (rootfs-tools/changes/upper_scan.h).  Its messages are not trusted: the reader checks
 * that each path is one part below the current folder, and each number in its range.
 *
 * A file's content is sent on request.  Each request makes both processes wait for each
 * other, even if the answer is no, which takes most of the time.  With
 * changes_stream_begin_with_content() the content of small files is sent without a
 * request: for a reader that wants nearly all content, and, of the smallest files, also for
 * one that wants little of it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "archive/outcome.h"
#include "base/buffer.h"
#include "base/worker.h"

struct err;
struct idmaps;

enum changes_stream_kind {
	CHANGES_STREAM_FOLDER,
	CHANGES_STREAM_FOLDER_END, /* the end of a folder, after its entries */
	CHANGES_STREAM_FILE,
	CHANGES_STREAM_LINK,
	CHANGES_STREAM_FIFO,
	CHANGES_STREAM_GONE,
	CHANGES_STREAM_LEFT_OUT, /* an entry that is left out; `link` is the reason */
	CHANGES_STREAM_KIND_COUNT
};

#define CHANGES_STREAM_PATH_MAX (2u << 20)
/* Bytes: files of at most this size may be sent without a request to a reader that wants
 * nearly all content, or little of it. */
#define CHANGES_STREAM_SMALL	(64u << 10)
#define CHANGES_STREAM_SMALLEST (8u << 10)

/* The header of each item, in this machine's byte order; the item's path and link
 * target follow.  Content is sent in pieces of at most 64 KiB, each after its length as
 * 32 bits.  A length of 0 ends the content; the byte after it is 0 if the content is
 * whole. */
struct changes_stream_head {
	uint32_t kind, flags, mode, mtime_ns;
	uint64_t size;
	int64_t mtime;
	uint32_t path_len, link_len;
};
#define CHANGES_STREAM_COVERED 1u	  /* flag of a folder: everything below the same
					   * path in the lower layer is hidden */
#define CHANGES_STREAM_ALONG   2u	  /* flag of a file: its content follows without a
					   * request */
#define CHANGES_STREAM_ALL     255u /* a kind that ends the stream: no more items
				     * follow */

struct changes_stream_item {
	enum changes_stream_kind kind;
	const char *path; /* relative to the upper layer; valid until the next item, like
			   * the other pointers */
	const char *name; /* the last part of `path` */
	const char *link; /* a link's target */
	uint32_t mode;	  /* permission bits, at most 07777 */
	uint64_t size;
	int64_t mtime;
	uint32_t mtime_ns;
	bool is_covered; /* for a folder: the same folder of the lower layer is hidden,
			  * with all in it */
};

struct changes_stream {
	struct worker worker;
	struct outcome outcome;
	int fd; /* owned: a socket */
	bool is_broken; /* the stream as a whole failed, and no more items can be read */
	/* Private. */
	bool is_bare; /* of changes_stream_begin_bare() */
	char *text; /* owned: path and link of the item */
	char *here; /* owned: the current folder's path, "" or "a/b" */
	struct buffer in;
	enum {
		CHANGES_STREAM_IDLE,
		CHANGES_STREAM_ASKABLE,
		CHANGES_STREAM_IN_CONTENT,
		CHANGES_STREAM_CONTENTLESS /* the file's content cannot be read */
	} state;
	uint64_t item_count; /* count of items so far */
	size_t depth;
};

/* Starts the jailed process.  `upper` is borrowed.  Call changes_stream_done() after a
 * failure too. */
int changes_stream_begin(struct changes_stream *t, int upper, struct err *e);
/* Begins a stream like changes_stream_begin(), for files that belong to mapped ids
 * (sandbox/kernel/idmap.h); NULL: they belong to one id. */
int changes_stream_begin_ranges(struct changes_stream *t, int upper,
				const struct idmaps *ranges, struct err *e);

/* Begins a stream in which the content of files of at most `along` bytes, no more than
 * CHANGES_STREAM_SMALL, is sent without a request.  The caller reads the content in the
 * same way, or leaves it. */
int changes_stream_begin_with_content(struct changes_stream *t, int upper, uint32_t along,
				      struct err *e);

/* Begins a stream without any content: no file is opened.  changes_stream_read() of a
 * file is then an error of the caller's. */
int changes_stream_begin_bare(struct changes_stream *t, int upper, struct err *e);

/* Begins to read a stream that another process sends already, from the socket `fd`,
 * which `t` then owns. */
void changes_stream_listen(struct changes_stream *t, int fd);
void changes_stream_done(struct changes_stream *t);

/* Gives the next item.  Returns 1 if *ret is the item, 0 if there are no more, -1 if
 * the stream is broken. */
int changes_stream_next(struct changes_stream *t, struct changes_stream_item *ret,
			struct err *e);

/* Gives the next piece of the last file's content and returns its length; 0 after the
 * last piece.  -1 without t->is_broken: this file has no usable content, because it
 * cannot be read or changed meanwhile (ERR_BUSY). */
ssize_t changes_stream_read(struct changes_stream *t, const uint8_t **ret, struct err *e);
