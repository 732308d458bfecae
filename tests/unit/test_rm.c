/* hutch rm -f: what becomes of a sandbox's record after its supervisor has answered, or has
 * not.  A child plays the supervisor. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/io.h"
#include "cli/verbs.h"
#include "sandbox/launch/result.h"
#include "tests/unit/register.h"

#define HELLO                                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":1,\"version\":\"0.1.0\"," \
	"\"name\":\"one\",\"id\":\"3f2a90b1c4d5\",\"state\":\"ready\"}}\n"
#define STOPPED HELLO "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n"
#define REFUSED                                                            \
	HELLO "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32000,"  \
	      "\"message\":\"not now\",\"data\":{\"kind\":\"refused\"}}}\n"

/* How the supervisor ends when a client tells it to stop. */
struct fate {
	enum { ENDS_KEPT, ENDS_REMOVED, DIES, HANGS } end;
	const char *answer; /* NULL: it closes the connection */
};

/* Reads both requests, of which the second ends with the second newline. */
static void read_requests(int client)
{
	char byte;

	for (int lines = 0; lines < 2; lines += byte == '\n')
		CHECK(io_read_full(client, &byte, 1) == 1);
}

/* Plays the supervisor; closes `ready` when clients can connect. */
static _Noreturn void supervise(const struct fate *fate, int ready)
{
	struct registry_entry r;
	struct err e;

	CHECK(registry_create("one", &r, &e) == 0);
	const int server = registry_listen(&r, &e);
	CHECK(server >= 0 && registry_set_status(&r, REGISTRY_READY, &e) == 0);
	(void)close(ready);
	CHECK(scene_readable(server, PATIENCE_MS));
	const int client = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	read_requests(client);
	if (fate->end == HANGS) {
		(void)close(client);
		for (;;)
			(void)pause();
	}
	if (fate->end != DIES)
		CHECK(registry_end(&r, RECORD,
				   fate->end == ENDS_KEPT ? REGISTRY_KEEP
							  : REGISTRY_REMOVE,
				   &e) == 0);
	if (fate->answer)
		CHECK(io_write_all(client, fate->answer, strlen(fate->answer)) == 0);
	_exit(0);
}

static pid_t start(const struct fate *fate)
{
	int ready[2];
	char none;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	const pid_t pid = fork();
	if (pid == 0)
		supervise(fate, ready[1]);
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &none, 1), 0);
	(void)close(ready[0]);
	return pid;
}

/* Runs hutch rm in a child, without what it prints, and returns its exit code. */
static int run_rm(char *flag)
{
	char name[] = "one", *argv[] = { flag, name, NULL };
	int status;

	const pid_t pid = fork();
	if (pid == 0) {
		const int null = open("/dev/null", O_WRONLY);
		CHECK(dup2(null, 1) == 1 && dup2(null, 2) == 2);
		_exit(rm_main(argv));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static char force[] = "-f", quiet[] = "-q";

static void reap(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_nothing_is_left_however_the_supervisor_ends(void **state)
{
	static const struct fate fates[] = {
		{ ENDS_KEPT, STOPPED },
		{ ENDS_KEPT, NULL },
		{ ENDS_REMOVED, STOPPED },
		{ ENDS_REMOVED, NULL },
		{ DIES, STOPPED },
		{ DIES, NULL },
	};
	struct registry_list all;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fates); i++) {
		const pid_t pid = start(&fates[i]);
		assert_int_equal(run_rm(force), 0);
		reap(pid);
		assert_int_equal(registry_list(true, &all, NULL), 0);
		assert_int_equal(all.count, 0);
		registry_list_done(&all);
	}
}

/* The supervisor was stopped, say, after it had closed its connections. */
static void test_a_supervisor_that_keeps_the_name_is_killed(void **state)
{
	const struct fate fate = { HANGS, NULL };
	struct registry_list all;
	int status;

	(void)state;
	const pid_t pid = start(&fate);
	assert_int_equal(run_rm(force), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(registry_list(true, &all, NULL), 0);
	assert_int_equal(all.count, 0);
	registry_list_done(&all);
}

static void test_a_refusal_is_an_error_and_leaves_the_record(void **state)
{
	const struct fate fate = { ENDS_KEPT, REFUSED };
	struct registry_item item;

	(void)state;
	const pid_t pid = start(&fate);
	assert_int_equal(run_rm(force), EXIT_HUTCH);
	reap(pid);
	assert_int_equal(registry_find_ended("one", &item, NULL), 0);
	registry_item_done(&item);
	assert_int_equal(run_rm(quiet), 0);
	assert_int_equal(run_rm(quiet), EXIT_HUTCH); /* there is no such sandbox */
}

static void test_one_that_lives_is_ended_by_force_alone(void **state)
{
	struct registry_entry r;

	(void)state;
	create("one", &r);
	assert_int_equal(run_rm(quiet), EXIT_HUTCH);
	assert_int_equal(registry_look("one", &(struct registry_item){ 0 }, NULL), 0);
	end(&r, REGISTRY_REMOVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_is_left_however_the_supervisor_ends),
		TEST(test_a_supervisor_that_keeps_the_name_is_killed),
		TEST(test_a_refusal_is_an_error_and_leaves_the_record),
		TEST(test_one_that_lives_is_ended_by_force_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
