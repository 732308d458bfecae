/* hutch-egress: see upstream.h.  Descriptor 3 leads to hutch-gate, descriptor 4 to the
 * supervisor of the sandbox; both are stream sockets.  There is no argument, and the
 * environment is not read. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "egress/egress_confine.h"
#include "egress/upstream.h"

enum { GATE = 3, SUPERVISOR = 4 };

static int run(struct upstream *u, struct err *e)
{
	if (io_fill_standard() < 0)
		return err_sys(e, "open the standard streams");
	/* c-ares reads LOCALDOMAIN and RES_OPTIONS of the environment. */
	if (clearenv() != 0)
		return err_set(e, ERR_SYSTEM, "empty the environment");
	if (egress_confine_limits(e) < 0 || upstream_init(u, GATE, SUPERVISOR, e) < 0)
		return -1;
	const int keep[] = { GATE, SUPERVISOR, u->epoll, u->routes };
	if (egress_confine_enter(keep, ARRAY_LEN(keep), e) < 0)
		return -1;
	return upstream_run(u, e);
}

int main(void)
{
	static struct upstream u; /* 50 KiB, of which few pages are touched */
	struct err e;
	int code = 0;

	(void)prctl(PR_SET_NAME, "hutch-egress");
	if (run(&u, &e) < 0) {
		(void)fprintf(stderr, "hutch-egress: %s\n", e.text);
		code = 1;
	}
	upstream_done(&u);
	return code;
}
