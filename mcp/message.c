#include "mcp/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

#define VERSION_KEY	 "io.modelcontextprotocol/protocolVersion"
#define CAPABILITIES_KEY "io.modelcontextprotocol/clientCapabilities"

static void refuse(struct message *m, int code, const char *problem)
{
	m->kind = MESSAGE_REFUSED;
	m->code = code;
	(void)snprintf(m->problem, sizeof(m->problem), "%s", problem);
}

static bool is_whole(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("-0123456789", text[i]))
			return false;
	return true;
}

char *message_word(const struct json_at *at)
{
	size_t len;
	const enum json_type type = json_type(at);

	if (type != JSON_STRING && type != JSON_NUMBER)
		return NULL;
	const char *text = json_source(at, &len);
	if (len > MESSAGE_WORD_MAX || (type == JSON_NUMBER && !is_whole(text, len)))
		return NULL;
	return text_format("%.*s", (int)len, text);
}

bool message_can_ask(const struct json_at *capabilities)
{
	struct json_at elicitation, form, url;

	if (!json_member(capabilities, "elicitation", &elicitation) ||
	    json_type(&elicitation) != JSON_OBJECT)
		return false;
	/* An empty object stands for forms, since 2025-06-18 had nothing else. */
	return json_member(&elicitation, "form", &form) ||
	       !json_member(&elicitation, "url", &url);
}

/* Reads the members of `_meta` that say how the request is to be answered. */
static void read_meta(struct message *m)
{
	struct json_at version, capabilities, token;

	if (!json_member(&m->params, "_meta", &m->meta))
		return;
	if (json_member(&m->meta, "progressToken", &token))
		m->token = message_word(&token);
	if (json_member(&m->meta, VERSION_KEY, &version) &&
	    json_type(&version) == JSON_STRING)
		(void)json_string(&version, &m->version, NULL); /* it is a string */
	if (!json_member(&m->meta, CAPABILITIES_KEY, &capabilities))
		return;
	m->has_capabilities = json_type(&capabilities) == JSON_OBJECT;
	m->can_ask = message_can_ask(&capabilities);
}

/* Reads the id.  Returns false if it is there and is none. */
static bool read_id(struct message *m, bool *ret_has_id)
{
	struct json_at item = { 0 };
	const char *key;

	*ret_has_id = false;
	/* json_member() takes a null for an absent member, and a null id is an error. */
	while (json_step_key(&m->root, &item, &key)) {
		if (strcmp(key, "id") != 0)
			continue;
		*ret_has_id = true;
		m->id = message_word(&item);
		return m->id != NULL;
	}
	return true;
}

/* Reads `params`, which may be absent.  Returns false if it is no object. */
static bool read_params(struct message *m)
{
	struct json_at item = { 0 };
	const char *key;

	while (json_step_key(&m->root, &item, &key))
		if (!strcmp(key, "params"))
			m->params = item;
	return !m->params.value || json_type(&m->params) == JSON_OBJECT;
}

static void read_object(struct message *m)
{
	struct json_at method, a, b;
	bool has_id;

	if (!read_id(m, &has_id)) {
		refuse(m, MESSAGE_BAD, "id: a string or a whole number was expected");
		return;
	}
	if (strcmp(json_member_string(&m->root, "jsonrpc", ""), "2.0") != 0) {
		refuse(m, MESSAGE_BAD, "jsonrpc: \"2.0\" was expected");
		return;
	}
	if (!json_member(&m->root, "method", &method)) {
		if (has_id && (json_member(&m->root, "result", &a) ||
			       json_member(&m->root, "error", &b)))
			m->kind = MESSAGE_RESPONSE;
		else
			refuse(m, MESSAGE_BAD, "method: it is missing");
		return;
	}
	if (json_string(&method, &m->method, NULL) < 0) {
		refuse(m, MESSAGE_BAD, "method: a string was expected");
	} else if (!read_params(m)) {
		refuse(m, MESSAGE_BAD_PARAMS, "params: an object was expected");
	} else {
		m->kind = has_id ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
		read_meta(m);
	}
}

void message_read(struct message *ret, const char *text, size_t len)
{
	struct err e;

	*ret = (struct message){ .kind = MESSAGE_REFUSED };
	ret->doc = json_parse(text, len, &e);
	if (!ret->doc) {
		refuse(ret, MESSAGE_NO_JSON, e.text);
		return;
	}
	json_root(ret->doc, "message", &ret->root);
	if (json_type(&ret->root) == JSON_ARRAY)
		ret->kind = MESSAGE_BATCH;
	else if (json_type(&ret->root) == JSON_OBJECT)
		read_object(ret);
	else
		refuse(ret, MESSAGE_BAD, "an object was expected");
}

void message_done(struct message *m)
{
	json_free(m->doc);
	free(m->id);
	free(m->token);
	*m = (struct message){ 0 };
}
