#include "base/list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void list_done(struct list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct list){ 0 };
}

static void add_owned(struct list *l, char *text)
{
	if (l->count + 2 > l->room) {
		l->room = l->room ? l->room * 2 : 16;
		l->items = mem_resize(l->items, l->room, sizeof(*l->items));
	}
	l->items[l->count++] = text;
	l->items[l->count] = NULL;
}

bool list_has(const struct list *l, const char *text)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->items[i], text))
			return true;
	return false;
}

void list_add_once(struct list *l, const char *text)
{
	if (!list_has(l, text))
		list_add(l, text);
}

char *list_join(const struct list *l, size_t from, const char *between)
{
	size_t room = 1;

	for (size_t i = from; i < l->count; i++)
		room += strlen(l->items[i]) + strlen(between);
	char *text = mem_new(room), *end = text;
	for (size_t i = from; i < l->count; i++)
		end = stpcpy(stpcpy(end, i > from ? between : ""), l->items[i]);
	*end = '\0';
	return text;
}

void list_add(struct list *l, const char *text)
{
	add_owned(l, text_copy(text));
}

__attribute__((format(printf, 1, 0))) static char *format(const char *fmt, va_list ap)
{
	char shorter[256], *text;
	va_list again;

	va_copy(again, ap);
	const int len = vsnprintf(shorter, sizeof(shorter), fmt, again);
	va_end(again);
	/* Most texts fit, and are formatted once; vasprintf(3) formats each text twice, the
	 * first time for its length. */
	if (len >= 0 && (size_t)len < sizeof(shorter))
		return mem_copy(shorter, (size_t)len + 1);
	if (len < 0 || vasprintf(&text, fmt, ap) < 0)
		abort();
	return text;
}

void list_addf(struct list *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_owned(l, format(fmt, ap));
	va_end(ap);
}

void list_set_env(struct list *l, const char *key_value)
{
	size_t key = strcspn(key_value, "=");

	for (size_t i = 0; i < l->count; i++) {
		if (strncmp(l->items[i], key_value, key) || l->items[i][key] != '=')
			continue;
		free(l->items[i]);
		l->items[i] = text_copy(key_value);
		return;
	}
	list_add(l, key_value);
}

void list_unset_env(struct list *l, const char *key)
{
	size_t len = strlen(key), kept = 0;

	for (size_t i = 0; i < l->count; i++)
		if (strncmp(l->items[i], key, len) || l->items[i][len] != '=')
			l->items[kept++] = l->items[i];
		else
			free(l->items[i]);
	l->count = kept;
	if (l->items)
		l->items[kept] = NULL;
}

const char *list_get_env(const struct list *l, const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < l->count; i++)
		if (!strncmp(l->items[i], key, len) && l->items[i][len] == '=')
			return l->items[i] + len + 1;
	return NULL;
}

char *text_copy(const char *text)
{
	return mem_or_abort(strdup(text));
}

char *text_format(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = format(fmt, ap);
	va_end(ap);
	return text;
}
