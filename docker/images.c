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
#include "docker/verb.h"
#include "docker/verbs.h"
#include "sandbox/launch/result.h"

static const struct arg pull_rows[] = {
	{ 'q', "quiet", false, "-q", NULL, NULL },
	{ 0, "platform", true, "--platform", NULL, NULL },
	{ 'a', "all-tags", false, NULL, NULL, "name each tag" },
};

static int take_format(struct args *a, const char *value, struct err *e)
{
	(void)e; /* list_format.h judges the value */
	a->format = value;
	return 0;
}

static const struct arg images_rows[] = {
	{ 0, "format", true, NULL, take_format, NULL },
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

/* Prints the images that `hutch image` tells of with these words. */
static int print_by_format(const struct args *a, struct list *words, struct err *e)
{
	struct json_view_place place = { 0 };
	struct list_format f = { 0 };
	struct json_view images;
	bool is_whole = false;

	for (size_t i = 0; i < a->words.count; i++)
		is_whole |= !strcmp(a->words.items[i], "--no-trunc");
	list_add(words, "--json");
	AUTO_FREE char *text = describe_ask(words, &images, e);
	int rc = text ? list_format_read(&f, a->format, heads, e) : -1;
	while (rc == 0 && json_view_step(images, &place)) {
		AUTO_FREE char *row = row_of(place.value, is_whole);
		rc = list_format_add(&f, row, e);
	}
	if (rc == 0)
		list_format_print(&f);
	list_format_done(&f);
	return rc;
}

/* --- the verbs ---------------------------------------------------------------- */

/* Runs a verb of hutch image: docker's flags may stand before and between operands. */
static int run(char **argv, const struct arg_table *table, const char *verb)
{
	struct list words = { 0 }, operands = { 0 };
	struct args a = { 0 };
	struct err e;
	int rc = 0, failed = EXIT_HUTCH;

	while (rc == 0 && *argv) {
		rc = args_read(&argv, table, &a, &e);
		if (rc == 0 && *argv)
			list_add(&operands, *argv++);
	}
	list_add(&words, "image");
	list_add(&words, verb);
	for (size_t i = 0; i < a.words.count; i++)
		list_add(&words, a.words.items[i]);
	const bool has_format = a.format && strcmp(a.format, "table") != 0;
	if (rc == 0 && has_format) {
		failed = 1; /* as with ps, and as with docker */
		rc = print_by_format(&a, &words, &e);
	}
	list_add(&words, "--");
	for (size_t i = 0; i < operands.count; i++)
		list_add(&words, operands.items[i]);
	int code = rc < 0 ? -1 : has_format ? 0 : verb_run(&words, VERB_SHOW, NULL, &e);
	list_done(&words);
	list_done(&operands);
	args_done(&a);
	return code < 0 ? verbs_fail(&e, failed) : code != 0;
}

int pull_verb(char **argv)
{
	return run(argv, &(struct arg_table){ "pull", pull_rows, ARRAY_LEN(pull_rows) },
		   "pull");
}

int images_verb(char **argv)
{
	return run(argv,
		   &(struct arg_table){ "images", images_rows, ARRAY_LEN(images_rows) },
		   "ls");
}

int rmi_verb(char **argv)
{
	return run(argv, &(struct arg_table){ "rmi", rmi_rows, ARRAY_LEN(rmi_rows) },
		   "rm");
}

int build_verb(char **argv)
{
	return run(argv,
		   &(struct arg_table){ "build", build_rows, ARRAY_LEN(build_rows) },
		   "build");
}

int tag_verb(char **argv)
{
	return run(argv, &(struct arg_table){ "tag", NULL, 0 }, "tag");
}
