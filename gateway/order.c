#include "gateway/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/fields.h"
#include "policy/json/json.h"

static const char *const kinds[ORDER_KINDS] = {
	[ORDER_CREATE] = "create",    [ORDER_ATTACH] = "attach",
	[ORDER_START] = "start",      [ORDER_LIST] = "list",
	[ORDER_REMOVE] = "remove",    [ORDER_RESUMED] = "resumed",
	[ORDER_IMAGE_LOOK] = "image", [ORDER_SPOOL] = "spool",
	[ORDER_BUILD] = "build",
};

void order_done(struct order *o)
{
	free(o->name);
	free(o->image);
	free(o->workdir);
	free(o->user);
	list_done(&o->argv);
	list_done(&o->env);
	list_done(&o->labels);
	list_done(&o->plugins);
	list_done(&o->tags);
	*o = (struct order){ 0 };
}

/* --- writing ------------------------------------------------------------------ */

static void write_list(struct buffer *to, const char *key, const struct list *l)
{
	json_write_open(to, key, "[");
	for (size_t i = 0; i < l->count; i++)
		json_write_text(to, NULL, l->items[i]);
	json_write_close(to, "]");
}

static void write_create(const struct order *o, struct buffer *to)
{
	json_write_text(to, "image", o->image ? o->image : "");
	json_write_text(to, "workdir", o->workdir ? o->workdir : "");
	json_write_text(to, "user", o->user ? o->user : "");
	json_write_bool(to, "main", o->is_main);
	json_write_bool(to, "whole", o->is_whole);
	json_write_format(to, "factor", "%.3f", o->factor > 0 ? o->factor : 1);
	write_list(to, "argv", &o->argv);
	write_list(to, "env", &o->env);
	write_list(to, "labels", &o->labels);
	write_list(to, "plugins", &o->plugins);
	json_write_open(to, "ports", "[");
	for (size_t i = 0; i < o->port_count; i++)
		json_write_number(to, NULL, o->ports[i]);
	json_write_close(to, "]");
}

void order_write(const struct order *o, struct buffer *to)
{
	json_write_open(to, NULL, "{");
	json_write_number(to, "id", (int64_t)o->id);
	json_write_text(to, "do", kinds[o->kind]);
	if (o->name)
		json_write_text(to, "name", o->name);
	if (o->kind == ORDER_CREATE)
		write_create(o, to);
	if (o->kind == ORDER_BUILD)
		write_list(to, "tags", &o->tags);
	json_write_close(to, "}");
}

/* --- reading ------------------------------------------------------------------ */

static int read_kind(const struct json_at *root, enum order_kind *ret, struct err *e)
{
	const char *word = json_member_string(root, "do", "");

	for (int i = 0; i < ORDER_KINDS; i++) {
		if (strcmp(kinds[i], word) != 0)
			continue;
		*ret = (enum order_kind)i;
		return 0;
	}
	return err_set(e, ERR_PROTOCOL, "do: unknown '%s'", word);
}

static int read_text(const struct json_at *root, const char *key, size_t max, char **ret,
		     struct err *e)
{
	const char *text = json_member_string(root, key, "");

	if (strlen(text) > max)
		return err_set(e, ERR_LIMIT, "%s: more than %zu bytes", key, max);
	*ret = text_copy(text);
	return 0;
}

static int read_ports(const struct json_at *root, struct order *o, struct err *e)
{
	struct json_at list, item = { 0 };
	uint64_t port;

	if (!json_member(root, "ports", &list))
		return 0;
	while (json_step(&list, &item)) {
		if (json_uint(&item, &port, e) < 0)
			return -1;
		if (port == 0 || port > UINT16_MAX || o->port_count == ORDER_PORTS)
			return err_set(e, ERR_LIMIT, "ports: up to %d, from 1 to 65535",
				       ORDER_PORTS);
		o->ports[o->port_count++] = (uint16_t)port;
	}
	return 0;
}

static int read_bool(const struct json_at *root, const char *key, bool *ret,
		     struct err *e)
{
	struct json_at at;

	return json_member(root, key, &at) ? json_bool(&at, ret, e) : 0;
}

static int read_all(const struct json_at *root, struct order *o, struct err *e)
{
	static const char *const keys[] = { "id",      "do",   "name",   "image",
					    "workdir", "user", "main",   "whole",
					    "factor",  "argv", "env",    "labels",
					    "plugins", "ports", "tags",  NULL };
	struct json_at factor;

	o->id = json_member_uint(root, "id", 0); /* first: each refusal names it */
	if (json_only(root, keys, e) < 0)
		return -1;
	if (read_bool(root, "main", &o->is_main, e) < 0 ||
	    read_bool(root, "whole", &o->is_whole, e) < 0)
		return -1;
	o->factor = 1;
	if (json_member(root, "factor", &factor) && json_number(&factor, &o->factor, e) < 0)
		return -1;
	if (!(o->factor > 0 && o->factor <= ORDER_FACTOR))
		return err_set(e, ERR_LIMIT, "factor: above 0, and up to %d", ORDER_FACTOR);
	if (read_kind(root, &o->kind, e) < 0 ||
	    read_text(root, "name", ORDER_IMAGE, &o->name, e) < 0 ||
	    read_text(root, "image", ORDER_IMAGE, &o->image, e) < 0 ||
	    read_text(root, "workdir", 4096, &o->workdir, e) < 0 ||
	    read_text(root, "user", ORDER_USER, &o->user, e) < 0)
		return -1;
	if (fields_words(root, "argv", ORDER_WORDS, &o->argv, e) < 0 ||
	    fields_words(root, "env", ORDER_WORDS, &o->env, e) < 0 ||
	    fields_words(root, "labels", ORDER_WORDS, &o->labels, e) < 0 ||
	    fields_words(root, "plugins", ORDER_WORDS, &o->plugins, e) < 0 ||
	    fields_words(root, "tags", ORDER_TAGS, &o->tags, e) < 0)
		return -1;
	return read_ports(root, o, e);
}

int order_read(const char *text, size_t len, struct order *ret, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct json_at root;

	*ret = (struct order){ 0 };
	if (!doc)
		return -1;
	json_root(doc, "request", &root);
	return read_all(&root, ret, e);
}
