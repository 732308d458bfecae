#include "cli/common/subcommands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/own.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "sandbox/launch/result.h"

/* Returns the words before the subcommand, such as "hutch port", allocated. */
static char *front_of(const struct subcommands *p)
{
	return text_format("hutch %s%s%s", p->verb, p->operand ? " " : "",
			   p->operand ? p->operand : "");
}

static int print_help(const struct subcommands *p)
{
	AUTO_FREE char *front = front_of(p);

	(void)printf("%s VERB\n\n%s\n\n", front, p->about);
	for (size_t i = 0; i < p->count; i++)
		(void)printf("  %-10s %s\n", p->list[i].name, p->list[i].help);
	(void)printf("\nMore: man hutch-%s\n", p->verb);
	return 0;
}

/* Returns the names of the subcommands as words for an error: "list, show or check",
 * allocated. */
static char *names_of(const struct subcommands *p)
{
	char *ret = text_copy(p->list[0].name);

	for (size_t i = 1; i < p->count; i++) {
		const char *between = i + 1 < p->count ? ", " : " or ";
		char *longer = text_format("%s%s%s", ret, between, p->list[i].name);
		free(ret);
		ret = longer;
	}
	return ret;
}

const char *subcommands_meant(const char *name)
{
	static const struct {
		const char *theirs, *ours;
	} words[] = {
		{ "list", "ls" },   { "remove", "rm" },	 { "delete", "rm" },
		{ "prune", "gc" },  { "compare", "diff" }, { "get", "take" },
		{ "save", "export" }, { "load", "import" }, { "history", "inspect" },
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].theirs, name))
			return words[i].ours;
	return name;
}

/* `second` is the word behind `name`, or NULL. */
static int unknown(const struct subcommands *p, const char *name, const char *second)
{
	AUTO_FREE char *names = names_of(p), *front = front_of(p);
	const char *meant = subcommands_meant(name ? name : "");
	struct nearest n;
	struct err e;

	nearest_init(&n, meant, strlen(meant));
	for (size_t i = 0; i < p->count; i++)
		nearest_try(&n, p->list[i].name);
	if (name)
		(void)err_set(&e, ERR_USAGE, "'%.60s' is no verb of hutch %s", name,
			      p->verb);
	else
		(void)options_missing(p->verb, "a verb", &e);
	(void)nearest_suggest(&n, "", &e);
	(void)err_remedy(&e, "%s %s%s%s", front, names,
			 p->behind ? ", and behind it " : "", p->behind ? p->behind : "");
	for (size_t i = 0; second && i < p->count; i++)
		if (!strcmp(p->list[i].name, second))
			(void)err_remedy(&e,
					 "the verb comes first: hutch %s %s %.60s ...",
					 p->verb, second, name);
	report_error(&e);
	return EXIT_HUTCH;
}

int subcommands_main(char **argv, const struct subcommands *p)
{
	const char *name = argv[0];

	if (name && (!strcmp(name, "--help") || !strcmp(name, "-h")))
		return print_help(p);
	for (size_t i = 0; name && i < p->count; i++)
		if (!strcmp(p->list[i].name, name))
			return p->list[i].main(argv + 1);
	return unknown(p, name, name ? argv[1] : NULL);
}
