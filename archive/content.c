#include "archive/content.h"

#include <string.h>
#include <unistd.h>

#include "archive/entries.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"

/* Content is written in pieces of PIECE bytes; a piece shorter than HOLE_MIN never
 * becomes a hole. */
#define PIECE	 (64u << 10)
#define HOLE_MIN 4096

/* Returns whether all bytes are zeros.  Reads eight words at a time: musl's memcmp(3)
 * would go byte by byte. */
static bool is_zeros(const uint8_t *data, size_t len)
{
	uint64_t eight[8], any = 0;

	for (; len >= sizeof(eight); data += sizeof(eight), len -= sizeof(eight)) {
		memcpy(eight, data, sizeof(eight));
		for (size_t i = 0; i < ARRAY_LEN(eight); i++)
			any |= eight[i];
		if (any)
			return false;
	}
	while (len > 0)
		any |= data[--len];
	return !any;
}

int content_write_piece(int fd, const uint8_t *data, size_t len)
{
	if (len >= HOLE_MIN && is_zeros(data, len))
		return lseek(fd, (off_t)len, SEEK_CUR) < 0 ? -1 : 1;
	return io_write_all(fd, data, len);
}

int content_write(struct entries *tar, int fd, const char *path, struct err *e)
{
	const uint8_t *data;
	int is_hole = 0;
	ssize_t got;

	while ((got = entries_read(tar, &data, e)) > 0)
		for (size_t len = (size_t)got, step; len > 0; data += step, len -= step) {
			step = len < PIECE ? len : PIECE;
			is_hole = content_write_piece(fd, data, step);
			if (is_hole < 0)
				return err_sys(e, "write %.300s", path);
		}
	if (got < 0)
		return -1;
	/* A hole at the end exists only once the file's length is set. */
	if (is_hole && ftruncate(fd, (off_t)tar->now.size) < 0)
		return err_sys(e, "write %.300s", path);
	return 0;
}
