#include "apptainer/sif.h"

#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "docker/verb.h"
#include "sandbox/launch/result.h"

/* Offsets in the header, and in a descriptor. */
#define MAGIC_AT       32
#define TOTAL_AT       88
#define DESCRIPTORS_AT 96
#define IS_USED_AT     4
#define OFFSET_AT      17
#define EXTRA_AT       201 /* of a partition: its file system, and its kind */
#define IS_PARTITION   0x4004
#define IS_SQUASHFS    1
#define IS_ENCRYPTED   5
#define IS_ROOT	       2
#define OFFSET_MAX     (1ull << 50)
#define WITH_DEVICES   2 /* unsquashfs could not make some files, such as devices */

static uint32_t read_32(const uint8_t *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return le32toh(n);
}

static uint64_t read_64(const uint8_t *at)
{
	uint64_t n;

	memcpy(&n, at, sizeof(n));
	return le64toh(n);
}

enum sif_form sif_form(const uint8_t head[SIF_HEAD])
{
	return !memcmp(head, "hsqs", 4)			   ? SIF_BARE
	       : !memcmp(head + MAGIC_AT, "SIF_MAGIC", 10) ? SIF_WHOLE
							   : SIF_NONE;
}

int sif_table(const uint8_t head[SIF_HEAD], struct sif_table *ret, struct err *e)
{
	const uint64_t count = read_64(head + TOTAL_AT);
	const uint64_t offset = read_64(head + DESCRIPTORS_AT);

	if (count > SIF_COUNT_MAX || offset > OFFSET_MAX)
		return err_set(e, ERR_PROTOCOL, "the header of the SIF is not valid");
	*ret = (struct sif_table){ .offset = offset, .count = (size_t)count };
	return 0;
}

static bool is_root(const uint8_t *d)
{
	return read_32(d) == IS_PARTITION && d[IS_USED_AT] &&
	       read_32(d + EXTRA_AT + 4) == IS_ROOT;
}

int sif_choose(const uint8_t *descriptors, size_t count, uint64_t *ret_offset,
	       struct err *e)
{
	size_t i = 0;

	while (i < count && !is_root(descriptors + i * SIF_DESCRIPTOR))
		i++;
	if (i == count)
		return err_set(e, ERR_PROTOCOL, "the SIF has no root file system");
	const uint8_t *d = descriptors + i * SIF_DESCRIPTOR;
	const uint32_t system = read_32(d + EXTRA_AT);
	const uint64_t offset = read_64(d + OFFSET_AT);
	if (system != IS_SQUASHFS)
		return err_set(e, ERR_UNSUPPORTED,
			       "the root file system of the SIF is %s",
			       system == IS_ENCRYPTED ? "encrypted" : "no squashfs");
	if (offset > OFFSET_MAX)
		return err_set(e, ERR_PROTOCOL, "a descriptor of the SIF is not valid");
	*ret_offset = offset;
	return 0;
}

static int find_in_table(int fd, const struct sif_table *t, uint64_t *ret_offset,
			 struct err *e)
{
	const size_t len = t->count * SIF_DESCRIPTOR;
	AUTO_FREE uint8_t *all = mem_new(len + 1);

	if (pread(fd, all, len, (off_t)t->offset) != (ssize_t)len)
		return err_set(e, ERR_PROTOCOL, "the SIF is cut off");
	return sif_choose(all, t->count, ret_offset, e);
}

int sif_find(int fd, uint64_t *ret_offset, struct err *e)
{
	uint8_t head[SIF_HEAD] = { 0 };
	struct sif_table table = { 0 };

	if (pread(fd, head, sizeof(head), 0) < 0)
		return err_sys(e, "read");
	const enum sif_form form = sif_form(head);
	*ret_offset = 0;
	if (form != SIF_WHOLE)
		return form == SIF_BARE;
	if (sif_table(head, &table, e) < 0 ||
	    find_in_table(fd, &table, ret_offset, e) < 0)
		return -1;
	return 1;
}

/* --- unpacking --------------------------------------------------------------------- */

static int explain(int code, const char *path, struct err *e)
{
	if (code == 0 || code == WITH_DEVICES)
		return 0;
	if (code != EXIT_NOT_FOUND)
		return err_set(e, ERR_PROTOCOL, "could not unpack %.200s", path);
	(void)err_set(e, ERR_UNSUPPORTED,
		      "%.200s is an image in squashfs, and this host has no unsquashfs",
		      path);
	return err_remedy(e, "install squashfs-tools; or make the file again with hutch "
			     "as apptainer: build --force FILE docker://REF");
}

int sif_unpack(const char *path, uint64_t offset, const char *to, struct err *e)
{
	struct list words = { 0 };

	if (strchr(path, ':') || strchr(to, ':'))
		return err_set(e, ERR_UNSUPPORTED,
			       "hutch shows no path that has a ':' in it, such as %.200s",
			       path);
	list_add(&words, "run");
	list_add(&words, "-v");
	list_addf(&words, "%s:/image:ro", path);
	list_add(&words, "-v");
	list_addf(&words, "%s:/root-of-image:rw", to);
	list_add(&words, "--");
	list_add(&words, "unsquashfs");
	list_add(&words, "-no-xattrs");
	list_add(&words, "-no-progress");
	list_add(&words, "-force");
	list_add(&words, "-offset");
	list_addf(&words, "%llu", (unsigned long long)offset);
	list_add(&words, "-dest");
	list_add(&words, "/root-of-image");
	list_add(&words, "/image");
	int code = verb_run(&words, VERB_DROP, NULL, e);
	list_done(&words);
	return code < 0 ? -1 : explain(code, path, e);
}
