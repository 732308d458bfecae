/* hutch-mcp: a server of the Model Context Protocol on stdin and stdout, whose tools work
 * in sandboxes.  `hutch mcp` runs it.  See docs/hutch-mcp.md. */
#include <signal.h>

#include "base/err.h"
#include "base/io.h"
#include "cli/common/report.h"
#include "mcp/server.h"
#include "mcp/setup.h"
#include "sandbox/launch/result.h"

static int serve(const struct setup *setup)
{
	struct server server;
	struct err e;
	int rc = server_init(&server, setup, &e);

	if (rc == 0)
		rc = server_run(&server, &e);
	server_done(&server);
	return report_end(rc, &e);
}

int main(int argc, char **argv)
{
	struct setup setup;
	struct err e;
	int code = 0;

	(void)argc;
	if (io_fill_standard() < 0)
		return EXIT_HUTCH;
	report_begin();
	(void)signal(SIGPIPE, SIG_IGN);
	if (setup_parse(&setup, argv + 1, &e) < 0)
		code = report_end(-1, &e);
	else if (setup.wants_help)
		setup_print_help();
	else
		code = serve(&setup);
	setup_done(&setup);
	return report_exit(code);
}
