/* network: makes a namespace that has only loopback, or closes the host's abstract
 * sockets to a sandbox that shares the host's network, in one of two ways. */
#include "base/worker.h"
#include "sandbox/kernel/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/err.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/sockets.h"
#include "tests/unit/scene.h"

static int connect_to(int family, const struct sockaddr *to, socklen_t len)
{
	AUTO_CLOSE int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, to, len) < 0 ? errno : 0;
}

static void check_addresses(void)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(1),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(1),
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	CHECK(connect_to(AF_INET, (void *)&four, sizeof(four)) == ECONNREFUSED);
	int sys = connect_to(AF_INET6, (void *)&six, sizeof(six));
	CHECK(sys == ECONNREFUSED || sys == EAFNOSUPPORT || sys == EADDRNOTAVAIL);
	four.sin_addr.s_addr = htonl(0x08080808);
	CHECK(connect_to(AF_INET, (void *)&four, sizeof(four)) == ENETUNREACH);
}

static int make(void *arg, void *result, struct err *e)
{
	(void)arg;
	*(int *)result = network_make(e);
	return *(int *)result < 0 ? -1 : 0;
}

static void enter_by_worker(void)
{
	struct err e;

	int made = -1;
	const struct worker_task task = { .name = "a helper process",
					  .work = make,
					  .result_len = sizeof(made),
					  .has_all_fds = true,
					  .flags = CLONE_FILES };
	CHECK(worker_run(&task, &made, &e) == 0);
	CHECK(network_enter(&made, &e) == 0);
	CHECK(made == -1);
}

static void enter_beside(void)
{
	struct network_maker m = { 0 };
	struct err e;

	CHECK(network_begin(&m, &e) == 0);
	CHECK(m.pid > 0);
	CHECK(network_end(&m, &e) == 0);
	CHECK(m.pid == 0 && !m.stack);
}

static void play_enter(void *arg)
{
	unsigned before = scene_open_fds();
	struct ifaddrs *all;

	if (*(const bool *)arg)
		enter_beside();
	else
		enter_by_worker();
	CHECK(waitpid(-1, NULL, WNOHANG) < 0);
	CHECK(scene_open_fds() == before);
	CHECK(getifaddrs(&all) == 0 && all);
	for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
		CHECK(!strcmp(at->ifa_name, "lo"));
		CHECK(at->ifa_flags & IFF_UP);
	}
	freeifaddrs(all);
	check_addresses();
}

static void test_loopback_alone_and_at_once(void **state)
{
	bool beside = false;

	(void)state;
	scene_inside(0, 1000, play_enter, &beside);
	beside = true;
	scene_inside(0, 1000, play_enter, &beside);
}

/* The two processes share errno; the one that makes the namespace never writes to it.  errno is
 * set before that process starts, so that each write comes after. */
static void play_errno(void *arg)
{
	struct network_maker m = { 0 };
	struct err e;

	(void)arg;
	AUTO_CLOSE int bound =
		open("/proc/sys/user/max_net_namespaces", O_WRONLY | O_CLOEXEC);
	CHECK(write(bound, "0", 1) == 1);
	errno = ELIBBAD;
	CHECK(network_begin(&m, &e) == 0);
	CHECK(waitid(P_PID, (id_t)m.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0);
	CHECK(errno == ELIBBAD && m.made == -ENOSPC);
	CHECK(network_end(&m, &e) < 0);
	CHECK(strstr(e.text, "make a network namespace"));
	CHECK(strstr(e.remedy, "max_net_namespaces"));
}

static void test_a_process_beside_leaves_errno_alone(void **state)
{
	(void)state;
	scene_inside(0, 0, play_errno, NULL);
}

static void play_killed(void *arg)
{
	struct network_maker m = { 0 };
	struct err e;

	(void)arg;
	m.made = -1; /* as network_begin() leaves it */
	m.pid = fork();
	if (m.pid == 0)
		(void)raise(SIGKILL);
	CHECK(network_end(&m, &e) < 0);
	CHECK(e.kind == ERR_SYSTEM && strstr(e.text, "a helper process"));
}

static void test_a_killed_process_beside_is_an_error(void **state)
{
	(void)state;
	scene_child(play_killed, NULL);
}

static void play_refused(void *arg)
{
	struct err e;

	AUTO_CLOSE int bound =
		open("/proc/sys/user/max_net_namespaces", O_WRONLY | O_CLOEXEC);
	(void)arg;
	CHECK(write(bound, "0", 1) == 1);
	CHECK(network_make(&e) < 0);
	CHECK(strstr(e.text, "make a network namespace"));
	CHECK(strstr(e.remedy, "max_net_namespaces"));
}

static void test_a_refusal_says_which_bound_it_is(void **state)
{
	(void)state;
	scene_inside(0, 0, play_refused, NULL);
}

static void play_unprivileged(void *arg)
{
	struct err e;

	(void)arg;
	if (geteuid() == 0)
		CHECK(setresuid(65534, 65534, 65534) == 0);
	CHECK(network_make(&e) < 0);
	CHECK(e.kind == ERR_REFUSED && strstr(e.remedy, "--network host"));
}

static void test_without_a_user_namespace_it_is_refused(void **state)
{
	(void)state;
	/* Inside a sandbox of hutch clone3(2) fails with ENOSYS. */
	if (syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS)
		skip();
	scene_child(play_unprivileged, NULL);
}

static socklen_t abstract(struct sockaddr_un *ret, pid_t pid)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int len = snprintf(ret->sun_path + 1, 64, "hutch-unit-%d", (int)pid);

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* Runs in a Landlock domain.  `arg` is the pid of a process outside, which listens. */
static void play_scoped(void *arg)
{
	pid_t host = *(pid_t *)arg;
	struct sockaddr_un to;
	socklen_t len = abstract(&to, host);
	struct err e;

	CHECK(connect_to(AF_UNIX, (void *)&to, len) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(landlock_scope(&e) == 0);
	CHECK(connect_to(AF_UNIX, (void *)&to, len) == EPERM);
	CHECK(kill(host, 0) < 0 && errno == EPERM);
	CHECK(kill(getpid(), 0) == 0);
	/* Sockets that a process of the same domain made can be reached. */
	AUTO_CLOSE int own = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	len = abstract(&to, getpid());
	CHECK(bind(own, (void *)&to, len) == 0 && listen(own, 1) == 0);
	CHECK(connect_to(AF_UNIX, (void *)&to, len) == 0);
}

static void play_refusing(void *arg)
{
	int pair[2];
	struct err e;

	(void)arg;
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(sockets_refuse_unix(&e) == 0);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EACCES);
	CHECK(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) < 0 && errno == EACCES);
	CHECK(socket(AF_INET, SOCK_STREAM, 0) >= 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
}

static void test_abstract_sockets_of_the_host_are_out_of_reach(void **state)
{
	struct sockaddr_un here;
	pid_t self = getpid();
	socklen_t len = abstract(&here, self);
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	if (landlock_abi() < LANDLOCK_ABI_SCOPES) {
		print_message("skipped: no Landlock ABI %d\n", LANDLOCK_ABI_SCOPES);
		skip();
	}
	assert_int_equal(bind(fd, (void *)&here, len), 0);
	assert_int_equal(listen(fd, 8), 0);
	scene_child(play_scoped, &self);
}

static void test_or_the_whole_family_is_refused(void **state)
{
	(void)state;
	scene_child(play_refusing, NULL);
}

static void play_without_no_new_privs(void *arg)
{
	struct err e;

	(void)arg;
	if (geteuid() == 0)
		CHECK(setresuid(65534, 65534, 65534) == 0);
	CHECK(sockets_refuse_unix(&e) < 0);
	CHECK(landlock_abi() < LANDLOCK_ABI_SCOPES || landlock_scope(&e) < 0);
}

static void test_neither_is_silently_missing(void **state)
{
	(void)state;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		skip(); /* no_new_privs is set already, as in every sandbox */
	scene_child(play_without_no_new_privs, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback_alone_and_at_once),
		cmocka_unit_test(test_a_process_beside_leaves_errno_alone),
		cmocka_unit_test(test_a_killed_process_beside_is_an_error),
		cmocka_unit_test(test_a_refusal_says_which_bound_it_is),
		cmocka_unit_test(test_without_a_user_namespace_it_is_refused),
		cmocka_unit_test(test_abstract_sockets_of_the_host_are_out_of_reach),
		cmocka_unit_test(test_or_the_whole_family_is_refused),
		cmocka_unit_test(test_neither_is_silently_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
