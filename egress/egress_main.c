/* hutch-egress: see upstream.h.  Descriptor 3 leads to hutch-gate, descriptor 4 to the
 * supervisor of the sandbox; both are stream sockets.  With an argument, which does not
 * matter, descriptor 5 leads to the process that connects to other sandboxes
 * (peer_frames.h).  The environment is not read. */
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

enum { GATE = 3, SUPERVISOR, PEERS };

static int run(struct upstream *u, struct err *e)
{
	if (io_fill_standard() < 0)
		return err_sys(e, "open the standard streams");
	/* c-ares reads LOCALDOMAIN and RES_OPTIONS of the environment. */
	if (clearenv() != 0)
		return err_set(e, ERR_SYSTEM, "empty the environment");
	if (egress_confine_limits(e) < 0 || upstream_init(u, GATE, SUPERVISOR, e) < 0)
		return -1;
	const int keep[] = { GATE, SUPERVISOR, u->epoll, u->routes, u->peers };
	if (egress_confine_enter(keep, ARRAY_LEN(keep) - (u->peers < 0), e) < 0)
		return -1;
	return upstream_run(u, e);
}

int main(int argc, char **argv)
{
	static struct upstream u; /* 50 KiB, of which few pages are touched */
	struct err e;
	int code = 0;

	(void)argv;
	(void)prctl(PR_SET_NAME, "hutch-egress");
	u.peers = argc > 1 ? PEERS : -1;
	if (run(&u, &e) < 0) {
		(void)fprintf(stderr, "hutch-egress: %s\n", e.text);
		code = 1;
	}
	upstream_done(&u);
	return code;
}
