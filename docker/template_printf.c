#include "docker/template_printf.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "docker/template_call.h"

#define WIDTH_MAX 1000

struct spec {
	bool is_left, has_zeros, has_precision;
	size_t width, precision; /* in characters */
	char verb;
};

static size_t read_number(const char **at)
{
	size_t number = 0;

	for (; isdigit((unsigned char)**at); (*at)++)
		if (number <= WIDTH_MAX)
			number = 10 * number + (size_t)(**at - '0');
	return number;
}

/* Reads what is behind a "%". */
static int read_spec(const char **at, struct spec *ret, struct err *e)
{
	const char *begin = *at;

	*ret = (struct spec){ 0 };
	for (; **at == '-' || **at == '0'; (*at)++)
		*(**at == '-' ? &ret->is_left : &ret->has_zeros) = true;
	ret->width = read_number(at);
	if (**at == '.') {
		(*at)++;
		ret->has_precision = true;
		ret->precision = read_number(at);
	}
	ret->verb = **at;
	if (!ret->verb || !strchr("svqdt%", ret->verb) || ret->width > WIDTH_MAX)
		return err_set(e, ERR_USAGE,
			       "printf: hutch does not know %%%.20s: there are %%s, %%v, "
			       "%%q, %%d, %%t and %%%%, with a width up to %d",
			       begin, WIDTH_MAX);
	(*at)++;
	return 0;
}

static bool is_begin(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80; /* UTF-8 */
}

static size_t count_characters(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += is_begin(*text);
	return count;
}

static void cut(char *text, size_t characters)
{
	for (; *text; text++)
		if (is_begin(*text) && characters-- == 0) {
			*text = '\0';
			return;
		}
}

/* Returns the value as the verb prints it, without padding; NULL: the value is none for
 * it. */
static char *text_of(const struct spec *s, struct json_view value)
{
	const enum json_type type = json_view_type(value);
	int64_t number;
	struct buffer b;

	if ((s->verb == 'd' && !json_view_integer(value, &number)) ||
	    (s->verb == 't' && type != JSON_BOOL) ||
	    (s->verb == 'q' && type != JSON_STRING))
		return NULL;
	json_write_begin(&b);
	template_call_print(&b, value);
	AUTO_FREE char *text = json_write_end(&b);
	if (s->has_precision && (s->verb == 's' || s->verb == 'v'))
		cut(text, s->precision);
	return s->verb == 'q' ? json_write_quoted(text) : text_copy(text);
}

static void put_padding(struct buffer *out, size_t count, const char *with)
{
	while (count-- > 0)
		(void)buffer_append(out, with, 1); /* the caller's buffer grows */
}

static void put_padded(struct buffer *out, const struct spec *s, const char *text)
{
	const size_t len = count_characters(text);
	const size_t missing = s->width > len ? s->width - len : 0;
	const bool has_zeros = s->has_zeros && !s->is_left && s->verb == 'd';

	if (has_zeros && *text == '-')
		(void)buffer_append(out, text++, 1);
	if (!s->is_left)
		put_padding(out, missing, has_zeros ? "0" : " ");
	(void)buffer_append(out, text, strlen(text));
	if (s->is_left)
		put_padding(out, missing, " ");
}

static int put_value(struct buffer *out, const struct spec *s, struct json_view value,
		     struct err *e)
{
	AUTO_FREE char *text = text_of(s, value);

	if (!text)
		return err_set(e, ERR_USAGE, "printf: a value is none for %%%c", s->verb);
	put_padded(out, s, text);
	return 0;
}

static int put_all(struct buffer *out, const char *format, const struct template_args *a,
		   struct err *e)
{
	size_t next = 1;
	struct spec s;

	while (*format) {
		if (*format != '%') {
			(void)buffer_append(out, format++, 1);
			continue;
		}
		format++;
		if (read_spec(&format, &s, e) < 0)
			return -1;
		if (s.verb == '%')
			(void)buffer_append(out, "%", 1);
		else if (next == a->count)
			return err_set(e, ERR_USAGE, "printf: a value is missing");
		else if (put_value(out, &s, a->items[next++], e) < 0)
			return -1;
	}
	return next == a->count ? 0 : err_set(e, ERR_USAGE, "printf: too many values");
}

int template_printf(struct template_args *a, struct json_view *ret, struct err *e)
{
	AUTO_FREE char *format = json_view_string(a->items[0]);
	struct buffer b;

	if (!format)
		return err_set(e, ERR_USAGE, "printf: its format is no text");
	json_write_begin(&b);
	int rc = put_all(&b, format, a, e);
	AUTO_FREE char *text = json_write_end(&b);
	if (rc == 0)
		*ret = template_call_text(a->made, text);
	return rc;
}
