/* apptainer version, inspect, cache. */
#include <stdio.h>
#include <string.h>

#include "apptainer/source.h"
#include "apptainer/stored.h"
#include "apptainer/verbs.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "docker/args.h"
#include "docker/describe.h"
#include "docker/verb.h"

int version_verb(char **argv)
{
	(void)argv;
	(void)puts(APPTAINER_VERSION);
	return 0;
}

/* --- inspect ----------------------------------------------------------------------- */

static int take_json(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	a->format = "json";
	return 0;
}

#define LABELS_ALONE "inspect prints the labels alone; hutch image inspect prints all"

static const struct arg inspect_rows[] = {
	VERBS_GLOBAL_FLAGS,
	{ 'l', "labels", false, NULL, NULL, NULL },
	{ 'j', "json", false, NULL, take_json, NULL },
	{ 'a', "all", false, NULL, NULL, LABELS_ALONE },
	{ 'd', "deffile", false, NULL, NULL, LABELS_ALONE },
	{ 'e', "environment", false, NULL, NULL, LABELS_ALONE },
	{ 'H', "helpfile", false, NULL, NULL, LABELS_ALONE },
	{ 'r', "runscript", false, NULL, NULL, LABELS_ALONE },
	{ 's', "startscript", false, NULL, NULL, LABELS_ALONE },
	{ 't', "test", false, NULL, NULL, LABELS_ALONE },
	{ 0, "list-apps", false, NULL, NULL, LABELS_ALONE },
	{ 0, "app", true, NULL, NULL, LABELS_ALONE },
};
static const struct arg_table inspect_table = { "apptainer", "inspect", inspect_rows,
						ARRAY_LEN(inspect_rows) };

static void print_labels(struct json_view labels, bool is_json)
{
	struct json_view_place place = { 0 };

	if (is_json) {
		AUTO_FREE char *line =
			text_format("{\"data\":{\"attributes\":{\"labels\":%.*s}},"
				    "\"type\":\"container\"}",
				    labels.text ? (int)labels.len : 2,
				    labels.text ? labels.text : "{}");
		describe_print(line);
		return;
	}
	while (json_view_step(labels, &place)) {
		AUTO_FREE char *key = json_view_string(place.key);
		AUTO_FREE char *value = json_view_string(place.value);
		AUTO_FREE char *line =
			text_format("%s: %s", key ? key : "", value ? value : "");
		describe_print(line);
	}
}

static int check_labels(const char *word, const struct source *s, struct err *e)
{
	if (s->kind == SOURCE_HOST)
		return err_set(e, ERR_UNSUPPORTED,
			       "inspect host: this machine's /usr has no labels");
	if (s->kind != SOURCE_FOLDER && s->kind != SOURCE_INSTANCE)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "inspect %.200s: hutch knows the labels of images and files alone",
		      word);
	return err_remedy(e, "apptainer exec IMAGE cat /.singularity.d/labels.json");
}

/* Returns what the store knows of the image as JSON, allocated. */
static char *get_info(const char *word, const struct source *s, struct json_view *ret,
		      struct err *e)
{
	bool is_bare;

	if (check_labels(word, s, e) < 0)
		return NULL;
	AUTO_FREE char *name = stored_find(s, &is_bare, e);
	char *text = name ? describe_image_info(name, ret, e) : NULL;
	if (text || s->kind != SOURCE_IMAGE || e->kind != ERR_NOT_FOUND)
		return text;
	(void)err_set(e, ERR_NOT_FOUND,
		      "inspect %.200s: hutch's store does not have the image", word);
	(void)err_remedy(e, "apptainer pull FILE %.200s fetches it", word);
	return NULL;
}

static int inspect(const char *word, bool is_json, struct err *e)
{
	struct source s = { 0 };
	struct json_view info;

	int rc = source_read(word, &s, e);
	AUTO_FREE char *text = rc < 0 ? NULL : get_info(word, &s, &info, e);
	source_done(&s);
	if (!text)
		return -1;
	print_labels(json_view_get(info, "configuration.config.Labels"), is_json);
	return 0;
}

int inspect_verb(char **argv)
{
	struct list operands = { 0 };
	struct args a = { 0 };
	struct err e;
	int code = 0;

	if (args_help(argv, &inspect_table, "IMAGE"))
		return 0;
	int rc = args_read_all(argv, &inspect_table, &a, &operands, &e);
	if (rc == 0 && operands.count != 1)
		code = verbs_count_fails("inspect", 1, operands.count);
	else if (rc == 0)
		rc = inspect(operands.items[0], a.format, &e);
	if (rc < 0)
		code = verbs_fail("inspect", &a, &e);
	args_done(&a);
	list_done(&operands);
	return code;
}

/* --- cache ------------------------------------------------------------------------- */

static const struct arg clean_rows[] = {
	VERBS_GLOBAL_FLAGS,
	{ 'f', "force", false, NULL, NULL, NULL },
	{ 'n', "dry-run", false, NULL, NULL,
	  "hutch image gc --dry-run says what would go" },
	{ 'D', "days", true, NULL, NULL, "hutch does not know when an image was used" },
	{ 'T', "type", true, NULL, NULL, "there is one kind of cache" },
};
static const struct arg_table clean_table = { "apptainer", "cache clean", clean_rows,
					      ARRAY_LEN(clean_rows) };

static int clean(char **argv)
{
	struct list words = { 0 }, operands = { 0 };
	struct args a = { 0 };
	struct err e;

	if (args_help(argv, &clean_table, ""))
		return 0;
	int rc = args_read_all(argv, &clean_table, &a, &operands, &e);
	if (rc == 0 && operands.count) {
		a.is_misread = true;
		rc = err_set(&e, ERR_USAGE, "it takes no words");
	}
	if (rc == 0)
		rc = stored_clean(&e);
	list_add(&words, "image");
	list_add(&words, "gc");
	if (rc == 0)
		rc = verb_run(&words, VERB_SHOW, NULL, &e);
	if (rc < 0)
		rc = verbs_fail("cache clean", &a, &e);
	args_done(&a);
	list_done(&words);
	list_done(&operands);
	return rc;
}

int cache_verb(char **argv)
{
	struct list words = { 0 };
	struct err e;

	if (argv[0] && !strcmp(argv[0], "clean"))
		return clean(argv + 1);
	if (!argv[0] || strcmp(argv[0], "list") != 0) {
		(void)err_set(&e, ERR_USAGE, "the verbs of cache are clean and list");
		return verbs_misused("cache", &e);
	}
	list_add(&words, "image");
	list_add(&words, "ls");
	(void)verb_become(&words, false, &e);
	list_done(&words);
	return verbs_fatal(&e);
}
