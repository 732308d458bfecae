/* processes, under load: serves many at once, reaps many orphans, runs many in a
 * row, and survives one that hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "executor/process/processes.h"
#include "tests/unit/supervisor.h"

/* Returns the number of the executor's zombies. */
static unsigned count_zombies(pid_t executor)
{
	char path[64], line[512];
	unsigned count = 0;
	DIR *proc = opendir("/proc");

	for (struct dirent *d; (d = readdir(proc)); ) {
		char status;
		int parent;
		(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", d->d_name);
		FILE *f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(line, sizeof(line), f) && strrchr(line, ')') &&
		    sscanf(strrchr(line, ')') + 1, " %c %d", &status, &parent) == 2)
			count += parent == executor && status == 'Z';
		(void)fclose(f);
	}
	(void)closedir(proc);
	return count;
}

static void test_orphans_are_reaped_while_others_are_served(void **state)
{
	struct supervisor *s = *state;
	/* Starts 1,000 processes that are orphans at once, since their parent ends
	 * first. */
	struct ask orphans = { .id = 1, .argv = SH("i=0; while [ $i -lt 1000 ]; do "
						   "(: &); i=$((i+1)); done") };
	struct ask ping = { .id = 2, .argv = ARGV(TEXT("/bin/true")) };
	bool is_over = false;
	unsigned served = 0;

	supervisor_ask(s, &orphans);
	supervisor_expect(s, MSG_STARTED, 1);
	while (!is_over) {
		supervisor_ask(s, &ping);
		for (uint32_t left = 2; left > 0;) {
			struct answer a = supervisor_answer(s);
			assert_int_not_equal(a.type, MSG_FAILED);
			is_over = is_over || a.id == 1;
			left -= a.id == 2;
		}
		served++;
	}
	assert_true(served > 10);
	/* Each turn reaps up to 64 processes; the turns until this answer have
	 * reaped all that died before the request. */
	for (int i = 0; i < 100; i++)
		supervisor_run(s, &ping);
	assert_int_equal(count_zombies(s->pid), 0);
}

static void test_a_flood_of_forged_sigchld_does_no_harm(void **state)
{
	struct supervisor *s = *state;
	struct ask flood = { .id = 1, .argv = SH("while :; do kill -CHLD $PPID; done") };
	struct ask ping = { .id = 2, .argv = ARGV(TEXT("/bin/true")) };

	supervisor_ask(s, &flood);
	supervisor_expect(s, MSG_STARTED, 1);
	for (int i = 0; i < 100; i++)
		assert_int_equal(supervisor_run(s, &ping).status, 0);
	supervisor_signal(s, 1, SIGKILL);
	supervisor_expect(s, MSG_EXITED, 1);
}

static void test_many_commands_run_at_once(void **state)
{
	enum { MANY = 300 };
	struct supervisor *s = *state;
	bool is_running[MANY + 1] = { false };
	struct ask a = { .argv = ARGV(TEXT("/bin/cat")) };
	int in[2];

	make_pipe(in);
	a.fds[0] = in[0];
	/* One by one: descriptors in flight are counted per user. */
	for (a.id = 1; a.id <= MANY; a.id++) {
		supervisor_ask(s, &a);
		supervisor_expect(s, MSG_STARTED, a.id);
		is_running[a.id] = true;
	}
	(void)close(in[0]);
	(void)close(in[1]);
	for (uint32_t i = 1; i <= MANY; i++) {
		struct answer got = supervisor_answer(s);
		assert_int_equal(got.type, MSG_EXITED);
		assert_true(got.id <= MANY && is_running[got.id]);
		is_running[got.id] = false;
	}
}

static void test_more_commands_than_the_table_holds_are_refused(void **state)
{
	struct supervisor *s = *state;
	struct ask a = { .argv = ARGV(TEXT("/bin/cat")) };
	unsigned started = 0, failed = 0;
	int in[2];

	make_pipe(in);
	a.fds[0] = in[0];
	for (a.id = 1; a.id <= PROCESSES_MAX + 5; a.id++) {
		supervisor_ask(s, &a);
		struct answer got = supervisor_answer(s);
		started += got.type == MSG_STARTED;
		failed += got.type == MSG_FAILED;
		if (got.type == MSG_FAILED)
			assert_int_equal(got.failed.stage, EXEC_STAGE_FORK);
	}
	/* There may be fewer, since the user's processes and descriptors are
	 * limited. */
	assert_true(started <= PROCESSES_MAX && started > 100);
	assert_int_equal(started + failed, PROCESSES_MAX + 5);
	(void)close(in[0]);
	(void)close(in[1]);
	for (unsigned i = 0; i < started; i++)
		assert_int_equal(supervisor_answer(s).type, MSG_EXITED);
	struct ask again = { .id = 1, .argv = ARGV(TEXT("true")) };
	supervisor_run(s, &again);
}

static void run_all_kinds(struct supervisor *s)
{
	static const uint32_t flags[] = { 0, EXEC_PTY };
	struct ask good = { .id = 1, .argv = ARGV(TEXT("/bin/true")) };
	struct ask wrong = { .id = 3, .argv = ARGV(TEXT("nonesuch")) };

	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		good.flags = wrong.flags = flags[i];
		supervisor_run(s, &good);
		supervisor_ask(s, &wrong);
		supervisor_expect(s, MSG_FAILED, 3);
	}
}

static void test_a_thousand_commands_leave_no_descriptor_and_no_memory(void **state)
{
	struct supervisor *s = *state;

	for (int i = 0; i < 20; i++)
		run_all_kinds(s);
	unsigned fds = supervisor_fds(s);
	unsigned long kib = supervisor_memory(s);
	for (int i = 0; i < 250; i++)
		run_all_kinds(s);
	assert_int_equal(supervisor_fds(s), fds);
	/* A sanitizer keeps freed memory for a while, hence the margin. */
	assert_true(supervisor_memory(s) < kib + 4096);
}

/* A program file that cannot be opened yet: a lease on it makes execve(2) wait
 * (fcntl(2)).  A command would look the same if another command stopped it
 * before its execve. */
static void test_a_child_that_hangs_before_its_execve_holds_up_nobody(void **state)
{
	char path[] = "/tmp/test_processes.XXXXXX";
	struct supervisor *s = *state;
	struct ask sleeper = { .id = 1, .argv = ARGV(TEXT("/bin/sleep"), TEXT("1000")) };
	struct ask hanging = { .id = 2, .argv = ARGV(path) };
	struct ask ping = { .id = 3, .argv = ARGV(TEXT("/bin/true")) };

	AUTO_CLOSE int fd = mkostemp(path, O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "#!/bin/true\n", 12), 12);
	assert_int_equal(fchmod(fd, 0755), 0);
	own_close(&fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(signal(SIGIO, SIG_IGN) != SIG_ERR);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
		assert_int_equal(unlink(path), 0);
		skip();
	}
	supervisor_ask(s, &sleeper);
	supervisor_expect(s, MSG_STARTED, 1);
	supervisor_ask(s, &hanging);
	for (int i = 0; i < 10; i++)
		supervisor_run(s, &ping);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
	supervisor_expect(s, MSG_STARTED, 2);
	supervisor_expect(s, MSG_EXITED, 2);
	assert_int_equal(unlink(path), 0);
	supervisor_signal(s, 1, SIGKILL);
	supervisor_expect(s, MSG_EXITED, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, supervisor_setup, \
						       supervisor_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_orphans_are_reaped_while_others_are_served),
		TEST(test_a_flood_of_forged_sigchld_does_no_harm),
		TEST(test_many_commands_run_at_once),
		TEST(test_more_commands_than_the_table_holds_are_refused),
		TEST(test_a_thousand_commands_leave_no_descriptor_and_no_memory),
		TEST(test_a_child_that_hangs_before_its_execve_holds_up_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
