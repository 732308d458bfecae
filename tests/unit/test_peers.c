/* Tests of peers: which requests of hutch-egress are met, and the rights of the process.
 * This process plays hutch-egress, and a child the supervisor of the other sandbox. */
#include "sandbox/launch/peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "egress/launch/egress.h"
#include "egress/peer_frames.h"
#include "policy/policy.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/launch/launch.h"
#include "sandbox/state/registry.h"
#include "tests/unit/register.h"

/* It is no result, though it has the word. */
#define NO  "{\"id\":1,\"result\":{}}\n{\"id\":2,\"error\":{\"message\":\"\\\"result\\\"\"}}\n"
#define YES "{\"id\":1,\"result\":{}}\n{\"id\":2,\"result\":{}}\n"

struct scene {
	struct registry_entry pg, other; /* other: of a name that no sandbox could reach */
	struct policy policy;
	struct launch launch;
	pid_t supervisor;
};

/* --- the other sandbox ---------------------------------------------------------------- */

static bool is_socket_good(int fd)
{
	struct linger reset = { .l_linger = 1 };
	socklen_t len = sizeof(reset);

	return getsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, &len) == 0 &&
	       reset.l_onoff == 1 && reset.l_linger == 0 &&
	       (fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* Answers a request, but for port 81, and says "hi" on the connection. */
static void serve(int control)
{
	char text[1024];
	int fd;
	ssize_t n;

	do
		n = fd_pass_receive(control, text, sizeof(text) - 1, &fd);
	while (n < 0 && errno == EAGAIN);
	CHECK(n > 0 && fd >= 0 && is_socket_good(fd));
	text[n] = '\0';
	CHECK(strstr(text, "\"method\":\"net.connect\",\"params\":{\"network\":\"net\","));
	const char *says = strstr(text, "\"port\":81,\"from\":\"pg\"}}\n") ? NO : YES;
	CHECK(send(fd, "hi", 2, 0) == 2);
	CHECK(send(control, says, strlen(says), 0) == (ssize_t)strlen(says));
	close(fd);
}

static pid_t start_supervisor(int listener)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	(void)fcntl(listener, F_SETFL, 0);
	for (;;) {
		const int control = accept(listener, NULL, NULL);
		CHECK(control >= 0);
		serve(control);
		close(control);
	}
}

/* --- the scene ------------------------------------------------------------------------ */

static void join(const char *name, struct registry_entry *r)
{
	create(name, r);
	assert_int_equal(
		registry_set_info(r, "{\"network\":{\"joins\":[\"net\",\"theirs\"]}}",
				  NULL),
		0);
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct err e;

	assert_non_null(s);
	assert_int_equal(register_setup(state), 0);
	join("pg", &s->pg);
	join("P.g", &s->other);
	AUTO_CLOSE int listener = registry_listen(&s->pg, &e);
	assert_true(listener >= 0);
	s->supervisor = start_supervisor(listener);
	policy_init(&s->policy);
	list_add(&s->policy.joins, "net");
	list_add(&s->policy.joins, "ours");
	s->launch.policy = &s->policy;
	s->launch.entry = &s->pg;
	egress_init(&s->launch.egress);
	if (peers_start(&s->launch, &e) < 0)
		fail_msg("%s", e.text);
	free(*state);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;
	AUTO_FREE char *folder = text_copy(getenv("XDG_RUNTIME_DIR"));
	void *path = text_copy(folder);

	own_close(&s->launch.egress.peers);
	assert_int_equal(worker_reap(s->launch.peers.pid), 0);
	own_close(&s->launch.peers.answer);
	assert_int_equal(kill(s->supervisor, SIGKILL), 0);
	assert_int_equal(waitpid(s->supervisor, NULL, 0), s->supervisor);
	end(&s->pg, REGISTRY_REMOVE);
	end(&s->other, REGISTRY_REMOVE);
	policy_done(&s->policy);
	free(s);
	return scene_teardown(&path);
}

/* Sends a request, and returns whether it was met; *ret_fd is a connection, or -1. */
static bool ask(const struct scene *s, const struct peer_request *r, int *ret_fd)
{
	const int fd = s->launch.egress.peers;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct peer_reply reply;

	assert_int_equal(send(fd, r, sizeof(*r), 0), sizeof(*r));
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_int_equal(fd_pass_receive(fd, &reply, sizeof(reply), ret_fd),
			 sizeof(reply));
	assert_int_equal(reply.ticket, r->ticket);
	return reply.has_found;
}

/* --- cases ---------------------------------------------------------------------------- */

static void test_only_sandboxes_of_a_network_of_both_are_there(void **state)
{
	static const struct {
		const char *sandbox, *network;
		bool is_there;
	} rows[] = {
		{ "pg", "net", true },	     { "pg", "ours", false },
		{ "pg", "theirs", false },   { "pg", "", false },
		{ "P.g", "net", false },     { "absent", "net", false },
		{ "", "net", false },	     { ".", "net", false },
		{ "../hutch/pg", "net", false }, { ".ended", "net", false },
		{ "pg\"", "net", false },
	};
	const struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct peer_request r = { .ticket = 7 + (uint32_t)i };
		int fd;
		(void)snprintf(r.name.sandbox, sizeof(r.name.sandbox), "%s",
			       rows[i].sandbox);
		(void)snprintf(r.name.network, sizeof(r.name.network), "%s",
			       rows[i].network);
		if (ask(s, &r, &fd) != rows[i].is_there)
			fail_msg("%s.%s", rows[i].sandbox, rows[i].network);
		assert_int_equal(fd, -1);
	}
}

static void test_texts_without_an_end_are_refused(void **state)
{
	struct peer_request r = { .ticket = 1, .name = { "pg", "net" } };
	int fd;

	memset(r.name.network, 'n', sizeof(r.name.network));
	assert_false(ask(*state, &r, &fd));
	memset(r.name.sandbox, 'a', sizeof(r.name.sandbox));
	assert_false(ask(*state, &r, &fd));
}

static void test_the_other_sandbox_decides(void **state)
{
	struct peer_request r = { .ticket = 1, .name = { "pg", "net" } };
	char text[3] = "";
	int fd;

	r.port = 80;
	assert_true(ask(*state, &r, &fd));
	assert_true(fd >= 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK));
	(void)fcntl(fd, F_SETFL, 0);
	assert_int_equal(read(fd, text, 2), 2);
	assert_string_equal(text, "hi");
	own_close(&fd);
	r.port = 81;
	assert_false(ask(*state, &r, &fd));
	assert_int_equal(fd, -1);
	r.port = UINT16_MAX + 1;
	assert_false(ask(*state, &r, &fd));
	assert_int_equal(fd, -1);
}

static void test_it_has_no_privilege_and_shows_no_memory(void **state)
{
	const struct scene *s = *state;
	char path[64], text[4096] = "";
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)s->launch.peers.pid);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "\nCapPrm:\t0000000000000000\n"));
	assert_non_null(strstr(text, "\nNoNewPrivs:\t1\n"));
	assert_non_null(strstr(text, "\nSeccomp:\t2\n"));
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)s->launch.peers.pid);
	assert_int_equal(stat(path, &st), 0);
	/* it is root's, of a process that is not dumpable (proc(5)) */
	assert_true(geteuid() == 0 || st.st_uid != geteuid());
}

/* Starts the process where it cannot enter a Landlock domain. */
static void play_without_domain(const struct scene *s)
{
	const struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_restrict_self, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct seccomp_program program = { .insns = insns,
						 .count = ARRAY_LEN(insns) };
	struct launch l = { .policy = &s->policy };
	struct err e;

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(seccomp_install(&program, &e) == 0);
	egress_init(&l.egress);
	CHECK(peers_start(&l, &e) < 0);
	CHECK(!strncmp(e.text, "confine hutch-peers: ", 21));
	CHECK(l.peers.pid == 0); /* it has ended */
	_exit(0);
}

static void test_unconfined_it_does_not_start(void **state)
{
	int status;

	if (landlock_abi() <= 0)
		skip();
	pid_t pid = fork();
	if (pid == 0)
		play_without_domain(*state);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_only_sandboxes_of_a_network_of_both_are_there),
		CASE(test_texts_without_an_end_are_refused),
		CASE(test_the_other_sandbox_decides),
		CASE(test_unconfined_it_does_not_start),
		CASE(test_it_has_no_privilege_and_shows_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
