#include "mcp/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/own.h"
#include "cli/common/options.h"
#include "mcp/tools.h"
#include "policy/policy.h"
#include "sandbox/kernel/program.h"
#include "sandbox/state/registry.h"
#include "store/sha256.h"

#define PREFIX_HEX 12 /* digits of the digest */

/* A sandbox that was idle for so long ends, unless the command line says otherwise: a
 * client may never come back, and its server ends with it. */
#define IDLE "8h"

/* --- flags ----------------------------------------------------------------- */

static const char *const own_flags[] = { "--tools", "--sandbox" };

/* Takes a flag of hutch-mcp's own, "--flag VALUE" or "--flag=VALUE".  Returns the number
 * of its words; 0: the first word is no such flag. */
static int take_flag(char **words, size_t *ret_which, const char **ret, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(own_flags); i++) {
		const size_t len = strlen(own_flags[i]);

		if (strncmp(*words, own_flags[i], len) != 0 ||
		    ((*words)[len] && (*words)[len] != '='))
			continue;
		*ret_which = i;
		*ret = (*words)[len] ? *words + len + 1 : words[1];
		if (!*ret || !**ret)
			return err_set(e, ERR_USAGE, "%s needs a value", own_flags[i]);
		return (*words)[len] ? 1 : 2;
	}
	return 0;
}

/* Takes the flags of hutch-mcp's own, which come first.  Returns how many words they
 * are. */
static int take_flags(char **argv, const char *ret[2], struct err *e)
{
	int taken = 0, more = 1;

	while (argv[taken] && more > 0) {
		size_t which = 0;
		const char *value = NULL;

		more = take_flag(argv + taken, &which, &value, e);
		if (more < 0)
			return -1;
		if (more > 0)
			ret[which] = value;
		taken += more;
	}
	return taken;
}

/* Refuses what would be a sandbox for something else. */
static int check(const struct run_options *o, struct err *e)
{
	if (o->policy->argv.count) {
		(void)err_set(e, ERR_USAGE, "hutch mcp takes no operand, not '%.60s'",
			      o->policy->argv.items[0]);
		return err_remedy(e,
				  "a server of other people in a sandbox: "
				  "hutch run --mcp -- %.60s",
				  o->policy->argv.items[0]);
	}
	if (o->has_main)
		return err_set(e, ERR_USAGE, "--main is no flag of hutch mcp");
	if (o->lease_fd > 0)
		return err_set(e, ERR_USAGE, "--lease is no flag of hutch mcp");
	o->policy->takes_actions = true; /* it needs no command */
	return policy_check(o->policy, e);
}

/* Reads the options of hutch create, to refuse wrong ones before a client waits, and to
 * see which tools have a use. */
static int read_options(struct setup *s, char **argv, uint32_t *ret_tools, struct err *e)
{
	struct policy policy;
	struct run_options options = { .verb = VERB_CREATE,
				       .policy = &policy,
				       .json_fd = -1 };

	policy_init(&policy);
	int rc = options_parse(argv, &options, e);
	s->wants_help = rc == 0 && options.wants_help;
	if (rc == 0 && !s->wants_help)
		rc = check(&options, e);
	*ret_tools = tools_for(&policy);
	policy_done(&policy);
	return rc;
}

/* --- names ----------------------------------------------------------------- */

static int make_prefix(struct setup *s, struct err *e)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	struct sha256 h;
	struct digest d;

	if (!cwd)
		return err_sys(e, "find the working directory");
	sha256_begin(&h);
	sha256_add(&h, cwd, strlen(cwd) + 1);
	for (size_t i = 0; i < s->options.count; i++)
		sha256_add(&h, s->options.items[i], strlen(s->options.items[i]) + 1);
	sha256_end(&h, &d);
	s->prefix = text_format("mcp-%.*s", PREFIX_HEX, d.hex);
	return 0;
}

static bool is_further(const struct setup *s, const char *name, size_t len)
{
	const size_t prefix = strlen(s->prefix);

	return len > prefix + 1 && !strncmp(name, s->prefix, prefix) &&
	       name[prefix] == '-';
}

bool setup_has_sandbox(const struct setup *s, const char *name)
{
	return !strcmp(name, s->name) ||
	       (registry_is_name(name) && is_further(s, name, strlen(name)));
}

bool setup_has_snapshot(const struct setup *s, const char *reference)
{
	static const char registry[] = "localhost/";
	const size_t front = strlen(registry);

	if (strncmp(reference, registry, front) != 0)
		return false;
	AUTO_FREE char *name = text_format("%.*s", (int)strcspn(reference + front, ":"),
					   reference + front);
	return setup_has_sandbox(s, name);
}

char *setup_new_name(const struct setup *s, const char *suffix, struct err *e)
{
	char random[9];

	if (!suffix)
		return hex_random(random, 8, e) < 0
			       ? NULL
			       : text_format("%s-%s", s->prefix, random);
	AUTO_FREE char *name = text_format("%s-%.64s", s->prefix, suffix);
	if (strlen(suffix) == 0 || strlen(suffix) > SETUP_SUFFIX_MAX ||
	    !registry_is_name(name)) {
		(void)err_set(e, ERR_USAGE,
			      "name: it is 1 to %d of A-Z, a-z, 0-9, '_', '.' and '-'",
			      SETUP_SUFFIX_MAX);
		return NULL;
	}
	return text_copy(name);
}

/* --- the whole ------------------------------------------------------------- */

/* Copies the options that are there, and the time after which an idle sandbox ends in
 * front of them, so that they can say otherwise. */
static void copy_options(struct setup *s, char **argv)
{
	list_add(&s->options, "--idle-timeout");
	list_add(&s->options, IDLE);
	for (; *argv; argv++)
		list_add(&s->options, *argv);
}

int setup_parse(struct setup *ret, char **argv, struct err *e)
{
	const char *values[2] = { NULL, NULL };
	uint32_t useful;

	*ret = (struct setup){ 0 };
	const int taken = take_flags(argv, values, e);
	if (taken < 0)
		return -1;
	copy_options(ret, argv + taken);
	if (read_options(ret, argv + taken, &useful, e) < 0)
		return -1;
	if (ret->wants_help)
		return 0;
	ret->tools = useful;
	if (values[0] && tools_choose(values[0], &ret->tools, e) < 0)
		return err_from(e, "--tools");
	if (values[1] && !registry_is_name(values[1]))
		return err_set(e, ERR_USAGE, "--sandbox: '%.80s' is no name", values[1]);
	if (program_find_hutch(&ret->hutch, e) < 0 || make_prefix(ret, e) < 0)
		return -1;
	ret->name = text_copy(values[1] ? values[1] : ret->prefix);
	return 0;
}

void setup_done(struct setup *s)
{
	list_done(&s->options);
	free(s->hutch);
	free(s->prefix);
	free(s->name);
	*s = (struct setup){ 0 };
}

/* Returns how many words an option about the image is; 0: it is another one. */
static size_t image_words(const char *word)
{
	static const char *const names[] = { "--image", "--pull" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const size_t len = strlen(names[i]);

		if (!strncmp(word, names[i], len) && (!word[len] || word[len] == '='))
			return word[len] ? 1 : 2;
	}
	return 0;
}

void setup_words(const struct setup *s, const char *source, const char *name,
		 struct list *ret)
{
	for (size_t i = 0; i < s->options.count; i++) {
		const size_t skipped = source ? image_words(s->options.items[i]) : 0;

		if (skipped)
			i += skipped - 1;
		else
			list_add(ret, s->options.items[i]);
	}
	if (source)
		list_add(ret, source);
	list_add(ret, name);
}

void setup_print_help(void)
{
	(void)puts(
		"hutch mcp [--tools LIST] [--sandbox NAME] [OPTIONS of hutch create]\n\n"
		"A server of the Model Context Protocol on stdin and stdout, whose tools "
		"work in\nsandboxes made with these options.\n\n"
		"  --tools LIST    only these tools, with commas between them\n"
		"  --sandbox NAME  the name of the default sandbox\n\nTools:");
	for (size_t i = 0; i < TOOL_COUNT; i++)
		(void)printf("    %-15s %s\n", tools[i].name, tools[i].title);
	(void)puts("\nOptions: hutch create --help.  More: man hutch-mcp");
}
