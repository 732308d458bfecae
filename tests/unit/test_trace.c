/* trace: a child runs under the filter of `hutch learn`, and the test serves the
 * filter's listener. */
#include "sandbox/monitor/trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/own.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/monitor/denials.h"
#include "tests/patience.h"
#include "tests/unit/bpf_run.h"
#include "tests/unit/scene.h"

#ifdef __aarch64__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#define OTHER	 AUDIT_ARCH_ARM
#else
#define OUR_ARCH AUDIT_ARCH_X86_64
#define OTHER	 AUDIT_ARCH_I386
#endif

/* --- the program ------------------------------------------------------------------ */

static void test_the_calls_of_the_table_are_told_and_nothing_else_is_changed(void **state)
{
	struct seccomp_program plain, tracing;
	uint64_t random = 88172645463325252ull;
	size_t taken = 0;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &plain);
	trace_program(&plain, &tracing);
	AUTO_FREE struct sock_filter *telling =
		seccomp_replace_notified(&plain, SECCOMP_RET_USER_NOTIF);
	for (int i = 0; i < 100 * 1024; i++) {
		struct seccomp_data data = { .nr = i % 1024,
					     .arch = i % 7 ? OUR_ARCH : OTHER };

		for (int n = 0; n < 6; n++)
			data.args[n] = bpf_run_random(&random) >> (i % 60);
		const uint32_t is = bpf_run(tracing.insns, tracing.count, &data);
		const uint32_t was = bpf_run(telling, plain.count, &data);
		assert_int_equal(is, trace_takes(&data) ? SECCOMP_RET_USER_NOTIF : was);
		assert_true(data.arch == OUR_ARCH || !trace_takes(&data));
		taken += trace_takes(&data);
	}
	assert_true(taken > 2000);
	seccomp_done(&tracing);
}

/* --- with the kernel -------------------------------------------------------------- */

struct world {
	struct denials denials;
	struct trace trace;
	struct seccomp_program plain, tracing;
	pid_t pid;
};

/* Starts a child under the filter `plain`, extended so that its listener also gets
 * the traced calls. */
static void begin(struct world *w, const struct seccomp_program *plain, int (*play)(void))
{
	struct err e = { 0 };
	int pair[2], fd;
	char byte;

	*w = (struct world){ .plain = *plain };
	denials_init(&w->denials);
	w->denials.filter = &w->plain;
	w->denials.trace = &w->trace;
	trace_program(plain, &w->tracing);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	w->pid = fork();
	assert_true(w->pid >= 0);
	if (w->pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    seccomp_install_listening(&w->tracing, &fd, &e) < 0)
			_exit(fd_pass_send(pair[1], "", 1, NULL, 0) == 1 ? 255 : 254);
		if (fd_pass_send(pair[1], "", 1, &fd, 1) != 1)
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
	seccomp_done(&w->tracing);
	print_message("skipped: a filter around this process has the one listener\n");
	skip();
}

/* Serves until the child has gone; returns its exit code. */
static int serve(struct world *w)
{
	int status;
	pid_t pid;

	while (w->denials.listener >= 0) {
		struct pollfd p = denials_watch(&w->denials);
		assert_int_equal(denials_due(&w->denials), 0); /* needs no tokens */
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		(void)denials_take(&w->denials, &pid, 1);
	}
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	denials_done(&w->denials);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void end(struct world *w)
{
	trace_done(&w->trace);
	seccomp_done(&w->tracing);
}

/* Returns how the child used the path, as bits; 0: the path was not recorded. */
static unsigned use_of(const struct world *w, const char *path)
{
	for (size_t i = 0; i < w->trace.seen.count; i++)
		if (!strcmp(trace_set_text(&w->trace.seen, i), path))
			return w->trace.seen.paths[i].use;
	return 0;
}

/* Opens "/".  Returns 0, or the errno. */
static int open_root(void)
{
	return syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY, 0) >= 0 ? 0 : errno;
}

static int open_and_mount(void)
{
	if (syscall(SYS_mount, 0, 0, 0, 0, 0) != -1 || errno != EPERM)
		return 200;
	return open_root();
}

static void test_with_a_trace_the_tables_calls_go_on_and_no_refused_one(void **state)
{
	struct seccomp_program plain;
	struct world w;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &plain);
	begin(&w, &plain, open_and_mount);
	assert_int_equal(serve(&w), 0);
	assert_int_equal(use_of(&w, "/"), TRACE_SET_READ);
	assert_int_equal(w.denials.count, 1);
	end(&w);
}

static void test_without_a_trace_nothing_goes_on(void **state)
{
	struct seccomp_program plain;
	struct world w;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &plain);
	begin(&w, &plain, open_root);
	w.denials.trace = NULL;
	assert_int_equal(serve(&w), ENOSYS);
	assert_int_equal(w.trace.seen.count, 0);
	end(&w);
}

/* The child gets the answer of the filter `plain`, also for a traced call. */
static void test_a_call_of_the_table_that_the_filter_refuses_does_not_go_on(void **state)
{
	const struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct seccomp_program plain = { .insns = insns,
					       .count = ARRAY_LEN(insns) };
	struct world w;

	(void)state;
	begin(&w, &plain, open_root);
	assert_int_equal(serve(&w), ENOTTY);
	assert_int_equal(w.trace.seen.count, 0);
	end(&w);
}

/* Some refusals are not reported (ENOSYS, an errno of 0, a signal).  A traced call
 * with such a refusal must not continue either. */
static void test_only_what_the_filter_allows_goes_on(void **state)
{
	static const uint32_t actions[] = { SECCOMP_RET_ERRNO | ENOSYS, SECCOMP_RET_ERRNO,
					    SECCOMP_RET_TRAP, SECCOMP_RET_KILL_PROCESS };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		const struct sock_filter insns[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
				 offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, actions[i]),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		const struct seccomp_program plain = { .insns = insns,
						       .count = ARRAY_LEN(insns) };
		struct world w;
		begin(&w, &plain, open_root);
		assert_int_equal(serve(&w), ENOSYS);
		assert_int_equal(w.trace.seen.count, 0);
		end(&w);
	}
}

/* A call that is reported although it is not traced and not refused cannot occur; if
 * it did, it would not be let through. */
static int ask_parent(void)
{
	return syscall(SYS_getppid) == -1 ? errno : 0;
}

static void test_a_call_that_is_not_traced_stays_refused(void **state)
{
	const struct sock_filter refuses[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct seccomp_program plain = { .insns = refuses,
					       .count = ARRAY_LEN(refuses) };
	struct world w;

	(void)state;
	begin(&w, &plain, ask_parent);
	w.plain =
		(struct seccomp_program){ .insns = refuses + 3, .count = 1 }; /* allows */
	assert_int_equal(serve(&w), ENOSYS);
	end(&w);
}

static int use_paths(void)
{
	const struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 0600 };
	int tmp = open("/tmp", O_PATH);

	if (tmp < 0 || chdir("/var") < 0)
		return 1;
	(void)syscall(SYS_openat, AT_FDCWD, "x/../y", O_RDONLY, 0);
	(void)syscall(SYS_openat, tmp, "no/a", O_RDWR | O_TRUNC, 0);
	(void)syscall(SYS_openat, 999, "bad", O_RDONLY, 0);
	(void)syscall(SYS_openat2, AT_FDCWD, "/no/b", &how, sizeof(how));
	(void)syscall(SYS_mkdirat, tmp, "no/c", 0700);
	(void)syscall(SYS_renameat2, AT_FDCWD, "/no/d", tmp, "no/e", 0);
	(void)syscall(SYS_unlinkat, AT_FDCWD, "/no/f", 0);
	(void)syscall(SYS_symlinkat, "/not/this", AT_FDCWD, "/no/g");
	(void)syscall(SYS_execve, "/no/h", NULL, NULL);
	(void)syscall(SYS_newfstatat, tmp, "", NULL, AT_EMPTY_PATH);
	(void)syscall(SYS_openat, AT_FDCWD, "/usr/lib", O_RDONLY, 0);
	(void)syscall(SYS_openat, AT_FDCWD, "/no/new\nline\"", O_RDONLY, 0);
	return 0;
}

static void test_paths_are_noted_with_what_is_done(void **state)
{
	static const struct {
		const char *path;
		unsigned use;
	} rows[] = {
		{ "/tmp", TRACE_SET_LOOK },
		{ "/var", TRACE_SET_LOOK },
		{ "/var/y", TRACE_SET_READ },
		{ "/tmp/no/a", TRACE_SET_WRITE },
		{ "/no/b", TRACE_SET_WRITE | TRACE_SET_CREATE },
		{ "/tmp/no/c", TRACE_SET_LOOK | TRACE_SET_CREATE },
		{ "/no/d", TRACE_SET_REMOVE },
		{ "/tmp/no/e", TRACE_SET_PLACE },
		{ "/no/f", TRACE_SET_REMOVE },
		{ "/no/g", TRACE_SET_PLACE },
		{ "/no/h", TRACE_SET_READ | TRACE_SET_EXECUTE },
		{ "/no/new\nline\"", TRACE_SET_READ },
	};
	struct seccomp_program plain;
	struct world w;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &plain);
	begin(&w, &plain, use_paths);
	assert_int_equal(serve(&w), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(use_of(&w, rows[i].path), rows[i].use);
	assert_int_equal(w.trace.seen.count, ARRAY_LEN(rows));
	end(&w);
}

/* Returns the end of a readable page that is followed by an unreadable one. */
static char *make_edge(void)
{
	char *two = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (two == MAP_FAILED || mprotect(two + 4096, 4096, PROT_NONE))
		_exit(9);
	memset(two, 'x', 4096);
	return two + 4096;
}

static bool fails_with(int error, long result)
{
	return result == -1 && errno == error;
}

static int lie_about_paths(void)
{
	char *edge = make_edge();
	static char huge[9000];

	memset(huge, '/', sizeof(huge) - 1);
	bool is_same =
		fails_with(EFAULT, syscall(SYS_openat, AT_FDCWD, (char *)1, 0, 0)) &&
		fails_with(EFAULT, syscall(SYS_openat, AT_FDCWD, (char *)-9, 0, 0)) &&
		fails_with(EFAULT, syscall(SYS_openat, AT_FDCWD, NULL, 0, 0)) &&
		fails_with(EFAULT, syscall(SYS_openat, AT_FDCWD, edge - 5, 0, 0)) &&
		fails_with(ENAMETOOLONG, syscall(SYS_openat, AT_FDCWD, huge, 0, 0)) &&
		fails_with(EFAULT, syscall(SYS_openat2, AT_FDCWD, "/q", edge, 24));

	/* A path at the end of the readable memory is read like any other. */
	strcpy(edge - 8, "/no/end");
	(void)syscall(SYS_openat, AT_FDCWD, edge - 8, O_RDONLY, 0);
	return is_same ? 0 : 1;
}

static void test_a_pointer_that_leads_nowhere_is_no_path(void **state)
{
	struct seccomp_program plain;
	struct world w;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &plain);
	begin(&w, &plain, lie_about_paths);
	assert_int_equal(serve(&w), 0);
	assert_int_equal(use_of(&w, "/no/end"), TRACE_SET_READ);
	assert_int_equal(w.trace.seen.count, 1);
	end(&w);
}

static char changing[16] = "/no/one";

static void *change(void *unused)
{
	for (;;) {
		strcpy(changing, "/no/other");
		strcpy(changing, "/no/one");
	}
	return unused;
}

static int open_what_changes(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, change, NULL))
		return 1;
	for (int i = 0; i < 2000; i++)
		if (!fails_with(ENOENT,
				syscall(SYS_openat, AT_FDCWD, changing, O_RDONLY, 0)))
			return 2;
	return 0;
}

static void test_a_path_that_changes_while_it_is_read_is_some_path(void **state)
{
	struct seccomp_program plain;
	struct world w;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &plain);
	begin(&w, &plain, open_what_changes);
	assert_int_equal(serve(&w), 0);
	assert_true(w.trace.seen.count >= 1);
	end(&w);
}

static int connect_to(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(443) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(80) };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/no/socket" };
	struct sockaddr_un hidden = { .sun_family = AF_UNIX, .sun_path = "\0name" };
	char *edge = make_edge();

	(void)inet_pton(AF_INET, "192.0.2.1", &in.sin_addr);
	(void)inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	(void)syscall(SYS_connect, -1, &in, sizeof(in));
	(void)syscall(SYS_connect, -1, &in6, sizeof(in6));
	(void)syscall(SYS_connect, -1, &un, sizeof(un));
	(void)syscall(SYS_connect, -1, &hidden, 2 + 5);
	(void)syscall(SYS_connect, -1, &in, 3);
	(void)syscall(SYS_connect, -1, &un, 2);
	(void)syscall(SYS_connect, -1, edge, 16);
	(void)syscall(SYS_connect, -1, &un, ~0u);
	(void)syscall(SYS_sendto, -1, "", 0, 0, NULL, 0);
	return 0;
}

static void test_addresses_are_noted_as_they_are_written(void **state)
{
	static const char *const rows[] = { "192.0.2.1:443", "[2001:db8::1]:80",
					    "unix:/no/socket", "unix:@name" };
	struct seccomp_program plain;
	struct world w;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &plain);
	begin(&w, &plain, connect_to);
	assert_int_equal(serve(&w), 0);
	assert_int_equal(w.trace.seen.address_count, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(w.trace.seen.addresses[i], rows[i]);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_calls_of_the_table_are_told_and_nothing_else_is_changed),
		cmocka_unit_test(
			test_with_a_trace_the_tables_calls_go_on_and_no_refused_one),
		cmocka_unit_test(test_without_a_trace_nothing_goes_on),
		cmocka_unit_test(
			test_a_call_of_the_table_that_the_filter_refuses_does_not_go_on),
		cmocka_unit_test(test_only_what_the_filter_allows_goes_on),
		cmocka_unit_test(test_a_call_that_is_not_traced_stays_refused),
		cmocka_unit_test(test_paths_are_noted_with_what_is_done),
		cmocka_unit_test(test_a_pointer_that_leads_nowhere_is_no_path),
		cmocka_unit_test(test_a_path_that_changes_while_it_is_read_is_some_path),
		cmocka_unit_test(test_addresses_are_noted_as_they_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
