#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy_file.h"

struct printer {
	FILE *to; /* in memory */
	const struct policy_file *settings;
	const char *outer; /* the name of the object that is being printed, such as
			    * "limits"; "": the outermost one */
};

static bool is_said(const struct policy_file *s, const struct setting_kind *k)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].kind == k)
			return true;
	return false;
}

/* Prints a member's key without the name of its object, after the begin of that object
 * if it has not been printed yet. */
static void print_key(struct printer *p, const struct setting_kind *k)
{
	const char *dot = strchr(k->key, '.');
	const size_t len = dot ? (size_t)(dot - k->key) : 0;
	const bool is_open = strlen(p->outer) == len && !strncmp(p->outer, k->key, len);

	if (!is_open && *p->outer)
		(void)fputc('}', p->to);
	if (!is_open && dot)
		(void)fprintf(p->to, ",\"%.*s\":{", (int)len, k->key);
	else
		(void)fputc(',', p->to);
	(void)fprintf(p->to, "\"%s\":", dot ? dot + 1 : k->key);
}

static void print_text(FILE *to, const char *text)
{
	AUTO_FREE char *quoted = json_write_quoted(text);

	(void)fputs(quoted, to);
}

/* Prints KEY=VALUE as "KEY":"VALUE". */
static void print_pair(FILE *to, const char *pair)
{
	AUTO_FREE char *key = text_copy(pair);
	char *value = key + strcspn(key, "=");

	if (*value)
		*value++ = '\0';
	print_text(to, key);
	(void)fputc(':', to);
	print_text(to, value);
}

static void print_one(FILE *to, enum setting_type type, const char *value)
{
	switch (type) {
	case SETTING_YES:
	case SETTING_OBJECTS:
		(void)fputs(value, to);
		return;
	case SETTING_MAP:
		print_pair(to, value);
		return;
	case SETTING_TEXT:
	case SETTING_NUMBER:
	case SETTING_LIST:
		print_text(to, value);
		return;
	}
}

static void print_kind(struct printer *p, const struct setting_kind *k)
{
	const bool is_list = k->type == SETTING_LIST || k->type == SETTING_OBJECTS;
	const char *open = is_list ? "[" : k->type == SETTING_MAP ? "{" : "";
	const char *close = is_list ? "]" : k->type == SETTING_MAP ? "}" : "";
	const char *between = "";

	print_key(p, k);
	(void)fputs(open, p->to);
	for (size_t i = 0; i < p->settings->count; i++) {
		if (p->settings->items[i].kind != k)
			continue;
		(void)fputs(between, p->to);
		print_one(p->to, k->type, p->settings->items[i].value);
		between = ",";
	}
	(void)fputs(close, p->to);
}

/* Relies on the order of setting_kinds: the keys of one object are adjacent. */
char *settings_print(const struct policy_file *s)
{
	char *text = NULL;
	size_t len;
	struct printer p = { .to = mem_or_abort(open_memstream(&text, &len)),
			     .settings = s,
			     .outer = "" };

	(void)fprintf(p.to, "{\"version\":%d", POLICY_FILE_VERSION);
	for (const struct setting_kind *k = setting_kinds; k->key; k++) {
		if (!is_said(s, k))
			continue;
		print_kind(&p, k);
		p.outer = !strncmp(k->key, "limits.", 7)	  ? "limits"
			  : !strncmp(k->key, "capabilities.", 13) ? "capabilities"
			  : !strncmp(k->key, "egress.", 7)	  ? "egress"
								  : "";
	}
	(void)fprintf(p.to, "%s}", *p.outer ? "}" : "");
	return mem_or_abort(fclose(p.to) == 0 ? text : NULL);
}
