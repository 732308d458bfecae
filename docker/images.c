/* docker pull, images, rmi, build, tag. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "docker/args.h"
#include "docker/verb.h"
#include "docker/verbs.h"
#include "sandbox/launch/result.h"

static const struct arg pull_rows[] = {
	{ 'q', "quiet", false, "-q", NULL, NULL },
	{ 0, "platform", true, "--platform", NULL, NULL },
	{ 'a', "all-tags", false, NULL, NULL, "name each tag" },
};

static const struct arg images_rows[] = {
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
};

/* Runs a verb of hutch image: docker's flags may stand before and between operands. */
static int run(char **argv, const struct arg_table *table, const char *verb)
{
	struct list words = { 0 }, operands = { 0 };
	struct args a = { 0 };
	struct err e;
	int rc = 0;

	while (rc == 0 && *argv) {
		rc = args_read(&argv, table, &a, &e);
		if (rc == 0 && *argv)
			list_add(&operands, *argv++);
	}
	list_add(&words, "image");
	list_add(&words, verb);
	for (size_t i = 0; i < a.words.count; i++)
		list_add(&words, a.words.items[i]);
	list_add(&words, "--");
	for (size_t i = 0; i < operands.count; i++)
		list_add(&words, operands.items[i]);
	int code = rc < 0 ? -1 : verb_run(&words, VERB_SHOW, NULL, &e);
	list_done(&words);
	list_done(&operands);
	args_done(&a);
	return code < 0 ? verbs_fail(&e, EXIT_HUTCH) : code != 0;
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
