/* docker inspect, port, logs. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "docker/container.h"
#include "docker/describe.h"
#include "docker/template.h"
#include "docker/tree.h"
#include "docker/verb.h"
#include "docker/verbs.h"
#include "sandbox/launch/result.h"

/* docker's exit code for a template that has no valid form */
#define EXIT_TEMPLATE 64

/* Whether a template can print labels of a container. */
static bool has_labels(const char *template)
{
	return !template || strstr(template, "Labels") || strstr(template, "Config") ||
	       strstr(template, "json");
}

/* Returns docker's object about a container or an image; NULL with an error. */
static char *describe_any(const char *word, const char *type, const char *template,
			  struct err *e)
{
	const bool is_any = !type;
	char *tree = NULL;

	if (is_any || !strcmp(type, "container"))
		tree = describe_container(word, has_labels(template), e);
	if (!tree && is_any && e->kind != ERR_NOT_FOUND)
		return NULL;
	if (!tree && (is_any || !strcmp(type, "image")))
		tree = describe_image(word, e);
	if (!tree && e->kind == ERR_NOT_FOUND)
		(void)err_set(e, ERR_NOT_FOUND, "Error: No such object: %.100s", word);
	return tree;
}

/* Prints the objects of all words; those that are missing are errors behind them. */
static int inspect_all(char **words, const char *type, const char *template)
{
	const char *before = "[\n";
	struct err e;
	int code = 0;

	for (; *words; words++) {
		AUTO_FREE char *tree = describe_any(*words, type, template, &e);
		if (tree && !template) {
			AUTO_FREE char *row = text_format("%s%s", before, tree);
			describe_print(row);
			before = ",";
		} else if (!tree || describe_by_template(tree, template, &e) < 0)
			code = verbs_fail(&e, 1);
	}
	if (!template)
		(void)puts(*before == '[' ? "[]" : "]");
	return code;
}

int inspect_verb(char **argv)
{
	const char *format = NULL, *type = NULL;
	const struct flag flags[] = {
		{ 'f', "format", "TEMPLATE", "json, or a template", NULL, &format },
		{ 0, "type", "TYPE", "container or image", NULL, &type },
	};
	const struct usage usage = {
		.synopsis = "hutch docker inspect [OPTIONS] NAME...",
		.about = "Prints what is known of containers and images.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};
	struct err e;
	int code = verbs_flags(argv, &usage);

	if (code >= 0)
		return code;
	if (type && strcmp(type, "container") != 0 && strcmp(type, "image") != 0) {
		(void)err_set(&e, ERR_USAGE, "\"%.60s\" is not a valid value for --type",
			      type);
		return verbs_fail(&e, 1);
	}
	if (format && strcmp(format, "json") != 0 && template_check(format, &e) < 0) {
		(void)err_in(&e, "template parsing error");
		return verbs_fail(&e, EXIT_TEMPLATE);
	}
	return inspect_all(argv, type, format && strcmp(format, "json") ? format : NULL);
}

/* --- port -------------------------------------------------------------------- */

/* Prints the host's side of ports; `wanted` is the port inside, or 0 for all. */
static bool print_ports(struct json_view info, int wanted)
{
	struct json_view_place place = { 0 };
	bool has_any = false;

	while (json_view_step(json_view_get(info, "ports"), &place)) {
		AUTO_FREE char *ip = NULL, *port = NULL;
		int guest = tree_port(place.value, &ip, &port);
		if (wanted && guest != wanted)
			continue;
		has_any = true;
		if (!wanted)
			(void)printf("%d/tcp -> ", guest);
		(void)printf("%s%s%s\n", ip ? ip : "", ip ? ":" : "", port);
	}
	return has_any;
}

/* Reads PORT or PORT/tcp. */
static int read_port(const char *word, int *ret, struct err *e)
{
	char *end;
	const long port = strtol(word, &end, 10);

	if (isdigit((unsigned char)word[0]) && port > 0 && port < 65536 &&
	    (!*end || !strcmp(end, "/tcp"))) {
		*ret = (int)port;
		return 0;
	}
	return err_set(e, ERR_USAGE,
		       "Error: '%.40s' is no port of TCP, such as 8000 or 8000/tcp",
		       word);
}

int port_verb(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch docker port CONTAINER [PORT[/tcp]]",
		.about = "Prints the ports of this host that lead inside.",
		.operands_min = 1,
		.operands_max = 2,
	};
	struct json_view info;
	struct err e;
	int code = verbs_flags(argv, &usage);

	if (code >= 0)
		return code;
	AUTO_FREE char *text = describe_info(argv[0], &info, &e);
	if (!text)
		return verbs_fail(&e, 1);
	int wanted = 0;
	if (argv[1] && read_port(argv[1], &wanted, &e) < 0)
		return verbs_fail(&e, 1);
	if (print_ports(info, wanted) || !argv[1])
		return 0;
	(void)err_set(&e, ERR_USAGE,
		      "Error: No public port '%.40s%s' published for %.60s", argv[1],
		      strchr(argv[1], '/') ? "" : "/tcp", argv[0]);
	return verbs_fail(&e, 1);
}

/* --- logs -------------------------------------------------------------------- */

int logs_verb(char **argv)
{
	const char *tail = NULL;
	bool follows = false;
	const struct flag flags[] = {
		{ 'f', "follow", NULL, "go on with new output", &follows, NULL },
		{ 'n', "tail", "N", "the last N entries, or all", NULL, &tail },
	};
	const struct usage usage = {
		.synopsis = "hutch docker logs [OPTIONS] CONTAINER",
		.about = "Prints the output of the container's processes.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = 1,
	};
	struct list words = { 0 };
	struct container c;
	struct err e;
	int code = verbs_flags(argv, &usage);

	if (code >= 0)
		return code;
	if (container_find(argv[0], &c, &e) < 0)
		return verbs_fail(&e, 1);
	list_add(&words, "logs");
	if (follows)
		list_add(&words, "-f");
	if (tail && strcmp(tail, "all") != 0) {
		list_add(&words, "-n");
		list_add(&words, tail);
	}
	list_add(&words, container_word(&c));
	(void)verb_become(&words, false, &e);
	list_done(&words);
	return verbs_fail(&e, 1);
}
