#include "mcp/tool_result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"

void tool_result_init(struct tool_result *r)
{
	json_write_begin(&r->content);
	json_write_begin(&r->structured);
}

/* --- texts ----------------------------------------------------------------- */

/* Returns the start of the character that byte `at` is a part of, in text that may be
 * anything. */
static size_t character_start(const char *text, size_t at)
{
	size_t start = at;

	while (start > 0 && at - start < 3 && (text[start] & 0xc0) == 0x80)
		start--;
	return start;
}

/* Writes the text as a string. */
static void write_cut(struct buffer *b, const char *key, const char *text, size_t len)
{
	char between[64];

	if (len <= TOOL_RESULT_TEXT_MAX) {
		json_write_bytes(b, key, text, len);
		return;
	}
	const size_t head = character_start(text, TOOL_RESULT_TEXT_MAX / 2);
	const size_t tail = character_start(text, len - TOOL_RESULT_TEXT_MAX / 2);
	const int size = snprintf(between, sizeof(between),
				  "\n[... %zu bytes are left out ...]\n", tail - head);

	json_write_open(b, key, "\"");
	json_write_part(b, text, head);
	json_write_part(b, between, (size_t)size);
	json_write_part(b, text + tail, len - tail);
	json_write_close(b, "\"");
}

void tool_result_text(struct tool_result *r, const void *bytes, size_t len)
{
	json_write_open(&r->content, NULL, "{");
	json_write_text(&r->content, "type", "text");
	write_cut(&r->content, "text", bytes, len);
	json_write_close(&r->content, "}");
}

void tool_result_member(struct tool_result *r, const char *key, const void *bytes,
			size_t len)
{
	write_cut(&r->structured, key, bytes, len);
}

/* --- files ----------------------------------------------------------------- */

/* Whether the text is of the letters of a media type. */
static bool is_type(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789/+-.", text[i]))
			return false;
	return len > 0 && len < 64;
}

/* Whether the text is base64, which a client decodes. */
static bool is_base64(const char *text)
{
	const size_t len = strlen(text);
	AUTO_FREE uint8_t *bytes = mem_new(len + 1);
	size_t size;

	return base64_decode(text, len, bytes, &size);
}

/* Returns the file as a URI (RFC 3986), allocated. */
static char *file_uri(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/-._~";
	char *uri = mem_new(strlen(path) * 3 + sizeof("file:///"));
	char *to = uri + sprintf(uri, "file://%s", *path == '/' ? "" : "/");

	for (; *path; path++)
		if (strchr(plain, *path))
			*to++ = *path;
		else
			to += sprintf(to, "%%%02X", (unsigned char)*path);
	*to = '\0';
	return uri;
}

static void write_resource(struct buffer *b, const char *path, const char *type,
			   const char *data)
{
	AUTO_FREE char *uri = file_uri(path);

	json_write_text(b, "type", "resource");
	json_write_open(b, "resource", "{");
	json_write_text(b, "uri", uri);
	json_write_text(b, "mimeType", type);
	json_write_text(b, "blob", data);
	json_write_close(b, "}");
}

bool tool_result_data_url(struct tool_result *r, const char *url, const char *path)
{
	const char *type = strncmp(url, "data:", 5) == 0 ? url + 5 : NULL;
	const char *end = type ? strstr(type, ";base64,") : NULL;

	if (!end || !is_type(type, (size_t)(end - type)))
		return false;
	const char *data = end + strlen(";base64,");
	if (!is_base64(data))
		return false;
	if (strlen(data) > TOOL_RESULT_FILE_MAX) {
		static const char text[] = "[A file of more than 6 MiB is not shown.]";
		tool_result_text(r, text, strlen(text));
		return true;
	}
	AUTO_FREE char *name = text_format("%.*s", (int)(end - type), type);
	json_write_open(&r->content, NULL, "{");
	if (!strncmp(name, "image/", 6)) {
		json_write_text(&r->content, "type", "image");
		json_write_text(&r->content, "data", data);
		json_write_text(&r->content, "mimeType", name);
	} else {
		write_resource(&r->content, path, name, data);
	}
	json_write_close(&r->content, "}");
	return true;
}

/* --- the whole ------------------------------------------------------------- */

char *tool_result_end(struct tool_result *r)
{
	AUTO_FREE char *content = json_write_end(&r->content);
	AUTO_FREE char *structured = json_write_end(&r->structured);
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, "content", "[");
	if (*content)
		json_write_raw(&b, NULL, content);
	json_write_close(&b, "]");
	json_write_open(&b, "structuredContent", "{");
	if (*structured)
		json_write_raw(&b, NULL, structured);
	json_write_close(&b, "}");
	json_write_bool(&b, "isError", false);
	return json_write_end(&b);
}

char *tool_result_failure(const char *text)
{
	struct tool_result r;
	struct buffer b;

	tool_result_init(&r);
	tool_result_text(&r, text, strlen(text));
	buffer_done(&r.structured);
	AUTO_FREE char *content = json_write_end(&r.content);
	json_write_begin(&b);
	json_write_open(&b, "content", "[");
	json_write_raw(&b, NULL, content);
	json_write_close(&b, "]");
	json_write_bool(&b, "isError", true);
	return json_write_end(&b);
}
