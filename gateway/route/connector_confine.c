#include "gateway/route/connector_confine.h"

#include <linux/filter.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/seccomp.h"

static const struct sock_filter connector_program[] = {
#include "gen/seccomp_connector.h"
};

int connector_confine(struct err *e)
{
	const struct seccomp_program program = { .insns = connector_program,
						 .count = ARRAY_LEN(connector_program) };

	if (caps_drop(e) < 0)
		return err_in(e, "confine the connector");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "confine the connector");
	if (seccomp_install(&program, e) < 0) /* layer: connector-seccomp */
		return err_in(e, "confine the connector");
	return 0;
}
