#include "gateway/serve_confine.h"

#include <linux/filter.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/seccomp.h"

#define KEEP_MAX 8

static const struct sock_filter serve_program[] = {
#include "gen/seccomp_serve.h"
};

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static int close_others(const int *keep, size_t count, struct err *e)
{
	int sorted[KEEP_MAX];
	unsigned first = 3;

	if (count > KEEP_MAX)
		return err_set(e, ERR_INTERNAL, "%zu descriptors to keep", count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = keep[i];
	qsort(sorted, count, sizeof(*sorted), by_number);
	for (size_t i = 0; i < count; i++) {
		if (sorted[i] < (int)first)
			continue;
		if (sorted[i] > (int)first &&
		    sys_close_range(first, (unsigned)sorted[i] - 1, 0) < 0)
			return err_sys(e, "close descriptors");
		first = (unsigned)sorted[i] + 1;
	}
	return sys_close_range(first, ~0u, 0) < 0 ? err_sys(e, "close descriptors") : 0;
}

int serve_confine(const int *keep, size_t count, struct err *e)
{
	const struct seccomp_program program = { .insns = serve_program,
						 .count = ARRAY_LEN(serve_program) };

	if (close_others(keep, count, e) < 0 || caps_drop(e) < 0)
		return err_in(e, "confine hutch-serve");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "confine hutch-serve");
	if (landlock_abi() > 0 &&
	    landlock_confine(NULL, 0, 0, e) < 0) /* layer: serve-landlock */
		return err_in(e, "confine hutch-serve");
	if (seccomp_install(&program, e) < 0) /* layer: serve-seccomp */
		return err_in(e, "confine hutch-serve");
	return 0;
}
