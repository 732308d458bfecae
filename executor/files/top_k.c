#include "executor/files/top_k.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

/* Returns how many entries from the first on may be kept, by the limits on their number
 * and the bytes of their paths. */
static size_t kept(const struct top_k *f)
{
	size_t bytes = 0;

	for (size_t i = 0; i < f->count && i < f->limit; i++) {
		bytes += strlen(f->all[i].path);
		if (bytes > TOP_K_BYTES)
			return i;
	}
	return f->count < f->limit ? f->count : f->limit;
}

static void drop(struct top_k *f, const char *path)
{
	f->dropped++;
	f->dropped_bytes += strlen(path);
}

void top_k_end(struct top_k *f)
{
	if (f->count > 0)
		qsort(f->all, f->count, sizeof(*f->all), f->compare);
	size_t keep = kept(f);
	f->sure = f->count > keep || f->sure > 0 ? keep : 0;
	while (f->count > keep) {
		char *path = f->all[--f->count].path;
		drop(f, path);
		f->bytes -= strlen(path);
		free(path);
	}
}

static bool is_behind(const struct top_k *f, const struct find *one)
{
	return f->sure > 0 && f->compare(one, &f->all[f->sure - 1]) >= 0;
}

void top_k_add(struct top_k *f, const struct find *one)
{
	if (is_behind(f, one))
		return drop(f, one->path);
	if (!f->all)
		f->all = mem_zeroed(2 * f->limit, sizeof(*f->all));
	if (f->count == 2 * f->limit || f->bytes > 4 * TOP_K_BYTES)
		top_k_end(f);
	f->all[f->count] = *one;
	f->all[f->count++].path = text_copy(one->path);
	f->bytes += strlen(one->path);
}

void top_k_done(struct top_k *f)
{
	while (f->count > 0)
		free(f->all[--f->count].path);
	free(f->all);
	f->all = NULL;
}
