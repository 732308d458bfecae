#include "gateway/route/figures.h"

#include "gateway/free_memory.h"

void figures_read(const char *text, struct figures *ret)
{
	const uint64_t alive = free_memory_line(text, "hutch_sandboxes_alive ");
	const uint64_t max = free_memory_line(text, "hutch_sandboxes_max ");
	const uint64_t memory = free_memory_line(text, "hutch_memory_free_bytes ");

	*ret = (struct figures){ .is_known = alive != UINT64_MAX && max != UINT64_MAX,
				 .alive = alive,
				 .max = max,
				 .memory = memory == UINT64_MAX ? 0 : memory };
}

static uint64_t places(const struct figures *f)
{
	if (!f->is_known || (f->memory > 0 && f->memory < FIGURES_MEMORY_MIN))
		return 0;
	const uint64_t taken = f->alive + f->coming;
	return taken < f->max && taken >= f->alive ? f->max - taken : 0;
}

int figures_choose(const struct figures *all, size_t count)
{
	int best = -1;

	for (size_t i = 0; i < count; i++) {
		const uint64_t have = places(&all[i]);

		if (have == 0)
			continue;
		if (best < 0 || have > places(&all[best]) ||
		    (have == places(&all[best]) && all[i].memory > all[best].memory))
			best = (int)i;
	}
	return best;
}
