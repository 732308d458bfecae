#include "gateway/relay/mcp_message.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

/* --- reading ----------------------------------------------------------------- */

static bool is_id(const struct json_at *at)
{
	return json_type(at) == JSON_STRING || json_type(at) == JSON_NUMBER;
}

static enum mcp_kind kind_of(const struct mcp_message *m)
{
	bool has_id = is_id(&m->id);

	if (*m->method)
		return has_id ? MCP_REQUEST : m->id.value ? MCP_BAD : MCP_NOTICE;
	return has_id && (m->result.value || m->error.value) ? MCP_RESPONSE : MCP_BAD;
}

enum mcp_kind mcp_message_read(struct mcp_message *m, const char *text, size_t len)
{
	*m = (struct mcp_message){ .method = "" };
	m->doc = json_parse(text, len, NULL);
	if (!m->doc)
		return MCP_BAD;
	json_root(m->doc, "message", &m->root);
	if (json_type(&m->root) != JSON_OBJECT)
		return MCP_BAD;
	m->method = json_member_string(&m->root, "method", "");
	(void)json_member(&m->root, "id", &m->id);
	(void)json_member(&m->root, "params", &m->params);
	(void)json_member(&m->root, "result", &m->result);
	(void)json_member(&m->root, "error", &m->error);
	m->kind = kind_of(m);
	return m->kind;
}

void mcp_message_done(struct mcp_message *m)
{
	json_free(m->doc);
	*m = (struct mcp_message){ .method = "" };
}

uint64_t mcp_message_number(const struct mcp_message *m)
{
	uint64_t number = 0;

	return json_uint(&m->id, &number, NULL) < 0 ? 0 : number;
}

char *mcp_source(const struct json_at *at)
{
	size_t len;
	const char *source = json_source(at, &len);
	char *text = mem_new(len + 1);

	memcpy(text, source, len);
	text[len] = '\0';
	return text;
}

/* --- writing ----------------------------------------------------------------- */

static const char *swapped(const char *key, const struct mcp_swap *swaps)
{
	for (; swaps && swaps->key; swaps++)
		if (!strcmp(key, swaps->key))
			return swaps->json;
	return NULL;
}

void mcp_write_object(struct buffer *to, const char *key, const struct json_at *object,
		      const struct mcp_swap *swaps)
{
	struct json_at item = { 0 };
	const char *name;

	json_write_open(to, key, "{");
	while (json_step_key(object, &item, &name)) {
		const char *other = swapped(name, swaps);
		AUTO_FREE char *quoted = json_write_quoted(name);
		AUTO_FREE char *own = other ? NULL : mcp_source(&item);
		json_write_raw(to, NULL, quoted);
		json_write_close(to, ":");
		json_write_close(to, other ? other : own);
	}
	json_write_close(to, "}");
}

char *mcp_object(const struct json_at *object, const struct mcp_swap *swaps)
{
	struct buffer b;

	json_write_begin(&b);
	mcp_write_object(&b, NULL, object, swaps);
	return json_write_end(&b);
}

/* Begins a message; an answer to a request whose id could not be read has the id null. */
static void begin(struct buffer *b)
{
	json_write_begin(b);
	json_write_open(b, NULL, "{");
	json_write_text(b, "jsonrpc", "2.0");
}

static char *end(struct buffer *b)
{
	json_write_close(b, "}");
	char *text = json_write_end(b);
	mcp_one_line(text);
	return text;
}

char *mcp_request(const char *id, const char *method, const char *params)
{
	struct buffer b;

	begin(&b);
	if (id)
		json_write_raw(&b, "id", id);
	json_write_text(&b, "method", method);
	if (params)
		json_write_raw(&b, "params", params);
	return end(&b);
}

char *mcp_result(const char *id, const char *result)
{
	struct buffer b;

	begin(&b);
	json_write_raw(&b, "id", id);
	json_write_raw(&b, "result", result);
	return end(&b);
}

char *mcp_error(const char *id, int code, const char *message)
{
	struct buffer b;

	begin(&b);
	json_write_raw(&b, "id", id);
	json_write_open(&b, "error", "{");
	json_write_number(&b, "code", code);
	json_write_bytes(&b, "message", message, strlen(message));
	json_write_close(&b, "}");
	return end(&b);
}

void mcp_one_line(char *text)
{
	for (; *text; text++)
		if (*text == '\n' || *text == '\r')
			*text = ' ';
}
