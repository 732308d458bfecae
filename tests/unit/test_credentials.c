#include "rootfs-tools/registry/credentials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "rootfs-tools/registry/credential_helper.h"

/* me:pass and you:word */
#define ME  "\"auth\":\"bWU6cGFzcw==\""
#define YOU "\"auth\":\"eW91OndvcmQ=\""

static const struct {
	const char *file, *registry, *repository;
	const char *user, *password, *token, *helper; /* NULL: none */
} rows[] = {
	{ "{}", "docker.io", "library/a", NULL, NULL, NULL, NULL },
	{ "{\"auths\":{\"a:5000\":{" ME "}}}", "a:5000", "b", "me", "pass", NULL, NULL },
	{ "{\"auths\":{\"a:5000\":{" ME "}}}", "a", "b", NULL, NULL, NULL, NULL },
	{ "{\"auths\":{\"https://a/v2/\":{" ME "}}}", "a", "b", "me", "pass", NULL,
	  NULL },
	{ "{\"auths\":{\"https://index.docker.io/v1/\":{" ME "}}}", "docker.io",
	  "library/a", "me", "pass", NULL, NULL },
	{ "{\"auths\":{\"docker.io\":{" ME "}}}", "docker.io", "library/a", "me", "pass",
	  NULL, NULL },
	/* The credentials of one registry are never used for another. */
	{ "{\"auths\":{\"docker.io.evil\":{" ME "},\"xdocker.io\":{" ME "}}}",
	  "docker.io", "a", NULL, NULL, NULL, NULL },
	{ "{\"auths\":{\"index.docker.io\":{" ME "}}}", "quay.io", "a", NULL, NULL, NULL,
	  NULL },
	/* The entry with the longest path counts, and only for repositories below
	 * that path. */
	{ "{\"auths\":{\"q/a\":{" YOU "},\"q\":{" ME "}}}", "q", "a/b", "you", "word",
	  NULL, NULL },
	{ "{\"auths\":{\"q\":{" ME "},\"q/a\":{" YOU "}}}", "q", "a", "you", "word", NULL,
	  NULL },
	{ "{\"auths\":{\"q/a\":{" YOU "},\"q\":{" ME "}}}", "q", "ab/c", "me", "pass",
	  NULL, NULL },
	{ "{\"auths\":{\"q/a\":{" YOU "}}}", "q", "b", NULL, NULL, NULL, NULL },
	{ "{\"auths\":{\"q\":{\"username\":\"u\",\"password\":\"p:q\"}}}", "q", "b", "u",
	  "p:q", NULL, NULL },
	{ "{\"auths\":{\"q\":{\"identitytoken\":\"t\"}}}", "q", "b", NULL, NULL, "t",
	  NULL },
	/* Credential helpers. */
	{ "{\"auths\":{\"q\":{}},\"credsStore\":\"pass\"}", "q", "b", NULL, NULL, NULL,
	  "pass" },
	{ "{\"auths\":{\"q\":{" ME "}},\"credsStore\":\"pass\"}", "q", "b", "me", "pass",
	  NULL, NULL },
	{ "{\"credHelpers\":{\"q\":\"ecr\"},\"auths\":{\"q\":{" ME
	  "}},\"credsStore\":\"pass\"}",
	  "q", "b", NULL, NULL, NULL, "ecr" },
	{ "{\"credHelpers\":{\"r\":\"ecr\"},\"HttpHeaders\":{\"a\":\"b\"}}", "q", "b",
	  NULL, NULL, NULL, NULL },
};

static void equal(const char *is, const char *ought)
{
	assert_string_equal(is ? is : "(none)", ought ? ought : "(none)");
}

static void test_a_host_gets_its_own_and_no_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct credentials c = { 0 };
		AUTO_FREE char *helper = NULL;
		struct err e = { 0 };
		assert_int_equal(credentials_read(rows[i].file, strlen(rows[i].file),
						  "FILE", rows[i].registry,
						  rows[i].repository, &c, &helper, &e),
				 0);
		equal(c.user, rows[i].user);
		equal(c.password, rows[i].password);
		equal(c.token, rows[i].token);
		equal(helper, rows[i].helper);
		equal(c.from, rows[i].user || rows[i].token ? "FILE" : NULL);
		credentials_done(&c);
	}
}

static const char *const refused[] = {
	"",
	"[]",
	"{\"auths\":[]}x",
	"{\"auths\":{\"q\":1}}",
	"{\"auths\":{\"q\":{\"auth\":1}}}",
	"{\"auths\":{\"q\":{\"auth\":\"secret!\"}}}",
	"{\"auths\":{\"q\":{\"auth\":\"c2VjcmV0\"}}}", /* "secret", without a colon */
	"{\"auths\":{\"q\":{\"auth\":\"me:secret\"}}}",
	"{\"auths\":{\"q\":{\"password\":{\"secret\":1}}}}",
	"{\"auths\":{\"q\":{\"password\":\"secret\"}",
	"{\"credHelpers\":{\"q\":7}}",
};

static void test_a_file_that_is_wrong_is_said_without_its_secrets(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct credentials c = { 0 };
		AUTO_FREE char *helper = NULL;
		struct err e = { 0 };
		assert_int_equal(credentials_read(refused[i], strlen(refused[i]), "FILE",
						  "q", "b", &c, &helper, &e),
				 -1);
		assert_non_null(strstr(e.text, "FILE"));
		assert_null(strstr(e.text, "secret"));
		assert_null(strstr(e.text, "c2VjcmV0"));
		assert_null(c.password);
	}
}

static void test_a_helpers_answer_is_a_password_or_a_token(void **state)
{
	static const char plain[] =
		"{\"ServerURL\":\"q\",\"Username\":\"u\",\"Secret\":\"s\"}";
	static const char token[] = "{\"Username\":\"<token>\",\"Secret\":\"s\"}\n";
	struct credentials c = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(credentials_read_answer(plain, strlen(plain), &c, &e), 0);
	equal(c.user, "u");
	equal(c.password, "s");
	credentials_done(&c);
	assert_int_equal(credentials_read_answer(token, strlen(token), &c, &e), 0);
	equal(c.user, NULL);
	equal(c.password, NULL);
	equal(c.token, "s");
	credentials_done(&c);
	assert_int_equal(credentials_read_answer("no", 2, &c, &e), -1);
}

/* --- with files and programs --------------------------------------------------- */

struct place {
	char folder[64];
};

static void write_file(const struct place *p, const char *name, const char *text,
		       mode_t mode)
{
	AUTO_FREE char *path = text_format("%s/%s", p->folder, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static int open_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	AUTO_FREE char *path = NULL;

	if (!p)
		return -1;
	strcpy(p->folder, "/tmp/hutch-unit.XXXXXX");
	if (!mkdtemp(p->folder))
		return -1;
	path = text_format("%s:%s", p->folder, getenv("PATH"));
	*state = p;
	(void)unsetenv("REGISTRY_AUTH_FILE");
	return setenv("PATH", path, 1) || setenv("DOCKER_CONFIG", p->folder, 1);
}

static int close_place(void **state)
{
	struct place *p = *state;
	AUTO_FREE char *command = text_format("rm -r %s", p->folder);

	int rc = system(command);
	free(p);
	return rc;
}

static void helper(const struct place *p, const char *name, const char *script)
{
	AUTO_FREE char *file = text_format("docker-credential-%s", name);
	AUTO_FREE char *text = text_format("#!/bin/sh\n%s\n", script);

	write_file(p, file, text, 0755);
}

static void test_a_helper_is_told_the_host_on_its_stdin(void **state)
{
	struct credentials c;
	struct err e = { 0 };

	helper(*state, "ok",
	       "test \"$*\" = get || exit 9\n"
	       "printf '{\"Username\":\"u\",\"Secret\":\"for %s\"}' \"$(cat)\"");
	write_file(*state, "config.json", "{\"credsStore\":\"ok\"}", 0600);
	assert_int_equal(credentials_find("q:1", "b", &c, &e), 0);
	equal(c.password, "for q:1");
	equal(c.from, "docker-credential-ok");
	credentials_done(&c);
	assert_int_equal(credentials_find("docker.io", "b", &c, &e), 0);
	equal(c.password, "for https://index.docker.io/v1/");
	credentials_done(&c);
}

static void test_a_helper_that_has_none_is_no_error(void **state)
{
	struct credentials c;
	struct err e = { 0 };

	helper(*state, "none", "echo credentials not found in native keychain; exit 1");
	write_file(*state, "config.json", "{\"credsStore\":\"none\"}", 0600);
	assert_int_equal(credentials_find("q", "b", &c, &e), 0);
	assert_null(c.from);
}

static const struct {
	const char *name, *script, *says;
} failing[] = {
	{ "fails", "cat >/dev/null; echo secret; exit 3", "failed, with code 3" },
	{ "killed", "echo secret; kill -9 $$", "failed, with signal 9" },
	{ "floods", "exec tr '\\0' x </dev/zero", "printed more than" },
	{ "absent", NULL, "start docker-credential-absent" },
	{ "odd/name", NULL, "is no name of a credential helper" },
	{ "garbage", "echo '{\"Secret\":\"secret'", "line 1" },
};

static void test_a_helper_that_fails_is_said_so_without_what_it_printed(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(failing); i++) {
		AUTO_FREE char *file =
			text_format("{\"credHelpers\":{\"q\":\"%s\"}}", failing[i].name);
		struct credentials c;
		struct err e = { 0 };
		if (failing[i].script)
			helper(*state, failing[i].name, failing[i].script);
		write_file(*state, "config.json", file, 0600);
		assert_int_equal(credentials_find("q", "b", &c, &e), -1);
		assert_non_null(strstr(e.text, failing[i].says));
		assert_null(strstr(e.text, "secret"));
		assert_null(strstr(e.remedy, "secret"));
		/* The helper belongs to registry q, so it is not asked for registry
		 * r. */
		assert_int_equal(credentials_find("r", "b", &c, &e), 0);
	}
}

static void test_the_file_that_is_named_goes_before_and_must_be_there(void **state)
{
	const struct place *p = *state;
	AUTO_FREE char *path = text_format("%s/auth.json", p->folder);
	struct credentials c;
	struct err e = { 0 };

	write_file(p, "config.json", "{\"auths\":{\"q\":{" ME "}}}", 0600);
	assert_int_equal(setenv("REGISTRY_AUTH_FILE", path, 1), 0);
	assert_int_equal(credentials_find("q", "b", &c, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	write_file(p, "auth.json", "{\"auths\":{\"q\":{" YOU "}}}", 0600);
	assert_int_equal(credentials_find("q", "b", &c, &e), 0);
	equal(c.user, "you");
	equal(c.from, path);
	credentials_done(&c);
	assert_int_equal(unsetenv("REGISTRY_AUTH_FILE"), 0);
	assert_int_equal(setenv("DOCKER_CONFIG", "/nowhere", 1), 0);
	assert_int_equal(credentials_find("q", "b", &c, &e), 0);
	assert_null(c.from);
}

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, open_place, close_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_host_gets_its_own_and_no_other),
		cmocka_unit_test(test_a_file_that_is_wrong_is_said_without_its_secrets),
		cmocka_unit_test(test_a_helpers_answer_is_a_password_or_a_token),
		IN_PLACE(test_a_helper_is_told_the_host_on_its_stdin),
		IN_PLACE(test_a_helper_that_has_none_is_no_error),
		IN_PLACE(test_a_helper_that_fails_is_said_so_without_what_it_printed),
		IN_PLACE(test_the_file_that_is_named_goes_before_and_must_be_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
