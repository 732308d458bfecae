#include "executor/finds.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

void finds_end(struct finds *f)
{
	if (f->count > 0)
		qsort(f->all, f->count, sizeof(*f->all), f->compare);
	while (f->count > f->limit) {
		f->dropped++;
		f->dropped_bytes += strlen(f->all[--f->count].path);
		free(f->all[f->count].path);
	}
}

void finds_add(struct finds *f, const struct find *one)
{
	if (!f->all)
		f->all = mem_zeroed(2 * f->limit, sizeof(*f->all));
	if (f->count == 2 * f->limit)
		finds_end(f);
	f->all[f->count] = *one;
	f->all[f->count++].path = text_copy(one->path);
}

void finds_done(struct finds *f)
{
	while (f->count > 0)
		free(f->all[--f->count].path);
	free(f->all);
	f->all = NULL;
}
