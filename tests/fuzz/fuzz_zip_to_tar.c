/* A zip is arbitrary bytes behind one that says how large the pieces are.  The tar has files
 * and folders alone, with names below the folder, and no more than the limits permit; it
 * becomes a zip again, which becomes a tar again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "archive/entries.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "gateway/zip/tar_to_zip.h"
#include "gateway/zip/zip_to_tar.h"

#define ENTRIES_MAX 100
#define BYTES_MAX   (256u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool claim)
{
	if (!claim)
		abort();
}

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	must(fd >= 0 && io_write_all(fd, data, size) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* Puts the tar into `tar`; 0: all of it. */
static int to_tar(int file, size_t piece, struct buffer *tar)
{
	const struct zip_to_tar_limits limits = { ENTRIES_MAX, BYTES_MAX, 1 };
	struct err e = { 0 };
	struct zip_to_tar *z = zip_to_tar_new(file, &limits, &e);
	ssize_t n = z ? 1 : -1;

	while (n > 0) {
		uint8_t *to = buffer_reserve(tar, piece);
		must(to);
		n = zip_to_tar_read(z, to, piece, &e);
		must(n <= (ssize_t)piece);
		buffer_added(tar, n > 0 ? (size_t)n : 0);
	}
	must(n == 0 || (e.kind != ERR_NONE && e.text[0]));
	zip_to_tar_free(z);
	return (int)n;
}

/* Returns how many bytes the files have together. */
static uint64_t check_tar(const struct buffer *tar)
{
	AUTO_CLOSE int in = file_of(buffer_data(tar), buffer_len(tar));
	struct entries t;
	uint64_t bytes = 0, count = 0;
	struct err e;
	int more;

	entries_init(&t, in);
	while ((more = entries_next(&t, &e)) > 0) {
		must(t.now.type == TAR_FILE || t.now.type == TAR_FOLDER);
		must(*t.now.path != '/' && strncmp(t.now.path, "../", 3) != 0 &&
		     !strstr(t.now.path, "/../") && t.now.mode <= 0777);
		bytes += t.now.size;
		count++;
	}
	must(more == 0 && count <= ENTRIES_MAX && bytes <= BYTES_MAX);
	entries_done(&t);
	return bytes;
}

/* Checks that tar_to_zip takes each tar of zip_to_tar's. */
static void check_back(const struct buffer *tar, size_t piece, uint64_t bytes)
{
	const struct tar_to_zip_limits limits = { ENTRIES_MAX, BYTES_MAX, 1 << 20 };
	struct err e = { 0 };
	struct tar_to_zip *z = tar_to_zip_new(&limits, &e);
	size_t len = buffer_len(tar);
	struct buffer again;

	must(z);
	for (size_t at = 0; at < len; at += piece)
		must(tar_to_zip_write(z, buffer_data(tar) + at,
				      len - at < piece ? len - at : piece, &e) == 0);
	must(tar_to_zip_end(z, &e) == 0 && tar_to_zip_left_out(z) == 0);
	struct buffer *zip = tar_to_zip_output(z);
	AUTO_CLOSE int file = file_of(buffer_data(zip), buffer_len(zip));
	buffer_init(&again, 64 << 20);
	must(to_tar(file, 4096, &again) == 0 && check_tar(&again) == bytes);
	buffer_done(&again);
	tar_to_zip_free(z);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer tar;

	if (size == 0)
		return 0;
	AUTO_CLOSE int file = file_of(data + 1, size - 1);
	size_t piece = 1 + 97 * (size_t)data[0];
	buffer_init(&tar, 64 << 20);
	if (to_tar(file, piece, &tar) == 0)
		check_back(&tar, piece, check_tar(&tar));
	buffer_done(&tar);
	return 0;
}
