#include "gateway/serve_confine.h"

#include <linux/filter.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "base/fd_keep.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/seccomp.h"

static const struct sock_filter serve_program[] = {
#include "gen/seccomp_serve.h"
};

int serve_confine(const int *keep, size_t count, struct err *e)
{
	const struct seccomp_program program = { .insns = serve_program,
						 .count = ARRAY_LEN(serve_program) };

	if (fd_keep(keep, count) < 0)
		return err_sys(e, "confine hutch-serve: close descriptors");
	if (caps_drop(e) < 0)
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
