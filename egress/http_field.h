/* http_field -- names of header fields and trailers: which bytes they have, and which of
 * them say where a message ends or goes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum http_field {
	HTTP_FIELD_OTHER,
	HTTP_FIELD_HOST,
	HTTP_FIELD_LENGTH,
	HTTP_FIELD_CODING,
	HTTP_FIELD_CONNECTION,
	HTTP_FIELD_UPGRADE,
	/* One of these with `_` for `-`: servers that make variables of the names, as CGI
	 * does, take both for the same. */
	HTTP_FIELD_MIMIC,
};

#define HTTP_FIELD_NAME_MAX 17 /* bytes of the longest name above */

/* Whether names and methods have this byte: `tchar` of RFC 9110, section 5.6.2. */
static inline bool http_is_token(uint8_t c)
{
	bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

	return is_letter || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* Whether no line has this byte: a control character but for the tab, and for CR and LF,
 * which end it. */
static inline bool http_is_control(uint8_t c)
{
	return (c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;
}

static inline bool http_field_is(const uint8_t *name, size_t len, const char *want,
				 bool *ret_is_mimic)
{
	if (len != strlen(want))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool is_mimic = name[i] == '_' && want[i] == '-';
		if (is_mimic)
			*ret_is_mimic = true;
		else if (strncasecmp((const char *)name + i, want + i, 1) != 0)
			return false;
	}
	return true;
}

/* Finds the field of a name, in letters of any case. */
static inline enum http_field http_field_of(const uint8_t *name, size_t len)
{
	static const char *const names[] = {
		[HTTP_FIELD_HOST] = "host",
		[HTTP_FIELD_LENGTH] = "content-length",
		[HTTP_FIELD_CODING] = "transfer-encoding",
		[HTTP_FIELD_CONNECTION] = "connection",
		[HTTP_FIELD_UPGRADE] = "upgrade",
	};

	for (unsigned i = HTTP_FIELD_HOST; i <= HTTP_FIELD_UPGRADE; i++) {
		bool is_mimic = false;
		if (http_field_is(name, len, names[i], &is_mimic))
			return is_mimic ? HTTP_FIELD_MIMIC : (enum http_field)i;
	}
	return HTTP_FIELD_OTHER;
}
