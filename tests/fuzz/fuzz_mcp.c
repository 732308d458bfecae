/* Lines of a client of hutch mcp are arbitrary bytes.  Every answer is one line of JSON in the
 * protocol's form, and arguments of tools are checked without a fault.  No tool is called: each
 * would need a sandbox. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "mcp/job.h"
#include "mcp/message.h"
#include "mcp/server.h"
#include "mcp/setup.h"
#include "mcp/tools.h"
#include "policy/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_so)
{
	if (!is_so)
		abort();
}

static void check_object(const struct json_at *at)
{
	static const char *const keys[] = { "jsonrpc", "id",	"method", "params",
					    "result",  "error", NULL };
	struct json_at a, b;
	struct err e;

	must(json_only(at, keys, &e) == 0 && json_member(at, "jsonrpc", &a));
	if (json_member(at, "method", &a))
		must(json_member(at, "params", &b));
	else
		must(json_member(at, "result", &a) != json_member(at, "error", &b));
}

/* Checks what the server would send. */
static void check_output(struct buffer *out)
{
	const char *end;

	while ((end = memchr(buffer_data(out), '\n', buffer_len(out)))) {
		const char *line = (const char *)buffer_data(out);
		struct json_at root, item = { 0 };
		struct err e;
		AUTO_JSON struct json *doc = json_parse(line, (size_t)(end - line), &e);

		must(doc != NULL);
		json_root(doc, "line", &root);
		if (json_type(&root) == JSON_ARRAY)
			while (json_step(&root, &item))
				check_object(&item);
		else
			check_object(&root);
		buffer_consume(out, (size_t)(end - line) + 1);
	}
	must(buffer_len(out) == 0);
}

static void check_arguments(const char *line, size_t len)
{
	struct message m;
	struct err e;

	message_read(&m, line, len);
	for (size_t i = 0; i < TOOL_COUNT && m.doc; i++) {
		const struct job j = { .arguments = m.params };
		(void)tools_check(&tools[i], &j, &e); /* either result is fine */
	}
	message_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[] = "mcp-0123456789ab";
	const struct setup setup = { .prefix = name, .name = name };
	struct server s;
	struct err e;
	size_t len;

	must(server_init(&s, &setup, &e) == 0);
	for (size_t at = 0; at < size && !s.is_broken; at += len + 1) {
		const char *line = (const char *)data + at;
		const char *end = memchr(line, '\n', size - at);

		len = end ? (size_t)(end - line) : size - at;
		server_take(&s, line, len, NULL);
		check_arguments(line, len);
		check_output(&s.out.out);
	}
	server_done(&s);
	return 0;
}
