/* changes_tell -- the sending end of changes_stream.h: a process in a jail (sandbox/root/jail.h)
 * that reads an upper folder, which may be hostile, and tells of the changes in it.  The
 * reading end trusts none of its bytes. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct idmaps;

#define CHANGES_PIECE (64u << 10) /* the most bytes of content that are sent at once */

/* The answer of the reading end to a file, a byte. */
enum { CHANGES_ASK_NO = 'n', CHANGES_ASK_CONTENT = 'c' };
/* How a file's content has ended, a byte. */
enum { CHANGES_CONTENT_WHOLE, CHANGES_CONTENT_CHANGED, CHANGES_CONTENT_UNREADABLE };

struct changes_order {
	int upper, fd;	/* borrowed: the folder, and the socket */
	int leash;	/* borrowed: the worker's leash */
	uint32_t along; /* content of files of at most so many bytes is sent unasked */
	bool is_bare;	/* no content is sent, and no file is opened */
	const struct idmaps *ranges; /* borrowed; NULL: none */
};

/* The work of a worker (base/worker.h), with a struct changes_order and a struct outcome
 * (reader.h). */
int changes_tell(void *order, void *outcome, struct err *e);
