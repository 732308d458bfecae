/* apptainer exec, run, shell. */
#include <stdio.h>
#include <string.h>

#include "apptainer/action_args.h"
#include "apptainer/inside.h"
#include "apptainer/launch.h"
#include "apptainer/source.h"
#include "apptainer/verbs.h"
#include "base/err.h"
#include "base/own.h"
#include "docker/verb.h"

struct start {
	const char *verb, *operands; /* for messages and the help */
	enum launch_kind kind;
	size_t min; /* how many operands there must be */
};

/* Becomes hutch.  Returns only if that failed. */
static int start(const struct launch *l, struct action *a, struct err *e)
{
	struct list words = { 0 };

	int rc = l->source->kind == SOURCE_INSTANCE ? inside_words(l, a, &words, e)
						    : launch_words(l, a, &words, e);
	if (rc == 0)
		rc = verb_become(&words, false, e);
	list_done(&words);
	return rc;
}

/* The program of `apptainer shell` is --shell, or bash where there is one. */
static void take_shell(const struct action *a, struct list *words, char **behind)
{
	static const char either[] = "[ ! -x /bin/bash ] || exec /bin/bash \"$@\"\n"
				     "exec /bin/sh \"$@\"";

	if (a->shell) {
		list_add(words, a->shell);
	} else {
		list_add(words, "/bin/sh");
		list_add(words, "-c");
		list_add(words, either);
		list_add(words, "sh");
	}
	for (; *behind; behind++)
		list_add(words, *behind);
}

static int start_read(char **argv, const struct start *s, struct action *a, struct err *e)
{
	struct list shell = { 0 };
	struct source source = { 0 };
	struct launch l = {
		.kind = s->kind, .source = &source, .shown = argv[0], .command = argv + 1
	};

	int rc = source_read(argv[0], &source, e);
	if (rc == 0 && !strcmp(s->verb, "shell")) {
		take_shell(a, &shell, argv + 1);
		l.command = shell.items;
	}
	if (rc == 0)
		rc = start(&l, a, e);
	list_done(&shell);
	source_done(&source);
	return rc;
}

static int start_verb(char **argv, const struct start *s)
{
	struct action a = { 0 };
	size_t count = 0;
	struct err e;

	if (action_args_help(argv, s->verb, s->operands))
		return 0;
	int rc = action_args_read(&argv, s->verb, &a, &e);
	while (rc == 0 && argv[count])
		count++;
	if (rc == 0 && count >= s->min)
		rc = start_read(argv, s, &a, &e);
	const int code = rc < 0 ? verbs_fail(s->verb, &a.args, &e)
				: verbs_count_fails(s->verb, s->min, count);
	action_done(&a);
	return code;
}

int exec_verb(char **argv)
{
	return start_verb(argv,
			  &(struct start){ "exec", "IMAGE COMMAND...", LAUNCH_EXEC, 2 });
}

int run_verb(char **argv)
{
	return start_verb(argv,
			  &(struct start){ "run", "IMAGE [WORD...]", LAUNCH_RUN, 1 });
}

int shell_verb(char **argv)
{
	return start_verb(argv, &(struct start){ "shell", "IMAGE", LAUNCH_EXEC, 1 });
}
