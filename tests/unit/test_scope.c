#include "sandbox/cgroup/scope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "tests/unit/scene.h"

/* A bus of the machine does not disturb the test: XDG_RUNTIME_DIR comes first,
 * and /run/user/UID exists only for a user with a session. */
static void test_a_bus_is_a_socket_that_is_ours(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	scene_dir(state, "runtime");
	AUTO_FREE char *runtime = scene_path(state, "runtime");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", runtime);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
	if (scope_has_bus())
		skip(); /* this user has a session with a bus, which would be found */
	AUTO_CLOSE int file =
		open(address.sun_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_false(scope_has_bus());
	assert_int_equal(unlink(address.sun_path), 0);
	AUTO_CLOSE int bus = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(bus, (void *)&address, sizeof(address)), 0);
	assert_false(scope_has_bus()); /* nothing listens */
	assert_int_equal(listen(bus, 1), 0);
	assert_true(scope_has_bus());
	/* A relative path in XDG_RUNTIME_DIR does not count, since it could mean
	 * another folder. */
	assert_int_equal(chdir(runtime), 0);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", ".", 1), 0);
	assert_false(scope_has_bus());
	assert_int_equal(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
	assert_int_equal(chdir("/"), 0);
	if (geteuid() == 0) { /* now the socket belongs to another user */
		assert_int_equal(chown(address.sun_path, 4001, 4001), 0);
		assert_false(scope_has_bus());
	}
	assert_int_equal(unlink(address.sun_path), 0);
	struct err e = { 0 };
	assert_int_equal(scope_enter(&e), -1);
	assert_non_null(strstr(e.text, "no systemd user manager"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_bus_is_a_socket_that_is_ours),
	};

	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
