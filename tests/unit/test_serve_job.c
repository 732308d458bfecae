/* job: a connection to a sandbox that is not there in time fails, and gives its place back. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_connection_has_a_limit),
		cmocka_unit_test(test_an_answer_in_time_ends_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
