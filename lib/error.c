#include "lib/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/utf8.h"
#include "policy/json/json_string.h"
#include "sandbox/launch/result.h"

static const char *const names[] = {
	[HUTCH_OK] = "ok",
	[HUTCH_NOT_FOUND] = "not_found",
	[HUTCH_EXISTS] = "exists",
	[HUTCH_BUSY] = "busy",
	[HUTCH_INVALID] = "invalid",
	[HUTCH_REFUSED] = "refused",
	[HUTCH_UNSUPPORTED] = "unsupported",
	[HUTCH_TIMEOUT] = "timeout",
	[HUTCH_DISCONNECTED] = "disconnected",
	[HUTCH_LIMIT] = "limit",
	[HUTCH_NO_SPACE] = "no_space",
	[HUTCH_INTERNAL] = "internal",
	[HUTCH_PROTOCOL] = "protocol",
	[HUTCH_SYSTEM] = "system",
	[HUTCH_NO_MEMORY] = "no_memory",
	[HUTCH_FORKED] = "forked",
};
_Static_assert(ARRAY_LEN(names) == HUTCH_FORKED + 1, "a kind has no name");

const char *hutch_kind_name(int kind)
{
	return names[kind >= 0 && (size_t)kind < ARRAY_LEN(names) ? kind :
								    HUTCH_INTERNAL];
}

/* Removes the last character of the text if some of its bytes are missing, so that
 * the text is valid UTF-8. */
static void end_whole(char *text, size_t len)
{
	while (len && !utf8_is_valid((const uint8_t *)text, len, false))
		len--;
	text[len] = '\0';
}

__attribute__((format(printf, 3, 0))) static void print(char *to, size_t size,
							const char *fmt, va_list ap)
{
	if (vsnprintf(to, size, fmt, ap) >= (int)size)
		end_whole(to, size - 1);
}

int error_set(struct hutch_error *e, enum hutch_kind kind, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -1;
	*e = (struct hutch_error){ .kind = kind, .exit_code = EXIT_HUTCH };
	va_start(ap, fmt);
	print(e->message, sizeof(e->message), fmt, ap);
	va_end(ap);
	return -1;
}

int error_remedy(struct hutch_error *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	print(e->remedy, sizeof(e->remedy), fmt, ap);
	va_end(ap);
	return -1;
}

int error_memory(struct hutch_error *e)
{
	return error_set(e, HUTCH_NO_MEMORY, "there is no memory left");
}

int error_name(struct hutch_error *e, const char *name)
{
	return error_set(e, HUTCH_INVALID,
		     "'%.40s' is no name of a sandbox: 1 to 63 of A-Z a-z 0-9 _ . -, "
		     "the first a letter or a digit",
		     name ? name : "");
}

static enum hutch_kind kind_of(const struct err *from)
{
	static const enum hutch_kind kinds[] = {
		[ERR_NONE] = HUTCH_OK,
		[ERR_USAGE] = HUTCH_INVALID,
		[ERR_NOT_FOUND] = HUTCH_NOT_FOUND,
		[ERR_EXISTS] = HUTCH_EXISTS,
		[ERR_BUSY] = HUTCH_BUSY,
		[ERR_GONE] = HUTCH_DISCONNECTED,
		[ERR_REFUSED] = HUTCH_REFUSED,
		[ERR_UNSUPPORTED] = HUTCH_UNSUPPORTED,
		[ERR_LIMIT] = HUTCH_LIMIT,
		[ERR_PROTOCOL] = HUTCH_PROTOCOL,
		[ERR_SYSTEM] = HUTCH_SYSTEM,
		[ERR_INTERNAL] = HUTCH_INTERNAL,
	};
	_Static_assert(ARRAY_LEN(kinds) == ERR_KIND_COUNT, "a kind has no counterpart");

	if (from->sys == ENOMEM)
		return HUTCH_NO_MEMORY;
	return from->sys == ENOSPC || from->sys == EDQUOT ? HUTCH_NO_SPACE :
							    kinds[from->kind];
}

int error_of(struct hutch_error *e, const struct err *from)
{
	(void)error_set(e, kind_of(from), "%s", from->text);
	return error_remedy(e, "%s", from->remedy);
}

int error_sys(struct hutch_error *e, const char *fmt, ...)
{
	char what[300];
	struct err why;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	(void)err_sys(&why, "%s", what);
	return error_of(e, &why);
}

/* --- what others said ------------------------------------------------------ */

/* Copies a JSON string to `to`; returns false if the value is no string. */
static bool read_text(struct json_view value, char *to, size_t size)
{
	size_t at = 1, len = 0, n;
	char piece[4];

	if (json_view_type(value) != JSON_STRING)
		return false;
	while ((n = json_decode(value.text, value.len, &at, piece)) > 0 &&
	       len + n < size) {
		memcpy(to + len, piece, n);
		len += n;
	}
	end_whole(to, len);
	return true;
}

/* Returns the error kind with this name.  The launcher uses the same names for its
 * own errors, and "usage" besides. */
static enum hutch_kind kind_named(struct json_view word)
{
	for (size_t i = 1; i < ARRAY_LEN(names); i++)
		if (json_view_is(word, names[i]))
			return (enum hutch_kind)i;
	return json_view_is(word, "usage") ? HUTCH_INVALID : HUTCH_INTERNAL;
}

int error_object(struct hutch_error *e, struct json_view error)
{
	char message[sizeof(e->message)], remedy[sizeof(e->remedy)];

	if (!read_text(json_view_get(error, "message"), message, sizeof(message)))
		(void)snprintf(message, sizeof(message), "an error without words");
	(void)error_set(e, kind_named(json_view_get(error, "kind")), "%s", message);
	if (read_text(json_view_get(error, "remedy"), remedy, sizeof(remedy)))
		(void)error_remedy(e, "%s", remedy);
	return -1;
}

int error_entry(struct hutch_error *e, struct json_view entry)
{
	char message[sizeof(e->message)], remedy[sizeof(e->remedy)];

	if (!read_text(json_view_get(entry, "message"), message, sizeof(message)))
		(void)snprintf(message, sizeof(message), "an error without words");
	(void)error_set(e, kind_named(json_view_get(entry, "fields.kind")), "%s",
			message);
	if (read_text(json_view_get(entry, "fields.remedy"), remedy, sizeof(remedy)))
		(void)error_remedy(e, "%s", remedy);
	return -1;
}

static int answer(struct hutch_error *e, const char *what, const char *name,
		  struct json_view error)
{
	char message[sizeof(e->message)], remedy[sizeof(e->remedy)];
	const struct json_view number = json_view_get(error, "data.exit_code");
	enum hutch_kind kind = kind_named(json_view_get(error, "data.kind"));
	int64_t code = 0;

	if (json_view_integer(json_view_get(error, "code"), &code) && code != -32000)
		kind = HUTCH_INVALID; /* the supervisor refused the request as invalid */
	if (!read_text(json_view_get(error, "message"), message, sizeof(message)))
		(void)snprintf(message, sizeof(message), "an error without words");
	(void)error_set(e, kind, "%s '%s': %s", what, name, message);
	if (read_text(json_view_get(error, "data.remedy"), remedy, sizeof(remedy)))
		(void)error_remedy(e, "%s", remedy);
	if (e && json_view_integer(number, &code) && code > 0 && code < 256)
		e->exit_code = (int)code;
	return -1;
}

int error_answer(struct hutch_error *e, const char *name, struct json_view error)
{
	return answer(e, "sandbox", name, error);
}

int error_pool(struct hutch_error *e, const char *name, struct json_view error)
{
	return answer(e, "pool", name, error);
}
