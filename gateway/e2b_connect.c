#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/connect_frames.h"
#include "gateway/e2b.h"

static const struct {
	const char *name;
	unsigned status;
} codes[CONNECT_CODES] = {
	[CONNECT_OK] = { "ok", 200 },
	[CONNECT_INVALID_ARGUMENT] = { "invalid_argument", 400 },
	[CONNECT_DEADLINE_EXCEEDED] = { "deadline_exceeded", 504 },
	[CONNECT_NOT_FOUND] = { "not_found", 404 },
	[CONNECT_ALREADY_EXISTS] = { "already_exists", 409 },
	[CONNECT_PERMISSION_DENIED] = { "permission_denied", 403 },
	[CONNECT_RESOURCE_EXHAUSTED] = { "resource_exhausted", 429 },
	[CONNECT_UNIMPLEMENTED] = { "unimplemented", 501 },
	[CONNECT_INTERNAL] = { "internal", 500 },
	[CONNECT_UNAVAILABLE] = { "unavailable", 503 },
	[CONNECT_DATA_LOSS] = { "data_loss", 500 },
};

static bool has_type(const struct visit *v, const char *type)
{
	const char *given = http_header(v->request, "Content-Type");
	const size_t len = strlen(type);

	return given && !strncasecmp(given, type, len) &&
	       (given[len] == '\0' || given[len] == ';' || given[len] == ' ');
}

bool connect_is_stream(const struct visit *v)
{
	return has_type(v, "application/connect+json");
}

/* --- reading -------------------------------------------------------------------- */

static bool parse(struct visit *v, const char *text, size_t len, struct json **ret_doc,
		  struct json_at *ret)
{
	struct err e;
	struct json *doc = json_parse(text, len, &e);

	if (!doc) {
		connect_fail(v, CONNECT_INVALID_ARGUMENT, e.text);
		return false;
	}
	json_root(doc, "request", ret);
	if (json_expect(ret, JSON_OBJECT, &e) < 0) {
		json_free(doc);
		connect_fail(v, CONNECT_INVALID_ARGUMENT, e.text);
		return false;
	}
	*ret_doc = doc;
	return true;
}

bool connect_read(struct visit *v, struct json **ret_doc, struct json_at *ret)
{
	size_t len;
	const char *text = http_body(v->request, &len);
	struct connect_frame frame;

	if (has_type(v, "application/json"))
		return parse(v, text, len, ret_doc, ret);
	if (!connect_is_stream(v)) {
		http_add(v->request, "Accept-Post",
			 "application/json, application/connect+json");
		http_reply(v->request, 415, "text/plain", "", 0);
		return false;
	}
	if (connect_next(&text, &len, &frame) == 1 && len == 0)
		return parse(v, frame.text, frame.len, ret_doc, ret);
	connect_fail(
		v, CONNECT_INVALID_ARGUMENT,
		"the body must be one message that is not compressed: a byte 0, four bytes "
		"of its length, and JSON");
	return false;
}

/* --- answers -------------------------------------------------------------------- */

static void write_error(struct buffer *json, enum connect_code code, const char *message)
{
	json_write_text(json, "code", codes[code].name);
	json_write_text(json, "message", message);
}

void connect_fail(struct visit *v, enum connect_code code, const char *message)
{
	struct buffer json;

	if (connect_is_stream(v)) {
		connect_begin(v);
		connect_end(v, code, message);
		return;
	}
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	write_error(&json, code, message);
	json_write_close(&json, "}");
	AUTO_FREE char *text = json_write_end(&json);
	http_reply_json(v->request, codes[code].status, text);
}

void connect_fail_box(struct visit *v, const struct hutch_error *why)
{
	switch (why->kind) {
	case HUTCH_DISCONNECTED:
		connect_fail(v, CONNECT_UNAVAILABLE, "The sandbox was not found");
		return;
	case HUTCH_NOT_FOUND:
	case HUTCH_INVALID:
	case HUTCH_REFUSED:
		connect_fail(v, CONNECT_INVALID_ARGUMENT, why->message);
		return;
	case HUTCH_LIMIT:
	case HUTCH_NO_SPACE:
		connect_fail(v, CONNECT_RESOURCE_EXHAUSTED, why->message);
		return;
	case HUTCH_TIMEOUT:
		connect_fail(v, CONNECT_DEADLINE_EXCEEDED, why->message);
		return;
	default:
		connect_fail(v, CONNECT_INTERNAL, why->message);
	}
}

void connect_begin(struct visit *v)
{
	if (!http_is_answered(v->request))
		http_stream(v->request, 200, "application/connect+json", NULL);
}

static void send_message(struct visit *v, uint8_t flags, struct buffer *json)
{
	AUTO_FREE char *text = json_write_end(json);
	const size_t len = strlen(text);
	uint8_t header[CONNECT_HEADER];

	connect_header(flags, len, header);
	(void)http_write(v->request, header, sizeof(header));
	(void)http_write(v->request, text, len);
}

void connect_send(struct visit *v, struct buffer *json)
{
	send_message(v, 0, json);
}

void connect_end(struct visit *v, enum connect_code code, const char *message)
{
	struct buffer json;

	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	if (code != CONNECT_OK) {
		json_write_open(&json, "error", "{");
		write_error(&json, code, message);
		json_write_close(&json, "}");
	}
	json_write_close(&json, "}");
	send_message(v, CONNECT_FLAG_END, &json);
	http_end(v->request);
}
