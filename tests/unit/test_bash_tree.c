/* policy/bash: parses a text as bash does, into a syntax tree. */
#include "policy/bash/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/own.h"
#include "tests/bash_show.h"
#include "tests/unit/cost.h"
#include "tests/unit/rounds.h"

struct sample {
	const char *text, *tree;
};

/* Returns the tree in one line, or the reason why the parser stopped; allocated. */
static char *shown(const char *text)
{
	struct bash_tree t;
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	assert_non_null(out);
	bash_parse(&t, text, strlen(text));
	if (t.why)
		(void)fprintf(out, "%s: %s", t.is_open ? "open" : "stopped", t.why);
	else
		bash_show(out, t.list);
	bash_tree_done(&t);
	(void)fclose(out);
	return line;
}

static void check(const struct sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *got = shown(samples[i].text);
		if (strcmp(got, samples[i].tree))
			fail_msg("%s\nis:     %s\nnot:    %s", samples[i].text, got,
				 samples[i].tree);
	}
}

static void lists_and_pipelines(void **state)
{
	static const struct sample samples[] = {
		{ "", "{}" },
		{ " # x\n\n", "{}" },
		{ "a b  c", "{a,b,c}" },
		{ "a; b & c && d || e | f |& g", "{a; b & c && d && e|f|g}" },
		{ "a;\nb\n\nc # d\n", "{a; b; c}" },
		{ "a &&\n# x\nb |\n\nc", "{a && b|c}" },
		{ "! a; time -p -- b; time; ! ! c; a !", "{a; b; ; c; a,!}" },
		{ "a\\\nb \\\n c", "{ab,c}" },
		{ "a &\\\n& b", "{a && b}" },
		{ "i\\\nf a; th\\\nen b; fi", "{if({a; }{b; })}" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void compound_commands(void **state)
{
	static const struct sample samples[] = {
		{ "{ a; b; }", "{group({a; b; })}" },
		{ "(a; (b))", "{sub({a; sub({b})})}" },
		{ "if a; then b; elif c; then d; else e; fi >f",
		  "{if({a; }{b; }{c; }{d; }{e; }) 1>f}" },
		{ "while a; do b; done <f; until a\ndo b\ndone",
		  "{loop({a; }{b; }) 0<f; loop({a}{b})}" },
		{ "for x in a b; do c; done", "{for(x= a,b{c; })}" },
		{ "for x\n\ndo c; done; for x do c; done",
		  "{for(x= {c; }); for(x= {c; })}" },
		{ "for x in a; { c; }", "{for(x= a{c; })}" },
		{ "for ((i = 0; i < 3; i++)); do c; done",
		  "{sum(i = 0; i < 3; i++){c; })}" },
		{ "select x in a; do b; done", "{for(x= a{b; })}" },
		{ "case $x in a|b) c;; (d) e ;& *) ;; esac",
		  "{case($xclause(a,b{c})|clause(d{e})|clause(*{}))}" },
		{ "case x in\na)\nb\nesac", "{case(xclause(a{b}))}" },
		{ "f() { a; }; function g { a; }; function h () (a)",
		  "{function(fgroup({a; })); function(ggroup({a; })); "
		  "function(hsub({a}))}" },
		{ "f() { a; } >x", "{function(fgroup({a; }) 1>x)}" },
		{ "coproc X { a; }; coproc b c; coproc (d)",
		  "{coproc(group({a; })); coproc(b,c); coproc(sub({d}))}" },
		{ "[[ -f a && ! ( b == c* ) ]] || d", "{test(-f,a,!,b,==,c*) && d}" },
		{ "[[ $x =~ ^(a|b c)+$ ]]", "{test($x,=~,^(a|b c)+$)}" },
		{ "((i++)); a", "{sum(i++)); a}" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void words(void **state)
{
	static const struct sample samples[] = {
		{ "r\"m\" -'r'f \\/ a#b '' \"\"", "{rm,-rf,/,a#b,,}" },
		{ "$'\\x72\\155' $'\\'' $'\\u00e4' $'a\\0b'c $\"d\"",
		  "{rm,',\xc3\xa4,ac,d}" },
		{ "$'\\c' r$'\\c'm", "{\\c,r\\cm}" },
		{ "\"a\\\"b\\$c\\d\" \"e\\\nf\"", "{a\"b$c\\d,ef}" },
		{ "$x ${x:-y} $1 $$ *.c {a,b} ~/x $ $%",
		  "{$x,${x:-y},$1,$$,*.c,{a,b},~/x,$,$%}" },
		{ "a $(b; c) `d \\`e\\`` <(f) >(g)", "{a,${b; c},${d,${e}},${f},${g}}" },
		{ "\"$(a \"$(b)\")\"", "{${a,${b}}}" },
		{ "${x:-$(a)} \"${x:-'$(b)'}\" ${x:-'}'} ${x/\\}/$(c)}",
		  "{${a},${b},${x:-'}'},${c}}" },
		{ "$((1 + $(a))) ${a[$(b)]} $[1 + `c`] ${x:$(d):1}",
		  "{${a},${b},${c},${d}}" },
		{ "${#x} ${!x} ${x@Q} ${#} ${#-x} ${!x*} ${x[@]:1:2} ${x^^} ${x,}",
		  "{${#x},${!x},${x@Q},${#},${#-x},${!x*},${x[@]:1:2},${x^^},${x,}}" },
		{ "echo $$'\\'; a #'", "{echo,$$\\; a}" },
		{ "if then", "stopped: a list without a command" },
		{ "echo if then { }", "{echo,if,then,{,}}" },
		{ "\\if 'if' x", "{if,if,x}" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void assignments_and_redirections(void **state)
{
	static const struct sample samples[] = {
		{ "x=1 y+=2 a[3]=4 b c=d", "{x=1 y=2 a[=4 b,c=d}" },
		{ "x= y; a\\\nb=c d", "{x= y; ab=c d}" },
		{ "a=(b $(c) [1]=d\n# x\n e)", "{a=(b,${c},[1]=d,e) }" },
		{ "a[1 + $(b)]=c d", "{a[${b}=c d}" },
		{ "declare -a x=(1 2) y", "{x=(1,2) declare,-a,x=,y}" },
		{ "a >b 2>&1 <c 3<>d &>e >|f {g}<h <<<i",
		  "{a 1>b 2&1 0<c 3<>d 1>e 1>f -1<h 0<<<i}" },
		{ "a 2 >b; a2>b; a \\2>b", "{a,2 1>b; a2 1>b; a,2 1>b}" },
		{ "2>x a", "{a 2>x}" },
		{ "a <<E; b\nx $y\nE\nc", "{a 0<<x $y\n; b; c}" },
		{ "a <<-'E' <<F\n\tx\n\tE\ny\nF\nb", "{a 0<<x\n 0<<y\n; b}" },
		{ "a <<E\nE\\\nE\nb\nE", "{a 0<<EE\nb\n}" },
		{ "a <<-E\n\\\n\tE\nb", "{a 0<<; b}" },
		{ "`a <<'EF'\nE\\\nF\nb\nEF\n`", "{${a 0<<; b; EF}}" },
		{ "a <<E\n\\$(b) `c`\nE", "{a 0<<${c}}" },
		{ "(a <<E)\nx\nE\nb", "{sub({a 0<<x\n}); b}" },
		{ "a $(b <<E\nx\nE\n)", "{a,${b 0<<x\n}}" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void other_texts_stop_the_parser(void **state)
{
	static const struct sample samples[] = {
		{ "a 'b", "open: the end of the text in the middle of a construct" },
		{ "a \"b", "open: the end of the text in the middle of a construct" },
		{ "a $(b", "open: the end of the text in the middle of a construct" },
		{ "a <<E\nb", "open: the end of the text in the middle of a construct" },
		{ "a <<E", "open: the end of the text in the middle of a construct" },
		{ "a \\", "open: the end of the text in the middle of a construct" },
		{ "a |", "open: the end of the text in the middle of a construct" },
		{ "a &&", "open: the end of the text in the middle of a construct" },
		{ "if a; then b",
		  "open: the end of the text in the middle of a construct" },
		{ "a[f", "open: the end of the text in the middle of a construct" },
		{ "a)", "stopped: a syntax error" },
		{ "a | ! b", "stopped: a syntax error" },
		{ "a; ; b", "stopped: a syntax error" },
		{ "fi", "stopped: a syntax error" },
		{ "a (b)", "stopped: a \"(\" behind a word" },
		{ "${ a; }", "stopped: a ${ } of an unknown form" },
		{ "${x@P}", "stopped: a ${ } that expands its value as a prompt" },
		{ "\"${x#'}'}\"", "stopped: a ${ } with quotes in double quotes" },
		{ "((a) ; b)", "stopped: a \"((\" without a \"))\"" },
		{ "$((a) | b)", "stopped: a \"$((\" that may begin a subshell" },
		{ "$(( $(case x in x) a;; esac) ))",
		  "stopped: a \"$((\" that may begin a subshell" },
		{ "(( '$(: ' ))\na\n: ' ) ' ))",
		  "stopped: an expansion with a quote in it, in quotes" },
		{ "\"${x:-`a \\\"b\\\"`}\"", "stopped: a ` ` with quotes in quotes" },
		{ "${x:{}; a; }",
		  "stopped: an expression with a bracket of another kind, or in quotes" },
		{ "${a[}; b; ]}",
		  "stopped: an expression with a bracket of another kind, or in quotes" },
		{ "$(>f ! a)", "stopped: a keyword behind a redirection or an assignment" },
		{ "!(a)", "stopped: a \"!\" and a \"(\" behind it" },
		{ "a {b[1]}>c", "stopped: a descriptor of an unknown form" },
		{ "a <<-b\n", "open: the end of the text in the middle of a construct" },
		{ "a << -b\n-b\n", "stopped: a here-document with an unusual name" },
		{ "$(a <<E\nE b )\nE\n)",
		  "stopped: a here-document with a line that begins like its last one" },
		{ "a[\"]\"]=b",
		  "stopped: an expression with a bracket of another kind, or in quotes" },
		{ "a[1] b", "stopped: a command's name with a \"[\" in it" },
		{ "a <<$(b)\nx", "stopped: a here-document with an unusual name" },
		{ "x $(a <<E)\nE", "stopped: a here-document without its lines" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static const struct bash_word *first_word(struct bash_tree *t, const char *text)
{
	bash_parse(t, text, strlen(text));
	assert_null(t->why);
	return t->list->parts->parts->words;
}

static void a_word_says_what_only_bash_can_know(void **state)
{
	static const struct {
		const char *text;
		unsigned qualities;
		size_t computed;
	} samples[] = {
		{ "a", 0, 0 },
		{ "'a'", BASH_QUOTED, 0 },
		{ "a$x/b", BASH_EXPANDS | BASH_SPLITS, 3 },
		{ "\"$x\"/b", BASH_QUOTED | BASH_EXPANDS, 2 },
		{ "\"$@\"", BASH_QUOTED | BASH_EXPANDS | BASH_SPLITS, 2 },
		{ "~/a", BASH_EXPANDS, 1 },
		{ "/*/b", BASH_SPLITS, 2 },
		{ "a{b,c}d", BASH_SPLITS, 6 },
		{ "{a..b}", BASH_SPLITS, 6 },
		{ "{a}", 0, 0 },
		{ "[", 0, 0 },
		{ "[a]", BASH_SPLITS, 3 },
		{ "'a[$(b)]'", BASH_QUOTED | BASH_HIDES, 0 },
		{ "'a[$'\\(b]", BASH_QUOTED | BASH_HIDES, 0 },
		{ "\\`", BASH_QUOTED | BASH_HIDES, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct bash_tree t;
		const struct bash_word *w = first_word(&t, samples[i].text);
		if (w->qualities != samples[i].qualities ||
		    w->computed != samples[i].computed)
			fail_msg("%s: %x, %zu", samples[i].text, w->qualities,
				 w->computed);
		bash_tree_done(&t);
	}
}

/* --- hostile texts ---------------------------------------------------------------- */

static char *repeated(const char *text, size_t len)
{
	size_t unit = strlen(text);
	char *all = calloc(len + 1, 1);

	assert_non_null(all);
	for (size_t i = 0; i + unit <= len; i += unit)
		memcpy(all + i, text, unit);
	return all;
}

static void forms_that_posix_does_not_define_are_noted(void **state)
{
	static const char *const bashisms[] = {
		"$'a'",
		"$\"a\"",
		"((a))",
		"for ((;;)); do a; done",
		"$[1]",
		"[[ a ]]",
		"a &>b",
		"a &>>b",
		"a <<<b",
		"a {b}>c",
		"a 10>b",
		"a <(b)",
		"a >(b)",
		"a |& b",
		"time a",
		"case a in b) ;& esac",
		"case a in b) ;;& esac",
		"function a { b; }",
		"select a in b; do c; done",
		"coproc { a; }",
		"a=(b)",
		"a[1]=b",
		"a+=b",
		"${a[1]}",
		"${!a}",
		"${a@Q}",
		"${a:1}",
		"${a/b}",
		"${a^b}",
		"${a,b}",
	};
	static const char *const others[] = {
		"a 'b' \"$c\" $(d) `e` $((f + 1)) 2>&1 9<g >|h <>i",
		"${a:-b} ${#a} ${a%%b} ${a##c}",
		"a() { b; }",
		"case a in (b|c) d ;; esac",
		"for a in b; do c; done",
		"a <<-E\nE",
		"! a && b || c; (d) & { e; }",
		"a=b c=$d e",
		"if a; then b; elif c; then d; fi",
	};
	struct bash_tree t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bashisms); i++) {
		bash_parse(&t, bashisms[i], strlen(bashisms[i]));
		if (t.why || !(t.constructs & BASH_HAS_BASHISM))
			fail_msg("%s: %s", bashisms[i], t.why ? t.why : "is not noted");
		bash_tree_done(&t);
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		bash_parse(&t, others[i], strlen(others[i]));
		if (t.why || (t.constructs & BASH_HAS_BASHISM))
			fail_msg("%s: %s", others[i], t.why ? t.why : "is noted");
		bash_tree_done(&t);
	}
}

#define LONG ROUNDS_OF(1u << 20)

/* A long text of each part: deep nesting stops the parser, and nothing takes longer than
 * its length explains. */
static void any_text_takes_linear_time(void **state)
{
	static const char *const parts[] = {
		"$(",	      "${",    "(",	"{ ",	 "a;",	       "x <(",	"`",
		"$'a'",	      "<<E ",  "<<E\n", "a ",	 "\"",	       "a ((",	"X=1 ",
		"case x in ", "[[ ",   "a[",	"\\\n",	 "# x\n",      "if ",	"a|",
		"a&&",	      "'",     "$((",	"${x:-", "a <<E\nE\n", "x=(",	"((",
		"f() ",	      "!",     "a\\\n", "{a,b}", "coproc ",    "2>&1 ", "${x[",
		"\"$(",	      "time ", "~/",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		AUTO_FREE char *text = repeated(parts[i], LONG);
		struct bash_tree t;
		int64_t begun = cost_us();
		bash_parse(&t, text, LONG);
		bash_tree_done(&t);
		if (cost_us() - begun > ROUNDS_OF(5000000))
			fail_msg("a long text of %s takes too long", parts[i]);
	}
}

/* The words of a tree take more memory than their text, and a command may have any
 * number of words, so the parser has a limit on memory. */
static void the_memory_of_a_tree_is_bounded(void **state)
{
	AUTO_FREE char *text = repeated("a ", 4u << 20);
	struct bash_tree t;

	(void)state;
	bash_parse(&t, text, 4u << 20);
	assert_string_equal(t.why, "more text than hutch reads");
	assert_true(t.memory < 2 * (size_t)BASH_MEMORY);
	bash_tree_done(&t);
}

static void the_end_of_the_text_is_its_length(void **state)
{
	static const char *const samples[] = {
		"rm $", "rm \\", "a <<",  "a <", "$'\\", "$'\\x",  "${",
		"$(",	"\"$",	 "a <<-", "x=",	 "<(",	 "&",	   "`\\",
		"2",	"{a",	 "[[",	  "a[",	 "((",	 "a <<E\n"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		size_t len = strlen(samples[i]);
		/* Exactly the text's size, so that a sanitizer sees a read beyond
		 * it. */
		char *text = malloc(len);
		struct bash_tree t;
		assert_non_null(text);
		memcpy(text, samples[i], len);
		bash_parse(&t, text, len);
		bash_tree_done(&t);
		free(text);
	}
	struct bash_tree t;
	bash_parse(&t, "a\0b", 3);
	assert_string_equal(t.why, "a 0 byte");
	assert_string_equal(t.list->parts->parts->words->text, "a");
	bash_tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_and_pipelines),
		cmocka_unit_test(compound_commands),
		cmocka_unit_test(words),
		cmocka_unit_test(assignments_and_redirections),
		cmocka_unit_test(other_texts_stop_the_parser),
		cmocka_unit_test(a_word_says_what_only_bash_can_know),
		cmocka_unit_test(forms_that_posix_does_not_define_are_noted),
		cmocka_unit_test(any_text_takes_linear_time),
		cmocka_unit_test(the_memory_of_a_tree_is_bounded),
		cmocka_unit_test(the_end_of_the_text_is_its_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
