/* janitor: a child of the test plays the launcher.  The test is a subreaper, so that
 * it can wait for the janitor that outlives the launcher. */
#include "sandbox/launch/janitor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>

#include "base/err.h"
#include "base/list.h"
#include "policy/port_spec.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/kernel/listener.h"
#include "sandbox/kernel/terminal.h"
#include "sandbox/launch/supervise.h"
#include "sandbox/root/overlay_upper.h"
#include "tests/patience.h"
#include "tests/unit/scene.h"

static const struct cgroup no_cgroup; /* all zero: there is no cgroup */

enum launcher_end { DISMISSES, IS_KILLED, EXITS, LEAVES_WORK };

static bool is_raw(int tty)
{
	struct termios now;

	assert_int_equal(tcgetattr(tty, &now), 0);
	return !(now.c_lflag & ICANON);
}

static void wait_for_all(void)
{
	while (waitpid(-1, NULL, 0) > 0)
		;
}

__attribute__((noreturn)) static void launch(int tty, struct overlay_upper *u,
					     enum launcher_end end)
{
	struct terminal t = { .fd = -1 };
	struct janitor j;
	struct err e;

	janitor_init(&j);
	CHECK(tty < 0 || terminal_open(&t, tty, &e) == 0);
	CHECK(janitor_start(&j, &(struct chores){ &t, u, &no_cgroup, NULL, -1, NULL },
			    &e) == 0);
	CHECK(j.pid > 0);
	CHECK(tty < 0 || terminal_raw(&t, &e) == 0);
	if (end == DISMISSES)
		janitor_dismiss(&j);
	if (end == LEAVES_WORK) {
		janitor_work(&j);
		CHECK(j.pid == 0 && access(u->path, F_OK) < 0 && errno == ENOENT);
	}
	if (end == IS_KILLED)
		(void)raise(SIGKILL);
	_exit(0);
}

static void run_launcher(int tty, struct overlay_upper *u, enum launcher_end end)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		launch(tty, u, end);
	assert_int_equal(scene_child_code(pid), end == IS_KILLED ? 128 + SIGKILL : 0);
	wait_for_all();
}

static void test_modes_come_back_unless_it_was_dismissed(void **state)
{
	static const enum launcher_end ends[] = { IS_KILLED, EXITS, DISMISSES };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct overlay_upper none;
		int ours, tty;
		overlay_upper_init(&none);
		assert_int_equal(openpty(&ours, &tty, NULL, NULL, NULL), 0);
		run_launcher(tty, &none, ends[i]);
		assert_int_equal(is_raw(tty), ends[i] == DISMISSES);
		(void)close(ours);
		(void)close(tty);
	}
}

/* A launcher on a terminal of its own.  Its janitor has nothing to remove. */
struct launcher {
	struct terminal t;
	struct overlay_upper none;
	struct janitor j;
	int ours; /* the test's end of the terminal */
};

static void launcher_begin(struct launcher *l)
{
	int tty;
	struct err e;

	l->t = (struct terminal){ .fd = -1 };
	overlay_upper_init(&l->none);
	janitor_init(&l->j);
	CHECK(openpty(&l->ours, &tty, NULL, NULL, NULL) == 0);
	CHECK(terminal_open(&l->t, tty, &e) == 0);
}

static void launcher_start_janitor(struct launcher *l)
{
	struct err e;

	CHECK(janitor_start(
		      &l->j,
		      &(struct chores){ &l->t, &l->none, &no_cgroup, NULL, -1, NULL },
		      &e) == 0);
}

/* Ctrl-C and a hang-up go to a terminal's whole foreground group.  The launcher
 * has blocked both signals before it starts a janitor. */
static void play_signals(void *arg)
{
	struct launcher l;
	struct err e;

	(void)arg;
	launcher_begin(&l);
	CHECK(setpgid(0, 0) == 0);
	CHECK(supervise_signals(&e) >= 0);
	launcher_start_janitor(&l);
	CHECK(kill(0, SIGINT) == 0 && kill(0, SIGHUP) == 0);
	CHECK(waitpid(l.j.pid, NULL, WNOHANG) == 0);
	janitor_dismiss(&l.j);
	CHECK(l.j.pid == 0 && l.j.dismiss == -1);
	janitor_dismiss(&l.j);
}

static void test_signals_of_the_terminal_do_not_reach_it(void **state)
{
	(void)state;
	scene_child(play_signals, NULL);
}

/* A reader of the caller's output waits until all ends of the pipe are closed, so
 * the janitor, which outlives the launcher, may hold none. */
static void play_pipes(void *arg)
{
	struct launcher l;
	int ends[2];
	char byte;

	(void)arg;
	launcher_begin(&l);
	CHECK(pipe(ends) == 0 && dup2(ends[1], 1) == 1 && dup2(ends[1], 200) == 200);
	launcher_start_janitor(&l);
	(void)close(ends[1]);
	(void)close(1);
	(void)close(200);
	CHECK(scene_readable(ends[0], PATIENCE_MS) && read(ends[0], &byte, 1) == 0);
	CHECK(waitpid(l.j.pid, NULL, WNOHANG) == 0);
	janitor_dismiss(&l.j);
}

static void test_the_janitor_holds_no_pipe_of_the_caller(void **state)
{
	(void)state;
	scene_child(play_pipes, NULL);
}

static void test_with_nothing_to_undo_there_is_none(void **state)
{
	const struct terminal t = { .fd = -1 };
	struct overlay_upper none;
	struct janitor j;
	struct err e;

	(void)state;
	overlay_upper_init(&none);
	janitor_init(&j);
	assert_int_equal(
		janitor_start(&j,
			      &(struct chores){ &t, &none, &no_cgroup, NULL, -1, NULL },
			      &e),
		0);
	assert_int_equal(j.pid, 0);
	janitor_dismiss(&j);
}

struct slept {
	pid_t pid;
	unsigned long before;
};

static bool sleeps_again_or_ended(void *context)
{
	const struct slept *s = context;
	const struct scene_process now = scene_process(s->pid);

	return now.state == 'Z' || (now.state == 'S' && now.sleeps > s->before);
}

/* The kernel closes a killed process's descriptors one by one: the pipe's end
 * comes before the socket's, so the socket still looks alive for a moment. */
static void play_socket(void *arg)
{
	struct launcher l;
	struct listener at;
	struct port_spec p = { .path = arg, .guest = 80 };
	struct list paths = { 0 };
	struct err e;

	launcher_begin(&l);
	list_add(&paths, arg);
	CHECK(listener_open(&p, &at, &e) == 0);
	CHECK(janitor_start(
		      &l.j,
		      &(struct chores){ &l.t, &l.none, &no_cgroup, NULL, -1, &paths },
		      &e) == 0);
	patience_wait(scene_sleeps_or_ended, &l.j.pid);
	struct scene_process before = scene_process(l.j.pid);
	struct slept slept = { l.j.pid, before.sleeps };
	own_close(&l.j.dismiss);
	patience_wait(sleeps_again_or_ended, &slept);
	CHECK(scene_process(l.j.pid).state == 'S');
	CHECK(access(arg, F_OK) == 0);
	_exit(0);
}

static void test_a_socket_is_removed_when_the_launcher_has_ended(void **state)
{
	AUTO_FREE char *path = scene_path(state, "socket");

	scene_child(play_socket, path);
	wait_for_all();
	assert_int_equal(access(path, F_OK), -1);
}

static void test_an_upper_folder_is_removed_with_what_is_in_it(void **state)
{
	AUTO_FREE char *path = scene_path(state, "upper-1");

	scene_dir(state, "upper-1");
	scene_dir(state, "upper-1/upper");
	scene_dir(state, "upper-1/upper/d");
	scene_file(state, "upper-1/upper/d/f", "x");
	scene_file(state, "kept", "x");
	scene_link(state, "upper-1/upper/link", "../../kept");
	struct overlay_upper u = { .path = text_copy(path),
			   .lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	run_launcher(-1, &u, IS_KILLED);
	assert_int_equal(access(path, F_OK), -1);
	AUTO_FREE char *kept = scene_path(state, "kept");
	assert_int_equal(access(kept, F_OK), 0);
	own_close(&u.lock);
	free(u.path);
}

/* A launcher that has confined itself may no longer remove the upper layer; it
 * leaves that to the janitor. */
static void test_the_janitor_does_the_work_that_it_is_left(void **state)
{
	AUTO_FREE char *path = scene_path(state, "upper-1");

	scene_dir(state, "upper-1");
	scene_dir(state, "upper-1/closed");
	scene_file(state, "upper-1/closed/f", "x");
	AUTO_FREE char *closed = scene_path(state, "upper-1/closed");
	assert_int_equal(chmod(closed, 0), 0);
	struct overlay_upper u = { .path = text_copy(path),
			   .lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	run_launcher(-1, &u, LEAVES_WORK);
	own_close(&u.lock);
	free(u.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes_come_back_unless_it_was_dismissed),
		cmocka_unit_test(test_signals_of_the_terminal_do_not_reach_it),
		cmocka_unit_test(test_the_janitor_holds_no_pipe_of_the_caller),
		cmocka_unit_test(test_with_nothing_to_undo_there_is_none),
		cmocka_unit_test_setup_teardown(
			test_a_socket_is_removed_when_the_launcher_has_ended, scene_setup,
			scene_teardown),
		cmocka_unit_test_setup_teardown(
			test_an_upper_folder_is_removed_with_what_is_in_it, scene_setup,
			scene_teardown),
		cmocka_unit_test_setup_teardown(
			test_the_janitor_does_the_work_that_it_is_left, scene_setup,
			scene_teardown),
	};

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
