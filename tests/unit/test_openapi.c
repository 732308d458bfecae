/* openapi: the document of hutch-serve has each route of its tables, and no other.  A path is
 * compared with each "{name}" as "*", as the tables have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <string.h>

#include "base/own.h"
#include "gateway/gateway.h"
#include "gateway/native.h"
#include "lib/error.h"
#include "policy/json/json.h"

static const char text[] = {
#include "gen/openapi.h"
};

static struct json *doc;
static struct json_at paths;

static int setup(void **state)
{
	struct json_at root;

	(void)state;
	doc = json_parse(text, sizeof(text) - 1, NULL);
	if (!doc)
		return -1;
	json_root(doc, "openapi", &root);
	return json_member(&root, "paths", &paths) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	json_free(doc);
	return 0;
}

static bool is_same_path(const char *path, const char *pattern)
{
	for (; *path && *pattern; path++, pattern++) {
		if (*path == '{' && *pattern == '*')
			path = strchr(path, '}');
		else if (*path != *pattern)
			return false;
	}
	return *path == *pattern;
}

static bool is_same_method(const char *key, const char *method)
{
	while (*key && tolower((unsigned char)*method) == *key) {
		key++;
		method++;
	}
	return *key == *method;
}

/* Finds the operation of the document that stands for a route. */
static bool find_operation(const struct route *r, struct json_at *ret)
{
	struct json_at path = { 0 }, operation = { 0 };
	const char *name, *key;

	while (json_step_key(&paths, &path, &name)) {
		if (!is_same_path(name, r->path))
			continue;
		memset(&operation, 0, sizeof(operation));
		while (json_step_key(&path, &operation, &key))
			if (is_same_method(key, r->method)) {
				*ret = operation;
				return true;
			}
	}
	return false;
}

static bool is_route(const char *path, const char *key)
{
	size_t count;
	const struct routes *const *tables = gateway_tables(&count);

	for (size_t t = 0; t < count; t++)
		for (size_t i = 0; i < tables[t]->count; i++)
			if (is_same_path(path, tables[t]->list[i].path) &&
			    is_same_method(key, tables[t]->list[i].method))
				return true;
	return false;
}

static size_t count_of(const struct json_at *list)
{
	struct json_at item = { 0 };
	size_t count = 0;

	while (json_step(list, &item))
		count++;
	return count;
}

/* The keys that the document says are as many as the route takes: none, the server's in two
 * fields, and the sandbox's in a field of its own. */
static void check_access(const struct route *r, const struct json_at *operation)
{
	static const size_t counts[] = { [ACCESS_OPEN] = 0,
					 [ACCESS_OPERATOR] = 2,
					 [ACCESS_BOX] = 3,
					 [ACCESS_TABLE] = 3 };
	struct json_at security;

	if (!json_member(operation, "security", &security) ||
	    count_of(&security) != counts[r->access])
		fail_msg("%s %s: wrong security", r->method, r->path);
}

static void check_body(const struct route *r, const struct json_at *operation)
{
	struct json_at body, content, form;
	const bool has_body = json_member(operation, "requestBody", &body);

	if (r->begin && r->body_max == 0 && r->form_max == 0)
		return; /* its handler takes the body */
	if (has_body != (r->body_max > 0 || r->form_max > 0))
		fail_msg("%s %s: a body, or none", r->method, r->path);
	if (!has_body)
		return;
	assert_true(json_member(&body, "content", &content));
	if (json_member(&content, "multipart/form-data", &form) != (r->form_max > 0))
		fail_msg("%s %s: a form, or none", r->method, r->path);
}

static void test_each_route_is_in_the_document(void **state)
{
	size_t count;
	const struct routes *const *tables = gateway_tables(&count);
	struct json_at operation;
	size_t missing = 0;

	(void)state;
	for (size_t t = 0; t < count; t++)
		for (size_t i = 0; i < tables[t]->count; i++) {
			const struct route *r = &tables[t]->list[i];

			if (find_operation(r, &operation)) {
				check_access(r, &operation);
				check_body(r, &operation);
				continue;
			}
			print_error("not in openapi.json: %s %s\n", r->method, r->path);
			missing++;
		}
	assert_int_equal(missing, 0);
}

static void test_each_operation_is_a_route(void **state)
{
	struct json_at path = { 0 }, operation = { 0 };
	const char *name, *key;

	(void)state;
	while (json_step_key(&paths, &path, &name)) {
		memset(&operation, 0, sizeof(operation));
		while (json_step_key(&path, &operation, &key))
			if (strcmp(key, "parameters") != 0 && !is_route(name, key))
				fail_msg("no route: %s %s", key, name);
	}
}

static const struct native_method *method_called(const char *name)
{
	for (const struct native_method *m = native_methods; m->name; m++)
		if (!strcmp(m->name, name) && !m->refusal)
			return m;
	return NULL;
}

static void test_the_methods_are_those_that_are_called(void **state)
{
	struct json_at at, list, item = { 0 };
	const char *steps[] = { "components", "parameters", "method", "schema", "enum" };
	size_t count = 0, called = 0;
	const char *name;

	(void)state;
	json_root(doc, "openapi", &at);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		assert_true(json_member(&at, steps[i], &list));
		at = list;
	}
	for (; json_step(&list, &item); count++) {
		assert_int_equal(json_string(&item, &name, NULL), 0);
		if (!method_called(name))
			fail_msg("no method: %s", name);
	}
	for (const struct native_method *m = native_methods; m->name; m++)
		called += !m->refusal;
	assert_int_equal(count, called);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_route_is_in_the_document),
		cmocka_unit_test(test_each_operation_is_a_route),
		cmocka_unit_test(test_the_methods_are_those_that_are_called),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
