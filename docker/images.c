/* docker pull, images, rmi, build, tag. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "cli/common/table.h"
#include "docker/args.h"
#include "docker/describe.h"
#include "docker/list_format.h"
#include "docker/run_args.h"
#include "docker/verb.h"
#include "docker/verbs.h"
#include "sandbox/launch/result.h"

static const struct arg pull_rows[] = {
	{ 'q', "quiet", false, "-q", NULL, NULL },
	{ 0, "platform", true, "--platform", NULL, NULL },
	{ 'a', "all-tags", false, NULL, NULL, "name each tag" },
};

/* Takes a filter of docker images.  A second one would have to hold, too. */
static int take_filter(struct args *a, const char *value, struct err *e)
{
	if (a->filter)
		return err_set(e, ERR_UNSUPPORTED,
			       "--filter %.60s: hutch takes one filter", value);
	if (strncmp(value, "reference=", 10) != 0 &&
	    strcmp(value, "dangling=true") != 0 && strcmp(value, "dangling=false") != 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "invalid filter '%.60s': there are reference and dangling",
			       value);
	a->filter = value;
	return 0;
}

static int take_format(struct args *a, const char *value, struct err *e)
{
	(void)e; /* list_format.h judges the value */
	a->format = value;
	return 0;
}

static const struct arg images_rows[] = {
	{ 0, "format", true, NULL, take_format, NULL },
	{ 'f', "filter", true, NULL, take_filter, NULL },
	{ 'q', "quiet", false, "-q", NULL, NULL },
	{ 'a', "all", false, "-a", NULL, NULL },
	{ 0, "digests", false, "--digests", NULL, NULL },
	{ 0, "no-trunc", false, "--no-trunc", NULL, NULL },
};

static const struct arg rmi_rows[] = {
	{ 'f', "force", false, "-f", NULL, NULL },
};

static const struct arg build_rows[] = {
	{ 't', "tag", true, "-t", NULL, NULL },
	{ 'f', "file", true, "-f", NULL, NULL },
	{ 'q', "quiet", false, "-q", NULL, NULL },
	{ 0, "platform", true, NULL, run_args_platform, NULL },
	{ 0, "build-arg", true, "--build-arg", NULL, NULL },
	{ 0, "target", true, "--target", NULL, NULL },
	{ 0, "no-cache", false, "--no-cache", NULL, NULL },
	{ 0, "pull", false, "--pull", NULL, NULL },
	{ 0, "network", true, "--network", NULL, NULL },
	{ 0, "add-host", true, "--add-host", NULL, NULL },
};

/* --- images, by a template ---------------------------------------------------- */

static const struct list_format_head heads[] = {
	{ "Repository", "REPOSITORY" },
	{ "Tag", "TAG" },
	{ "Digest", "DIGEST" },
	{ "ID", "IMAGE ID" },
	{ "CreatedSince", "CREATED" },
	{ "CreatedAt", "CREATED AT" },
	{ "Size", "SIZE" },
	{ NULL, NULL },
};

/* Returns a size in docker's words: "1.98MB". */
static char *size_words(double size)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	size_t unit = 0;

	for (; size >= 1000 && unit + 1 < ARRAY_LEN(units); unit++)
		size /= 1000;
	return text_format("%.3g%s", size, units[unit]);
}

static void put_text(struct buffer *b, const char *key, const char *text)
{
	json_write_text(b, key, text ? text : "<none>");
}

/* Makes the object that templates of docker images are about. */
static char *row_of(struct json_view info, bool is_whole)
{
	AUTO_FREE char *name = json_view_string(json_view_get(info, "repository"));
	AUTO_FREE char *tag = json_view_string(json_view_get(info, "tag"));
	AUTO_FREE char *digest = json_view_string(json_view_get(info, "digest"));
	AUTO_FREE char *id = json_view_string(json_view_get(info, "id"));
	AUTO_FREE char *created = json_view_string(json_view_get(info, "created"));
	AUTO_FREE char *ago = created ? table_age(created, (int64_t)time(NULL)) : NULL;
	const char *colon = id ? strchr(id, ':') : NULL;
	double bytes = 0;
	struct buffer b;

	(void)json_view_number(json_view_get(info, "size"), &bytes); /* or 0 */
	AUTO_FREE char *size = size_words(bytes);
	AUTO_FREE char *shown = colon && !is_whole ? text_format("%.12s", colon + 1)
						   : text_copy(id ? id : "");
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	put_text(&b, "Repository", name);
	put_text(&b, "Tag", tag);
	put_text(&b, "Digest", digest);
	json_write_text(&b, "ID", shown);
	json_write_text(&b, "CreatedSince", ago ? ago : "N/A");
	json_write_text(&b, "CreatedAt", created ? created : "");
	json_write_text(&b, "Size", size);
	json_write_close(&b, "}");
	return json_write_end(&b);
}

/* Whether the image has the name: REPOSITORY or REPOSITORY:TAG, of which docker's own
 * registry may be a part. */
static bool has_name(struct json_view image, const char *wanted)
{
	AUTO_FREE char *name = json_view_string(json_view_get(image, "repository"));
	AUTO_FREE char *tag = json_view_string(json_view_get(image, "tag"));
	static const char *const own[] = { "docker.io/", "library/" };

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (!strncmp(wanted, own[i], strlen(own[i])))
			wanted += strlen(own[i]);
	const size_t len = name ? strlen(name) : 0;
	return name && !strncmp(name, wanted, len) &&
	       (!wanted[len] ||
		(wanted[len] == ':' && tag && !strcmp(tag, wanted + len + 1)));
}

static bool fits(struct json_view image, const struct args *a, const char *wanted)
{
	const bool is_dangling = json_view_type(json_view_get(image, "repository")) ==
				 JSON_NULL;

	if (wanted && !has_name(image, wanted))
		return false;
	if (!a->filter)
		return true;
	return !strncmp(a->filter, "reference=", 10)
		       ? has_name(image, a->filter + 10)
		       : is_dangling == !strcmp(a->filter, "dangling=true");
}

/* Returns the format of those that are asked for without one. */
static const char *plain_format(const struct args *a)
{
	for (size_t i = 0; i < a->words.count; i++)
		if (!strcmp(a->words.items[i], "-q"))
			return "{{.ID}}";
	return "table {{.Repository}}\t{{.Tag}}\t{{.ID}}\t{{.CreatedSince}}\t{{.Size}}";
}

/* Prints the images that `hutch image` tells of with these words; `wanted` is a name, or
 * NULL. */
static int print_by_format(const struct args *a, struct list *words, const char *wanted,
			   struct err *e)
{
	const bool has_format = a->format && strcmp(a->format, "table") != 0;
	struct json_view_place place = { 0 };
	struct list_format f = { 0 };
	struct json_view images;
	bool is_whole = false;

	for (size_t i = 0; i < a->words.count; i++)
		is_whole |= !strcmp(a->words.items[i], "--no-trunc");
	list_add(words, "--json");
	AUTO_FREE char *text = describe_ask(words, &images, e);
	int rc = text ? list_format_read(&f, has_format ? a->format : plain_format(a),
					 heads, e)
		      : -1;
	while (rc == 0 && json_view_step(images, &place)) {
		if (!fits(place.value, a, wanted))
			continue;
		AUTO_FREE char *row = row_of(place.value, is_whole);
		rc = list_format_add(&f, row, e);
	}
	if (rc == 0)
		list_format_print(&f);
	list_format_done(&f);
	return rc;
}

/* --- the verbs ---------------------------------------------------------------- */

/* A verb of docker's that one of hutch image does. */
struct image_verb {
	struct arg_table table;
	const char *verb, *operands; /* hutch's verb; the operands in its help */
	size_t min, max;	     /* how many operands there must and may be */
};

/* Lets hutch image do it. */
static int do_plainly(struct list *words, const struct list *operands, struct err *e)
{
	list_add(words, "--");
	for (size_t i = 0; i < operands->count; i++)
		list_add(words, operands->items[i]);
	return verb_run(words, VERB_SHOW, NULL, e);
}

/* Does the verb, and returns its exit code, or -1. */
static int do_verb(const struct image_verb *v, const struct args *a,
		   const struct list *operands, struct err *e)
{
	const bool by_format = v->table.rows == images_rows &&
			       (operands->count > 0 || a->filter ||
				(a->format && strcmp(a->format, "table") != 0));
	struct list words = { 0 };
	int code;

	list_add(&words, "image");
	list_add(&words, v->verb);
	for (size_t i = 0; i < a->words.count; i++)
		if (!by_format || strcmp(a->words.items[i], "-q") != 0)
			list_add(&words, a->words.items[i]);
	if (by_format)
		code = print_by_format(a, &words,
				       operands->count ? operands->items[0] : NULL, e);
	else
		code = do_plainly(&words, operands, e);
	list_done(&words);
	return code;
}

static int run(char **argv, const struct image_verb *v)
{
	struct list operands = { 0 };
	struct args a = { 0 };
	struct err e;
	int failed = EXIT_HUTCH;

	if (args_help(argv, &v->table, v->operands))
		return 0;
	int code = args_read_all(argv, &v->table, &a, &operands, &e);
	const bool is_counted = operands.count >= v->min && operands.count <= v->max;
	if (code == 0 && is_counted) {
		failed = 1; /* as with docker */
		code = do_verb(v, &a, &operands, &e);
	} else if (code == 0) {
		code = verbs_count_fails(v->table.verb, v->min, v->max);
	}
	list_done(&operands);
	args_done(&a);
	return code < 0 ? verbs_fail(&e, failed) : code != 0;
}

int pull_verb(char **argv)
{
	return run(argv, &(struct image_verb){
				 { "docker", "pull", pull_rows, ARRAY_LEN(pull_rows) },
				 "pull",
				 "IMAGE",
				 1,
				 1 });
}

int images_verb(char **argv)
{
	return run(argv, &(struct image_verb){ { "docker", "images", images_rows,
						 ARRAY_LEN(images_rows) },
					       "ls",
					       "[REPOSITORY[:TAG]]",
					       0,
					       1 });
}

int rmi_verb(char **argv)
{
	return run(argv, &(struct image_verb){
				 { "docker", "rmi", rmi_rows, ARRAY_LEN(rmi_rows) },
				 "rm",
				 "IMAGE...",
				 1,
				 SIZE_MAX });
}

int build_verb(char **argv)
{
	return run(argv, &(struct image_verb){
				 { "docker", "build", build_rows, ARRAY_LEN(build_rows) },
				 "build",
				 "FOLDER|-",
				 1,
				 1 });
}

int tag_verb(char **argv)
{
	return run(argv,
		   &(struct image_verb){
			   { "docker", "tag", NULL, 0 }, "tag", "IMAGE NAME", 2, 2 });
}
