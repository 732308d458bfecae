/* The built-in program in this kernel: each probe runs twice, in a child
 * without the filter and in one with it.  A refusal that the kernel would have
 * given anyway proves nothing, so the two results must differ. */
#include <errno.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/kernel/seccomp.h"

#define HIGH   0x100000000l
#define BAD    1l /* address 1, where no process has anything mapped */
#define NO_UID 4000000000l

/* Calls that have no effect even without the filter, since other arguments are
 * invalid. */
struct probe {
	const char *what;
	long nr;
	long args[4];
	int refusal;	/* errno under the filter; 0: the filter changes nothing */
	bool is_absent; /* the kernel itself may fail with `refusal` */
};

static const struct probe probes[] = {
	{ "type into a terminal", SYS_ioctl, { -1, 0x5412, BAD }, EPERM, false },
	{ "typing, high bits", SYS_ioctl, { -1, HIGH + 0x5412, BAD }, EPERM, false },
	{ "paste on the console", SYS_ioctl, { -1, 0x541c, BAD }, EPERM, false },
	{ "pasting, high bits", SYS_ioctl, { -1, HIGH + 0x541c, BAD }, EPERM, false },
	{ "set a line discipline", SYS_ioctl, { -1, 0x5423, BAD }, EPERM, false },
	{ "another ioctl", SYS_ioctl, { -1, 0x5401, BAD }, 0, false },
	{ "enlarge a pipe", SYS_fcntl, { -1, 1031, 0 }, EPERM, false },
	{ "limit pid 1", SYS_prlimit64, { 1, 0, BAD }, EPERM, false },
	{ "limit another pid", SYS_prlimit64, { 4194304, 0, BAD }, 0, false },
	{ "slow pid 1", SYS_sched_setparam, { 1, BAD }, EPERM, false },
	{ "slow pid 1 otherwise", SYS_sched_setscheduler, { 1, -1, 0 }, EPERM, false },
	{ "slow all of a uid", SYS_setpriority, { 2, NO_UID, 0 }, EPERM, false },
	{ "slow pid 1's disk", SYS_ioprio_set, { 1, 1, 0xe000 }, EPERM, false },
	{ "a user namespace", SYS_unshare, { 0x10000001 }, EPERM, false },
	{ "a mount namespace", SYS_clone, { 0x00020200 }, EPERM, false },
	{ "clone3", SYS_clone3, { 0, 0 }, ENOSYS, false },
	{ "enter a namespace", SYS_setns, { -1, 0 }, EPERM, false },
	{ "io_uring", SYS_io_uring_setup, { 0, 0 }, ENOSYS, true },
	{ "aio", SYS_io_setup, { 0, 0 }, ENOSYS, true },
	{ "keyctl", SYS_keyctl, { 9999 }, EPERM, false },
	{ "add a key", SYS_add_key, { BAD, BAD }, EPERM, false },
	{ "request a key", SYS_request_key, { BAD, BAD }, EPERM, false },
	{ "a listener", SYS_seccomp, { 1, 8, BAD }, EPERM, false },
	{ "mount", SYS_mount, { BAD, BAD, BAD }, EPERM, true },
	{ "umount", SYS_umount2, { BAD, 0xff0000 }, EPERM, true },
	{ "fsopen", SYS_fsopen, { BAD, 0xff }, EPERM, true },
	{ "open_tree", SYS_open_tree, { -1, BAD, 0x2 }, EPERM, false },
	{ "bpf", SYS_bpf, { 9999, BAD, 4 }, EPERM, true },
	{ "perf_event_open", SYS_perf_event_open, { BAD, 0, 0, -1 }, EPERM, true },
	{ "userfaultfd", SYS_userfaultfd, { 0xff }, EPERM, true },
	{ "settimeofday", SYS_settimeofday, { BAD, 0 }, EPERM, false },
	{ "adjtimex", SYS_adjtimex, { BAD }, EPERM, false },
	{ "open a handle", SYS_open_by_handle_at, { -1, BAD, 0 }, EPERM, true },
	{ "the kernel's log", SYS_syslog, { 99, 0, 0 }, EPERM, true },
	{ "no address randomisation", SYS_personality, { 0x0040000 }, EPERM, false },
	{ "data that is executed", SYS_personality, { 0x0400000 }, EPERM, false },
	{ "ask for the personality", SYS_personality, { 0xffffffff }, 0, false },
	{ "memfd_secret", SYS_memfd_secret, { 0xff }, ENOSYS, true },
	{ "AF_PACKET", SYS_socket, { 17, 3, 0 }, EAFNOSUPPORT, true },
	{ "AF_ALG", SYS_socket, { 38, 5, 0 }, EAFNOSUPPORT, true },
	{ "AF_VSOCK", SYS_socket, { 40, 1, 0 }, EAFNOSUPPORT, true },
	{ "AF_XDP", SYS_socket, { 44, 3, 0 }, EAFNOSUPPORT, true },
	{ "AF_CAN", SYS_socket, { 29, 3, 1 }, EAFNOSUPPORT, true },
	{ "AF_KEY", SYS_socket, { 15, 3, 2 }, EAFNOSUPPORT, true },
	{ "netlink, uevents", SYS_socket, { 16, 3, 15 }, EAFNOSUPPORT, false },
	{ "SCTP", SYS_socket, { 2, 1, 132 }, EPROTONOSUPPORT, true },
	{ "AF_PACKET's old name", SYS_socket, { 2, 10, 3 }, EPROTONOSUPPORT, true },
	{ "a socketpair of TCP", SYS_socketpair, { 2, 1, 0, BAD }, EAFNOSUPPORT, false },
	{ "AF_UNIX", SYS_socket, { 1, 1, 0 }, 0, false },
	{ "TCP", SYS_socket, { 2, 1, 6 }, 0, false },
	{ "UDP over IPv6", SYS_socket, { 10, 0x80802, 0 }, 0, false },
	{ "netlink, routes", SYS_socket, { 16, 3, 0 }, 0, false },
	{ "memfd_create", SYS_memfd_create, { BAD, 0xff0000 }, 0, false },
	{ "pidfd_open", SYS_pidfd_open, { -1, 0 }, 0, false },
	{ "getrandom", SYS_getrandom, { 0, 0, 0 }, 0, false },
	{ "landlock", SYS_landlock_create_ruleset, { 0, 0, 0xff }, 0, false },
	{ "a number of the future", 1000, { 0 }, ENOSYS, true },
	{ "a number beyond", 511, { 0 }, ENOSYS, true },
#ifdef __x86_64__
	{ "x32", 0x40000000 + 39, { 0 }, ENOSYS, true },
#endif
};

/* Loads the built-in filter into the calling process. */
static void confine(void)
{
	struct seccomp_program program;
	struct err e = { 0 };

	seccomp_default(SECCOMP_FLAT, &program);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || seccomp_install(&program, &e))
		_exit(255);
}

/* Makes the call in a child, which exits with the call's errno; returns that. */
static int outcome(const struct probe *p, bool confined)
{
	int status;
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (confined)
			confine();
		errno = 0;
		(void)syscall(p->nr, p->args[0], p->args[1], p->args[2], p->args[3]);
		_exit(errno);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status))
		fail_msg("%s: killed by signal %d", p->what, WTERMSIG(status));
	return WEXITSTATUS(status);
}

/* If another filter, of a container or of hutch, refuses first, ours cannot be
 * observed. */
static void complain_if_blind(size_t blind)
{
	const char *must = getenv("MUST_WORK");

	if (blind == 0)
		return;
	if (must && strcmp(must, "1") == 0)
		fail_msg("%zu probes are refused without the filter too", blind);
	print_message(
		"%zu probes are refused without the filter too: they prove nothing\n",
		blind);
}

static void each_probe_is_answered_as_planned(void **state)
{
	size_t blind = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		const struct probe *p = &probes[i];
		const int without = outcome(p, false), with = outcome(p, true);

		if (with != (p->refusal ? p->refusal : without))
			fail_msg("%s: %s (without the filter: %s)", p->what,
				 strerror(with), strerror(without));
		blind += p->refusal && !p->is_absent && with == without;
	}
	complain_if_blind(blind);
}

#ifdef __x86_64__
/* mkdir(2) has number 39 on i386; the path is below 4 GiB. */
static long mkdir_of_i386(const char *path)
{
	long ret = 39;

	__asm__ volatile("int $0x80"
			 : "+a"(ret)
			 : "b"(path), "c"(0700l)
			 : "memory", "r8", "r9", "r10", "r11");
	return ret;
}
#endif

/* Returns the result of a child's mkdir by i386's number, or -1 if the kernel
 * has no such entry. */
static int i386_outcome(bool confined)
{
#ifdef __x86_64__
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		if (confined)
			confine();
		_exit((int)-mkdir_of_i386((const char *)BAD));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
#else
	(void)confined;
	return -1;
#endif
}

static void the_old_door_of_i386_is_closed(void **state)
{
	(void)state;
	if (i386_outcome(false) != EFAULT)
		skip(); /* this kernel runs no 32-bit calls */
	assert_int_equal(i386_outcome(true), ENOSYS);
}

static void a_second_filter_only_tightens(void **state)
{
	int status;
	const pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		const struct probe *tiocsti = &probes[0];

		confine();
		confine(); /* allowed */
		(void)syscall(tiocsti->nr, -1, tiocsti->args[1], 0);
		_exit(errno == EPERM && prctl(PR_GET_SECCOMP) == 2 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void without_no_new_privs_it_says_why(void **state)
{
	int status;
	const pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct seccomp_program program;
		struct err e = { 0 };

		seccomp_default(SECCOMP_FLAT, &program);
		const int rc = seccomp_install(&program, &e);
		const bool is_told =
			strstr(e.text, "install the seccomp filter of") != NULL;
		_exit(rc == 0 || is_told ? 0 : 1); /* root may without no_new_privs */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int shell(const char *script, bool confined)
{
	int status;
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (confined)
			confine();
		(void)execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(126);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct work {
	const char *tool;
	const char *script;
};

static const struct work works[] = {
	{ "sh", "test \"$(echo a | cat)\" = a && kill -0 $$" },
	{ "bash", "exec bash -c 'set -m; x=$(seq 9 | wc -l); (exit 3) & wait $!; "
		  "[[ $? = 3 && $x = 9 ]] && cat <(echo) >/dev/null && ulimit -n 64'" },
	{ "python3", "exec python3 -c 'import socket, subprocess, threading, tempfile;"
		     "import multiprocessing.pool as m;"
		     "s = socket.socketpair(); s[0].send(b\"x\"); s[1].recv(1);"
		     "t = threading.Thread(target=print); t.start(); t.join();"
		     "subprocess.check_call([\"true\"]);"
		     "assert m.ThreadPool(2).map(abs, [-1]) == [1];"
		     "tempfile.TemporaryFile().write(b\"x\")'" },
	{ "gcc",
	  "d=$(mktemp -d) && trap 'rm -r $d' EXIT && echo 'int main(void){return 0;}'"
	  " | gcc -O2 -pthread -x c - -o $d/x && $d/x" },
	{ "git",
	  "d=$(mktemp -d) && trap 'rm -rf $d' EXIT && cd $d && git init -q . && "
	  "echo >f && git add f && git -c user.name=n -c user.email=e commit -qm m" },
	{ "strace", "strace -o /dev/null true" },
	{ "gdb", "gdb -nx -batch -ex run -ex quit --args true" },
	{ "make", "printf 'all: a b\\na b:\\n\\ttrue\\n' | make -j2 -f - all" },
	{ "perl", "perl -e 'fork or exit; wait; socket(my $s, 1, 1, 0) or die'" },
};

/* Ordinary programs work under the filter.  A program that fails without the filter,
 * too, usually because it is not installed, is left out; only sh must work. */
static void ordinary_work_goes_on(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(works); i++) {
		char line[1024];

		(void)snprintf(line, sizeof(line), "{ %s\n} >/dev/null 2>&1",
			       works[i].script); /* fits */
		if (shell(line, true) == 0)
			continue;
		if (i == 0 || shell(line, false) == 0)
			fail_msg("%s does not work under the filter", works[i].tool);
		print_message("%s: does not work here in any case\n", works[i].tool);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_probe_is_answered_as_planned),
		cmocka_unit_test(the_old_door_of_i386_is_closed),
		cmocka_unit_test(a_second_filter_only_tightens),
		cmocka_unit_test(without_no_new_privs_it_says_why),
		cmocka_unit_test(ordinary_work_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
