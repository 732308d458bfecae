/* landlock: each case runs in a child, since a process never leaves a Landlock
 * domain. */
#include "sandbox/kernel/landlock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include "base/err.h"
#include "tests/unit/scene.h"

static void play_without_bit(void *arg)
{
	struct err e = { 0 };

	(void)arg;
	CHECK(landlock_try(&e) == -1 && e.sys == EPERM);
}

static void play_try(void *arg)
{
	struct err e = { 0 };

	(void)arg;
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(landlock_try(&e) == 0);
	if (landlock_abi() >= LANDLOCK_ABI_SCOPES)
		CHECK(kill(getppid(), 0) == -1 && errno == EPERM);
	/* The second domain, inside the first, denies nothing that this test needs. */
	CHECK(landlock_try(&e) == 0);
}

static int connect_to(int port)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	return connect(fd, (const struct sockaddr *)&to, sizeof(to));
}

static int touch(const char *path, int flags)
{
	AUTO_CLOSE int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : 0;
}

#define REFUSED(call, code) CHECK((call) < 0 && errno == (code))

/* Runs in a folder with the files mine/f and theirs/f and the folder others/. */
static void play_confined(void *arg)
{
	const uint64_t all = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR |
			     LANDLOCK_WRITE_FILE | LANDLOCK_MAKE_REG |
			     LANDLOCK_REMOVE_FILE;
	struct err e = { 0 };

	CHECK(chdir(arg) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	const struct landlock_rule rules[] = {
		{ open("mine", O_PATH | O_CLOEXEC), all },
		{ -1, all },
		{ open("others", O_PATH | O_CLOEXEC), LANDLOCK_READ_DIR },
	};
	CHECK(landlock_confine(rules, ARRAY_LEN(rules), LANDLOCK_SPARES_SIGNALS, &e) ==
	      0);
	CHECK(touch("mine/f", O_RDWR) == 0 && touch("mine/new", O_WRONLY | O_CREAT) == 0);
	CHECK(unlink("mine/new") == 0 && touch("others", O_RDONLY | O_DIRECTORY) == 0);
	CHECK(kill(getppid(), 0) == 0);
	REFUSED(touch("theirs/f", O_RDONLY), EACCES);
	REFUSED(touch("theirs/f", O_WRONLY), EACCES);
	REFUSED(touch("theirs", O_RDONLY | O_DIRECTORY), EACCES);
	REFUSED(touch("others/new", O_WRONLY | O_CREAT), EACCES);
	REFUSED(unlink("theirs/f"), EACCES);
	REFUSED(execl("/bin/true", "true", NULL), EACCES);
	REFUSED(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL), EPERM);
	/* Port 1 has no listener. */
	REFUSED(connect_to(1), landlock_abi() >= 4 ? EACCES : ECONNREFUSED);
}

static void need_landlock(void)
{
	if (landlock_abi() > 0)
		return;
	print_message("skipped: this host has no Landlock\n");
	skip();
}

static void test_landlock_needs_no_new_privs(void **state)
{
	(void)state;
	need_landlock();
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		skip(); /* no_new_privs is set already, as in every sandbox */
	scene_child(play_without_bit, NULL);
}

static void test_a_trial_confines(void **state)
{
	(void)state;
	need_landlock();
	scene_child(play_try, NULL);
}

static void test_a_path_that_no_rule_allows_is_refused(void **state)
{
	need_landlock();
	scene_dir(state, "mine");
	scene_dir(state, "theirs");
	scene_dir(state, "others");
	scene_file(state, "mine/f", "x");
	scene_file(state, "theirs/f", "x");
	scene_child(play_confined, *state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_path_that_no_rule_allows_is_refused, scene_setup,
			scene_teardown),
		cmocka_unit_test(test_landlock_needs_no_new_privs),
		cmocka_unit_test(test_a_trial_confines),
	};

	scene_leave_root();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
