#include "mcp/reply.h"

#include <stdlib.h>

#include "base/json_write.h"

#ifndef HUTCH_VERSION
#define HUTCH_VERSION "0.1.0"
#endif

#define SERVER_INFO_KEY "io.modelcontextprotocol/serverInfo"

static void begin(struct buffer *b, const char *id)
{
	json_write_begin(b);
	json_write_open(b, NULL, "{");
	json_write_text(b, "jsonrpc", "2.0");
	if (id)
		json_write_raw(b, "id", id);
}

char *reply_error(const char *id, int code, const char *message, const char *data)
{
	struct buffer b;

	begin(&b, id ? id : "null");
	json_write_open(&b, "error", "{");
	json_write_number(&b, "code", code);
	json_write_text(&b, "message", message);
	if (data)
		json_write_raw(&b, "data", data);
	json_write_close(&b, "}}");
	return json_write_end(&b);
}

void reply_server_info(struct buffer *b, const char *key)
{
	json_write_open(b, key, "{");
	json_write_text(b, "name", "hutch");
	json_write_text(b, "version", HUTCH_VERSION);
	json_write_close(b, "}");
}

char *reply_result(const char *id, const char *members, bool is_modern, const char *type)
{
	struct buffer b;

	begin(&b, id);
	json_write_open(&b, "result", "{");
	if (is_modern)
		json_write_text(&b, "resultType", type);
	if (*members)
		json_write_raw(&b, NULL, members);
	if (is_modern) {
		json_write_open(&b, "_meta", "{");
		reply_server_info(&b, SERVER_INFO_KEY);
		json_write_close(&b, "}");
	}
	json_write_close(&b, "}}");
	return json_write_end(&b);
}

char *reply_notification(const char *method, const char *params)
{
	return reply_request(NULL, method, params);
}

char *reply_request(const char *id, const char *method, const char *params)
{
	struct buffer b;

	begin(&b, id);
	json_write_text(&b, "method", method);
	json_write_raw(&b, "params", params);
	json_write_close(&b, "}");
	return json_write_end(&b);
}
