/* The reader of config.json: each refusal names the member, and numbers of Go programs
 * are read in full. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/config.h"

#define ROOT "\"ociVersion\":\"1.0.2\",\"root\":{\"path\":\"rootfs\"}"
#define LINUX(members) \
	"{" ROOT ",\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]" members "}}"
#define PROCESS(members)                                               \
	"{" ROOT ",\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}," \
	"\"process\":{\"args\":[\"x\"],\"cwd\":\"/\"" members "}}"

#define TOP(members) \
	"{" ROOT ",\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}," members "}"

static int read_text(const char *text, struct config *ret, struct err *e)
{
	char path[] = "/tmp/oci_config.XXXXXX";
	AUTO_CLOSE int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
	const int rc = config_read(path, "/bundle", ret, e);
	(void)unlink(path);
	return rc;
}

static void test_reads_numbers_of_64_bits(void **state)
{
	struct config c;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(
		read_text(
			PROCESS(",\"rlimits\":[{\"type\":\"RLIMIT_CORE\",\"soft\":0,\"hard\":"
				"18446744073709551615}],\"user\":{\"uid\":4294967294,"
				"\"additionalGids\":[5]}"),
			&c, &e),
		0);
	assert_true(c.process.rlimits[0].hard == UINT64_MAX);
	assert_true(c.process.uid == 4294967294u);
	assert_int_equal(c.process.group_count, 1);
	config_done(&c);
}

static void test_a_pipe_is_not_waited_for(void **state)
{
	char folder[] = "/tmp/oci_config.XXXXXX";
	struct config c;
	struct err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(folder));
	AUTO_FREE char *path = text_format("%s/config.json", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(config_read(path, "/bundle", &c, &e), -1);
	assert_non_null(strstr(e.text, "/config.json: it is not a regular file"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static const struct {
	const char *text, *error;
} refused[] = {
	{ "[]", "config.json: an object was expected" },
	{ "{}", "config.json.ociVersion" },
	{ "{\"ociVersion\":\"2.0.0\"}", "config.json.ociVersion" },
	{ "{\"ociVersion\":\"1.0.0\"}", "config.json.root.path" },
	{ "{" ROOT ",\"linux\":{\"namespaces\":[{\"type\":\"user\"}]}}",
	  "a user namespace takes one of type mount" },
	{ "{" ROOT ",\"linux\":{\"rootfsPropagation\":\"rslave\"}}",
	  "rootfsPropagation: it takes a mount namespace" },
	{ "{" ROOT ",\"ociVersion\":\"1.0.2\"}", "ociVersion" },
	{ LINUX(",\"namespaces\":[]"), "namespaces" },
	{ LINUX(",\"rootfsPropagation\":\"up\""), "rootfsPropagation" },
	{ LINUX(",\"devices\":[{\"path\":\"dev\",\"type\":\"c\"}]"), "devices[0].path" },
	{ LINUX(",\"devices\":[{\"path\":\"/dev/x\",\"type\":\"z\"}]"),
	  "devices[0].type" },
	{ LINUX(",\"uidMappings\":[{\"containerID\":-2}]"), "below -1" },
	{ LINUX(",\"uidMappings\":[{\"size\":1}]"), "user namespace" },
	{ LINUX(",\"intelRdt\":{\"closID\":\"x\"}"), "intelRdt" },
	{ LINUX(",\"sysctl\":{\"a\":1}"), "a string was expected" },
	{ PROCESS(",\"rlimits\":[{\"type\":\"RLIMIT_CPU\",\"soft\":2,\"hard\":1}]"),
	  "soft is above hard" },
	{ PROCESS(",\"capabilities\":{\"bounding\":[1]}"), "bounding[0]" },
	{ PROCESS(",\"user\":{\"uid\":4294967296}"), "32 bits" },
	{ PROCESS(",\"ioPriority\":{\"class\":\"IOPRIO_CLASS_BE\",\"priority\":8}"),
	  "0 to 7" },
	{ PROCESS(",\"scheduler\":{\"policy\":\"SCHED_MOON\"}"), "unknown word" },
	{ TOP("\"hooks\":{\"prestart\":[{\"path\":\"x\"}]}"), "prestart[0].path" },
	{ TOP("\"hooks\":{\"prestart\":[{\"path\":\"/x\",\"timeout\":0}]}"), "timeout" },
	{ TOP("\"mounts\":[{\"type\":\"tmpfs\"}]"), "mounts[0].destination" },
	{ TOP("\"hostname\":\"x\""), "uts namespace" },
	{ "{" ROOT "} {", "follows the value" },
};

static void test_refuses_with_the_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct config c;
		struct err e = { 0 };
		assert_int_equal(read_text(refused[i].text, &c, &e), -1);
		if (!strstr(e.text, refused[i].error))
			fail_msg("case %zu: '%s' has no '%s'", i, e.text,
				 refused[i].error);
	}
}

static void test_reads_paths_and_propagation(void **state)
{
	struct config c;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(
		read_text(LINUX(",\"rootfsPropagation\":\"rslave\",\"unknown\":{}"), &c,
			  &e),
		0);
	assert_string_equal(c.root, "/bundle/rootfs");
	assert_true(c.propagation == (MS_SLAVE | MS_REC));
	assert_false(c.has_process);
	config_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_numbers_of_64_bits),
		cmocka_unit_test(test_a_pipe_is_not_waited_for),
		cmocka_unit_test(test_refuses_with_the_place),
		cmocka_unit_test(test_reads_paths_and_propagation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
