/* A tar from a sandbox is arbitrary bytes behind one that says how large the pieces are;
 * blocks that are marked as headers get a correct checksum.  The zip has no more than the
 * limits permit, and can be unpacked. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "archive/tar.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "gateway/zip/tar_to_zip.h"
#include "gateway/zip/zip_to_tar.h"
#include "tests/tar_sum.h"

#define ENTRIES_MAX 100
#define BYTES_MAX   (256u << 10)
#define NAMES_MAX   (16u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool claim)
{
	if (!claim)
		abort();
}

/* Unpacks the zip, which is whole. */
static void check_zip(const struct buffer *zip)
{
	const struct zip_to_tar_limits limits = { ENTRIES_MAX, BYTES_MAX, 1 };
	AUTO_CLOSE int file = memfd_create("zip", MFD_CLOEXEC);
	struct err e = { 0 };
	char bytes[4096];
	ssize_t n;

	must(file >= 0 && io_write_all(file, buffer_data(zip), buffer_len(zip)) == 0);
	struct zip_to_tar *z = zip_to_tar_new(file, &limits, &e);
	must(z);
	while ((n = zip_to_tar_read(z, bytes, sizeof(bytes), &e)) > 0)
		;
	must(n == 0);
	zip_to_tar_free(z);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tar_to_zip_limits limits = { ENTRIES_MAX, BYTES_MAX, NAMES_MAX };
	struct err e = { 0 };
	int result = 0;

	if (size == 0)
		return 0;
	size_t piece = 1 + 97 * (size_t)data[0], len = size - 1;
	AUTO_FREE uint8_t *mine = mem_copy(data + 1, len);
	for (size_t at = 0; at + TAR_BLOCK <= len; at += TAR_BLOCK)
		if (memcmp(mine + at + 257, "ustar", 5) == 0)
			tar_sum(mine + at);
	struct tar_to_zip *z = tar_to_zip_new(&limits, &e);
	must(z);
	for (size_t at = 0; result == 0 && at < len; at += piece)
		result = tar_to_zip_write(z, mine + at,
					  len - at < piece ? len - at : piece, &e);
	if (result == 0)
		result = tar_to_zip_end(z, &e);
	must(result == 0 || (e.kind != ERR_NONE && e.text[0]));
	struct buffer *zip = tar_to_zip_output(z);
	must(buffer_len(zip) <= BYTES_MAX + 2 * NAMES_MAX + ENTRIES_MAX * 256 + 128);
	if (result == 0)
		check_zip(zip);
	tar_to_zip_free(z);
	return 0;
}
