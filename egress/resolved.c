#include "egress/resolved.h"

void resolved_add(struct resolved *r, const struct address *a)
{
	size_t same = 0;

	for (size_t i = 0; i < r->count; i++)
		same += r->addresses[i].family == a->family;
	if (same < RESOLVED_MAX / 2)
		r->addresses[r->count++] = *a;
}
