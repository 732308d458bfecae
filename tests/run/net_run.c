/* net_run LIBEXEC RULE... -- CMD...: runs CMD in namespaces of users, mounts and networks of
 * its own, whose network is that of hutch-gate and hutch-egress, with these rules (JSON).
 * It does what a launch is going to do with them, and nothing else of a launch. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/egress/egress_rule.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/kernel/network.h"
#include "egress/launch/egress.h"

static int fail(const struct err *e)
{
	(void)fprintf(stderr, "net_run: %s\n", e->text);
	return 125;
}

static int open_program(struct program *p, const char *folder, const char *name,
			struct err *e)
{
	p->path = text_format("%s/%s", folder, name);
	p->fd = open(p->path, O_RDONLY | O_CLOEXEC);
	return p->fd < 0 ? err_sys(e, "open %s", p->path) : 0;
}

/* Has /etc/resolv.conf name the gate. */
static int name_resolver(struct err *e)
{
	static const char text[] = "nameserver " EGRESS_RESOLVER "\n";
	char path[] = "/tmp/net_run.XXXXXX";
	AUTO_CLOSE int fd = mkstemp(path);

	if (fd < 0 || io_write_all(fd, text, sizeof(text) - 1) < 0 ||
	    mount(path, "/etc/resolv.conf", NULL, MS_BIND, NULL) < 0)
		(void)err_sys(e, "set /etc/resolv.conf");
	else
		e->kind = ERR_NONE;
	(void)unlink(path);
	return e->kind == ERR_NONE ? 0 : -1;
}

/* Makes the namespaces, and has the gate connect them. */
static int enter(int setup, struct err *e)
{
	struct egress_network network = { .space = -1 };
	struct idmap uid, gid;

	(void)idmap_single(&uid, geteuid(), geteuid());
	(void)idmap_single(&gid, getegid(), getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return err_sys(e, "unshare");
	if (idmap_write_both(&uid, &gid, e) < 0)
		return -1;
	int place = network_place(e);
	if (place < 0 || network_make(place, e) < 0 ||
	    egress_connect(setup, place, &network, e) < 0)
		return -1;
	own_close(&place);
	return name_resolver(e);
}

static int run(const struct egress *x, char **command)
{
	struct err e;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (enter(x->setup, &e) < 0)
			_exit(fail(&e));
		(void)execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct list rules = { 0 };
	struct egress x;
	struct err e;
	int at = 2, code;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++)
		list_add(&rules, argv[at]);
	if (at + 1 >= argc)
		return 125;
	egress_init(&x);
	if (open_program(&x.gate_program, argv[1], "hutch-gate", &e) < 0 ||
	    open_program(&x.egress_program, argv[1], "hutch-egress", &e) < 0 ||
	    egress_start(&x, &rules, &e) < 0)
		code = fail(&e);
	else
		code = run(&x, argv + at + 1);
	egress_done(&x);
	list_done(&rules);
	return code;
}
