/* job: a connection to a sandbox that is not there in time fails, and gives its place back.
 * The spawner bounds builds by itself, since the front may have been taken over. */
#include "gateway/job.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "lib/error.h" /* the spawner is a client of the library */

static void ignore(void *context, uint32_t events)
{
	(void)context;
	(void)events;
}

/* Returns the answer that the front gets; "" where there is none. */
static const char *answer(int front, char to[256])
{
	const ssize_t n = recv(front, to, 255, MSG_DONTWAIT);

	to[n > 0 ? n : 0] = '\0';
	return to;
}

static void test_a_connection_has_a_limit(void **state)
{
	struct spawner s = { .jobs = 1 };
	struct job *j = calloc(1, sizeof(*j));
	char text[256];
	struct err e;
	int link[2];

	(void)state;
	assert_non_null(j);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
	assert_int_equal(loop_init(&s.loop, &e), 0);
	s.link = (struct watch){ link[0], &s, ignore };
	*j = (struct job){ .s = &s, .order.id = 7, .file = -1 };
	s.loop.now = 5000;
	job_limit(j);
	s.loop.now = 5000 + JOB_CONNECT_MS - 1;
	loop_expire(&s.loop);
	assert_string_equal(answer(link[1], text), "");
	assert_int_equal(s.jobs, 1);
	s.loop.now++;
	loop_expire(&s.loop);
	assert_string_equal(answer(link[1], text),
			    "{\"id\":7,\"error\":{\"kind\":\"timeout\",\"message\":"
			    "\"the sandbox's supervisor does not answer\"}}");
	assert_int_equal(s.jobs, 0);
	loop_expire(&s.loop); /* the timer is gone with its job */
	loop_done(&s.loop);
	own_close(&link[0]);
	own_close(&link[1]);
}

static void test_an_answer_in_time_ends_the_limit(void **state)
{
	struct spawner s = { .jobs = 1 };
	struct job *j = calloc(1, sizeof(*j));
	char text[256];
	struct err e;
	int link[2];

	(void)state;
	assert_non_null(j);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
	assert_int_equal(loop_init(&s.loop, &e), 0);
	s.link = (struct watch){ link[0], &s, ignore };
	*j = (struct job){ .s = &s, .order.id = 8, .file = -1 };
	job_limit(j);
	job_succeed(j, -1);
	assert_string_equal(answer(link[1], text), "{\"id\":8}");
	s.loop.now += JOB_CONNECT_MS;
	loop_expire(&s.loop);
	assert_string_equal(answer(link[1], text), "");
	loop_done(&s.loop);
	own_close(&link[0]);
	own_close(&link[1]);
}

/* Asks for a build without a file, beside `count` builds, and returns the answer. */
static const char *build_beside(size_t count, char to[256])
{
	struct job under_way[8] = { 0 };
	struct spawner s = { .jobs = 1 };
	struct job *j = calloc(1, sizeof(*j));
	struct err e;
	int link[2];

	assert_non_null(j);
	assert_true(count <= ARRAY_LEN(under_way));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
	assert_int_equal(loop_init(&s.loop, &e), 0);
	s.link = (struct watch){ link[0], &s, ignore };
	for (size_t i = 0; i < count; i++) {
		under_way[i].next = s.builds;
		s.builds = &under_way[i];
	}
	*j = (struct job){ .s = &s, .order.id = 9, .file = -1 };
	job_build(j);
	assert_int_equal(s.jobs, 0);
	(void)answer(link[1], to);
	loop_done(&s.loop);
	own_close(&link[0]);
	own_close(&link[1]);
	return to;
}

static void test_a_fifth_build_is_refused(void **state)
{
	char text[256];

	(void)state;
	assert_non_null(strstr(build_beside(3, text), "a build needs a file"));
	assert_non_null(strstr(build_beside(4, text), "4 builds are under way"));
	assert_non_null(strstr(build_beside(5, text), "4 builds are under way"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_connection_has_a_limit),
		cmocka_unit_test(test_an_answer_in_time_ends_the_limit),
		cmocka_unit_test(test_a_fifth_build_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
