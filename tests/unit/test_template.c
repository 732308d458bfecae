/* template: templates of docker's, over one object. */
#include "docker/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

static const char data[] =
	"{\"Id\":\"abc\",\"State\":{\"Running\":true,\"Status\":\"running\",\"Pid\":7},"
	"\"Names\":[\"a\",\"b\"],\"Empty\":[],\"None\":null,\"Zero\":0,\"Off\":false,"
	"\"Label\":{\"com.x/y\":\"1\",\"k\":\"v\"},"
	"\"Labels\":{\"com.x/y\":\"1\",\"k\":\"v\"},\"Ports\":{\"8000/tcp\":[{\"HostIp\":"
	"\"127.0.0.1\",\"HostPort\":\"9000\"}],\"9/tcp\":null}}";

/* Returns the output, or "error: " and the error. */
static char *run(const char *text)
{
	struct json_view view;
	struct buffer out;
	struct err e;

	assert_int_equal(json_view_scan(&view, data, strlen(data), NULL), 0);
	json_write_begin(&out);
	int rc = template_run(text, view, &out, &e);
	char *got = json_write_end(&out);
	if (rc == 0)
		return got;
	free(got);
	return text_format("error: %s", e.text);
}

static const struct {
	const char *text, *out;
} rows[] = {
	{ "", "" },
	{ "plain } text", "plain } text" },
	{ "{{.State.Running}}", "true" },
	{ "{{ .State.Status }}-{{.State.Pid}}", "running-7" },
	{ "{{.Names}} {{.Labels}} {{.None}}", "[a b] map[com.x/y:1 k:v] <no value>" },
	{ "{{json .Names}}", "[\"a\",\"b\"]" },
	{ "{{.State | json}}", "{\"Running\":true,\"Status\":\"running\",\"Pid\":7}" },
	{ "{{json .Id}}", "\"abc\"" },
	{ "{{index .Labels \"com.x/y\"}}", "1" },
	{ "{{.Label \"k\"}}{{.Label \"missing\"}}{{if .Label \"com.x/y\"}}y{{end}}",
	  "vy" },
	{ "{{index .Labels `k`}}{{index .Labels \"missing\"}}", "v" },
	{ "{{(index (index .Ports \"8000/tcp\") 0).HostPort}}", "9000" },
	{ "{{index .Names 1}} {{len .Names}} {{len .Id}}", "b 2 3" },
	{ "{{range .Names}}<{{.}}>{{end}}", "<a><b>" },
	{ "{{range $i, $n := .Names}}{{$i}}={{$n}} {{end}}", "0=a 1=b " },
	{ "{{range $p, $c := .Ports}}{{$p}}:{{range $c}}{{.HostPort}}{{else}}-{{end}};{{end}}",
	  "8000/tcp:9000;9/tcp:-;" },
	{ "{{range .Empty}}x{{else}}none{{end}}", "none" },
	{ "{{if .State.Running}}up{{else}}down{{end}}", "up" },
	{ "{{if .Off}}a{{else if .Zero}}b{{else if .Names}}c{{else}}d{{end}}", "c" },
	{ "{{if .Names}}a{{else if .Names}}b{{else}}d{{end}}!", "a!" },
	{ "{{if eq .State.Status \"running\" \"paused\"}}y{{end}}", "y" },
	{ "{{if ne .State.Pid 7}}y{{else}}n{{end}}", "n" },
	{ "{{if and .State.Running (not .Off)}}y{{end}}{{or .Zero .Id}}", "yabc" },
	{ "{{with .State}}{{.Pid}}{{$.Id}}{{end}}", "7abc" },
	{ "{{with .None}}x{{else}}none{{end}}", "none" },
	{ "{{$x := .Id}}{{$x}}{{$x | upper}}", "abcABC" },
	{ "{{println .Id 1}}{{print .Id .Id}}", "abc 1\nabcabc" },
	{ "{{join .Names \",\"}}", "a,b" },
	{ "{{title \"ab cd\"}} {{title \"a-b\"}}", "Ab Cd A-b" },
	{ "{{range split .State.Status \"n\"}}<{{.}}>{{end}}", "<ru><><i><g>" },
	{ "{{split \"a,b\" \",\"}} {{len (split \"\" \",\")}} {{json (split \"\u00e9b\" \"\")}}",
	  "[a b] 1 [\"\xc3\xa9\",\"b\"]" },
	{ "{{index (split \"a/b\" \"/\") 1}}", "b" },
	{ "{{printf \"%s is %v, %d%%\" .Id .State.Running .State.Pid}}",
	  "abc is true, 7%" },
	{ "{{printf \"[%-5s|%5s|%.2s|%03d|%-3d]\" .Id .Id .Id 7 7}}",
	  "[abc  |  abc|ab|007|7  ]" },
	{ "{{printf \"%q %t\" .Id .Off}}", "\"abc\" false" },
	{ "{{printf \"%3s%.1s\" \"\u00e9\" \"\u00e9x\"}}{{.Id | printf \"%s!\"}}",
	  "  \xc3\xa9\xc3\xa9"
	  "abc!" },
	{ "{{printf \"%04d\" -7}}", "-007" },
	{ "{{printf \"%v\" .Names}}", "[a b]" },
	{ "a {{- .Id -}} b {{/* no */}}c", "aabcb c" },
	{ "{{\"}}\"}}", "}}" },
	{ "{{.}}x", NULL },

	{ "{{printf \"%d\" .Id}}", "error: printf: a value is none for %d" },
	{ "{{printf \"%t\" 1}}", "error: printf: a value is none for %t" },
	{ "{{printf \"%s\"}}", "error: printf: a value is missing" },
	{ "{{printf \"x\" 1}}", "error: printf: too many values" },
	{ "{{printf 1}}", "error: printf: its format is no text" },
	{ "{{split .Names \",\"}}", "error: error calling split: split takes two texts" },
	{ "{{title 1}}", "error: title takes a text" },
	{ "{{printf \"%99999s\" .Id}}",
	  "error: printf: hutch does not know %99999s: there are %s, %v, %q, %d, %t and %%, "
	  "with a width up to 1000" },

	{ "{{.Nosuch}}", "error: map has no entry for key \"Nosuch\"" },
	{ "{{.Id.X}}", "error: can't evaluate field X of this value" },
	{ "{{if .Off}}{{.Nosuch}}{{end}}", "" },
	{ "{{.Id", "error: template: 1:5: unclosed action" },
	{ "{{end}}", "error: template: 1:7: unexpected {{end}} or {{else}}" },
	{ "{{if .Id}}",
	  "error: template: 1:10: unexpected end of the template: {{end}} is "
	  "missing" },
	{ "{{frob .Id}}", "error: template: 1:2: function \"frob\" not defined" },
	{ "{{index .Names 9}}", "error: error calling index: index out of range" },
	{ "{{$x}}", "error: template: 1:4: a variable is not defined" },
	{ "{{json}}", "error: wrong number of args for json" },
	{ "{{\"a}}", "error: template: 1:2: a string has no end" },
	{ "{{.Id .Id}}", "error: template: 1:6: unexpected operand" },
	{ "{{(.Id}}", "error: template: 1:6: unclosed left paren" },
};

static void test_templates(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *got = run(rows[i].text);
		if (rows[i].out)
			assert_string_equal(got, rows[i].out);
	}
}

/* template_check() finds errors of form, also in branches that are not taken, and needs no
 * data. */
static void test_check(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(template_check("{{.A.B}}{{range .C}}{{.}}{{end}}", &e), 0);
	assert_int_equal(template_check("{{range $k, $v := .A}}{{$k}}{{end}}", &e), 0);
	assert_int_equal(template_check("{{if .A}}{{frob}}{{end}}", &e), -1);
	assert_int_equal(template_check("{{template \"x\"}}", &e), -1);
	assert_int_equal(template_check("{{range .A}}", &e), -1);
}

static void test_bounds(void **state)
{
	struct list parts = { 0 };
	struct err e;

	(void)state;
	for (int i = 0; i < 100; i++)
		list_add(&parts, "{{if .Id}}");
	AUTO_FREE char *nested = list_join(&parts, 0, "");
	assert_int_equal(template_check(nested, &e), -1);
	assert_non_null(strstr(e.text, "nested too deep"));
	list_done(&parts);
	for (int i = 0; i < 100; i++)
		list_add(&parts, "(");
	AUTO_FREE char *brackets = list_join(&parts, 0, "");
	AUTO_FREE char *action = text_format("{{%s", brackets);
	assert_int_equal(template_check(action, &e), -1);
	list_done(&parts);
	AUTO_FREE char *long_one = mem_or_abort(malloc(70000));
	memset(long_one, 'x', 69999);
	long_one[69999] = '\0';
	assert_int_equal(template_check(long_one, &e), -1);
}

/* A function may double its value, so the bytes that a template makes are bounded. */
static void test_made_texts_are_bounded(void **state)
{
	struct list calls = { 0 };

	(void)state;
	list_add(&calls, "json .Id");
	for (int i = 0; i < 60; i++)
		list_add(&calls, "json");
	AUTO_FREE char *pipeline = list_join(&calls, 0, "|");
	AUTO_FREE char *text = text_format("{{%s}}", pipeline);
	list_done(&calls);
	AUTO_FREE char *got = run(text);
	assert_non_null(strstr(got, "it makes too much text"));
}

/* A chain of {{else if}} takes no stack for each. */
static void test_a_long_chain_of_else_if(void **state)
{
	struct list parts = { 0 };

	(void)state;
	list_add(&parts, "{{if .Off}}a");
	for (int i = 0; i < 3000; i++)
		list_add(&parts, "{{else if .Off}}b");
	list_add(&parts, "{{else if .Id}}c{{else if .Id}}d{{else}}e{{end}}!");
	AUTO_FREE char *text = list_join(&parts, 0, "");
	list_done(&parts);
	AUTO_FREE char *got = run(text);
	assert_string_equal(got, "c!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_templates),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_made_texts_are_bounded),
		cmocka_unit_test(test_a_long_chain_of_else_if),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
