#include "cli/common/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/foreign_flags.h"
#include "cli/common/option_table.h"
#include "policy/policy.h"
#include "policy/policy_file.h"

/* The table own_options lists, for a flag, the only verbs that accept it.  A verb
 * that makes a sandbox accepts every flag that the table does not reserve for others;
 * any other verb accepts only the flags that the table gives to it. */
#define BOXES	 (VERB_CREATE | VERB_FORK) /* their sandbox lives on when they return */
#define MAKERS	 (VERB_RUN | VERB_ACT | BOXES | VERB_WHY)
#define COMMANDS (VERB_EXEC | VERB_SHELL)
#define VARIED	 (MAKERS | COMMANDS | VERB_START) /* verbs that take variables */

static const struct {
	const char *name;
	unsigned verbs;
} own_options[] = {
	{ "env", VARIED },
	{ "env-file", VARIED },
	{ "secret", VARIED },
	{ "secret-file", VARIED },
	{ "workdir", MAKERS | COMMANDS },
	{ "user", MAKERS | COMMANDS },
	{ "timeout", MAKERS | COMMANDS },
	{ "quiet", VARIED },
	{ "help", VARIED },
	{ "interactive", VERB_RUN | VERB_EXEC },
	{ "tty", VERB_RUN | VERB_EXEC | VERB_WHY },
	{ "detach", VERB_EXEC },
	{ "stdio", VERB_RUN },
	{ "mcp", VERB_RUN },
	{ "json", VERB_RUN | BOXES | VERB_START | VERB_WHY },
	{ "rm", VERB_RUN | BOXES },
	{ "entrypoint", VERB_RUN | BOXES },
	{ "learn", VERB_RUN },
	{ "name", VERB_RUN | VERB_ACT },
	{ "image", MAKERS & ~VERB_FORK },
	{ "pull", MAKERS & ~VERB_FORK },
	{ "stream", VERB_ACT },
	{ "confirm", VERB_ACT },
	{ "plugin", VERB_ACT | BOXES },
	{ "rule", VERB_ACT | BOXES | VERB_WHY },
	{ "dry-run", VERB_RUN | VERB_ACT },
	{ "ttl", BOXES },
	{ "idle-timeout", BOXES },
	{ "lint", VERB_ACT | BOXES },
	{ "sample", BOXES },
	{ "keep", BOXES },
	{ "main", BOXES },
	{ "restart", BOXES },
	{ "stop-signal", BOXES },
	{ "stop-timeout", BOXES },
	{ "label", BOXES },
	{ "lease", BOXES },
};

static bool has_option(enum verb verb, const struct option *o)
{
	for (size_t i = 0; i < ARRAY_LEN(own_options); i++)
		/* the first letter alone tells most names apart */
		if (*own_options[i].name == *o->name &&
		    !strcmp(own_options[i].name, o->name))
			return own_options[i].verbs & verb;
	return verb & MAKERS;
}

#define COMMAND_CODES                                                                          \
	"\nExit codes: the command's own; 128+N ended by signal N; 124 timed out;\n125 hutch " \
	"failed; 126 found but not run; 127 not found."

static void print_option(const struct option *o)
{
	const char *value = !o->argument	  ? ""
			    : *o->argument == '[' ? "[=FD]"
						  : o->argument;
	AUTO_FREE char *flag = text_format("  %c%c --%s%s%s", o->letter ? '-' : ' ',
					   o->letter ? o->letter : ' ', o->name,
					   *value && *value != '[' ? " " : "", value);

	(void)printf("%-36s %s\n", flag, o->help);
}

static const struct {
	enum verb verb;
	const char *name, *usage, *end;
} helps[] = {
	{ VERB_RUN, "run",
	  "hutch run [OPTIONS] [--] CMD [ARG...]\n\n"
	  "Runs one command in a fresh sandbox.  Its exit code is hutch's.\n\n",
	  COMMAND_CODES "  More: man hutch-run\n" },
	{ VERB_ACT, "act",
	  "hutch act [OPTIONS]\nhutch act NAME [--stream] [--confirm]\n\nA fresh sandbox, or the one with that "
	  "name, that does actions: JSON lines on\nstdin, one observation a line on stdout.\n\n",
	  "\nExit codes: 0 at the end of input; 124 timed out; 125 hutch failed, or the\nsandbox "
	  "ended; 128+N hutch was ended by signal N.  More: man hutch-act\n" },
	{ VERB_CREATE, "create",
	  "hutch create [OPTIONS] NAME\nhutch create --main [OPTIONS] NAME [-- ARG...]\n\nA sandbox "
	  "that lives on under this name, for hutch exec, shell, act, stop.  With\n--main it lives "
	  "as long as its main process.\n\n",
	  "\nExit codes: 0 when it is ready; 125 hutch failed; of the main process: 126 found\nbut "
	  "not run, 127 not found.  More: man hutch-create\n" },
	{ VERB_FORK, "fork",
	  "hutch fork [OPTIONS] SANDBOX|SNAPSHOT NAME [-- ARG...]\n\nA sandbox that lives on under this name "
	  "and whose root begins as that of another\none is now, or as a snapshot has it.\n\n",
	  "\nExit codes: 0 when it is ready; 125 hutch failed.  More: man hutch-fork\n" },
	{ VERB_START, "start",
	  "hutch start [OPTIONS] NAME\n\nThe sandbox of this name, which was made with --keep and has "
	  "ended, once more:\nwith the same options, image and files.\n\n",
	  "\nExit codes: 0 when it is ready; 125 hutch failed.  More: man hutch-start\n" },
	{ VERB_WHY, "why",
	  "hutch why [OPTIONS] read|write|exec PATH\nhutch why [OPTIONS] connect HOST:PORT|unix:PATH|"
	  "unix:@NAME\nhutch why [OPTIONS] syscall NAME [ARGUMENT...]\nhutch why [OPTIONS] act "
	  "COMMAND\nhutch why [--json] NAME --connect HOST:PORT\n\nWhether a sandbox with these options, "
	  "or the one with this name, may do that,\nand what decides.  Nothing is started.\n\n",
	  "\nExit codes: 0 yes; 1 no; 125 there is no answer.  More: man hutch-why\n" },
	{ VERB_EXEC, "exec",
	  "hutch exec [OPTIONS] NAME [--] CMD [ARG...]\n\n"
	  "Runs a command in a sandbox that has a name.  Its exit code is hutch's.\n\n",
	  COMMAND_CODES "\nMore: man hutch-exec\n" },
	{ VERB_SHELL, "shell",
	  "hutch shell NAME [OPTIONS]\n\n"
	  "A shell in a sandbox that has a name.  Its exit code is hutch's.\n\n",
	  COMMAND_CODES "\nMore: man hutch-shell\n" },
};

static const char *verb_name(enum verb verb)
{
	size_t h = 0;

	while (h + 1 < ARRAY_LEN(helps) && helps[h].verb != verb)
		h++;
	return helps[h].name;
}

void options_print_help(enum verb verb)
{
	for (size_t h = 0; h < ARRAY_LEN(helps); h++) {
		if (helps[h].verb != verb)
			continue;
		(void)printf("%s", helps[h].usage);
		for (size_t i = 0; i < option_count; i++)
			if (has_option(verb, &option_table[i]))
				print_option(&option_table[i]);
		(void)printf("%s", helps[h].end);
	}
}

int options_missing(const char *verb, const char *operand, struct err *e)
{
	return err_set(e, ERR_USAGE, "hutch %s: %s is missing", verb, operand);
}

/* Sets the error about --name for a verb that has no such flag. */
static int wrong_name(enum verb verb, struct err *e)
{
	if (!(verb & BOXES))
		return err_set(e, ERR_USAGE,
			       "--name is a flag of hutch run and hutch act");
	(void)err_set(e, ERR_USAGE, "hutch %s takes the name as its last word",
		      verb_name(verb));
	return err_remedy(e, "leave --name out: hutch %s [OPTIONS] %sNAME",
			  verb_name(verb), verb == VERB_FORK ? "SANDBOX|SNAPSHOT " : "");
}

/* Says that the flag belongs to another verb. */
static int tell_other_verb(enum verb verb, const struct option *o, struct err *e)
{
	if (!strcmp(o->name, "name"))
		return wrong_name(verb, e);
	if (verb == VERB_FORK && has_option(VERB_CREATE, o))
		return err_set(e, ERR_USAGE,
			       "--%s is no flag of hutch fork, which has its image "
			       "from the one that is forked",
			       o->name);
	if (verb == VERB_START)
		return err_set(e, ERR_USAGE,
			       "--%s is no flag of hutch start: a sandbox is started "
			       "again as it was made",
			       o->name);
	if (verb == VERB_EXEC || verb == VERB_SHELL)
		return err_set(e, ERR_USAGE, "--%s is no flag of hutch %s", o->name,
			       verb_name(verb));
	if (has_option(VERB_CREATE, o) && !has_option(VERB_RUN, o))
		return err_set(e, ERR_USAGE, "--%s is a flag of hutch %screate", o->name,
			       has_option(VERB_ACT, o) ? "act and hutch " : "");
	if (verb == VERB_RUN)
		return err_set(e, ERR_USAGE, "--%s is a flag of hutch %s", o->name,
			       has_option(VERB_ACT, o) ? "act" : "exec");
	if (verb & BOXES)
		return err_set(e, ERR_USAGE,
			       "--%s makes no sense for hutch %s, which runs no "
			       "command",
			       o->name, verb_name(verb));
	return err_set(e, ERR_USAGE,
		       "--%s makes no sense for hutch act, whose stdin and stdout "
		       "are actions and observations",
		       o->name);
}

/* Fills in the error that the flag belongs to another verb. */
static int wrong_verb(enum verb verb, const struct option *o, struct err *e)
{
	(void)tell_other_verb(verb, o, e);
	return foreign_flags_remedy(verb_name(verb), o->name, strlen(o->name), e);
}

static const struct option *find_name(const char *name, size_t len)
{
	for (size_t i = 0; i < option_count; i++) {
		const char *other = option_table[i].name;
		if (*other == *name && !strncmp(other, name, len) && !other[len])
			return &option_table[i];
	}
	return NULL;
}

static const struct option *find_letter(char letter)
{
	for (size_t i = 0; i < option_count; i++)
		if (letter && option_table[i].letter == letter)
			return &option_table[i];
	return NULL;
}

/* Fills in the error about an unknown flag: it tells flags that other tools have from
 * typing errors. */
static int unknown_name(enum verb verb, const char *word, size_t len, struct err *e)
{
	struct nearest n;

	if (foreign_flags_explain(verb_name(verb), word, len, e))
		return -1;
	nearest_init(&n, word, len);
	for (size_t i = 0; i < option_count; i++)
		if (has_option(verb, &option_table[i]))
			nearest_try(&n, option_table[i].name);
	(void)err_set(e, ERR_USAGE, "unknown flag --%.*s", (int)(len < 60 ? len : 60),
		      word);
	(void)nearest_suggest(&n, "--", e);
	return err_remedy(e,
			  "hutch %s --help lists them; a command that starts with - goes "
			  "behind --",
			  verb_name(verb));
}

/* Keeps the flag as a policy setting; relative paths in its value are made absolute,
 * since the policy may be used in another folder. */
static int note(const struct option *o, struct run_options *ret, const char *value,
		struct err *e)
{
	AUTO_FREE char *here = getcwd(NULL, 0);

	return policy_file_say(ret->kept, o->name, value, here ? here : ".", e);
}

static int take(const struct option *o, struct run_options *ret, const char *value,
		struct err *e)
{
	if (option_is_early(o) == ret->is_late)
		return 0;
	if (ret->is_late && ret->notes && note(o, ret, value, e) < 0)
		return -1;
	/* A policy's `network: none` gives way to --allow, and a flag does not. */
	if (!strcmp(o->name, "network"))
		ret->policy->has_network_flag = true;
	if (!strcmp(o->name, "entrypoint"))
		ret->has_entrypoint_flag = true;
	return o->take(ret, value, e);
}

/* Finds a flag that the verb has.  Mostly a flag that is given many times is given many
 * times in turn. */
static const struct option *find_own(struct run_options *ret, const char *name,
				     size_t len, struct err *e)
{
	const struct option *o = ret->known;

	if (o && !strncmp(o->name, name, len) && !o->name[len])
		return o;
	o = find_name(name, len);
	if (!o)
		(void)unknown_name(ret->verb, name, len, e);
	else if (has_option(ret->verb, o))
		ret->known = o;
	else
		(void)wrong_verb(ret->verb, o, e);
	return ret->known == o ? o : NULL;
}

/* Reads a long flag: "--name", "--name=value", or "--name" with the value in the
 * next word. */
static int parse_long(struct run_options *ret, char ***at, struct err *e)
{
	const char *word = **at + 2;
	size_t len = strcspn(word, "=");
	const char *value = word[len] ? word + len + 1 : NULL;
	const struct option *o = find_own(ret, word, len, e);

	if (!o)
		return -1;
	if (value && !o->argument)
		return err_set(e, ERR_USAGE, "--%s takes no value", o->name);
	if (!value && o->argument && *o->argument != '[') {
		char shown[40] = "--";
		(void)strncat(shown, o->name, sizeof(shown) - sizeof("--"));
		value = *++*at;
		if (flags_check_value(shown, o->argument, value, e) < 0)
			return -1;
		ret->last_flag = o->name;
		ret->last_value = value;
	}
	return take(o, ret, value, e);
}

static int unknown_letter(enum verb verb, const char *word, const char *letter,
			  struct err *e)
{
	if (foreign_flags_explain(verb_name(verb), letter, 1, e))
		return -1;
	(void)flags_unknown_letter(word, letter, e);
	return err_remedy(e, "hutch %s --help lists them", verb_name(verb));
}

/* Refuses "-memory", which would be read as -m with the value "emory". */
static int check_dashes(enum verb verb, const char *word, struct err *e)
{
	const size_t len = strcspn(word + 1, "=");

	if (len < 2 || !find_name(word + 1, len))
		return 0;
	(void)err_set(e, ERR_USAGE, "unknown flag -%.*s; is it --%.*s?", (int)len,
		      word + 1, (int)len, word + 1);
	return err_remedy(e, "hutch %s --help lists them", verb_name(verb));
}

/* Reads a word of one-letter flags: "-it", "-v X", "-vX". */
static int parse_letters(struct run_options *ret, char ***at, struct err *e)
{
	const char *word = **at;

	if (check_dashes(ret->verb, word, e) < 0)
		return -1;
	for (const char *letter = word + 1; *letter; letter++) {
		const struct option *o = find_letter(*letter);
		if (!o)
			return unknown_letter(ret->verb, word, letter, e);
		if (!has_option(ret->verb, o))
			return wrong_verb(ret->verb, o, e);
		if (!o->argument) {
			if (take(o, ret, NULL, e) < 0)
				return -1;
			continue;
		}
		const char shown[] = { '-', o->letter, '\0' };
		const char *value = letter[1] ? letter + 1 : *++*at;
		if (flags_check_value(shown, o->argument, value, e) < 0)
			return -1;
		ret->last_flag = o->name;
		ret->last_value = letter[1] ? NULL : value;
		return take(o, ret, value, e);
	}
	return 0;
}

/* Reads flags; `at` is moved to the first word that is no flag. */
static int parse_flags(struct run_options *ret, char ***at, struct err *e)
{
	for (; **at && (**at)[0] == '-' && (**at)[1]; ++*at) {
		ret->last_value = NULL;
		if (!strcmp(**at, "--")) {
			++*at;
			ret->has_dashes = true;
			break;
		}
		if (((**at)[1] == '-' ? parse_long(ret, at, e)
				      : parse_letters(ret, at, e)) < 0)
			return -1;
		if (!**at) /* a flag has taken the last word as its value, so no word
			    * is left */
			break;
	}
	return 0;
}

static int apply(struct run_options *ret, const struct setting *s, struct err *e)
{
	const struct option *o = find_name(s->kind->flag, strlen(s->kind->flag));
	bool is_yes = s->kind->type == SETTING_YES;

	if (!o)
		return err_set(e, ERR_INTERNAL, "there is no flag --%s", s->kind->flag);
	if (!has_option(ret->verb, o) || (is_yes && strcmp(s->value, "true") != 0))
		return 0;
	return o->take(ret, is_yes ? NULL : s->value, e);
}

int options_apply(struct run_options *ret, const struct policy_file *s, struct err *e)
{
	for (size_t i = 0; i < s->count; i++) {
		if (apply(ret, &s->items[i], e) == 0)
			continue;
		AUTO_FREE char *where = text_format("%.300s: %s", s->items[i].origin,
						    s->items[i].kind->key);
		return err_from(e, where);
	}
	return 0;
}

/* Reads all policies that --policy names, and makes one of them; a later policy
 * replaces settings of an earlier one. */
static int parse_policies(char **argv, struct run_options *ret, struct err *e)
{
	struct policy_file s = { 0 };

	ret->is_late = false;
	ret->settings = &s;
	int rc = parse_flags(ret, &argv, e);
	if (rc == 0 && options_apply(ret, &s, e) < 0)
		rc = err_in(e, "--policy");
	ret->settings = NULL;
	if (ret->kept)
		*ret->kept = s;
	else
		policy_file_done(&s);
	return rc;
}

/* Refuses Landlock isolation for a sandbox that lives on or takes actions: such a
 * sandbox needs an executor as pid 1, which Landlock isolation does not have. */
static int check_isolation(const struct run_options *o, struct err *e)
{
	if (o->policy->isolation != ISOLATION_LANDLOCK || !(o->verb & MAKERS & ~VERB_RUN))
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "hutch %s needs namespaces: --isolation landlock is for "
		      "hutch run",
		      verb_name(o->verb));
	return err_remedy(
		e,
		"leave it out; if user namespaces are refused here, hutch doctor says by what");
}

/* Explains a command that is missing because the last flag has taken it as its value, as
 * in "hutch run --workspace true". */
static int check_swallowed(const struct run_options *o, struct err *e)
{
	if (o->verb != VERB_RUN || o->wants_help || o->policy->argv.count ||
	    o->policy->image == IMAGE_STORE || !o->last_value)
		return 0;
	(void)err_set(e, ERR_USAGE, "no command given");
	return err_remedy(e, "'%.60s' is the value of --%s; the command comes behind it",
			  o->last_value, o->last_flag);
}

/* Refuses to give a server of the Model Context Protocol another stdin and stdout than
 * pipes. */
static int check_mcp(const struct run_options *o, struct err *e)
{
	const struct policy *p = o->policy;

	if (!p->is_server || !(p->has_terminal || p->inherits_stdio))
		return 0;
	(void)err_set(e, ERR_USAGE, "--mcp and %s exclude each other",
		      p->has_terminal ? "-t" : "--stdio inherit");
	return err_remedy(e, "leave %s out: the protocol's messages go through pipes",
			  p->has_terminal ? "-t" : "--stdio inherit");
}

int options_parse(char **argv, struct run_options *ret, struct err *e)
{
	char **at = argv;

	if (parse_policies(argv, ret, e) < 0)
		return -1;
	const size_t named = ret->policy->volume_count;
	ret->is_late = true;
	if (parse_flags(ret, &at, e) < 0)
		return -1;
	if (*at && !ret->has_dashes && foreign_flags_check_dash(*at, e) < 0)
		return -1;
	policy_prefer(ret->policy, named);
	for (; *at; at++)
		list_add(&ret->policy->argv, *at);
	ret->policy->takes_actions = ret->verb == VERB_ACT;
	if (check_swallowed(ret, e) < 0 || check_mcp(ret, e) < 0)
		return -1;
	return check_isolation(ret, e);
}
