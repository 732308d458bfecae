/* Implements a part of document.h: parses the configuration of an image. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/own.h"
#include "base/variables.h"
#include "policy/json/json.h"
#include "rootfs-tools/index/document.h"
#include "store/launch_config.h"

#define WORKDIR_MAX 4096
#define WORD_MAX    256 /* limit of the bytes of User and StopSignal */

int config_text(const struct json_at *of, const char *key, const char **ret,
		struct err *e)
{
	struct json_at at = { 0 };

	*ret = NULL;
	if (!json_member(of, key, &at))
		return 0;
	if (json_string(&at, ret, e) < 0)
		return -1;
	*ret = **ret ? *ret : NULL;
	return 0;
}

/* Gets a member whose text must be printable ASCII and short. */
static int get_word(const struct json_at *of, const char *key, char **ret, struct err *e)
{
	const char *text;

	if (config_text(of, key, &text, e) < 0)
		return -1;
	for (const char *at = text; at && *at; at++)
		if (*at <= ' ' || *at > '~' || at - text >= WORD_MAX)
			return err_set(e, ERR_PROTOCOL, "%s.%s is no word: '%.60s'",
				       of->place, key, text);
	*ret = text ? text_copy(text) : NULL;
	return 0;
}

int config_texts(const struct json_at *of, const char *key, struct list *ret,
		 struct err *e)
{
	struct json_at list = { 0 }, at = { 0 };
	const char *text;

	if (!json_member(of, key, &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&list, &at)) {
		if (json_string(&at, &text, e) < 0)
			return -1;
		if (strlen(text) >= VARIABLE_MAX)
			return err_set(e, ERR_LIMIT, "%s has more than %u bytes",
				       at.place, VARIABLE_MAX - 1);
		list_add(ret, text);
	}
	return 0;
}

static int get_environment(const struct json_at *of, struct list *ret, struct err *e)
{
	if (config_texts(of, "Env", ret, e) < 0)
		return -1;
	for (size_t i = 0; i < ret->count; i++)
		if (!strchr(ret->items[i], '=') || ret->items[i][0] == '=')
			return err_set(e, ERR_PROTOCOL, "%s.Env has an entry that is no "
							"NAME=value: '%.60s'",
				       of->place, ret->items[i]);
	return 0;
}

/* Gets the working folder.  Early versions of docker wrote relative paths, which meant
 * below the root. */
static int get_workdir(const struct json_at *of, char **ret, struct err *e)
{
	const char *text;

	if (config_text(of, "WorkingDir", &text, e) < 0)
		return -1;
	if (text && strlen(text) >= WORKDIR_MAX - 1)
		return err_set(e, ERR_LIMIT, "%s.WorkingDir is longer than a path may be",
			       of->place);
	if (text)
		*ret = text_format("%s%s", text[0] == '/' ? "" : "/", text);
	return 0;
}

static int read_config(const struct json_at *root, struct launch_config *r, struct err *e)
{
	struct json_at at = { 0 };

	if (!json_member(root, "config", &at))
		return 0;
	if (json_expect(&at, JSON_OBJECT, e) < 0 ||
	    get_environment(&at, &r->env, e) < 0 ||
	    config_texts(&at, "Entrypoint", &r->entrypoint, e) < 0 ||
	    config_texts(&at, "Cmd", &r->cmd, e) < 0 ||
	    get_word(&at, "User", &r->user, e) < 0 ||
	    get_workdir(&at, &r->workdir, e) < 0)
		return -1;
	return get_word(&at, "StopSignal", &r->stop_signal, e);
}

static int read_platform(const struct json_at *root, struct launch_config *r,
			 struct err *e)
{
	AUTO_FREE char *os = NULL;

	if (get_word(root, "os", &os, e) < 0 ||
	    get_word(root, "architecture", &r->architecture, e) < 0)
		return -1;
	if (os && strcmp(os, "linux"))
		return err_set(e, ERR_UNSUPPORTED,
			       "the image is for %.60s, and hutch runs Linux's", os);
	return 0;
}

/* Reads the time of creation, RFC 3339, to the second.  An invalid time becomes 1970,
 * since nothing depends on the time. */
static int read_created(const struct json_at *root, struct launch_config *r,
			struct err *e)
{
	struct tm t = { 0 };
	const char *text;

	if (config_text(root, "created", &text, e) < 0)
		return -1;
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &t) : NULL;
	if (!end)
		return 0;
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	int hours = 0, minutes = 0;
	char sign = *end;
	if ((sign == '+' || sign == '-') &&
	    sscanf(end + 1, "%2d:%2d", &hours, &minutes) != 2)
		return 0;
	int64_t shift = (sign == '-' ? -1 : 1) * (int64_t)(hours * 3600 + minutes * 60);
	r->created = (int64_t)timegm(&t) - shift;
	return 0;
}

static int read_rootfs(const struct json_at *root, struct list *diff_ids, struct err *e)
{
	struct json_at rootfs = { 0 }, list = { 0 }, at = { 0 };
	struct digest d;
	const char *text;

	if (!json_member(root, "rootfs", &rootfs) ||
	    !json_member(&rootfs, "diff_ids", &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&list, &at)) {
		if (diff_ids->count == IMAGE_LAYERS_MAX)
			return err_set(e, ERR_LIMIT,
				       "the image has more than %d layers, which no "
				       "kernel takes",
				       IMAGE_LAYERS_MAX);
		if (json_string(&at, &text, e) < 0)
			return -1;
		if (digest_parse(text, &d, e) < 0)
			return err_in(e, "%s", at.place);
		list_add(diff_ids, d.hex);
	}
	return 0;
}

int config_read(const struct json_at *root, struct launch_config *r,
		struct list *diff_ids, struct err *e)
{
	if (json_expect(root, JSON_OBJECT, e) < 0 || read_platform(root, r, e) < 0 ||
	    read_config(root, r, e) < 0 || read_created(root, r, e) < 0)
		return -1;
	return read_rootfs(root, diff_ids, e);
}

int config_parse(const char *text, size_t len, struct launch_config *r,
		 struct list *diff_ids, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct json_at root;

	if (!doc)
		return err_in(e, "the image's configuration");
	json_root(doc, "configuration", &root);
	return config_read(&root, r, diff_ids, e);
}
