#include "rootfs-tools/layers/gunzip.h"

#include <isa-l/igzip_lib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/layers/inflate.h"
#include "rootfs-tools/layers/shared_library.h"

#define PIECE (256u << 10)

static struct {
	__typeof__(isal_inflate_init) *init;
	__typeof__(isal_inflate_reset) *reset;
	__typeof__(isal_inflate) *inflate;
} isal;

static bool is_loaded;

struct work {
	struct inflate_state state;
	int in, out; /* borrowed */
	uint64_t passed; /* count of decompressed bytes */
	uint8_t read[PIECE], made[PIECE];
};

bool gunzip_begin(void)
{
	static const struct shared_library_call calls[] = {
		SHARED_LIBRARY_CALL(isal_inflate_init, &isal.init),
		SHARED_LIBRARY_CALL(isal_inflate_reset, &isal.reset),
		SHARED_LIBRARY_CALL(isal_inflate, &isal.inflate),
	};
	struct err e;

	is_loaded = is_loaded || shared_library_load("libisal.so.2", "libisal2", calls,
					      ARRAY_LEN(calls), &e) == 0;
	return is_loaded;
}

static bool is_member(const uint8_t *at, size_t len)
{
	return len >= 2 && at[0] == 0x1f && at[1] == 0x8b;
}

bool gunzip_takes(const uint8_t *first, size_t len)
{
	return is_loaded && is_member(first, len);
}

/* Moves the unread rest of the buffer to its front, as the next gzip member may begin
 * in it, and reads more bytes after it.  Returns 0 at the end of the input. */
static ssize_t fill(struct work *w, struct err *e)
{
	size_t left = w->state.avail_in;

	memmove(w->read, w->state.next_in, left);
	ssize_t got = io_read_full(w->in, w->read + left, sizeof(w->read) - left);
	if (got < 0)
		return err_sys(e, "read the compressed data");
	w->state.next_in = w->read;
	w->state.avail_in = (uint32_t)(left + (size_t)got);
	return got;
}

static int is_damaged(int result, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "decompress the data: it is %s",
		       result == ISAL_INCORRECT_CHECKSUM ? "damaged: wrong checksum"
							 : "damaged");
}

static int pass_on(struct work *w, size_t len, struct err *e)
{
	if (w->passed == 0 && inflate_knows(w->made, len))
		return err_set(e, ERR_PROTOCOL, "the data is compressed more than once");
	w->passed += len;
	if (io_write_all(w->out, w->made, len) < 0)
		return err_sys(e, "pass on the decompressed data");
	return 0;
}

/* Decompresses one gzip member to its end. */
static int take_member(struct work *w, struct err *e)
{
	struct inflate_state *s = &w->state;
	ssize_t got = 1;

	while (s->block_state != ISAL_BLOCK_FINISH) {
		if (s->avail_in == 0 && (got = fill(w, e)) < 0)
			return -1;
		s->next_out = w->made;
		s->avail_out = sizeof(w->made);
		int result = isal.inflate(s);
		size_t len = sizeof(w->made) - s->avail_out;
		if (result < 0)
			return is_damaged(result, e);
		if (got == 0 && len == 0 && s->block_state != ISAL_BLOCK_FINISH)
			return err_set(e, ERR_PROTOCOL,
				       "decompress the data: it is truncated");
		if (pass_on(w, len, e) < 0)
			return -1;
	}
	return 0;
}

static int take_all(struct work *w, struct err *e)
{
	do {
		isal.reset(&w->state);
		w->state.crc_flag = ISAL_GZIP; /* ISA-L checks the header and the
					        * checksum */
		if (take_member(w, e) < 0)
			return -1;
		if (w->state.avail_in < 2 && fill(w, e) < 0)
			return -1;
	} while (is_member(w->state.next_in, w->state.avail_in));
	return 0;
}

int gunzip_all(const uint8_t *first, size_t len, int in, int out, struct err *e)
{
	AUTO_FREE struct work *w = mem_zeroed(1, sizeof(*w));

	w->in = in;
	w->out = out;
	isal.init(&w->state);
	memcpy(w->read, first, len < PIECE ? len : PIECE);
	w->state.next_in = w->read;
	w->state.avail_in = (uint32_t)(len < PIECE ? len : PIECE);
	return take_all(w, e);
}
