/* hutch-gate PORT...|*: serves the network of one sandbox (gate.h), at these ports or all.
 *
 * Its descriptors: 3 is the socket to hutch-egress, 4 one to the supervisor, and 5 one
 * from which the sandbox's network namespace and the gateway's come as descriptors.  One
 * struct gate_report goes to the supervisor when the network is there and the first rules
 * have come; else that socket has no use but its end, which tells that the supervisor has
 * ended.  By then the process has no rights but those of gate.json. */
#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/kernel.h"
#include "base/own.h"
#include "egress/gate/gate.h"
#include "egress/gate/gate_report.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/seccomp.h"

enum { EGRESS_FD = 3, SUPERVISOR_FD, SETUP_FD, FDS_END };

static const struct sock_filter gate_program[] = {
#include "gen/seccomp_gate.h"
};

static int read_ports(char **argv, struct gateway_ports *ret, struct err *e)
{
	for (*ret = (struct gateway_ports){ 0 }; *argv; argv++) {
		char *end;
		unsigned long port = strtoul(*argv, &end, 10);
		if (strcmp(*argv, "*") == 0) {
			ret->are_all = true;
			continue;
		}
		if (*end || !port || port > UINT16_MAX)
			return err_set(e, ERR_USAGE, "'%.40s' is no port", *argv);
		if (ret->count == ARRAY_LEN(ret->items))
			return err_set(e, ERR_LIMIT, "more than %zu ports", ret->count);
		if (port != 53)
			ret->items[ret->count++] = (uint16_t)port;
	}
	return 0;
}

/* Waits for the descriptor of a network namespace. */
static int receive_namespace(struct err *e)
{
	struct pollfd setup = { .fd = SETUP_FD, .events = POLLIN };
	char byte;
	int fd = -1;

	while (poll(&setup, 1, -1) < 0 && errno == EINTR)
		;
	if (fd_pass_receive(SETUP_FD, &byte, 1, &fd) == 1 && fd >= 0)
		return fd;
	own_close(&fd);
	return err_set(e, ERR_GONE, "the sandbox's set-up has ended");
}

/* Connections of the gate's own are as many as descriptors allow, two each. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	const rlim_t wanted = 2 * GATE_FLOWS_MAX + 2 * STREAM_POOL + 2 * GATE_FLOWS_MAX;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* if it fails, the limit stays */
}

/* Gives up everything that the loop does not need. */
static int confine(struct err *e)
{
	const struct seccomp_program program = { .insns = gate_program,
						 .count = ARRAY_LEN(gate_program) };

	raise_descriptor_limit();
	if (caps_drop(e) < 0) /* layer: gate-caps */
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "prctl");
	if (landlock_abi() > 0 && landlock_confine(NULL, 0, 0, e) < 0)
		return -1;
	return seccomp_install(&program, e); /* layer: gate-seccomp */
}

static int set_up(char **argv, struct gate *g, struct err *e)
{
	struct gateway_ports ports;
	struct gateway network;

	gateway_init(&network);
	if (read_ports(argv, &ports, e) < 0)
		return -1;
	AUTO_CLOSE int inside = receive_namespace(e);
	if (inside < 0 || (network.space = receive_namespace(e)) < 0)
		return -1;
	(void)close(SETUP_FD);
	if (gateway_make(&network, inside, &ports, e) < 0) {
		gateway_done(&network);
		return -1;
	}
	return gate_init(g, &network, EGRESS_FD, e);
}

int main(int argc, char **argv)
{
	struct gate g = { .epoll = -1, .spare = -1, .supervisor = -1, .link.fd = -1 };
	struct gate_report report = { 0 };
	struct err *e = &report.err;

	(void)argc;
	(void)signal(SIGPIPE, SIG_IGN);
	gateway_init(&g.network);
	int result = sys_close_range(FDS_END, ~0u, 0);
	if (result < 0)
		(void)err_sys(e, "close descriptors");
	if (result == 0 && (result = set_up(argv + 1, &g, e)) == 0)
		result = confine(e);
	if (result < 0)
		(void)err_in(e, "hutch-gate");
	if (result == 0)
		result = gate_run(&g, SUPERVISOR_FD, e);
	else
		(void)send(SUPERVISOR_FD, &report, sizeof(report), MSG_NOSIGNAL);
	gate_done(&g);
	return result < 0 ? 1 : 0;
}
