/* denials: a child runs under the filter, and the test serves the filter's listener,
 * which reports refused calls. */
#include "sandbox/monitor/denials.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/own.h"
#include "policy/seccomp/floor.h"
#include "sandbox/kernel/seccomp.h"
#include "tests/patience.h"
#include "tests/unit/bpf_run.h"
#include "tests/unit/rounds.h"
#include "tests/unit/scene.h"

#ifdef __aarch64__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH AUDIT_ARCH_X86_64
#endif

#define CALLS 1024

/* --- the telling form ------------------------------------------------------------- */

static void expect_telling(const struct seccomp_program *p)
{
	AUTO_FREE struct sock_filter *telling =
		seccomp_replace_notified(p, SECCOMP_RET_USER_NOTIF);
	uint64_t random = 88172645463325252ull;
	size_t told = 0;

	for (int i = 0; i < ROUNDS_OF(100 * CALLS); i++) {
		struct seccomp_data data = { .nr = i % CALLS, .arch = OUR_ARCH };

		for (int n = 0; n < 6; n++)
			data.args[n] = bpf_run_random(&random) >> (i % 60);
		const uint32_t plain = bpf_run(p->insns, p->count, &data);
		const uint32_t tells = bpf_run(telling, p->count, &data);
		const uint32_t error = plain & SECCOMP_RET_DATA;
		const bool is_told = (plain & SECCOMP_RET_ACTION_FULL) ==
					     SECCOMP_RET_ERRNO &&
				     error != 0 && error != ENOSYS;
		assert_int_equal(tells, is_told ? SECCOMP_RET_USER_NOTIF : plain);
		told += is_told;
	}
	assert_true(told > ROUNDS_OF(100));
}

static void test_denials_are_reported_and_nothing_else_is_changed(void **state)
{
	struct seccomp_program p;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &p);
	expect_telling(&p);
	seccomp_floor(SECCOMP_FLAT, &p);
	expect_telling(&p);
}

/* Returns the result of two filters' answers: the kernel takes the stricter one
 * (seccomp(2)). */
static uint32_t both(uint32_t top, uint32_t below)
{
	const int32_t a = (int32_t)(top & SECCOMP_RET_ACTION_FULL);
	const int32_t b = (int32_t)(below & SECCOMP_RET_ACTION_FULL);

	return a <= b ? top : below;
}

static void test_a_call_that_pretends_hides_no_refusal_from_the_listener(void **state)
{
	struct seccomp_program below, pretend, above;
	uint64_t random = 88172645463325252ull;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &below);
	seccomp_pretend(&pretend);
	seccomp_pretend_above(&above);
	for (int i = 0; i < ROUNDS_OF(100 * CALLS); i++) {
		struct seccomp_data data = { .nr = i % CALLS, .arch = OUR_ARCH };

		for (int n = 0; n < 6; n++)
			data.args[n] = bpf_run_random(&random) >> (i % 60);
		const uint32_t low = bpf_run(below.insns, below.count, &data);
		const uint32_t is = bpf_run(above.insns, above.count, &data);

		const uint32_t was = bpf_run(pretend.insns, pretend.count, &data);

		/* Without a listener the two filters give the same result as the
		 * plain filter alone.  With a listener, the upper filter allows each
		 * call that the lower one reports. */
		assert_int_equal(both(is, low), both(was, low));
		assert_true(!seccomp_is_notified(low) || is == SECCOMP_RET_ALLOW);
	}
	seccomp_done(&above);
}

/* Each kind of call that the filter refuses has a row in the table of denials. */
static void test_there_is_a_row_for_each_kind(void **state)
{
	struct syscall_kind kinds[4 * DENIALS_MAX];
	struct seccomp_program p;
	size_t count = 0;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &p);
	for (int i = 0; i < CALLS * 64; i++) {
		for (uint64_t low = 0; low < 64; low++) {
			const uint64_t value = i / CALLS ? 1ull << i / CALLS : low;
			const struct seccomp_data data = {
				.nr = i % CALLS, .arch = OUR_ARCH,
				.args = { value, i / CALLS < 4 ? 0x5400 + low : value }
			};
			const struct syscall_kind kind = syscall_of(&data);
			size_t n = 0;

			if (!seccomp_is_notified(bpf_run(p.insns, p.count, &data)))
				continue;
			while (n < count && (kinds[n].nr != kind.nr ||
					     kinds[n].argument != kind.argument))
				n++;
			if (n < count)
				continue;
			assert_true(count < ARRAY_LEN(kinds));
			kinds[count++] = kind;
			assert_non_null(syscall_name(kind.nr));
		}
	}
	print_message("%zu kinds\n", count);
	assert_in_range(count, 40, DENIALS_MAX);
}

/* --- tokens ----------------------------------------------------------------------- */

static void test_tokens_come_back_with_time_and_no_faster(void **state)
{
	struct denials r;

	(void)state;
	denials_init(&r);
	r.listener = 0;
	r.tokens = 0;
	r.refilled_ms = 1000;
	denials_refill(&r, 1001); /* half a token */
	assert_int_equal(r.tokens, 0);
	denials_refill(&r, 1002);
	assert_int_equal(r.tokens, 1);
	/* Many small steps add up to the same as one large step. */
	for (int64_t ms = 1003; ms <= 1500; ms++)
		denials_refill(&r, ms);
	assert_int_equal(r.tokens, DENIALS_PER_S / 2);
	denials_refill(&r, 1000000);
	assert_int_equal(r.tokens, DENIALS_BURST);
	r.tokens = 0;
	denials_refill(&r, 1000000);
	assert_int_equal(r.tokens, 0);
	r.listener = -1;
}

static void test_without_a_token_nobody_looks_until_some_are_due(void **state)
{
	struct denials r;

	(void)state;
	denials_init(&r);
	assert_int_equal(denials_due(&r), 0);
	r.listener = 0;
	assert_int_equal(denials_watch(&r).fd, 0);
	assert_int_equal(denials_due(&r), 0);
	r.tokens = 0;
	r.refilled_ms = 1000;
	assert_int_equal(denials_watch(&r).fd, -1);
	assert_int_equal(denials_due(&r), 1000 + DENIALS_PAUSE_MS);
	denials_expire(&r, 1000 + DENIALS_PAUSE_MS - 1);
	assert_int_equal(r.tokens, 0);
	assert_int_equal(denials_watch(&r).fd, -1);
	denials_expire(&r, 1000 + DENIALS_PAUSE_MS);
	assert_int_equal(r.tokens, DENIALS_PAUSE_MS * DENIALS_PER_S / 1000);
	assert_int_equal(denials_watch(&r).fd, 0);
	assert_int_equal(denials_due(&r), 0);
	r.listener = -1;
}

/* --- with the kernel -------------------------------------------------------------- */

#define BEGUN_MS 1000000

struct world {
	struct denials denials;
	struct seccomp_program filter;
	pid_t pid, session; /* the child whose calls are reported */
	int64_t now;
};

/* Starts a child under the reporting filter; the child runs `play`. */
static void begin(struct world *w, int (*play)(void))
{
	struct err e = { 0 };
	int pair[2], fd;
	char byte;

	w->session = 0;
	w->now = BEGUN_MS;
	denials_init(&w->denials);
	seccomp_default(SECCOMP_FLAT, &w->filter);
	w->denials.filter = &w->filter;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	w->pid = fork();
	assert_true(w->pid >= 0);
	if (w->pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    seccomp_install_telling(&w->filter, &fd, &e) < 0)
			_exit(255);
		if (fd_pass_send(pair[1], "", 1, &fd, fd >= 0) != 1)
			_exit(254);
		(void)close(fd);
		_exit(play());
	}
	(void)close(pair[1]);
	assert_true(scene_readable(pair[0], PATIENCE_MS));
	assert_int_equal(fd_pass_receive(pair[0], &byte, 1, &fd), 1);
	(void)close(pair[0]);
	if (fd >= 0) {
		denials_listen(&w->denials, fd);
		return;
	}
	(void)kill(w->pid, SIGKILL);
	(void)waitpid(w->pid, NULL, 0);
	print_message("skipped: a filter around this process has the one listener\n");
	skip();
}

/* Serves until the child has gone; returns its exit code.  The test sets the
 * time: while there is nothing to do, the time jumps to the next moment at
 * which there is. */
static int serve(struct world *w)
{
	int status;
	pid_t pid;

	while (w->denials.listener >= 0) {
		const int64_t due = denials_due(&w->denials);
		struct pollfd p = denials_watch(&w->denials);

		w->now = due ? due : w->now;
		assert_true(due || poll(&p, 1, PATIENCE_MS) == 1);
		if (p.revents && denials_take(&w->denials, &pid, w->now))
			assert_int_equal(pid, w->session);
		denials_expire(&w->denials, w->now);
	}
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	denials_done(&w->denials);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool answers(int error, long result)
{
	return result == -1 && errno == error;
}

static int be_refused(void)
{
	return answers(EPERM, syscall(SYS_mount, 0, 0, 0, 0, 0)) &&
			       answers(EPERM, syscall(SYS_mount, 0, 0, 0, 0, 0)) &&
			       answers(EPERM, syscall(SYS_keyctl, 9999)) &&
			       answers(EAFNOSUPPORT, syscall(SYS_socket, 17, 3, 0)) &&
			       answers(EPROTONOSUPPORT, syscall(SYS_socket, 2, 1, 132)) &&
			       answers(EPERM, syscall(SYS_unshare, CLONE_NEWUSER)) &&
			       answers(ENOSYS, syscall(SYS_clone3, 0, 0)) &&
			       syscall(SYS_getppid) > 0
		       ? 7
		       : 1;
}

static void test_the_errors_are_those_of_the_filter_and_are_counted(void **state)
{
	static const char *const rows[] = {
		"mount was refused, 2 times (seccomp: the default profile)",
		"keyctl was refused (seccomp: the floor)",
		"socket(AF_PACKET) was refused (seccomp: the default profile)",
		"socket(AF_INET) was refused (seccomp: the default profile)",
		"unshare(CLONE_NEWUSER) was refused (seccomp: the floor)",
	};
	struct world w;

	(void)state;
	begin(&w, be_refused);
	w.denials.looks_at_sessions = true;
	w.session = getsid(0);
	assert_int_equal(serve(&w), 7);
	assert_int_equal(w.denials.count, ARRAY_LEN(rows));
	assert_int_equal(w.denials.others, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *text = refused_call_sentence(&w.denials.calls[i]);
		assert_string_equal(text, rows[i]);
		assert_true(w.denials.calls[i].first_ms > 0);
	}
	AUTO_FREE char *json = denials_json(&w.denials);
	static const char first[] =
		"{\"what\":\"mount\",\"path\":null,\"layer\":\"seccomp\",";
	assert_memory_equal(json, first, sizeof(first) - 1);
	assert_non_null(strstr(json, "\"count\":2},{\"what\":\"keyctl\""));
}

#define STORM (DENIALS_BURST + DENIALS_PER_S / 2)

static int storm(void)
{
	for (int i = 0; i < STORM; i++)
		if (!answers(EPERM, syscall(SYS_keyctl, 9999)))
			return 1;
	return 0;
}

/* The child makes half a second's tokens more calls than there are tokens.  No
 * call is answered without a token, so these calls wait. */
static void test_a_storm_waits_for_tokens_and_each_call_is_counted_once(void **state)
{
	struct world w;

	(void)state;
	begin(&w, storm);
	assert_int_equal(serve(&w), 0);
	/* The listener reports the child's end after one more pause. */
	assert_int_equal(w.now, BEGUN_MS +
					1000 * (STORM - DENIALS_BURST) / DENIALS_PER_S +
					DENIALS_PAUSE_MS);
	assert_int_equal(w.denials.count, 1);
	assert_int_equal(w.denials.calls[0].count, STORM);
}

static int be_refused_once(void)
{
	return answers(ENOSYS, syscall(SYS_keyctl, 9999)) ? 9 : 1;
}

static void test_nobody_is_let_through_when_nobody_listens(void **state)
{
	struct world w;
	int status;

	(void)state;
	begin(&w, be_refused_once);
	assert_true(scene_readable(w.denials.listener, PATIENCE_MS));
	denials_done(&w.denials);
	assert_int_equal(waitpid(w.pid, &status, 0), w.pid);
	assert_int_equal(WEXITSTATUS(status), 9);
}

/* The kernel has reported a call and its caller is then killed: the supervisor does
 * not wait for an answer that cannot be sent. */
static void test_a_caller_that_is_killed_holds_nobody(void **state)
{
	struct world w;
	siginfo_t info;
	pid_t pid;

	(void)state;
	begin(&w, be_refused_once);
	assert_true(scene_readable(w.denials.listener, PATIENCE_MS));
	assert_int_equal(kill(w.pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)w.pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(serve(&w), 128 + SIGKILL);
	assert_null(denials_take(&w.denials, &pid, w.now));
	assert_int_equal(w.denials.count, 0);
}

static void test_a_refused_call_is_news_at_powers_of_ten(void **state)
{
	struct refused_call c = { .count = 0 };
	int news = 0;

	(void)state;
	assert_false(refused_call_is_news(&c));
	while (c.count++ < 10000)
		news += refused_call_is_news(&c);
	assert_int_equal(news, 5);
	c.count = UINT64_MAX;
	assert_false(refused_call_is_news(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_denials_are_reported_and_nothing_else_is_changed),
		cmocka_unit_test(
			test_a_call_that_pretends_hides_no_refusal_from_the_listener),
		cmocka_unit_test(test_there_is_a_row_for_each_kind),
		cmocka_unit_test(test_tokens_come_back_with_time_and_no_faster),
		cmocka_unit_test(test_without_a_token_nobody_looks_until_some_are_due),
		cmocka_unit_test(test_the_errors_are_those_of_the_filter_and_are_counted),
		cmocka_unit_test(
			test_a_storm_waits_for_tokens_and_each_call_is_counted_once),
		cmocka_unit_test(test_nobody_is_let_through_when_nobody_listens),
		cmocka_unit_test(test_a_caller_that_is_killed_holds_nobody),
		cmocka_unit_test(test_a_refused_call_is_news_at_powers_of_ten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
