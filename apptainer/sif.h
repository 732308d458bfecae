/* sif -- where the file system of an image is in a file of Apptainer's own form, SIF, or in
 * a bare squashfs, which older Singularity wrote.
 *
 * The form is that of github.com/apptainer/sif, pkg/sif: a header of 128 bytes names a table
 * of descriptors, and one of these is the partition with the root of the image.  Numbers are
 * little-endian.  The file comes from strangers: unsquashfs(1) unpacks it in a sandbox. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

#define SIF_HEAD       128
#define SIF_DESCRIPTOR 585
#define SIF_COUNT_MAX  1024

enum sif_form { SIF_NONE, SIF_BARE, SIF_WHOLE };

struct sif_table {
	uint64_t offset; /* where the descriptors begin in the file */
	size_t count;	 /* at most SIF_COUNT_MAX */
};

/* Returns the form of a file by its first bytes. */
enum sif_form sif_form(const uint8_t head[SIF_HEAD]);

/* Reads the header of a SIF. */
int sif_table(const uint8_t head[SIF_HEAD], struct sif_table *ret, struct err *e);

/* Finds the partition with the root among `count` descriptors; *ret_offset is where it begins
 * in the file.  Only a squashfs that is not encrypted will do. */
int sif_choose(const uint8_t *descriptors, size_t count, uint64_t *ret_offset,
	       struct err *e);

/* Does all of this with a file.  Returns 1 with *ret_offset, 0 if it is in neither form, or
 * -1. */
int sif_find(int fd, uint64_t *ret_offset, struct err *e);

/* Unpacks the file system at `offset` of the file `path` into the folder `to`, which the
 * user that sandboxes run for owns. */
int sif_unpack(const char *path, uint64_t offset, const char *to, struct err *e);
