#include "sandbox/kernel/seccomp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"

#define ALLOW_ALL "{\"defaultAction\":\"SCMP_ACT_ALLOW\"}"
#define WITH_CAP \
	"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":" \
	"[\"chroot\"],\"action\":\"SCMP_ACT_ERRNO\",\"excludes\":{\"caps\":" \
	"[\"CAP_SYS_CHROOT\"],\"minKernel\":\"99.0\"}}]}"

/* A folder of the test: a profile, a compiler, and a cache folder. */
struct place {
	char dir[64], profile[96], cache[96], compiler[96];
	struct seccomp_request request;
};

static void run(const char *command, const char *a, const char *b)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "%s '%s' '%s'", command, a, b); /* fits */
	assert_int_equal(system(line), 0);
}

static void put_file(const char *path, const void *bytes, size_t len)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, bytes, len), 0);
}

static char *get_file(const char *path, size_t *ret_len)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes = NULL;

	assert_true(fd >= 0);
	assert_int_equal(io_read_file(fd, path, 1 << 20, &bytes, ret_len, NULL), 0);
	return bytes;
}

static void put_profile(const struct place *p, const char *text)
{
	put_file(p->profile, text, strlen(text));
}

static int set_up(void **state)
{
	const char *named = getenv("HUTCH_SECCOMP");
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	(void)snprintf(p->dir, sizeof(p->dir), "/tmp/hutch-test-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	(void)snprintf(p->profile, sizeof(p->profile), "%s/profile.json", p->dir);
	(void)snprintf(p->cache, sizeof(p->cache), "%s/a/b/cache", p->dir);
	(void)snprintf(p->compiler, sizeof(p->compiler), "%s/compiler", p->dir);
	run("cp", named ? named : "build/libexec/hutch-seccomp", p->compiler);
	p->request = (struct seccomp_request){ .profile = p->profile,
					       .cache_dir = p->cache,
					       .compiler = p->compiler };
	put_profile(p, ALLOW_ALL);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	run("rm -rf", p->dir, p->dir);
	free(p);
	return 0;
}

/* Returns the length of the program, from the cache or from the compiler. */
static size_t obtain(const struct place *p)
{
	struct seccomp_program program = { 0 };
	struct err e = { 0 };

	if (seccomp_obtain(&p->request, &program, &e))
		fail_msg("%s", e.text);
	assert_non_null(program.owned);

	const size_t count = program.count;
	seccomp_done(&program);
	assert_null(program.insns);
	return count;
}

static void fails_with(const struct place *p, const char *says)
{
	struct seccomp_program program = { .count = 7 };
	struct err e = { 0 };

	assert_int_equal(seccomp_obtain(&p->request, &program, &e), -1);
	if (!strstr(e.text, says))
		fail_msg("'%s' does not say '%s'", e.text, says);
	assert_int_equal(program.count, 7);
}

/* Returns whether the cache has the program.  Takes away the compiler's execute
 * bits, which are no part of the cache's key, so that even root cannot run it. */
static bool is_cached(const struct place *p)
{
	struct seccomp_program program = { 0 };

	assert_int_equal(chmod(p->compiler, 0600), 0);
	const bool found = seccomp_obtain(&p->request, &program, NULL) == 0;
	assert_int_equal(chmod(p->compiler, 0700), 0);
	seccomp_done(&program);
	return found;
}

/* Gives the path of the cache's only file. */
static void entry_path(const struct place *p, char ret[192])
{
	DIR *dir = opendir(p->cache);
	int files = 0;

	assert_non_null(dir);
	for (const struct dirent *d = readdir(dir); d; d = readdir(dir)) {
		if (d->d_name[0] == '.')
			continue;
		(void)snprintf(ret, 192, "%s/%.64s", p->cache, d->d_name);
		files++;
	}
	(void)closedir(dir);
	assert_int_equal(files, 1);
}

static void without_a_profile_it_is_the_built_in_one(void **state)
{
	const struct seccomp_request none = { 0 };
	struct seccomp_program program;

	(void)state;
	assert_int_equal(seccomp_obtain(&none, &program, NULL), 0);
	assert_null(program.owned);
	assert_in_range(program.count, 50, BPF_MAXINSNS);
	seccomp_done(&program);
	assert_int_equal(program.count, 0);
}

static void a_profile_is_compiled_once(void **state)
{
	const struct place *p = *state;

	assert_false(is_cached(p));
	const size_t count = obtain(p);
	assert_true(is_cached(p));
	assert_int_equal(obtain(p), count);
}

static void another_profile_is_another_program(void **state)
{
	const struct place *p = *state;
	const size_t count = obtain(p);

	put_profile(p, WITH_CAP);
	assert_false(is_cached(p));
	assert_true(obtain(p) > count);
	assert_true(is_cached(p));
	put_profile(p, ALLOW_ALL);
	assert_true(is_cached(p));
}

static void capabilities_make_another_program(void **state)
{
	static const char *const caps[] = { "CAP_SYS_CHROOT", NULL };
	struct place *p = *state;

	put_profile(p, WITH_CAP);
	const size_t count = obtain(p);
	p->request.caps = caps;
	assert_false(is_cached(p));
	assert_true(obtain(p) < count);
}

static void another_compiler_compiles_anew(void **state)
{
	const struct place *p = *state;
	const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };

	(void)obtain(p);
	assert_int_equal(utimensat(AT_FDCWD, p->compiler, times, 0), 0);
	assert_false(is_cached(p));
}

static void without_a_cache_it_compiles(void **state)
{
	struct place *p = *state;

	p->request.cache_dir = NULL;
	assert_true(obtain(p) > 0);
	p->request.cache_dir = "/proc/no/such/folder";
	assert_true(obtain(p) > 0);
	p->request.cache_dir = p->profile; /* not a folder */
	assert_true(obtain(p) > 0);
}

/* Changes each byte of an entry in turn: every change must be noticed. */
static void an_altered_entry_is_no_entry(void **state)
{
	const struct place *p = *state;
	char path[192];
	size_t len;

	(void)obtain(p);
	entry_path(p, path);
	AUTO_FREE char *bytes = get_file(path, &len);
	for (size_t i = 0; i < len; i += 1 + i / 64) {
		bytes[i] ^= 0x10;
		put_file(path, bytes, len);
		if (is_cached(p))
			fail_msg("byte %zu", i);
		bytes[i] ^= 0x10;
	}
	put_file(path, bytes, len);
	assert_true(is_cached(p));
}

static void an_entry_of_another_length_is_no_entry(void **state)
{
	const struct place *p = *state;
	char path[192], more[8] = { 0 };
	size_t len;

	(void)obtain(p);
	entry_path(p, path);
	AUTO_FREE char *bytes = get_file(path, &len);
	for (size_t cut = 0; cut < len; cut += 1 + cut / 8) {
		put_file(path, bytes, cut);
		assert_false(is_cached(p));
	}
	put_file(path, bytes, len);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(io_write_all(fd, more, sizeof(more)), 0);
	assert_false(is_cached(p));
	(void)obtain(p); /* writes it anew */
	assert_true(is_cached(p));
}

/* Another profile's entry with the name of ours, as a collision of hashes would make
 * it. */
static void another_keys_entry_is_no_entry(void **state)
{
	const struct place *p = *state;
	char ours[192], theirs[192];

	(void)obtain(p);
	entry_path(p, ours);
	(void)snprintf(theirs, sizeof(theirs), "%s/theirs", p->dir);
	assert_int_equal(rename(ours, theirs), 0);
	put_profile(p, ALLOW_ALL " ");
	(void)obtain(p);
	entry_path(p, ours);
	assert_int_equal(rename(theirs, ours), 0);
	assert_false(is_cached(p));
}

static void an_entry_that_others_may_write_is_no_entry(void **state)
{
	const struct place *p = *state;
	char path[192], aside[192];

	(void)obtain(p);
	entry_path(p, path);
	assert_int_equal(chmod(path, 0620), 0);
	assert_false(is_cached(p));
	assert_int_equal(chmod(path, 0602), 0);
	assert_false(is_cached(p));
	assert_int_equal(chmod(path, 0600), 0);
	assert_true(is_cached(p));
	(void)snprintf(aside, sizeof(aside), "%s/aside", p->dir);
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(symlink(aside, path), 0);
	assert_false(is_cached(p));
	(void)obtain(p); /* this replaces the link itself, not its target */
	assert_true(is_cached(p));
	if (chown(path, 1, 1) == 0) /* only root can change a file's owner */
		assert_false(is_cached(p));
}

static void a_cache_that_others_may_write_is_not_used(void **state)
{
	struct place *p = *state;
	char link[128];

	(void)obtain(p);
	assert_int_equal(chmod(p->cache, 0770), 0);
	assert_false(is_cached(p));
	assert_int_equal(chmod(p->cache, 0707), 0);
	assert_false(is_cached(p));
	assert_int_equal(chmod(p->cache, 0755), 0);
	assert_true(is_cached(p));
	(void)snprintf(link, sizeof(link), "%s/link", p->dir);
	assert_int_equal(symlink(p->cache, link), 0);
	p->request.cache_dir = link;
	assert_false(is_cached(p));
	assert_true(obtain(p) > 0);
}

static void what_a_killed_launch_left_is_in_nobodys_way(void **state)
{
	const struct place *p = *state;
	char path[192], temp[200];

	(void)obtain(p);
	entry_path(p, path);
	(void)snprintf(temp, sizeof(temp), "%s.tmp", path);
	assert_int_equal(rename(path, temp), 0);
	assert_int_equal(truncate(temp, 10), 0);
	(void)obtain(p);
	assert_true(is_cached(p));
	entry_path(p, path); /* and is removed */
}

static void what_is_no_file_is_no_profile(void **state)
{
	struct place *p = *state;

	p->request.profile = "/no/such/profile";
	fails_with(p, "open seccomp profile /no/such/profile: No such file");
	p->request.profile = "/tmp";
	fails_with(p, "open seccomp profile /tmp: it is not a regular file");
	p->request.profile = "/dev/zero";
	fails_with(p, "not a regular file");
	p->request.profile = p->profile;
	assert_int_equal(unlink(p->profile), 0);
	assert_int_equal(mkfifo(p->profile, 0600), 0);
	fails_with(p, "not a regular file");
	assert_int_equal(unlink(p->profile), 0);
	put_profile(p, "");
	assert_int_equal(truncate(p->profile, (4 << 20) + 1), 0);
	fails_with(p, "larger than 4194304 bytes");
}

static void the_compilers_sentence_is_the_error(void **state)
{
	const struct place *p = *state;

	put_profile(p, "{\"defaultAction\":\"SCMP_ACT_NOPE\"}");
	fails_with(p, "profile.json: profile.defaultAction: unknown action "
		      "'SCMP_ACT_NOPE'");
	assert_false(is_cached(p));
	put_profile(p, "{\n}}");
	fails_with(p, "profile.json: line 2, column 2: something follows the value");
}

struct impostor {
	const char *script;
	const char *says;
};

static const struct impostor impostors[] = {
	{ "exit 0", "printed no program" },
	{ "echo abc", "printed no program" },
	{ "/usr/bin/head -c 40000 /dev/zero", "printed no program" },
	{ "/usr/bin/head -c 4000000 /dev/zero >&2; exit 3", "failed silently" },
	{ "/usr/bin/yes | /usr/bin/head -c 100000 >&2; exit 3", "profile.json: y" },
	{ "exit 3", "failed silently" },
	{ "kill -9 $$", "died of signal 9" },
	{ "exec <&-; echo no >&2; exit 1", "profile.json: no" },
};

/* The profile has the largest permitted size, so it does not fit into a pipe. */
static void a_compiler_that_misbehaves_is_an_error(void **state)
{
	const struct place *p = *state;

	assert_int_equal(truncate(p->profile, 4 << 20), 0);
	for (size_t i = 0; i < ARRAY_LEN(impostors); i++) {
		char script[128];

		(void)snprintf(script, sizeof(script), "#!/bin/sh\n%s\n",
			       impostors[i].script);
		put_file(p->compiler, script, strlen(script));
		assert_int_equal(chmod(p->compiler, 0700), 0);
		fails_with(p, impostors[i].says);
	}
	assert_int_equal(unlink(p->compiler), 0);
	fails_with(p, "find the seccomp compiler");
	put_file(p->compiler, "x", 1);
	fails_with(p, "run the seccomp compiler");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_profile_it_is_the_built_in_one),
		TEST(a_profile_is_compiled_once),
		TEST(another_profile_is_another_program),
		TEST(capabilities_make_another_program),
		TEST(another_compiler_compiles_anew),
		TEST(without_a_cache_it_compiles),
		TEST(an_altered_entry_is_no_entry),
		TEST(an_entry_of_another_length_is_no_entry),
		TEST(another_keys_entry_is_no_entry),
		TEST(an_entry_that_others_may_write_is_no_entry),
		TEST(a_cache_that_others_may_write_is_not_used),
		TEST(what_a_killed_launch_left_is_in_nobodys_way),
		TEST(what_is_no_file_is_no_profile),
		TEST(the_compilers_sentence_is_the_error),
		TEST(a_compiler_that_misbehaves_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
