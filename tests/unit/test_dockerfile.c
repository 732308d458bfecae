/* dockerfile: instructions are read as docker reads them, and errors name the
 * place. */
#include "rootfs-tools/build/dockerfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

/* A Dockerfile after its line "FROM x"; its instructions as text:
 * "KIND|--flag|word|<name:here-document>", with KIND! for the JSON form; or the
 * error. */
struct sample {
	const char *text;
	const char *is;
	const char *says;
};

static void print_instruction(const struct instruction *i, char *to, size_t size)
{
	size_t at = 0;

#define PRINT(...) \
	(at += (size_t)snprintf(to + at, at < size ? size - at : 0, __VA_ARGS__))
	PRINT("%s%s", instruction_name(i->kind), i->is_exec ? "!" : "");
	for (size_t n = 0; n < i->flags.count; n++)
		PRINT("|--%s", i->flags.items[n]);
	for (size_t n = 0; n < i->words.count; n++)
		PRINT("|%s", i->words.items[n]);
	for (size_t n = 0; n < i->heredoc_count; n++)
		PRINT("|<%s%s:%s>", i->heredocs[n].name,
		      i->heredocs[n].expands ? "" : "'", i->heredocs[n].text);
#undef PRINT
	assert_true(at < size);
}

static void check(const struct sample *s)
{
	struct dockerfile d;
	struct err e = { 0 };
	char is[4096];

	if (dockerfile_parse(s->text, strlen(s->text), "Dockerfile", &d, &e) < 0) {
		if (s->is || !strstr(e.text, s->says))
			fail_msg("'%s' says: %s", s->text, e.text);
	} else {
		print_instruction(&d.all[d.count - 1], is, sizeof(is));
		if (!s->is || strcmp(is, s->is) != 0)
			fail_msg("'%s' is '%s'", s->text, is);
	}
	dockerfile_done(&d);
}

#define F "FROM x\n"

static const struct sample samples[] = {
	{ "from x", "FROM|x", NULL },
	{ "FROM x AS y", "FROM|x|AS|y", NULL },
	{ "FROM --platform=linux/amd64 x as Y-1.a",
	  "FROM|--platform=linux/amd64|x|as|Y-1.a", NULL },
	{ "ARG a=1\nFROM x:$a", "FROM|x:$a", NULL },
	{ "\xef\xbb\xbf"
	  "FROM x\r\n",
	  "FROM|x", NULL },
	{ F "RUN echo  a\tb", "RUN|echo  a\tb", NULL },
	{ F "  run true  ", "RUN|true", NULL },
	{ F "RUN [\"a\", \"b c\\u0041\"]", "RUN!|a|b cA", NULL },
	{ F "RUN [ -f x ]", "RUN|[ -f x ]", NULL },
	{ F "RUN ['a']", "RUN|['a']", NULL },
	{ F "RUN [\"a\", 1]", "RUN|[\"a\", 1]", NULL },
	{ F "CMD []", "CMD!", NULL },
	{ F "CMD", "CMD", NULL },
	{ F "ENTRYPOINT [\"/x\"]", "ENTRYPOINT!|/x", NULL },
	{ F "RUN a && \\\n  b", "RUN|a &&   b", NULL },
	{ F "RUN a && \\  \n# comment\n\n   # another\n  b\n", "RUN|a &&   b", NULL },
	{ F "RUN a \\\\\n", "RUN|a \\\\", NULL },
	{ F "RUN a \\", "RUN|a", NULL },
	{ "# escape=`\n" F "RUN a `\n b\\", "RUN|a  b\\", NULL },
	{ "# syntax=docker/dockerfile:1\n#escape=`\n" F "COPY a` b c", "COPY|a`|b|c",
	  NULL },
	{ "# a comment\n# escape=`\n" F "RUN a\\\nb", "RUN|ab", NULL },
	{ "\n# escape=`\n" F "RUN a\\\nb", "RUN|ab", NULL },
	{ F "COPY a b /c/", "COPY|a|b|/c/", NULL },
	{ F "COPY [\"a b\", \"/c\"]", "COPY!|a b|/c", NULL },
	{ F "COPY --from=0 --chown=1:2 --chmod=755 a b",
	  "COPY|--from=0|--chown=1:2|--chmod=755|a|b", NULL },
	{ F "COPY --link a b", "COPY|--link=true|a|b", NULL },
	{ F "COPY -- --a b", "COPY|--a|b", NULL },
	{ F "ENV a=b c=\"d e\" f='g' h=i\\ j", "ENV|a|b|c|\"d e\"|f|'g'|h|i\\ j", NULL },
	{ F "ENV a b  c=d", "ENV|a|b  c=d", NULL },
	{ F "ENV a=", "ENV|a|", NULL },
	{ F "LABEL \"a b\"=c", "LABEL|\"a b\"|c", NULL },
	{ F "ARG a b=\"c d\"", "ARG|a|b=\"c d\"", NULL },
	{ F "EXPOSE 80 81/udp", "EXPOSE|80|81/udp", NULL },
	{ F "SHELL [\"/bin/bash\", \"-c\"]", "SHELL!|/bin/bash|-c", NULL },
	{ F "VOLUME /a /b", "VOLUME|/a|/b", NULL },
	{ F "VOLUME [\"/a\"]", "VOLUME!|/a", NULL },
	{ F "WORKDIR /a b", "WORKDIR|/a b", NULL },
	{ F "HEALTHCHECK --interval=5s CMD true", "HEALTHCHECK|--interval=5s|CMD|true",
	  NULL },
	{ F "RUN <<EOF\na\n b\nEOF\n", "RUN|<<EOF|<EOF:a\n b\n>", NULL },
	{ F "RUN <<-\"EOF\"\n\ta\n\t\tb\n\tEOF", "RUN|<<-\"EOF\"|<EOF':a\nb\n>", NULL },
	{ F "RUN cat <<A >x 3<<'B'\n1\nA\n2\nB\n",
	  "RUN|cat <<A >x 3<<'B'|<A:1\n>|<B':2\n>", NULL },
	{ F "COPY <<a <<b /c/\n$x\\\n# no comment\na\nb\n",
	  "COPY|<<a|<<b|/c/|<a:$x\\\n# no comment\n>|<b:>", NULL },
	{ F "RUN echo '<<EOF'", "RUN|echo '<<EOF'", NULL },
	{ F "RUN cat <<<word", "RUN|cat <<<word", NULL },
	{ F "RUN a \\\n<<EOF\nb\nEOF", "RUN|a <<EOF|<EOF:b\n>", NULL },
	{ F "RUN [\"cat\", \"<<EOF\"]", "RUN!|cat|<<EOF", NULL },
	{ F "CMD cat <<EOF", "CMD|cat <<EOF", NULL },

	{ "", NULL, "Dockerfile: there is no FROM in it" },
	{ "RUN a", NULL, "Dockerfile:1: only ARG may stand before" },
	{ F "\n\nFOO a", NULL, "Dockerfile:4: 'FOO' is no instruction" },
	{ F "RUN a \\\n\n b\nBAR", NULL, "Dockerfile:5: 'BAR'" },
	{ F "RUN", NULL, "Dockerfile:2: RUN needs something" },
	{ F "COPY a", NULL, "a source and a destination" },
	{ F "ENV a", NULL, "'a' has no value" },
	{ F "ENV a=b c", NULL, "'c' is not NAME=VALUE" },
	{ F "ENV =b", NULL, "no name" },
	{ F "ARG =b", NULL, "no name" },
	{ F "SHELL /bin/sh", NULL, "an array of JSON" },
	{ "FROM x y", NULL, "FROM IMAGE AS NAME" },
	{ "FROM x AS 1a", NULL, "no name of a stage" },
	{ F "RUN --mount=type=cache,target=/x a", NULL,
	  "Dockerfile:2: --mount is not supported" },
	{ F "RUN --foo a", NULL, "RUN has no flag --foo" },
	{ F "COPY --chown a b", NULL, "--chown needs a value" },
	{ F "COPY --from=a --from=b c d", NULL, "twice" },
	{ F "ONBUILD RUN a", NULL, "ONBUILD is not supported" },
	{ F "HEALTHCHECK a", NULL, "HEALTHCHECK CMD" },
	{ F "RUN <<EOF\na\n", NULL, "Dockerfile:2: the heredoc <<EOF has no end" },
	{ "# escape=x\n" F, NULL, "line 1: escape" },
};

static void test_instructions_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		check(&samples[i]);
}

static void test_lines_and_notes_are_told(void **state)
{
	static const char text[] =
		"# syntax=x\n\nFROM a\n# c\nRUN b \\\n c\nRUN <<E\nd\nE\n"
		"HEALTHCHECK NONE\n";
	static const unsigned lines[] = { 3, 5, 7, 10 };
	struct dockerfile d;
	struct err e;

	(void)state;
	assert_int_equal(dockerfile_parse(text, strlen(text), "D", &d, &e), 0);
	assert_int_equal(d.count, ARRAY_LEN(lines));
	for (size_t i = 0; i < d.count; i++)
		assert_int_equal(d.all[i].line, lines[i]);
	assert_string_equal(d.all[1].text, "RUN b  c");
	assert_int_equal(d.notes.count, 2);
	assert_non_null(strstr(d.notes.items[0], "syntax=x"));
	assert_non_null(strstr(d.notes.items[1], "line 10"));
	dockerfile_done(&d);
}

static void test_there_are_bounds(void **state)
{
	static char large[DOCKERFILE_MAX + 2];
	struct dockerfile d;
	struct err e;

	(void)state;
	assert_int_equal(dockerfile_parse("FROM a\0", 7, "D", &d, &e), -1);
	assert_non_null(strstr(e.text, "a 0 byte"));
	dockerfile_done(&d);
	memset(large, '\n', sizeof(large));
	assert_int_equal(dockerfile_parse(large, sizeof(large), "D", &d, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	dockerfile_done(&d);
	for (size_t i = 0; i + 7 < sizeof(large); i += 7)
		memcpy(large + i, "FROM a\n", 7);
	assert_int_equal(dockerfile_parse(large, DOCKERFILE_MAX, "D", &d, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_non_null(strstr(e.text, "instructions"));
	dockerfile_done(&d);
}

static void test_the_beginning_of_a_heredoc_is_told(void **state)
{
	(void)state;
	assert_true(instruction_is_heredoc("<<EOF"));
	assert_true(instruction_is_heredoc("<<-'EOF'"));
	assert_true(instruction_is_heredoc("3<<E"));
	assert_false(instruction_is_heredoc("<<<E"));
	assert_false(instruction_is_heredoc("<<"));
	assert_false(instruction_is_heredoc("a<<E"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions_are_read),
		cmocka_unit_test(test_lines_and_notes_are_told),
		cmocka_unit_test(test_there_are_bounds),
		cmocka_unit_test(test_the_beginning_of_a_heredoc_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
