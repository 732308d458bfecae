/* action_args: Apptainer's flags become hutch's, row by row. */
#include "apptainer/action_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "tests/unit/argv.h"

/* Returns hutch's words for flags in front of an image, with those of the network, or the
 * error. */
static char *read_line(const char *line)
{
	AUTO_FREE char *copy = text_copy(line);
	struct action a = { 0 };
	struct list words = { 0 };
	char *argv[ARGV_MAX], **at = argv;
	struct err e;

	argv_split(copy, argv);
	const int rc = action_args_read(&at, "exec", &a, &e);
	for (size_t i = 0; rc == 0 && i < a.args.words.count; i++)
		list_add(&words, a.args.words.items[i]);
	if (rc == 0)
		action_args_add_network(&a, NULL, &words);
	AUTO_FREE char *joined = list_join(&words, 0, " ");
	char *ret = rc < 0 ? text_format("error: %s", e.text)
			   : text_format("%s -> %s", joined, *at);
	list_done(&words);
	action_done(&a);
	return ret;
}

static const struct {
	const char *apptainer, *hutch;
} rows[] = {
	{ "img", " -> img" },
	{ "--contain --cleanenv --fakeroot -c -e -f img", " -> img" },
	{ "-cef --containall --pid --ipc --uts --userns -puiC img", " -> img" },
	{ "--compat --no-mount hostfs --no-mount bind-paths,home,/x img", " -> img" },
	{ "--bind /usr:/a img", "-v /usr:/a:rw -> img" },
	{ "-B /usr,/:/b:ro --bind=/usr:/c:rw img",
	  "-v /usr:/usr:rw -v /:/b:ro -v /usr:/c:rw -> img" },
	{ "--mount type=bind,src=/usr,dst=/a,ro img", "-v /usr:/a:ro -> img" },
	{ "--home /usr:/h img", "-v /usr:/h:rw -> img" },
	{ "--home /usr img", "-v /usr:/usr:rw -> img" },
	{ "--home /nonesuch --no-mount home,tmp img", " -> img" },
	{ "--no-home -H /nonesuch img", " -> img" },
	{ "--home /nonesuch img",
	  "error: --home: show /nonesuch: No such file or directory" },
	{ "-S /x,/y img", "--tmpfs /x --tmpfs /y -> img" },
	{ "--memory 512m --cpus 1.5 --pids-limit 9 img",
	  "--memory 512m --cpus 1.5 --pids-limit 9 -> img" },
	{ "--pids-limit -1 img", " -> img" },
	{ "--memory x img", "error: --memory: 'x' is not a size such as 512m or 2g" },
	{ "--cpus x img", "error: --cpus: 'x' is not a number of CPUs such as 2 or 1.5" },
	{ "--pids-limit x img", "error: --pids-limit: 'x' is not a whole number" },
	{ "--add-caps foo img", "error: --add-caps: unknown capability 'foo'" },
	{ "--add-caps ALL img",
	  "error: --add-caps ALL: name the capabilities that are needed" },
	{ "--drop-caps CAP_FOO img", "error: --drop-caps: unknown capability 'CAP_FOO'" },
	{ "-s /bin/sh img", "error: unknown flag: -s" },
	{ "--quiet img", "error: --quiet: it stands before the verb, as in apptainer "
			 "--quiet exec" },
	{ "--hostname h img", "--hostname h -> img" },
	{ "--hostname _h img",
	  "error: --hostname takes 1 to 63 letters, digits, dots and "
	  "inner hyphens" },
	{ "--overlay /usr img", "--upper /usr -> img" },
	{ "--overlay /nonesuch img",
	  "error: --overlay /nonesuch: No such file or directory" },
	{ "--add-caps CAP_NET_RAW,chown --no-privs img",
	  "--cap-add NET_RAW --cap-add chown --cap-drop ALL -> img" },
	{ "--net img", "--allow * -> img" },
	{ "--net --network none img", "--network none -> img" },
	{ "--network none --net img", "--network none -> img" },
	{ "--network host img", "--network host -> img" },
	{ "--netns-path /proc/self/ns/net img", "--network ns:/proc/self/ns/net -> img" },
	{ "--netns-path /nonesuch img",
	  "error: --netns-path /nonesuch: No such file or directory" },

	{ "--writeable img", "error: unknown flag: --writeable; is it --writable?" },
	{ "-Q img", "error: unknown flag: -Q" },
	{ "--bind", "error: flag needs an argument: --bind" },
	{ "--bind /usr:/a:x img",
	  "error: --bind /usr:/a:x: hutch has no mount option 'x'; there are ro and rw" },
	{ "--bind /usr:rel img",
	  "error: --bind /usr:rel: 'rel': a path inside begins with /" },
	{ "--bind /nonesuch img",
	  "error: --bind /nonesuch: show /nonesuch: No such file or directory" },
	{ "--no-mount proc img", "error: --no-mount proc: every sandbox of hutch has a "
				 "/proc and a /dev of its own" },
	{ "--no-mount frob img", "error: --no-mount frob: there is no such mount" },
	{ "--network weave img",
	  "error: --network weave: hutch has none, bridge, which reaches public hosts, "
	  "and host" },
	{ "--pwd x img", "error: --pwd x: the folder inside is an absolute path" },
	{ "--overlay a:ro img", "error: --overlay a:ro: hutch lays one folder over an "
				"image, to be written to" },
	{ "--writable --overlay /usr img",
	  "error: --writable writes to the folder itself, "
	  "and excludes --overlay" },
	{ "--mount type=image,src=a,dst=/b img",
	  "error: --mount type=image,src=a,dst=/b: there is type=bind alone" },
};

static void test_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *got = read_line(rows[i].apptainer);
		assert_string_equal(got, rows[i].hutch);
	}
}

/* A flag that hutch cannot honour is an error. */
static void test_refused(void **state)
{
	static const char *const flags[] = {
		"--security apparmor:x", "--no-pid", "--allow-setuid",
		"--keep-privs",		 "--app x",  "--dns 192.0.2.1",
		"--memory-swap 1",	 "--boot",   "--fusemount x",
		"--workdir /x"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		AUTO_FREE char *got = read_line(flags[i]);
		assert_true(!strncmp(got, "error: --", 9));
		assert_null(strstr(got, "unknown"));
	}
}

/* --env wins over --env-file, whatever their order is. */
static void test_env(void **state)
{
	char line[] = "--env A=1,B=2 --home /usr:/h --env C=3 img";
	struct action a = { 0 };
	struct list env = { 0 };
	char *argv[ARGV_MAX], **at = argv;
	struct err e;

	(void)state;
	argv_split(line, argv);
	assert_int_equal(action_args_read(&at, "exec", &a, &e), 0);
	list_add(&a.file_env, "A=file");
	list_add(&a.file_env, "D=file");
	action_args_env(&a, &env);
	assert_string_equal(list_get_env(&env, "A"), "1");
	assert_string_equal(list_get_env(&env, "C"), "3");
	assert_string_equal(list_get_env(&env, "D"), "file");
	assert_string_equal(list_get_env(&env, "HOME"), "/h");
	list_done(&env);
	action_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_env),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
