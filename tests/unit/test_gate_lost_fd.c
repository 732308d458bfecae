/* Tests of what hutch-gate does when the kernel has dropped a descriptor that hutch-egress
 * had sent, since the gate may have no more. */
#include "egress/gate/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/own.h"

/* Lets this process have no more descriptors than it has. */
static void fill_descriptors(struct rlimit *ret_before)
{
	const int next = fcntl(0, F_DUPFD, 0);
	struct rlimit none;

	assert_true(next > 0);
	assert_int_equal(close(next), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_before), 0);
	none = (struct rlimit){ (rlim_t)next, ret_before->rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void test_a_lost_descriptor_is_an_error_that_says_so(void **state)
{
	struct gate *g = calloc(1, sizeof(*g));
	struct rlimit before;
	struct err e;
	int ends[2];

	(void)state;
	assert_non_null(g);
	buffer_init(&g->link.in, LINK_MAX);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	g->link.fd = ends[0];
	assert_int_equal(fd_pass_send(ends[1], "x", 1, &ends[1], 1), 1);
	fill_descriptors(&before);
	const int result = link_read(g, &e);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(result, -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_string_equal(e.text, "the gate may open no more descriptors");
	own_close(&ends[0]);
	own_close(&ends[1]);
	buffer_done(&g->link.in);
	free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lost_descriptor_is_an_error_that_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
