/* tar_input.h -- shared by the fuzz targets that unpack: an input whose
 * checksums are corrected, and a folder to unpack in.  One file includes it. */
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/tar.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "store/rm_tree.h"
#include "tests/tar_sum.h"

/* The limits on an unpacked tar. */
#define ENTRIES_MAX 64
#define BYTES_MAX   (1u << 20)

static void must(bool claim)
{
	if (!claim)
		abort();
}

/* Writes the input to a file; a block that is marked as a header gets its correct
 * checksum. */
static int make_input(const uint8_t *data, size_t size)
{
	AUTO_FREE uint8_t *mine = mem_copy(data, size);
	int fd = memfd_create("input", MFD_CLOEXEC);

	for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK)
		if (memcmp(mine + at + 257, "ustar", 5) == 0)
			tar_sum(mine + at);
	must(fd >= 0 && io_write_all(fd, mine, size) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* In memory if possible: a disk would take most of the time. */
static char top_path[] = "/dev/shm/hutch-fuzz-XXXXXX";

static void leave(void)
{
	rm_tree_remove(AT_FDCWD, top_path);
}

/* Makes the folder of this process, with the folder "beside" in it. */
static int open_top(void)
{
	static int top = -1;

	if (top >= 0)
		return top;
	if (access("/dev/shm", W_OK) < 0)
		memcpy(top_path, "/var/tmp", strlen("/var/tmp"));
	must(mkdtemp(top_path) && atexit(leave) == 0);
	top = open(top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(top >= 0 && mkdirat(top, "beside", 0755) == 0);
	return top;
}
