/* The header of a SIF, and behind it its descriptors.  If a partition is chosen, its offset is
 * one that lseek(2) takes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "apptainer/sif.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sif_table table;
	uint64_t offset;
	struct err e;

	if (size < SIF_HEAD)
		return 0;
	(void)sif_form(data);
	if (sif_table(data, &table, &e) == 0 &&
	    (table.count > SIF_COUNT_MAX || table.offset > INT64_MAX))
		abort();
	data += SIF_HEAD;
	size -= SIF_HEAD;
	if (sif_choose(data, size / SIF_DESCRIPTOR, &offset, &e) == 0 &&
	    offset > INT64_MAX)
		abort();
	return 0;
}
