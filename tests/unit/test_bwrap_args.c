/* args: bwrap's command line becomes data, row by row, and the data a plan. */
#include "bwrap/args.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "bwrap/steps.h"
#include "sandbox/raw/raw_plan.h"
#include "tests/unit/argv.h"

static char *print_plan(const struct args *a)
{
	struct raw_plan plan;
	struct err e;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	raw_plan_init(&plan);
	if (steps_make(a, &plan, &e) < 0)
		(void)fprintf(to, "error: %s\n", e.text);
	else
		raw_plan_print(&plan, to);
	raw_plan_done(&plan);
	(void)fclose(to);
	return text;
}

/* Returns the plan, without the line of the root, or the error. */
static char *plan_of(const char *line)
{
	AUTO_FREE char *copy = text_copy(line);
	char *words[ARGV_MAX];
	struct args a;
	struct err e;
	char *ret;

	argv_split(copy, words);
	args_init(&a, 0);
	if (args_parse(&a, words, &e) < 0 || args_check(&a, &e) < 0) {
		ret = text_format("error: %s\n", e.text);
	} else {
		AUTO_FREE char *plan = print_plan(&a);
		ret = text_copy(strncmp(plan, "root", 4) ? plan : strchr(plan, '\n') + 1);
	}
	args_done(&a);
	return ret;
}

static const struct {
	const char *line, *plan;
} rows[] = {
	{ "true", "" },
	{ "--bind /usr /u true", "bind      /u <- /usr nosuid nodev\n" },
	{ "--ro-bind /usr //u/./ true", "bind      /u <- /usr ro nosuid nodev\n" },
	{ "--dev-bind /usr /u true", "bind      /u <- /usr nosuid\n" },
	{ "--bind-try /nowhere /u true", "" },
	{ "--bind /.. / true", "bind      / <- / nosuid nodev\n" },
	{ "--bind /nowhere /u true",
	  "error: Can't find source path /nowhere: No such file or directory (from "
	  "--bind)\n" },
	{ "--remount-ro /u true", "remount   /u ro nosuid nodev\n" },
	{ "--tmpfs /t true", "mount     /t tmpfs mode=0755 nosuid nodev\n" },
	{ "--perms 1777 --size 0x1000 --tmpfs /t true",
	  "mount     /t tmpfs mode=01777,size=4096 nosuid nodev\n" },
	{ "--dir /d --perms 0700 --dir /e true",
	  "folder    /d 0755\nfolder    /e 0700\n" },
	{ "--symlink a/b /l true", "link      /l -> a/b\n" },
	{ "--chmod 0640 /f true", "chmod     /f 0640\n" },
	{ "--mqueue /q true", "mount     /q mqueue\n" },
	{ "--overlay-src /usr --overlay-src /etc --tmp-overlay /o true",
	  "overlay   /o <- /usr <- /etc\n" },
	{ "--overlay-src /usr --overlay /etc /tmp /o true",
	  "overlay   /o <- /usr upper /etc\n" },
	{ "--unshare-pid --proc /p true", "mount     /p proc nosuid nodev noexec\n"
					  "readonly  /p/sys ro nosuid nodev\n"
					  "readonly  /p/sysrq-trigger ro nosuid nodev\n"
					  "readonly  /p/irq ro nosuid nodev\n"
					  "readonly  /p/bus ro nosuid nodev\n" },

	{ "--", "" },
	{ "-- --bind", "" },
	{ "--bind /usr", "error: --bind takes two arguments\n" },
	{ "--dir  ", "error: --dir takes an argument\n" },
	{ "--overlay a b", "error: --overlay takes three arguments\n" },
	{ "--bnd /a /b true", "error: Unknown option --bnd; is it --bind?\n" },
	{ "--file -1 /f true", "error: Invalid fd: -1\n" },
	{ "--file 99999999999 /f true", "error: Invalid fd: 99999999999\n" },
	{ "--file 3a /f true", "error: Invalid fd: 3a\n" },
	{ "--uid -5 true", "error: Invalid uid: -5\n" },
	{ "--gid 4294967295 true", "error: Invalid gid: 4294967295\n" },
	{ "--perms 17777 --dir /d true",
	  "error: --perms takes an octal argument <= 07777\n" },
	{ "--perms 8 --dir /d true",
	  "error: --perms takes an octal argument <= 07777\n" },
	{ "--perms 7 --perms 7 --dir /d true",
	  "error: --perms given twice for the same action\n" },
	{ "--perms 0700 --symlink a b true",
	  "error: --perms must be followed by an option that creates a file\n" },
	{ "--size 1 --dir /d true", "error: --size must be followed by --tmpfs\n" },
	{ "--size 0 --tmpfs /d true",
	  "error: --size takes a non-zero number of bytes\n" },
	{ "--size -1 --tmpfs /d true",
	  "error: --size takes a non-zero number of bytes\n" },
	{ "--size 18446744073709551616 --tmpfs /d true",
	  "error: --size takes a non-zero number of bytes\n" },
	{ "--size 9223372036854775808 --tmpfs /d true",
	  "error: --size (for tmpfs) is limited to 9223372036854775807\n" },
	{ "--tmp-overlay /o true",
	  "error: --tmp-overlay requires at least one --overlay-src\n" },
	{ "--overlay-src /usr --ro-overlay /o true",
	  "error: --ro-overlay requires at least two --overlay-src\n" },
	{ "--overlay-src /usr --dir /o true",
	  "error: --overlay-src must be followed by another --overlay-src or one of "
	  "--overlay, --tmp-overlay, or --ro-overlay\n" },
	{ "--overlay-src /usr true",
	  "error: --overlay-src must be followed by another --overlay-src or one of "
	  "--overlay, --tmp-overlay, or --ro-overlay\n" },
	{ "--argv0 a --argv0 b true", "error: --argv0 used multiple times\n" },
	{ "--userns 3 --unshare-user true",
	  "error: --userns not compatible --unshare-user\n" },
	{ "--unshare-pid --as-pid-1 --lock-file /l true",
	  "error: Specifying --as-pid-1 and --lock-file is not permitted\n" },
};

static void each_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *plan = plan_of(rows[i].line);
		if (strcmp(plan, rows[i].plan) != 0)
			fail_msg("%s\nexpected: %sgot: %s", rows[i].line, rows[i].plan,
				 plan);
	}
}

static int memory_with(const char *bytes, size_t len)
{
	const int fd = memfd_create("words", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Parses `--args FD` and the words behind it; returns the error's text, or "". */
static char *with_data(const char *bytes, size_t len, struct args *a, char **behind)
{
	AUTO_FREE char *number = text_format("%d", memory_with(bytes, len));
	char *words[ARGV_MAX] = { (char[]){ "--args" }, number };
	struct err e = { 0 };

	for (size_t i = 0; behind[i]; i++)
		words[2 + i] = behind[i];
	const int rc = args_parse(a, words, &e);
	assert_int_equal(fcntl(atoi(number), F_GETFD), -1);
	return text_copy(rc < 0 ? e.text : "");
}

static void data_takes_the_place_of_its_option(void **state)
{
	static const char bytes[] = "--unshare-pid\0--dir\0/a\0--chdir\0/b";
	char *behind[] = { (char[]){ "--dir" }, (char[]){ "/c" }, (char[]){ "true" },
			   NULL };
	struct args a;

	(void)state;
	args_init(&a, 0);
	/* The last word has no NUL. */
	AUTO_FREE char *error = with_data(bytes, sizeof(bytes) - 1, &a, behind);
	assert_string_equal(error, "");
	assert_true(a.unshare_pid);
	assert_string_equal(a.chdir, "/b");
	assert_int_equal(a.op_count, 2);
	assert_string_equal(a.ops[0].target, "/a");
	assert_string_equal(a.ops[1].target, "/c");
	args_done(&a);
}

static void data_is_bounded(void **state)
{
	char *behind[] = { (char[]){ "true" }, NULL };
	AUTO_FREE char *bytes = calloc(ARGS_MAX, 1);
	struct args a;

	(void)state;
	args_init(&a, 0);
	AUTO_FREE char *error = with_data(bytes, ARGS_MAX, &a, behind);
	assert_string_equal(error, "Exceeded maximum number of arguments 9000");
	args_done(&a);
	/* "bwrap", "--args" and its operand, and "true" count, too. */
	args_init(&a, 0);
	AUTO_FREE char *fits = with_data(bytes, ARGS_MAX - 4, &a, behind);
	assert_string_equal(fits, "");
	args_done(&a);
	args_init(&a, 0);
	AUTO_FREE char *over = with_data(bytes, ARGS_MAX - 3, &a, behind);
	assert_string_equal(over, "Exceeded maximum number of arguments 9000");
	args_done(&a);
}

static void capabilities_are_added_and_dropped_in_order(void **state)
{
	char *words[] = { (char[]){ "--cap-add" },  (char[]){ "ALL" },
			  (char[]){ "--cap-drop" }, (char[]){ "CAP_KILL" },
			  (char[]){ "--cap-drop" }, (char[]){ "chown" },
			  (char[]){ "--cap-add" },  (char[]){ "cap_kill" },
			  (char[]){ "true" },	    NULL };
	struct args a;
	struct err e;

	(void)state;
	args_init(&a, 0);
	assert_int_equal(args_parse(&a, words, &e), 0);
	assert_true(a.caps == ~1ull);
	assert_true(a.has_caps);
	args_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(data_takes_the_place_of_its_option),
		cmocka_unit_test(data_is_bounded),
		cmocka_unit_test(capabilities_are_added_and_dropped_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
