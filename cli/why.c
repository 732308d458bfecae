/* hutch why: tells whether a sandbox may do something, and what decides it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/answer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "cli/verbs.h"
#include "cli/why_live.h"
#include "policy/egress_policy.h"
#include "policy/policy.h"
#include "policy/policy_file.h"
#include "policy/rules.h"
#include "sandbox/explain/why.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "sandbox/plan/lookup.h"

struct question {
	struct policy policy;
	struct policy_file settings; /* the settings of the policy that --policy names */
	struct list words;
	struct launch launch;
	bool is_json;
};

/* --- which line of which file ----------------------------------------------------- */

static bool is_said_so(const struct setting *s, const char *line)
{
	AUTO_FREE char *flag = text_format("--%s %s", s->kind->flag, s->value);
	AUTO_FREE char *bare = text_format("--%s", s->kind->flag);

	if (!strcmp(s->kind->flag, "allow")) {
		AUTO_FREE char *rule = egress_policy_line(s->value);
		return !strcmp(line, rule);
	}
	if (!strcmp(s->kind->flag, "volume")) /* a volume's line is written with -v,
					       * not with --volume */
		return !strncmp(line, "-v ", 3) && !strcmp(line + 3, s->value);
	return !strcmp(line, flag) ||
	       (s->kind->type == SETTING_YES && !strcmp(line, bare));
}

/* Adds to the answer the line of the policy file that the deciding setting came
 * from. */
static void tell_origin(const struct question *q, struct answer *a)
{
	for (size_t i = q->settings.count; a->line && i-- > 0;) {
		const struct setting *s = &q->settings.items[i];
		if (!is_said_so(s, a->line))
			continue;
		AUTO_FREE char *flag = a->line;
		a->line = text_format("%s: %s (%s)", s->origin, s->kind->key, flag);
		return;
	}
}

/* --- questions -------------------------------------------------------------------- */

static int ask_path(const struct question *q, const char *verb, const char *path,
		    struct answer *ret)
{
	struct lookup *lookup = lookup_new(&q->launch.plan);
	const struct why why = { .policy = &q->policy,
				 .plan = &q->launch.plan,
				 .lookup = lookup };
	int rc = 0;

	if (!strcmp(verb, "read"))
		why_read(&why, path, ret);
	else if (!strcmp(verb, "write"))
		why_write(&why, path, ret);
	else if (!strcmp(verb, "exec"))
		why_exec(&why, path, ret);
	else
		rc = why_connect(&why, path, ret);
	lookup_free(lookup);
	return rc;
}

static int ask_file(struct question *q, struct answer *ret, struct err *e)
{
	const char *verb = q->words.items[0], *path = q->words.items[1];

	if (launch_plan(&q->launch, e) < 0)
		return -1;
	if (ask_path(q, verb, path, ret) < 0) {
		(void)err_set(e, ERR_USAGE,
			      "connect '%.100s': it takes HOST:PORT, unix:PATH or "
			      "unix:@NAME",
			      path);
		AUTO_FREE char *host = why_host(path);
		return err_remedy(e, "with a port: hutch why connect %.100s:443",
				  *host ? host : "HOST");
	}
	if (!strcmp(verb, "exec") && !ret->is_yes && !ret->change && !strchr(path, '/')) {
		struct err missing;
		list_done(&q->policy.argv);
		list_add(&q->policy.argv, path);
		report_explain_missing(&missing, &q->policy);
		ret->change = *missing.remedy ? text_copy(missing.remedy) : NULL;
	}
	return 0;
}

static int ask_rules(struct question *q, struct answer *ret, struct err *e)
{
	const struct deed deed = { .action = "run",
				   .command = q->words.items[1],
				   .cwd = q->policy.workdir ? q->policy.workdir :
							      "/workspace" };
	struct rules *rules = rules_new(&q->policy.rules);
	struct verdict v = { 0 };

	(void)e;
	if (!rules) {
		answer_set(ret, true, "rules", text_copy("there are no rules"));
		return 0;
	}
	rules_judge(rules, &deed, &v);
	AUTO_FREE char *about = list_join(&v.about, 0, "; ");
	answer_set(
		ret, v.decision == DECISION_ALLOW, "rules",
		v.decision == DECISION_ALLOW ?
			text_format("%s may be done", deed.command) :
			text_format("%s: %s", *about ? about : deed.command, v.reason));
	ret->line = v.rule ? text_format("--rule %s", v.rule) : NULL;
	if (v.decision == DECISION_ASK)
		ret->change = text_copy("a yes to the question: hutch act --confirm");
	verdict_done(&v);
	rules_free(rules);
	return 0;
}

/* --- a system call: the program that knows their names answers -------------------- */

static void list_caps(uint64_t caps, struct list *ret)
{
	for (int n = 0; n < 64; n++) {
		if (!(caps & 1ull << n))
			continue;
		list_add(ret, "--cap");
		list_addf(ret, "CAP_%s", caps_name(n).text);
	}
}

static void list_words(const struct question *q, struct list *ret)
{
	struct utsname host;
	unsigned major, minor;

	list_add(ret, "hutch-seccomp");
	list_add(ret, "why");
	if (q->is_json)
		list_add(ret, "--json");
	if (uname(&host) == 0 && sscanf(host.release, "%4u.%4u", &major, &minor) == 2) {
		list_add(ret, "--kernel");
		list_addf(ret, "%u.%u", major, minor);
	}
	list_caps(q->launch.plan.caps, ret);
	if (q->policy.is_nesting) {
		list_add(ret, "--floor");
		list_add(ret, "nesting");
		list_add(ret, "--cap");
		list_add(ret, "CAP_SYS_ADMIN");
	}
	if (q->launch.plan.pretends)
		list_add(ret, "--pretends");
	if (q->policy.seccomp) {
		struct answer line = { .line = text_format("--seccomp %s",
							   q->policy.seccomp) };
		tell_origin(q, &line);
		list_add(ret, "--line");
		list_add(ret, line.line);
		answer_done(&line);
	} else {
		list_add(ret, "--default");
	}
	for (size_t i = 1; i < q->words.count; i++)
		list_add(ret, q->words.items[i]);
}

static bool is_unix_socket(const struct list *words)
{
	return words->count > 2 && !strcmp(words->items[1], "socket") &&
	       strtoul(words->items[2], NULL, 0) == 1;
}

/* Asks whether a system call is allowed: executes hutch-seccomp, which answers.
 * Returns only if the answer is known without that program, or with an error. */
static int ask_call(struct question *q, struct answer *ret, struct err *e)
{
	struct program compiler = { .fd = -1 };
	struct list words = { 0 };
	AUTO_CLOSE int profile = -1;

	/* The program is opened before root's rights are dropped, since the user that
	 * root changes into may not be able to read it. */
	if (program_open("hutch-seccomp", &compiler, e) < 0)
		return -1;
	if (q->policy.seccomp)
		profile = open(q->policy.seccomp,
			       O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int rc = launch_plan(&q->launch, e);
	if (rc == 0 && q->launch.plan.refuses_unix && is_unix_socket(&q->words)) {
		rc = ask_path(q, "connect", "unix:@", ret);
	} else if (rc == 0) {
		list_words(q, &words);
		if (profile >= 0)
			(void)dup2(profile, 0); /* if dup2(2) fails, stdin is not the
						 * profile */
		(void)fexecve(compiler.fd, words.items, environ);
		rc = err_sys(e, "execute %s", compiler.path);
	}
	program_done(&compiler);
	list_done(&words);
	return rc;
}

/* --- the verb --------------------------------------------------------------------- */

static const struct {
	const char *name;
	const char *operand; /* the first word behind it, which there must be */
	size_t max;	     /* how many words may follow the question's first word */
	int (*ask)(struct question *, struct answer *, struct err *);
} questions[] = {
	{ "read", "PATH", 1, ask_file },
	{ "write", "PATH", 1, ask_file },
	{ "exec", "PATH", 1, ask_file },
	{ "connect", "HOST:PORT|unix:PATH|unix:@NAME", 1, ask_file },
	{ "syscall", "NAME", 7, ask_call },
	{ "act", "COMMAND", 1, ask_rules },
};

/* Explains a first word that is no question.  In front of one it may be the name of a
 * sandbox. */
static int no_question(const struct question *q, struct err *e)
{
	const char *name = q->words.items[0];

	(void)err_set(e, ERR_USAGE, "'%.60s' is no question of hutch why", name);
	for (size_t i = 0; q->words.count > 1 && i < ARRAY_LEN(questions); i++)
		if (!strcmp(questions[i].name, q->words.items[1]))
			return err_remedy(
				e,
				"of a sandbox that lives, connections alone are "
				"known: hutch why %.60s --connect HOST:PORT",
				name);
	return err_remedy(e, "hutch why read|write|exec|connect|syscall|act WHAT");
}

/* Explains that a question has no word behind it, or more than `max`. */
static int bad_words(const struct question *q, const char *operand, size_t max,
		     struct err *e)
{
	char **words = q->words.items;

	if (q->words.count > 1)
		(void)err_set(e, ERR_USAGE, "too many words: '%.60s'", words[max + 1]);
	else
		(void)err_set(e, ERR_USAGE, "hutch why %s: %s is missing", words[0],
			      operand);
	if (q->words.count == 3 && !strcmp(words[0], "connect") && !strchr(words[1], ':'))
		return err_remedy(e, "hutch why connect %.100s:%.10s", words[1],
				  words[2]);
	return err_remedy(e, "hutch why %s %s", words[0], operand);
}

static int ask(struct question *q, struct answer *ret, struct err *e)
{
	const char *name = q->words.count ? q->words.items[0] : NULL;

	for (size_t i = 0; name && i < ARRAY_LEN(questions); i++) {
		if (strcmp(questions[i].name, name))
			continue;
		if (q->words.count > 1 && q->words.count - 1 <= questions[i].max)
			return questions[i].ask(q, ret, e);
		return bad_words(q, questions[i].operand, questions[i].max, e);
	}
	if (name)
		return no_question(q, e);
	(void)options_missing("why", "a question", e);
	return err_remedy(e, "hutch why read|write|exec|connect|syscall|act WHAT");
}

/* Returns whether the question is about a sandbox that has a name: NAME connect WHERE, or
 * NAME --connect WHERE.  The system call connect has arguments, too. */
static bool is_about_live(const struct question *q)
{
	return q->words.count == 3 && !strcmp(q->words.items[1], "connect") &&
	       strcmp(q->words.items[0], "syscall") != 0;
}

/* Such a sandbox has its options already: only --json may stand before its name. */
static int ask_live(char **argv, const struct question *q, struct answer *ret,
		    struct err *e)
{
	const char *name = q->words.items[0];

	while (!strncmp(*argv, "--json", strlen("--json")))
		argv++;
	if (strcmp(*argv, name) != 0)
		return err_set(
			e, ERR_USAGE,
			"hutch why NAME --connect takes no option but --json: %.60s has "
			"the options that it was made with",
			name);
	return why_live(name, q->words.items[2], ret, e);
}

/* Writes the flag --connect HOST:PORT as the question that it stands for, behind all other
 * words. */
static void spell_out(char **argv)
{
	static char question[] = "connect";
	char **at = argv, *value;

	while (*at && strcmp(*at, "--connect") != 0)
		at++;
	if (!*at)
		return;
	*at = question;
	value = at[1];
	if (!value)
		return;
	for (; at[2]; at++)
		at[0] = at[2];
	at[0] = question;
	at[1] = value;
}

/* Reads the question and the flags of the sandbox.  No command is needed, as for a
 * sandbox that takes actions. */
static int read_question(char **argv, struct question *q, struct run_options *o,
			 struct err *e)
{
	if (options_parse(argv, o, e) < 0)
		return -1;
	for (size_t i = 0; i < q->policy.argv.count; i++)
		list_add(&q->words, q->policy.argv.items[i]);
	list_done(&q->policy.argv);
	q->policy.takes_actions = true;
	q->is_json = o->json_fd >= 0;
	return o->wants_help ? 0 : policy_check(&q->policy, e);
}

static int answer(char **argv, struct question *q, struct err *e)
{
	struct run_options options = { .verb = VERB_WHY,
				       .policy = &q->policy,
				       .json_fd = -1,
				       .kept = &q->settings };
	struct answer a = { 0 };
	int code;

	spell_out(argv);
	if (read_question(argv, q, &options, e) < 0)
		return -1;
	if (options.wants_help) {
		options_print_help(VERB_WHY);
		return 0;
	}
	launch_close_others(options.json_fd, -1);
	if (options.json_fd > 2 && dup2(options.json_fd, 1) < 0)
		return err_sys(e, "write to descriptor %d", options.json_fd);
	const int asked = is_about_live(q) ? ask_live(argv, q, &a, e) : ask(q, &a, e);
	if (asked < 0)
		return -1;
	tell_origin(q, &a);
	answer_print(&a, q->is_json, stdout);
	code = a.is_yes ? EXIT_YES : EXIT_NO;
	answer_done(&a);
	return code;
}

int why_main(char **argv)
{
	struct question q = { 0 };
	struct err e;

	policy_init(&q.policy);
	launch_ready();
	launch_init(&q.launch, &q.policy);
	int code = answer(argv, &q, &e);
	if (code < 0) {
		report_masked(&q.policy, &e);
		code = EXIT_HUTCH;
	}
	launch_done(&q.launch);
	list_done(&q.words);
	policy_file_done(&q.settings);
	policy_done(&q.policy);
	return code;
}
