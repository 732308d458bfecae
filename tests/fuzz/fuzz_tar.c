/* A tar is anybody's bytes.  What its headers say is in range and is said again by a
 * header of ours; unpacked, whatever it says, nothing is made outside of the folder and
 * no more than the limits allow.  Checksums are put right, so that what is behind them is
 * reached, where a block is marked as a header. */
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/entries.h"
#include "archive/unpack.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/tree.h"

#define ENTRIES_MAX 64
#define BYTES_MAX   (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool claim)
{
	if (!claim)
		abort();
}

static void put_sum(uint8_t *block)
{
	unsigned sum = 0;
	char text[8];

	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += block[i];
	(void)snprintf(text, sizeof(text), "%06o", sum);
	memcpy(block + 148, text, 7);
}

/* A file with the input in it. */
static int make_input(const uint8_t *data, size_t size)
{
	AUTO_FREE uint8_t *mine = mem_copy(data, size);
	int fd = memfd_create("tar", MFD_CLOEXEC);

	for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK)
		if (memcmp(mine + at + 257, "ustar", 5) == 0)
			put_sum(mine + at);
	must(fd >= 0 && io_write_all(fd, mine, size) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* As it is written again by us, it must be read the same. */
static void check_again(const struct tar_entry *entry)
{
	struct entries t;
	struct buffer tar;
	struct err e;

	buffer_init(&tar, 3 * TAR_HEADER_MAX);
	tar_encode(&tar, entry);
	AUTO_CLOSE int fd = memfd_create("again", MFD_CLOEXEC);
	must(fd >= 0 && io_write_all(fd, buffer_data(&tar), buffer_len(&tar)) == 0 &&
	     lseek(fd, 0, SEEK_SET) == 0);
	entries_init(&t, fd);
	must(entries_next(&t, &e) == 1);
	must(t.now.type == entry->type && !strcmp(t.now.path, entry->path) &&
	     !strcmp(t.now.link, entry->link) && t.now.mode == entry->mode &&
	     t.now.uid == entry->uid && t.now.gid == entry->gid &&
	     t.now.size == entry->size && t.now.mtime == entry->mtime &&
	     t.now.mtime_ns == entry->mtime_ns);
	entries_done(&t);
	buffer_done(&tar);
}

static void check_entry(const struct tar_entry *entry)
{
	must(entry->type < TAR_LABEL && entry->mode <= 07777 &&
	     entry->size <= INT64_MAX && entry->mtime_ns < 1000000000);
	must(strlen(entry->path) <= TAR_HEADER_MAX && strlen(entry->link) <= TAR_HEADER_MAX);
	/* Times as far back as a header of ours says them. */
	if (entry->type <= TAR_LINK && entry->mtime > INT64_MIN / 2)
		check_again(entry);
}

static void read_it(int fd)
{
	struct entries t;
	struct err e = { 0 };
	const uint8_t *data;
	ssize_t len;
	int more;

	entries_init(&t, fd);
	while ((more = entries_next(&t, &e)) > 0) {
		check_entry(&t.now);
		while ((len = entries_read(&t, &data, &e)) > 0)
			must((uint64_t)len <= t.now.size);
	}
	must(more == 0 || e.text[0]);
	entries_done(&t);
}

static unsigned count_names(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	must(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count - 2; /* "." and ".." */
}

/* In the folder "in" of one of our own, with another beside it. */
static void unpack_it(int fd, int top, const char *rename)
{
	struct unpack u = { .in = fd, .rename = rename, .entries_max = ENTRIES_MAX,
			    .bytes_max = BYTES_MAX };
	struct err e = { 0 };
	struct stat st;

	must(mkdirat(top, "in", 0755) == 0);
	AUTO_CLOSE int root = openat(top, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(root >= 0);
	u.root = root;
	must(unpack_all(&u, &e) == 0 || e.text[0]);
	must(u.entries + u.left_out <= ENTRIES_MAX && u.bytes <= BYTES_MAX);
	must(fstat(root, &st) == 0 && (st.st_mode & 07777) == 0755);
	tree_remove(top, "in");
	must(faccessat(top, "in", F_OK, AT_SYMLINK_NOFOLLOW) < 0);
}

/* In memory where there is such a place: a disk would have most of the time. */
static char top_path[] = "/dev/shm/hutch-fuzz-XXXXXX";

static void leave(void)
{
	tree_remove(AT_FDCWD, top_path);
}

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_CLOSE int fd = make_input(data, size);
	int top = open_top();
	char beside[sizeof(top_path) + 8];

	read_it(fd);
	must(lseek(fd, 0, SEEK_SET) == 0);
	unpack_it(fd, top, size & 1 ? "x" : NULL);
	(void)snprintf(beside, sizeof(beside), "%s/beside", top_path);
	must(count_names(beside) == 0 && count_names(top_path) == 1);
	return 0;
}
