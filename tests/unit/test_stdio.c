/* stdio: gives a command pipes of hutch and /dev/null, and never the caller's own
 * descriptors.  Each case runs in a child that arranges its 0, 1 and 2. */
#include "sandbox/kernel/stdio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include "base/err.h"
#include "policy/policy.h"
#include "tests/unit/scene.h"

enum source { CLOSED, NUL, PIPE, FILE_, FOLDER, SOCKET, TTY, SAME /* as stdout */ };
enum got { GOT_NULL, GOT_PIPE, GOT_SAME, GOT_OWN };

struct sample {
	enum source callers[STDIO_COUNT];
	bool is_interactive, has_terminal, inherits;
	enum got inside[STDIO_COUNT];
	int pump[STDIO_COUNT]; /* mode of the pump for this pipe, or -1 */
	const char *says;      /* an error instead */
};

#define NONE	-1
#define SPLICE	PUMP_SPLICE
#define COPY	PUMP_COPY
#define TO_FILE PUMP_FILE
#define VISIBLE PUMP_VISIBLE

static const struct sample samples[] = {
	{ { PIPE, PIPE, PIPE }, true, false, false, { GOT_PIPE, GOT_PIPE, GOT_PIPE },
	  { SPLICE, SPLICE, SPLICE }, NULL },
	{ { PIPE, PIPE, PIPE }, false, false, false, { GOT_NULL, GOT_PIPE, GOT_PIPE },
	  { NONE, SPLICE, SPLICE }, NULL },
	{ { FILE_, FILE_, FILE_ }, true, false, false, { GOT_PIPE, GOT_PIPE, GOT_PIPE },
	  { SPLICE, TO_FILE, TO_FILE }, NULL },
	{ { NUL, NUL, NUL }, true, false, false, { GOT_NULL, GOT_NULL, GOT_NULL },
	  { NONE, NONE, NONE }, NULL },
	{ { PIPE, PIPE, SAME }, true, false, false, { GOT_PIPE, GOT_PIPE, GOT_SAME },
	  { SPLICE, SPLICE, NONE }, NULL },
	{ { SOCKET, SOCKET, SOCKET }, true, false, false,
	  { GOT_PIPE, GOT_PIPE, GOT_PIPE }, { SPLICE, COPY, COPY }, NULL },
	{ { TTY, TTY, SAME }, true, false, false, { GOT_PIPE, GOT_PIPE, GOT_SAME },
	  { COPY, VISIBLE, NONE }, NULL },
	{ { TTY, TTY, PIPE }, true, true, false, { GOT_PIPE, GOT_PIPE, GOT_SAME },
	  { COPY, COPY, NONE }, NULL },
	{ { PIPE, TTY, PIPE }, false, true, false, { GOT_PIPE, GOT_PIPE, GOT_SAME },
	  { NONE, COPY, NONE }, NULL },
	{ { PIPE, PIPE, PIPE }, true, true, false, { 0 }, { 0 }, "needs a terminal" },
	{ { FOLDER, PIPE, PIPE }, true, false, false, { 0 }, { 0 }, "stdin is a folder" },
	{ { PIPE, FOLDER, PIPE }, true, false, false, { 0 }, { 0 },
	  "stdout is a folder" },
	{ { PIPE, PIPE, FOLDER }, true, false, false, { 0 }, { 0 },
	  "stderr is a folder" },
	{ { FOLDER, PIPE, PIPE }, false, false, false, { GOT_NULL, GOT_PIPE, GOT_PIPE },
	  { NONE, SPLICE, SPLICE }, NULL },
	{ { PIPE, FILE_, SOCKET }, false, false, true, { GOT_OWN, GOT_OWN, GOT_OWN },
	  { NONE, NONE, NONE }, NULL },
};

static int open_source(enum source source, int fd)
{
	int ends[2];

	if (source == SAME)
		return dup(1);
	if (source == FILE_)
		return open("/tmp", O_TMPFILE | O_RDWR, 0600);
	if (source == FOLDER)
		return open("/tmp", O_RDONLY | O_DIRECTORY);
	if (source == SOCKET)
		return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ? -1 : ends[0];
	if (source == TTY)
		return openpty(&ends[0], &ends[1], NULL, NULL, NULL) < 0 ? -1 : ends[1];
	if (source == PIPE)
		return pipe(ends) < 0 ? -1 : ends[fd != 0];
	return open("/dev/null", O_RDWR);
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	CHECK(fstat(a, &x) == 0 && fstat(b, &y) == 0);
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void check_inside(const struct stdio *s, int fd, enum got got)
{
	struct stat st;

	CHECK(fstat(s->inside[fd], &st) == 0);
	CHECK(fcntl(s->inside[fd], F_GETFD) & FD_CLOEXEC);
	if (got == GOT_NULL)
		CHECK(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
	else if (got == GOT_OWN)
		CHECK(is_same(s->inside[fd], fd));
	else
		CHECK(S_ISFIFO(st.st_mode) && !is_same(s->inside[fd], fd));
	if (got == GOT_SAME)
		CHECK(is_same(s->inside[fd], s->inside[1]));
	/* The command's end of a pipe blocks, as programs expect. */
	if (got == GOT_PIPE)
		CHECK(!(fcntl(s->inside[fd], F_GETFL) & O_NONBLOCK));
}

static void play(void *arg)
{
	const struct sample *want = arg;
	const struct policy policy = { .is_interactive = want->is_interactive,
				       .has_terminal = want->has_terminal,
				       .inherits_stdio = want->inherits };
	struct stdio s;
	struct err e;

	for (int fd = 0; fd < 2 || (fd < 3 && want->callers[2] != CLOSED); fd++)
		CHECK(dup2(open_source(want->callers[fd], fd), fd) == fd);
	stdio_init(&s);
	int result = stdio_open(&s, &policy, &e);
	CHECK(result == (want->says ? -1 : 0));
	CHECK(!want->says || strstr(e.text, want->says));
	for (int fd = 0; fd < STDIO_COUNT && !want->says; fd++) {
		check_inside(&s, fd, want->inside[fd]);
		CHECK(pump_is_open(&s.pumps[fd]) == (want->pump[fd] != NONE));
		if (want->pump[fd] == NONE)
			continue;
		CHECK((int)s.pumps[fd].mode == want->pump[fd]);
		/* hutch's end never blocks. */
		int ours = fd == 0 ? s.pumps[0].to : s.pumps[fd].from;
		CHECK(fcntl(ours, F_GETFL) & O_NONBLOCK);
	}
	CHECK(want->says ||
	      s.has_terminal == (want->has_terminal && want->is_interactive));
	stdio_done(&s);
	stdio_done(&s);
}

static void test_the_streams_of_the_caller_reach_the_inside(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct sample s = samples[i];
		scene_child(play, &s);
	}
}

static void play_terminal_modes(void *arg)
{
	const struct policy policy = { .is_interactive = true };
	struct stdio s;
	struct err e;

	(void)arg;
	CHECK(dup2(open_source(TTY, 0), 0) == 0);
	CHECK(dup2(0, 1) == 1 && dup2(0, 2) == 2);
	stdio_init(&s);
	CHECK(stdio_open(&s, &policy, &e) == 0);
	/* hutch's ends of the pipes do not block, and the caller's open file
	 * description is unchanged. */
	CHECK(fcntl(s.pumps[0].from, F_GETFL) & O_NONBLOCK);
	CHECK(fcntl(s.pumps[1].to, F_GETFL) & O_NONBLOCK);
	CHECK(!(fcntl(0, F_GETFL) & O_NONBLOCK));
	stdio_done(&s);
}

static void test_the_callers_terminal_keeps_blocking(void **state)
{
	(void)state;
	scene_child(play_terminal_modes, NULL);
}

static void test_handing_over_closes_our_copies(void **state)
{
	const struct policy policy = { .is_interactive = false };
	unsigned before = scene_open_fds();
	struct stdio s;
	struct err e;

	(void)state;
	stdio_init(&s);
	assert_int_equal(stdio_open(&s, &policy, &e), 0);
	stdio_handed_over(&s);
	for (int fd = 0; fd < STDIO_COUNT; fd++)
		assert_int_equal(s.inside[fd], -1);
	stdio_done(&s);
	stdio_done(NULL);
	assert_int_equal(scene_open_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_streams_of_the_caller_reach_the_inside),
		cmocka_unit_test(test_the_callers_terminal_keeps_blocking),
		cmocka_unit_test(test_handing_over_closes_our_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
