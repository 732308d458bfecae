/* pool_spawn: starts the program that makes a sandbox for a pool, and reads that
 * program's messages.  A shell plays hutch-supervise. */
#include "supervisor/pool/pool_spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "tests/patience.h"

#define NOW  1000000 /* ms */
#define NONE "\"error\":null}\n"

static void judged(const char *said, int expected, struct err *e)
{
	struct pool_spawn m;

	pool_spawn_init(&m);
	strcpy(m.name, "p-1");
	m.len = strlen(said);
	memcpy(m.said, said, m.len);
	assert_int_equal(pool_spawn_judge(&m, e), expected);
}

static void test_the_words_of_a_supervisor_are_the_outcome(void **state)
{
	static const struct {
		const char *said, *text, *remedy;
		enum err_kind kind;
	} cases[] = {
		{ "", "killed", "", ERR_INTERNAL },
		{ "garbage\n", "killed", "", ERR_INTERNAL },
		{ "{\"error\":nul", "killed", "", ERR_INTERNAL },
		{ "{\"error\":{\"kind\":\"limit\",\"message\":\"m\",\"remedy\":\"r\"}}\n",
		  "m", "r", ERR_LIMIT },
		{ "{\"error\":{\"kind\":\"no such\",\"message\":\"100%s\",\"remedy\":null}}\n",
		  "100%s", "", ERR_INTERNAL },
		{ "{\"error\":{}}\n", "an error", "", ERR_INTERNAL },
		{ "{}\n", "an error", "", ERR_INTERNAL },
	};
	struct err e;

	(void)state;
	judged("{\"version\":1,\"name\":\"p-1\",\"error\":null}\n", 0, &e);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		judged(cases[i].said, -1, &e);
		assert_non_null(strstr(e.text, cases[i].text));
		assert_string_equal(e.remedy, cases[i].remedy);
		assert_int_equal(e.kind, cases[i].kind);
	}
}

/* The script that the shell runs in place of hutch-supervise: a fixed beginning, and
 * then the commands of the test. */
static char path[] = "/tmp/hutch-spawn.XXXXXX";

static void begin(struct pool_spawn *m, const char *script)
{
	struct list words = { 0 };
	struct pool_spawn_plan plan = { .program = path, .pool = "p", .words = &words };
	struct err e = { 0 };

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_true(dprintf(fd, "#!/bin/sh\n%s\n", script) > 0);
	assert_int_equal(fchmod(fd, 0700), 0);
	(void)close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &plan.files), 0);
	list_add(&words, "--memory=64m");
	if (pool_spawn_start(m, &plan, NOW, &e) < 0)
		fail_msg("%s", e.text);
	list_done(&words);
	assert_true(m->pid > 0);
	assert_int_equal(m->due_ms, NOW + POOL_SPAWN_READS_MS);
}

static void await(struct pool_spawn *m)
{
	struct pollfd w = { .fd = m->says, .events = POLLIN };

	do {
		assert_int_equal(poll(&w, 1, PATIENCE_MS), 1);
	} while (!pool_spawn_read(m));
	assert_int_equal(wait(NULL), m->pid);
	pool_spawn_reaped(m, m->pid + 1);
	assert_int_not_equal(m->pid, 0);
	pool_spawn_reaped(m, m->pid);
	assert_int_equal(m->pid, 0);
	(void)unlink(path);
}

static void start(struct pool_spawn *m, const char *script)
{
	begin(m, script);
	await(m);
}

static void test_a_supervisor_is_given_its_descriptors_words_and_name(void **state)
{
	struct pool_spawn m;
	struct err e;
	char byte;

	(void)state;
	start(&m,
	      "case \"$*\" in '--lease=3 --json=4 --memory=64m p-'*) ;; *) exit;; esac\n"
	      "echo x >&3; echo '{" NONE "' >&4");
	assert_int_equal(pool_spawn_judge(&m, &e), 0);
	assert_int_equal(strlen(m.name), strlen("p-12345678"));
	/* The descriptor leads to the socket to which the shell wrote. */
	assert_int_equal(read(m.lease, &byte, 1), 1);
	pool_spawn_done(&m);
	pool_spawn_done(&m);
	assert_int_equal(m.says, -1);
}

static void test_one_that_says_too_much_is_not_read_for_ever(void **state)
{
	struct pool_spawn m;
	struct err e;

	(void)state;
	start(&m,
	      "i=0; while [ $i -lt 400 ]; do echo 12345678901234567890123456789 >&4; i=$((i+1)); done");
	assert_int_equal(m.len, POOL_SPAWN_SAID_MAX);
	assert_int_equal(pool_spawn_judge(&m, &e), -1);
	pool_spawn_done(&m);
}

static void test_that_it_has_read_its_words_shows_while_it_goes_on(void **state)
{
	struct pool_spawn m;
	struct err e;

	(void)state;
	begin(&m, "read x <&3; exec 5>&-; read x <&3; echo '{" NONE "' >&4");
	struct pollfd w = { .fd = m.reads };
	assert_int_equal(poll(&w, 1, 0), 0);
	assert_int_equal(write(m.lease, "\n", 1), 1);
	assert_int_equal(poll(&w, 1, PATIENCE_MS), 1);
	pool_spawn_go_on(&m);
	assert_int_equal(m.reads, -1);
	assert_int_equal(m.due_ms, 0);
	pool_spawn_kill(&m); /* not ready yet */
	assert_int_equal(write(m.lease, "\n", 1), 1);
	await(&m);
	assert_int_equal(pool_spawn_judge(&m, &e), 0);
	pool_spawn_done(&m);
}

static void test_one_that_still_reads_its_words_can_be_killed(void **state)
{
	struct pool_spawn m;
	struct err e;

	(void)state;
	begin(&m, "read x <&3; echo '{" NONE "' >&4");
	pool_spawn_kill(&m);
	await(&m);
	assert_int_equal(pool_spawn_judge(&m, &e), -1);
	pool_spawn_kill(&m); /* there is no process */
	pool_spawn_done(&m);
	assert_int_equal(m.reads, -1);
}

/* The signals of a new program are as usual.  Signals that the test's own
 * caller ignored stay ignored, and two of the C library's cannot be set. */
static void test_a_supervisor_inherits_no_signal_of_the_keeper(void **state)
{
	struct pool_spawn m;
	struct err e;
	sigset_t all;

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigfillset(&all);
	assert_int_equal(sigprocmask(SIG_BLOCK, &all, NULL), 0);
	start(&m,
	      "grep -qE '^SigBlk:.0+$' /proc/self/status &&\n"
	      "grep -qE '^SigIgn:.*[02468ace]...$' /proc/self/status &&\n" /* SIGPIPE is 0x1000 */
	      "echo '{" NONE "' >&4");
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &all, NULL), 0);
	assert_int_equal(pool_spawn_judge(&m, &e), 0);
	pool_spawn_done(&m);
}

static void test_a_program_that_is_not_there_has_made_nothing(void **state)
{
	struct list words = { 0 };
	struct pool_spawn_plan plan = {
		.program = "/no/such", .pool = "p", .words = &words, .files = { 64, 64 }
	};
	struct pool_spawn m;
	struct err e;

	(void)state;
	assert_int_equal(pool_spawn_start(&m, &plan, NOW, &e), 0);
	assert_true(wait(NULL) > 0);
	assert_true(pool_spawn_read(&m));
	assert_int_equal(pool_spawn_judge(&m, &e), -1);
	pool_spawn_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_words_of_a_supervisor_are_the_outcome),
		cmocka_unit_test(
			test_a_supervisor_is_given_its_descriptors_words_and_name),
		cmocka_unit_test(test_one_that_says_too_much_is_not_read_for_ever),
		cmocka_unit_test(test_that_it_has_read_its_words_shows_while_it_goes_on),
		cmocka_unit_test(test_one_that_still_reads_its_words_can_be_killed),
		cmocka_unit_test(test_a_supervisor_inherits_no_signal_of_the_keeper),
		cmocka_unit_test(test_a_program_that_is_not_there_has_made_nothing),
	};

	return cmocka_run_group_tests_name("pool_spawn", tests, NULL, NULL);
}
