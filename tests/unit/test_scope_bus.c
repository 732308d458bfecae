/* scope_bus: the messages that ask systemd for a scope, read back as the manager reads
 * them. */
#include "sandbox/cgroup/scope_bus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/own.h"

static sd_bus *bus;
static int other = -1;

/* A message belongs to a bus.  This one has a socket at which no process answers, and
 * nothing is sent over it. */
static int begin(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	other = pair[1];
	assert_true(sd_bus_new(&bus) >= 0);
	assert_true(sd_bus_set_fd(bus, pair[0], pair[0]) >= 0);
	assert_true(sd_bus_start(bus) >= 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	sd_bus_close(bus);
	bus = sd_bus_unref(bus);
	own_close(&other);
	return 0;
}

static sd_bus_message *new_message(void)
{
	sd_bus_message *m = NULL;

	assert_true(sd_bus_message_new_method_call(bus, &m, "org.example", "/org/example",
						   "org.example", "Method") >= 0);
	return m;
}

static void rewind_message(sd_bus_message *m)
{
	assert_true(sd_bus_message_seal(m, 1, 0) >= 0);
	assert_true(sd_bus_message_rewind(m, 1) >= 0);
}

static void expect_text(sd_bus_message *m, const char *key, const char *value)
{
	const char *name, *text;

	assert_int_equal(sd_bus_message_read(m, "(sv)", &name, "s", &text), 1);
	assert_string_equal(name, key);
	assert_string_equal(text, value);
}

static void expect_number(sd_bus_message *m, const char *key, uint64_t value)
{
	const char *name;
	uint64_t number;

	assert_int_equal(sd_bus_message_read(m, "(sv)", &name, "t", &number), 1);
	assert_string_equal(name, key);
	assert_true(number == value);
}

static void expect_switch(sd_bus_message *m, const char *key, int value)
{
	const char *name;
	int is;

	assert_int_equal(sd_bus_message_read(m, "(sv)", &name, "b", &is), 1);
	assert_string_equal(name, key);
	assert_int_equal(is, value);
}

static void expect_set(sd_bus_message *m, const char *key, const uint8_t *bytes,
		       size_t len)
{
	const char *name;
	const void *set;
	size_t size;

	assert_int_equal(sd_bus_message_enter_container(m, 'r', "sv"), 1);
	assert_int_equal(sd_bus_message_read(m, "s", &name), 1);
	assert_string_equal(name, key);
	assert_int_equal(sd_bus_message_enter_container(m, 'v', "ay"), 1);
	assert_int_equal(sd_bus_message_read_array(m, 'y', &set, &size), 1);
	assert_int_equal(size, len);
	assert_memory_equal(set, bytes, len);
	assert_true(sd_bus_message_exit_container(m) >= 0);
	assert_true(sd_bus_message_exit_container(m) >= 0);
}

static void test_a_scope_has_its_slice_its_process_and_its_limits(void **state)
{
	static const uint8_t cpus[] = { 0x8f, 0x01 };
	char *properties[] = { (char *)"MemoryMax=67108864", (char *)"TasksMax=infinity",
			       (char *)"AllowedCPUs=0-3,7-8", NULL };
	const struct scope_unit u = { .name = "libpod-x.scope",
				      .description = "a container",
				      .slice = "machine.slice",
				      .pid = 42,
				      .properties = properties };
	sd_bus_message *m = new_message();
	const char *name, *mode;
	uint32_t pid;

	(void)state;
	assert_true(scope_bus_fill(m, SCOPE_START, &u) >= 0);
	rewind_message(m);
	assert_string_equal(sd_bus_message_get_signature(m, 1), "ssa(sv)a(sa(sv))");
	assert_int_equal(sd_bus_message_read(m, "ss", &name, &mode), 1);
	assert_string_equal(name, "libpod-x.scope");
	assert_string_equal(mode, "fail");
	assert_int_equal(sd_bus_message_enter_container(m, 'a', "(sv)"), 1);
	expect_text(m, "Description", "a container");
	assert_int_equal(sd_bus_message_read(m, "(sv)", &name, "au", 1, &pid), 1);
	assert_string_equal(name, "PIDs");
	assert_int_equal(pid, 42);
	expect_switch(m, "Delegate", 1);
	expect_text(m, "CollectMode", "inactive-or-failed");
	expect_text(m, "Slice", "machine.slice");
	expect_switch(m, "DefaultDependencies", 0);
	expect_number(m, "MemoryMax", 67108864);
	expect_number(m, "TasksMax", UINT64_MAX);
	expect_set(m, "AllowedCPUs", cpus, sizeof(cpus));
	assert_int_equal(sd_bus_message_at_end(m, 0), 1);
	assert_true(sd_bus_message_exit_container(m) >= 0);
	sd_bus_message_unref(m);
}

static void test_properties_are_changed_until_the_next_boot(void **state)
{
	char *properties[] = { (char *)"CPUWeight=50", NULL };
	const struct scope_unit u = { .name = "x.scope", .properties = properties };
	sd_bus_message *m = new_message();
	const char *name;
	int is_runtime;

	(void)state;
	assert_true(scope_bus_fill(m, SCOPE_SET, &u) >= 0);
	rewind_message(m);
	assert_string_equal(sd_bus_message_get_signature(m, 1), "sba(sv)");
	assert_int_equal(sd_bus_message_read(m, "sb", &name, &is_runtime), 1);
	assert_int_equal(is_runtime, 1);
	assert_int_equal(sd_bus_message_enter_container(m, 'a', "(sv)"), 1);
	expect_number(m, "CPUWeight", 50);
	sd_bus_message_unref(m);
}

static void test_a_property_that_is_unknown_or_malformed_is_refused(void **state)
{
	static const char *const rows[] = {
		"MemoryMax",
		"ExecStart=1",
		"Memory=1",
		"MemoryMax=",
		"MemoryMax=-1",
		"MemoryMax= 1",
		"MemoryMax=1k",
		"AllowedCPUs=",
		"AllowedCPUs=3-1",
		"AllowedCPUs=1024",
		"AllowedCPUs=0,",
		"AllowedCPUs=0-",
		"AllowedCPUs=a",
		"AllowedCPUs=0;1",
		"MemoryMax=18446744073709551616",
		"=1",
		"AllowedCPUs=-1-2",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *properties[] = { (char *)rows[i], NULL };
		const struct scope_unit u = { .name = "x.scope",
					      .properties = properties };
		sd_bus_message *m = new_message();
		assert_int_equal(scope_bus_fill(m, SCOPE_SET, &u), -EINVAL);
		sd_bus_message_unref(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_scope_has_its_slice_its_process_and_its_limits),
		cmocka_unit_test(test_properties_are_changed_until_the_next_boot),
		cmocka_unit_test(test_a_property_that_is_unknown_or_malformed_is_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
