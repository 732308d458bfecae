#include "egress/launch/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "egress/gate/gate_report.h"
#include "egress/gate/gateway.h"
#include "egress/launch/egress_news.h"
#include "egress/launch/egress_orders.h"
#include "policy/egress/egress_rules.h"

/* The numbers of descriptors at which both programs expect theirs: the socket to each
 * other, `control`, and the gate's `setup` or the `peers` of hutch-egress. */
enum { PEER_FD = 3, CONTROL_FD, SETUP_FD, PEERS_FD = SETUP_FD };

/* The most bytes of lines that wait to be taken: more than hutch-egress keeps. */
#define SAID_MAX (512u << 10)

/* How long both may take to end in order, or to say one thing more. */
#define FINISH_MS 2000

void egress_init(struct egress *x)
{
	*x = (struct egress){ .gate_program.fd = -1,
			      .egress_program.fd = -1,
			      .gate_control = -1,
			      .control = -1,
			      .setup = -1,
			      .space = -1,
			      .peers = -1 };
	buffer_init(&x->said, SAID_MAX);
	buffer_init(&x->unsent, EGRESS_UNSENT_MAX);
}

/* Waits for the end of a process whose control socket is closed: that alone ends it, but
 * not while it is stopped. */
static void end(pid_t *pid)
{
	if (*pid <= 0)
		return;
	/* the child is not reaped yet, so no other process can have its number */
	(void)kill(*pid, SIGKILL);
	(void)worker_reap(*pid);
	*pid = 0;
}

void egress_done(struct egress *x)
{
	own_close(&x->gate_control);
	own_close(&x->control);
	own_close(&x->setup);
	own_close(&x->space);
	own_close(&x->peers);
	end(&x->gate);
	end(&x->egress);
	buffer_done(&x->said);
	buffer_done(&x->unsent);
	program_done(&x->gate_program);
	program_done(&x->egress_program);
}

int egress_open(struct egress *x, struct err *e)
{
	if (program_open("hutch-gate", &x->gate_program, e) < 0)
		return -1;
	return program_open("hutch-egress", &x->egress_program, e);
}

/* --- the two processes -------------------------------------------------------------- */

/* Runs in a child: puts the descriptors at 3 and above, and becomes the program.  The
 * process leaves the launcher's group, to which a terminal sends Ctrl-C and timeout(1) its
 * signal: these are for the command, which may go on and need its network. */
static _Noreturn void become(const struct program *p, const int *fds, size_t count,
			     char *const *argv)
{
	char *env[] = { NULL };
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpgid(0, 0); /* cannot fail: a child that leads no session */
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* above the numbers that are about to be filled */
	int program = fcntl(p->fd, F_DUPFD_CLOEXEC, 100);
	int high[3];
	for (size_t i = 0; i < count; i++)
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 100);
	(void)sys_close_range(PEER_FD, ~0u, CLOSE_RANGE_CLOEXEC);
	for (int fd = 0; fd < PEER_FD; fd++)
		if (dup2(null, fd) < 0)
			_exit(127);
	for (size_t i = 0; i < count; i++)
		if (dup2(high[i], PEER_FD + (int)i) < 0)
			_exit(127);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		(void)syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
	_exit(127);
}

static int start(const struct program *p, const int *fds, size_t count, char *const *argv,
		 pid_t *ret, struct err *e)
{
	pid_t pid = fork();

	if (pid < 0)
		return err_sys(e, "start %s", p->path);
	if (pid == 0)
		become(p, fds, count, argv);
	*ret = pid;
	return 0;
}

static void add_port(struct egress *x, uint16_t port)
{
	for (size_t i = 0; i < x->port_count; i++)
		if (x->ports[i] == port)
			return;
	x->ports[x->port_count++] = port;
}

/* Notes the ports that need a listener: those of the rules, and 80 and 443, which most
 * rules that are added later are about. */
static void choose_ports(struct egress *x, const struct egress_rules *rules)
{
	_Static_assert(EGRESS_LAUNCH_PORTS_MAX >= EGRESS_PORTS_MAX + 2, "80 and 443");
	for (size_t i = 0; i < rules->port_count; i++)
		add_port(x, rules->ports[i]);
	add_port(x, 80);
	add_port(x, 443);
	x->has_all_ports = rules->has_all_ports;
}

/* The ports that need a listener are arguments of the gate. */
static int start_gate(struct egress *x, int peer, int control, int setup, struct err *e)
{
	struct list argv = { 0 };
	const int fds[] = { peer, control, setup };

	list_add(&argv, "hutch-gate");
	if (x->has_all_ports)
		list_add(&argv, "*");
	for (size_t i = 0; i < x->port_count && !x->has_all_ports; i++)
		list_addf(&argv, "%u", x->ports[i]);
	int result =
		start(&x->gate_program, fds, ARRAY_LEN(fds), argv.items, &x->gate, e);
	list_done(&argv);
	return result;
}

static int start_egress(struct egress *x, int peer, int control, struct err *e)
{
	char name[] = "hutch-egress";
	char peers[] = "peers";
	char *argv[] = { name, x->peers >= 0 ? peers : NULL, NULL };
	const int fds[] = { peer, control, x->peers };
	const size_t count = ARRAY_LEN(fds) - (x->peers < 0);

	return start(&x->egress_program, fds, count, argv, &x->egress, e);
}

static int make_pair(int type, int *ret_a, int *ret_b, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "make a pair of sockets");
	*ret_a = pair[0];
	*ret_b = pair[1];
	return 0;
}

static int start_both(struct egress *x, struct err *e)
{
	int a = -1, b = -1, c = -1, d = -1, s = -1;

	if (make_pair(SOCK_STREAM | SOCK_NONBLOCK, &a, &b, e) < 0)
		return -1;
	AUTO_CLOSE int gate_peer = a;
	AUTO_CLOSE int egress_peer = b;
	if (make_pair(SOCK_SEQPACKET, &x->gate_control, &c, e) < 0)
		return -1;
	AUTO_CLOSE int gate_control = c;
	if (make_pair(SOCK_STREAM, &x->control, &d, e) < 0)
		return -1;
	AUTO_CLOSE int egress_control = d;
	if (make_pair(SOCK_SEQPACKET, &x->setup, &s, e) < 0)
		return -1;
	AUTO_CLOSE int gate_setup = s;
	if (start_gate(x, gate_peer, gate_control, gate_setup, e) < 0)
		return -1;
	int result = start_egress(x, egress_peer, egress_control, e);
	own_close(&x->peers);
	return result;
}

/* --- settings ----------------------------------------------------------------------- */

/* Sends the rules, as one line of JSON.  The socket's buffer holds it: the bounds of
 * rules see to that, and a blocking write goes on when hutch-egress reads. */
static int send_settings(int control, const struct list *rules, struct err *e)
{
	AUTO_FREE char *all = list_join(rules, 0, ",");
	AUTO_FREE char *line = text_format("{\"rules\":[%s]}\n", all);

	return io_write_all(control, line, strlen(line)) < 0
		       ? err_sys(e, "write to hutch-egress")
		       : 0;
}

int egress_start(struct egress *x, const struct egress_rules *rules,
		 const struct list *texts, struct err *e)
{
	choose_ports(x, rules);
	return start_both(x, e) < 0 ? -1 : send_settings(x->control, texts, e);
}

/* --- the network ---------------------------------------------------------------------- */

int egress_connect(int setup, int inside, int gateway, struct err *e)
{
	const int spaces[] = { inside, gateway };
	const char byte = 'n';

	/* Each is in a message of its own, since fd_pass_receive() has room for one.  The
	 * launcher says why a gate that has ended did so (egress_hear()). */
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		if (fd_pass_send(setup, &byte, 1, &spaces[i], 1) != 1 && errno != EPIPE)
			return err_sys(e, "pass a network namespace to hutch-gate");
	return 0;
}

bool egress_is_awaited(const struct egress *x)
{
	return x->form == EGRESS_NONE && x->gate_control >= 0;
}

/* Ends the gate, of which no report is awaited any more. */
static int no_network(struct egress *x)
{
	own_close(&x->gate_control);
	return -1;
}

int egress_hear(struct egress *x, struct err *e)
{
	struct gate_report report;
	int fd;
	ssize_t n = fd_pass_receive(x->gate_control, &report, sizeof(report), &fd);
	AUTO_CLOSE int space = fd;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != (ssize_t)sizeof(report)) {
		(void)err_set(e, ERR_GONE,
			      "hutch-gate has ended while it made the network");
		return no_network(x);
	}
	if (report.err.kind != ERR_NONE) {
		*e = report.err;
		err_sanitize(e);
		return no_network(x);
	}
	x->form = report.form == GATEWAY_PAIR ? EGRESS_GATEWAY : EGRESS_SINGLE;
	x->space = fd_take(&space);
	return 0;
}

const char *egress_form_name(enum egress_form form)
{
	static const char *const names[] = { [EGRESS_NONE] = NULL,
					     [EGRESS_GATEWAY] = "gateway",
					     [EGRESS_SINGLE] = "single" };

	return names[form];
}

/* The gate ends when its socket is closed, after it has handled what had come.  Then
 * hutch-egress ends, when it has said all that the gate had told it. */
void egress_finish(struct egress *x)
{
	const int64_t due = clock_ms() + FINISH_MS;

	own_close(&x->gate_control);
	while (x->control >= 0 && !clock_is_due(due, clock_ms()) &&
	       await_ready(x->control, POLLIN, due) > 0)
		egress_fill(x);
	x->is_lost = false; /* this end was meant */
}
