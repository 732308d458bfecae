#include "rootfs-tools/build/image_config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "rootfs-tools/index/document.h"
#include "rootfs-tools/layers/blobs.h"
#include "store/digest.h"
#include "store/launch_config.h"

#define PRINTED_MAX (64u << 20)

void image_config_init(struct image_config *c)
{
	*c = (struct image_config){ 0 };
}

void image_config_done(struct image_config *c)
{
	struct list *lists[] = { &c->env,    &c->entrypoint, &c->cmd,	  &c->shell,
				 &c->labels, &c->ports,	     &c->volumes, &c->history,
				 &c->layers, &c->diff_ids };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_done(lists[i]);
	free(c->user);
	free(c->workdir);
	free(c->stop_signal);
	free(c->created);
	*c = (struct image_config){ 0 };
}

static struct list copied(const struct list *from)
{
	struct list copy = { 0 };

	for (size_t i = 0; i < from->count; i++)
		list_add(&copy, from->items[i]);
	return copy;
}

static char *text_or_null(const char *text)
{
	return text ? text_copy(text) : NULL;
}

void image_config_copy(const struct image_config *from, struct image_config *ret)
{
	*ret = (struct image_config){
		.user = text_or_null(from->user),
		.workdir = text_or_null(from->workdir),
		.stop_signal = text_or_null(from->stop_signal),
		.created = text_or_null(from->created),
		.env = copied(&from->env),
		.entrypoint = copied(&from->entrypoint),
		.cmd = copied(&from->cmd),
		.shell = copied(&from->shell),
		.labels = copied(&from->labels),
		.ports = copied(&from->ports),
		.volumes = copied(&from->volumes),
		.history = copied(&from->history),
		.layers = copied(&from->layers),
		.diff_ids = copied(&from->diff_ids),
		.has_triggers = from->has_triggers,
	};
}

/* --- reading -------------------------------------------------------------------- */

/* Reads a JSON object whose values are empty objects, such as ExposedPorts, and adds
 * its keys to the list. */
static int read_keys(const struct json_at *of, const char *key, struct list *to,
		     struct err *e)
{
	struct json_at object = { 0 }, at = { 0 };
	const char *name;

	if (!json_member(of, key, &object))
		return 0;
	if (json_expect(&object, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&object, &at, &name))
		list_add(to, name);
	return 0;
}

static int read_labels(const struct json_at *of, struct image_config *to, struct err *e)
{
	struct json_at object = { 0 }, at = { 0 };
	const char *name, *value;

	if (!json_member(of, "Labels", &object))
		return 0;
	if (json_expect(&object, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&object, &at, &name)) {
		if (json_string(&at, &value, e) < 0)
			return -1;
		image_config_label(to, name, value);
	}
	return 0;
}

/* Reads the configuration's members that only builds need, and launches ignore. */
static int read_more(const struct json_at *root, struct image_config *to, struct err *e)
{
	struct json_at c = { 0 }, triggers = { 0 }, one = { 0 };
	const char *created;

	if (config_text(root, "created", &created, e) < 0)
		return -1;
	to->created = text_or_null(created);
	if (!json_member(root, "config", &c))
		return 0;
	if (config_texts(&c, "Shell", &to->shell, e) < 0 || read_labels(&c, to, e) < 0 ||
	    read_keys(&c, "ExposedPorts", &to->ports, e) < 0 ||
	    read_keys(&c, "Volumes", &to->volumes, e) < 0)
		return -1;
	to->has_triggers = json_member(&c, "OnBuild", &triggers) &&
			   json_type(&triggers) == JSON_ARRAY &&
			   json_step(&triggers, &one);
	return 0;
}

/* Keeps the image's history unchanged; drops all of it if its number of layers is not
 * that of the image. */
static void read_history(const struct json_at *root, struct image_config *to)
{
	struct json_at list = { 0 }, at = { 0 }, empty = { 0 };
	size_t layers = 0, len;
	bool is_empty;

	if (json_member(root, "history", &list) && json_type(&list) == JSON_ARRAY)
		while (json_step(&list, &at)) {
			const char *text = json_source(&at, &len);
			list_addf(&to->history, "%.*s", (int)len, text);
			if (!json_member(&at, "empty_layer", &empty) ||
			    json_bool(&empty, &is_empty, NULL) < 0 || !is_empty)
				layers++;
		}
	if (layers == to->diff_ids.count)
		return;
	list_done(&to->history);
	for (size_t i = 0; i < to->diff_ids.count; i++)
		list_add(&to->history, "{\"comment\":\"a layer of the base image\"}");
}

static char *taken_text(char **from)
{
	char *text = *from;

	*from = NULL;
	return text;
}

static struct list taken_list(struct list *from)
{
	const struct list l = *from;

	*from = (struct list){ 0 };
	return l;
}

/* Reads the members that a launch needs, by the same parser as a launch. */
static int read_recipe(const struct json_at *root, struct image_config *to, struct err *e)
{
	struct launch_config r;

	launch_config_init(&r);
	int rc = config_read(root, &r, &to->diff_ids, e);
	to->user = taken_text(&r.user);
	to->workdir = taken_text(&r.workdir);
	to->stop_signal = taken_text(&r.stop_signal);
	to->env = taken_list(&r.env);
	to->entrypoint = taken_list(&r.entrypoint);
	to->cmd = taken_list(&r.cmd);
	launch_config_done(&r);
	return rc;
}

int image_config_parse(const char *text, size_t len, struct image_config *to,
		       struct err *e)
{
	struct json_at root;
	AUTO_JSON struct json *doc = json_parse(text, len, e);

	if (!doc)
		return err_in(e, "configuration");
	json_root(doc, "configuration", &root);
	if (read_recipe(&root, to, e) < 0 || read_more(&root, to, e) < 0)
		return -1;
	read_history(&root, to);
	return 0;
}

static int read_manifest(const struct store *s, const struct digest *image,
			 struct manifest *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (blobs_read(s, image, MANIFEST_MAX, &text, &len, e) < 0)
		return -1;
	return manifest_parse(text, len, ret, e);
}

int image_config_read(const struct store *s, const struct digest *image,
		      struct image_config *ret, struct err *e)
{
	struct manifest m = { 0 };
	struct image_config c = { 0 };
	AUTO_FREE char *text = NULL;
	size_t len;
	int rc = read_manifest(s, image, &m, e);

	for (size_t i = 0; i < m.layer_count; i++)
		list_add(&c.layers, m.layers[i].digest.hex);
	if (rc == 0)
		rc = blobs_read(s, &m.config.digest, CONFIG_MAX, &text, &len, e);
	if (rc == 0)
		rc = image_config_parse(text, len, &c, e);
	if (rc == 0 && c.layers.count != c.diff_ids.count)
		rc = err_set(e, ERR_PROTOCOL,
			     "image %.12s: its manifest has %zu layers and its "
			     "configuration %zu",
			     image->hex, c.layers.count, c.diff_ids.count);
	manifest_done(&m);
	if (rc == 0)
		*ret = c;
	else
		image_config_done(&c);
	return rc;
}

/* --- changes -------------------------------------------------------------------- */

void image_config_label(struct image_config *c, const char *name, const char *value)
{
	for (size_t i = 0; i + 1 < c->labels.count; i += 2) {
		if (strcmp(c->labels.items[i], name) != 0)
			continue;
		free(c->labels.items[i + 1]);
		c->labels.items[i + 1] = text_copy(value);
		return;
	}
	list_add(&c->labels, name);
	list_add(&c->labels, value);
}

static char *time_text(int64_t seconds)
{
	char text[40];
	time_t when = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&when, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return text_copy("1970-01-01T00:00:00Z");
	return text_copy(text);
}

void image_config_touch(struct image_config *c, int64_t when)
{
	free(c->created);
	c->created = time_text(when);
}

static const char *created_of(const struct image_config *c)
{
	return c->created ? c->created : "1970-01-01T00:00:00Z";
}

void image_config_add_history(struct image_config *c, const char *what, bool has_layer)
{
	AUTO_FREE char *when = json_write_quoted(created_of(c));
	AUTO_FREE char *quoted = json_write_quoted(what);

	list_addf(&c->history, "{\"created\":%s,\"created_by\":%s%s}", when, quoted,
		  has_layer ? "" : ",\"empty_layer\":true");
}

/* --- printing ------------------------------------------------------------------- */

static void put(struct buffer *b, const char *text)
{
	if (!buffer_append(b, text, strlen(text)))
		abort(); /* cannot fail: the parts are limited, so the buffer's limit is
			  * never reached */
}

static void put_quoted(struct buffer *b, const char *text)
{
	AUTO_FREE char *quoted = json_write_quoted(text);

	put(b, quoted);
}

static void put_key(struct buffer *b, const char *key)
{
	const uint8_t *text = buffer_data(b);

	if (text[buffer_len(b) - 1] != '{')
		put(b, ",");
	put_quoted(b, key);
	put(b, ":");
}

static void put_text(struct buffer *b, const char *key, const char *text)
{
	if (!text)
		return;
	put_key(b, key);
	put_quoted(b, text);
}

static void put_list(struct buffer *b, const char *key, const struct list *l)
{
	if (l->count == 0)
		return;
	put_key(b, key);
	for (size_t i = 0; i < l->count; i++) {
		put(b, i ? "," : "[");
		put_quoted(b, l->items[i]);
	}
	put(b, "]");
}

/* Prints a JSON object.  `has_values`: the list has pairs of name and value; else it
 * has names, and each value is an empty object. */
static void put_object(struct buffer *b, const char *key, const struct list *l,
		       bool has_values)
{
	if (l->count == 0)
		return;
	put_key(b, key);
	put(b, "{");
	for (size_t i = 0; i < l->count; i += has_values ? 2 : 1) {
		put_key(b, l->items[i]);
		if (has_values)
			put_quoted(b, l->items[i + 1]);
		else
			put(b, "{}");
	}
	put(b, "}");
}

static void put_history(struct buffer *b, const struct list *l)
{
	put_key(b, "history");
	put(b, "[");
	for (size_t i = 0; i < l->count; i++) {
		put(b, i ? "," : "");
		put(b, l->items[i]);
	}
	put(b, "]");
}

static void put_config(struct buffer *b, const struct image_config *c)
{
	put_key(b, "config");
	put(b, "{");
	put_text(b, "User", c->user);
	put_object(b, "ExposedPorts", &c->ports, false);
	put_list(b, "Env", &c->env);
	put_list(b, "Entrypoint", &c->entrypoint);
	put_list(b, "Cmd", &c->cmd);
	put_object(b, "Volumes", &c->volumes, false);
	put_text(b, "WorkingDir", c->workdir);
	put_object(b, "Labels", &c->labels, true);
	put_text(b, "StopSignal", c->stop_signal);
	put_list(b, "Shell", &c->shell);
	put(b, "}");
}

static char *taken(struct buffer *b)
{
	put(b, "");
	(void)buffer_append(b, "", 1);
	char *text = mem_copy(buffer_data(b), buffer_len(b));
	buffer_done(b);
	return text;
}

char *image_config_print(const struct image_config *c)
{
	struct platform here;
	struct buffer b;

	platform_here(&here);
	buffer_init(&b, PRINTED_MAX);
	put(&b, "{");
	put_text(&b, "created", created_of(c));
	put_text(&b, "architecture", here.architecture);
	put_text(&b, "os", here.os);
	put_text(&b, "variant", *here.variant ? here.variant : NULL);
	put_config(&b, c);
	put_history(&b, &c->history);
	put(&b, "}");
	return taken(&b);
}

char *image_config_state(const struct image_config *c)
{
	struct buffer b;

	buffer_init(&b, PRINTED_MAX);
	put(&b, "{");
	put_list(&b, "layers", &c->diff_ids);
	put_list(&b, "env", &c->env);
	put_list(&b, "shell", &c->shell);
	put_text(&b, "user", c->user);
	put_text(&b, "workdir", c->workdir);
	put(&b, "}");
	return taken(&b);
}
