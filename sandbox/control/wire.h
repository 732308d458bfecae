/* wire -- one connection's bytes: lines that come with descriptors, and lines that
 * go.
 *
 * Descriptors belong to the line whose first byte they came with.  What came with
 * another byte, or is more than a line may bring, is closed, and the line says so.
 * The kernel gives bytes that came before descriptors together with these (unix(7)),
 * so it is asked first, and reads of what has some end where a line may begin.
 * What is not taken away is bounded by who puts it in (desk.h, events.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "sandbox/act/lines.h"

#define WIRE_FDS 3
/* So many lines with descriptors may be here at a time. */
#define WIRE_PASSED 4

struct wire_fds {
	int fds[WIRE_FDS]; /* owned */
	unsigned count;
	bool is_wrong; /* too many, or beside the wrong byte */
};

struct wire {
	int fd; /* owned */
	struct lines lines;
	struct buffer out;
	uint64_t taken; /* bytes of the lines before */
	uint64_t begun; /* where the line begins whose bytes come now */
	struct {
		uint64_t line; /* where it begins */
		struct wire_fds fds;
	} passed[WIRE_PASSED];
	unsigned passed_count;
};

/* Takes `fd` over, which does not block. */
void wire_init(struct wire *w, int fd, size_t line_max, size_t out_max);
void wire_done(struct wire *w);

/* Whether there is room to read. */
bool wire_may_read(const struct wire *w);
/* Reads and writes once.  False: the connection is broken. */
bool wire_read(struct wire *w);
bool wire_write(struct wire *w);

/* Whether the peer has closed all of it: nobody reads an answer. */
bool wire_is_deserted(const struct wire *w);

/* As lines_next(); `fds` are taken over by the caller. */
enum line_kind wire_next(struct wire *w, const char **ret, size_t *ret_len,
			 struct wire_fds *fds);
void wire_took(struct wire *w);

void wire_fds_done(struct wire_fds *f);
