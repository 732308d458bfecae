/* hutch net NAME allow|deny|ask|rm|ls|log|answer: the rules about connections of a live
 * sandbox. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/subcommands.h"
#include "cli/common/table.h"
#include "cli/net_log.h"
#include "cli/verbs.h"
#include "sandbox/launch/result.h"

static const char *const verdicts[] = { "allow", "deny", "ask" };

/* Returns a member that is a number; 0 if there is none. */
static int64_t integer_of(struct json_view object, const char *key)
{
	int64_t number = 0;

	(void)json_view_integer(json_view_get(object, key), &number);
	return number;
}

/* Returns the verdict of a rule, and its target, allocated, with the name that "as" gives
 * to it; NULL: it is no rule. */
static const char *read_rule(struct json_view rule, char **ret_target)
{
	AUTO_FREE char *as = json_view_string(json_view_get(rule, "as"));

	for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
		AUTO_FREE char *target =
			json_view_string(json_view_get(rule, verdicts[i]));
		if (!target)
			continue;
		*ret_target =
			text_format("%s%s%s", target, as ? " as " : "", as ? as : "");
		return verdicts[i];
	}
	*ret_target = NULL;
	return NULL;
}

/* Prints the rule that an answer is about, and says how many connections it has cut. */
static void print_change(struct json_view answer)
{
	AUTO_FREE char *target = NULL;
	const char *verdict = read_rule(json_view_get(answer, "rule"), &target);
	const int64_t cut = integer_of(answer, "cut");

	AUTO_FREE char *line =
		text_format("%s %s", verdict ? verdict : "-", target ? target : "-");
	AUTO_FREE char *safe = term_escape_line(line);
	(void)puts(safe);
	if (cut)
		note_print("note: %lld connection%s cut", (long long)cut,
			   cut == 1 ? " was" : "s were");
}

/* --- allow, deny, ask --------------------------------------------------------------- */

struct addition {
	const char *verdict, *why;
};

/* Each rule stands behind the one before it, and all of them before all others. */
static int add_rules(char **argv, const struct addition *a, struct err *e)
{
	struct client c = { 0 };
	struct json_view answer;
	int result = client_open(&c, argv[0], e);

	if (result < 0)
		return -1;
	for (size_t i = 1; result == 0 && argv[i]; i++) {
		struct buffer b;
		json_write_begin(&b);
		json_write_open(&b, NULL, "{");
		json_write_open(&b, "rule", "{");
		json_write_text(&b, a->verdict, argv[i]);
		if (a->why)
			json_write_text(&b, "why", a->why);
		json_write_close(&b, "}");
		json_write_number(&b, "at", (int64_t)i);
		json_write_close(&b, "}");
		AUTO_FREE char *params = json_write_end(&b);
		result = client_call(&c, "net.add", params, &answer, e);
		if (result == 0)
			print_change(answer);
	}
	client_done(&c);
	return result;
}

static int add_main(char **argv, const char *verdict, const char *about)
{
	struct addition a = { .verdict = verdict };
	AUTO_FREE char *synopsis =
		text_format("hutch net NAME %s [--why TEXT] RULE...", verdict);
	const struct flag flags[] = {
		{ 0, "why", "TEXT", "the reason, which the user is told", NULL, &a.why },
	};
	const struct usage usage = {
		.synopsis = synopsis,
		.about = about,
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 2,
		.operands_max = SIZE_MAX,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(add_rules(argv, &a, &e), &e);
}

static int allow_main(char **argv)
{
	return add_main(argv, "allow",
			"Puts rules that allow connections before all others.");
}

static int deny_main(char **argv)
{
	return add_main(
		argv, "deny",
		"Puts rules that refuse connections before all others, and cuts those\n"
		"that are open.");
}

static int ask_main(char **argv)
{
	return add_main(
		argv, "ask",
		"Puts rules before all others by which a client is asked (hutch net NAME\n"
		"answer).");
}

/* --- rm ----------------------------------------------------------------------------- */

static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word) && strlen(word) < 8;
}

/* The rules that were removed so far, by the numbers that they had then. */
struct removed {
	size_t *numbers; /* owned */
	size_t count;
};

/* Returns the present number of the rule that had the number `n` before anything was
 * removed; 0: it was removed. */
static size_t number_now(const struct removed *r, size_t n)
{
	for (size_t i = 0; i < r->count && n; i++)
		n = n == r->numbers[i] ? 0 : n - (n > r->numbers[i]);
	return n;
}

static int remove_one(struct client *c, const char *word, struct removed *r,
		      struct err *e)
{
	AUTO_FREE char *rule =
		is_number(word)
			? text_format("%zu", number_now(r, strtoul(word, NULL, 10)))
			: json_write_quoted(word);
	AUTO_FREE char *params = text_format("{\"rule\":%s}", rule);
	struct json_view answer;

	if (client_call(c, "net.remove", params, &answer, e) < 0)
		return -1;
	r->numbers = mem_resize(r->numbers, r->count + 1, sizeof(*r->numbers));
	r->numbers[r->count++] = (size_t)integer_of(answer, "index");
	print_change(answer);
	return 0;
}

static int remove_rules(char **argv, struct err *e)
{
	struct removed r = { 0 };
	struct client c = { 0 };
	int result = client_open(&c, argv[0], e);

	if (result < 0)
		return -1;
	for (argv++; result == 0 && *argv; argv++)
		result = remove_one(&c, *argv, &r, e);
	free(r.numbers);
	client_done(&c);
	return result;
}

static int rm_net_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch net NAME rm RULE|NUMBER...",
		.about =
			"Removes rules, by their target or by the number that hutch net NAME ls\n"
			"prints, and cuts the connections that no rule allows any more.",
		.operands_min = 2,
		.operands_max = SIZE_MAX,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(remove_rules(argv, &e), &e);
}

/* --- ls ----------------------------------------------------------------------------- */

static void print_rules(struct json_view rules)
{
	static const char *const heads[] = { "NUMBER", "VERDICT", "RULE", "WHY" };
	struct table t = { .columns = ARRAY_LEN(heads) };
	struct json_view_place at = { 0 };
	size_t number = 0;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&t, text_copy(heads[i]));
	while (json_view_step(rules, &at)) {
		char *target = NULL;
		const char *verdict = read_rule(at.value, &target);
		table_add(&t, text_format("%zu", ++number));
		table_add(&t, verdict ? text_copy(verdict) : NULL);
		table_add(&t, target);
		table_add(&t, json_view_string(json_view_get(at.value, "why")));
	}
	table_print(&t, stdout);
	table_done(&t);
}

static void print_questions(struct json_view questions)
{
	static const char *const heads[] = { "QUESTION", "NAME", "PORT" };
	struct table t = { .columns = ARRAY_LEN(heads) };
	struct json_view_place at = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&t, text_copy(heads[i]));
	while (json_view_step(questions, &at)) {
		table_add(&t, text_format("%lld", (long long)integer_of(at.value, "id")));
		table_add(&t, json_view_string(json_view_get(at.value, "name")));
		table_add(&t,
			  text_format("%lld", (long long)integer_of(at.value, "port")));
	}
	if (t.cells.count > ARRAY_LEN(heads)) {
		(void)puts("");
		table_print(&t, stdout);
	}
	table_done(&t);
}

static void add_connection(struct table *t, struct json_view c, int64_t now)
{
	AUTO_FREE char *since = json_view_string(json_view_get(c, "since"));

	table_add(t, text_format("%lld", (long long)integer_of(c, "id")));
	table_add(t, json_view_string(json_view_get(c, "name")));
	table_add(t, text_format("%lld", (long long)integer_of(c, "port")));
	table_add(t, json_view_string(json_view_get(c, "address")));
	table_add(t, table_bytes((uint64_t)integer_of(c, "up")));
	table_add(t, table_bytes((uint64_t)integer_of(c, "down")));
	table_add(t, table_age(since, now));
}

/* `now`: in seconds since 1970. */
static void print_connections(struct json_view answer, int64_t now)
{
	static const char *const heads[] = { "CONNECTION", "NAME",     "PORT",	"ADDRESS",
					     "SENT",	   "RECEIVED", "OPENED" };
	const struct json_view newest = json_view_get(answer, "connections");
	struct table t = { .columns = ARRAY_LEN(heads) };
	const int64_t open = integer_of(answer, "open");
	struct json_view_place at = { 0 };
	int64_t listed = 0;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&t, text_copy(heads[i]));
	for (; json_view_step(newest, &at); listed++)
		add_connection(&t, at.value, now);
	if (listed) {
		(void)puts("");
		table_print(&t, stdout);
	}
	table_done(&t);
	if (open > listed)
		note_print("note: %lld connections are open; the newest %lld are listed",
			   (long long)open, (long long)listed);
}

static int list_rules(const char *name, bool is_json, struct err *e)
{
	struct client c = { 0 };
	struct json_view answer;

	if (client_open(&c, name, e) < 0)
		return -1;
	int result = client_call(&c, "net.list", NULL, &answer, e);
	if (result == 0 && is_json) {
		(void)printf("%.*s\n", (int)answer.len, answer.text);
	} else if (result == 0) {
		print_rules(json_view_get(answer, "rules"));
		print_questions(json_view_get(answer, "questions"));
		print_connections(answer, (int64_t)time(NULL));
	}
	client_done(&c);
	return result;
}

static int ls_net_main(char **argv)
{
	bool is_json = false;
	const struct flag flags[] = {
		{ 0, "json", NULL, "an object", &is_json, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch net NAME ls [--json]",
		.about =
			"Lists the rules about connections in their order, questions that wait, and\n"
			"open connections.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(list_rules(argv[0], is_json, &e), &e);
}

/* --- log ---------------------------------------------------------------------------- */

static int log_main(char **argv)
{
	struct net_log log = { 0 };
	const struct flag flags[] = {
		{ 'f', "follow", NULL, "and what comes, questions too", &log.follows,
		  NULL },
		{ 0, "json", NULL, "an object a line", &log.is_json, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch net NAME log [-f] [--json]",
		.about = "Prints which connections were refused, and why.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	log.name = argv[0];
	return report_end(net_log_print(&log, &e), &e);
}

/* --- answer ------------------------------------------------------------------------- */

struct reply {
	const char *id, *verdict, *duration; /* as typed */
};

static int check_reply(const struct reply *r, struct err *e)
{
	if (!is_number(r->id)) {
		(void)err_set(e, ERR_USAGE, "'%.60s' is no number of a question", r->id);
		return err_remedy(e, "hutch net NAME log -f prints the questions");
	}
	if (strcmp(r->verdict, "yes") != 0 && strcmp(r->verdict, "no") != 0)
		return err_set(e, ERR_USAGE, "'%.60s' is no answer: yes or no",
			       r->verdict);
	if (strcmp(r->duration, "once") != 0 && strcmp(r->duration, "sandbox") != 0)
		return err_set(e, ERR_USAGE, "--for %.60s: once or sandbox was expected",
			       r->duration);
	return 0;
}

static int answer(const char *name, const struct reply *r, struct err *e)
{
	struct client c = { 0 };
	struct json_view got;

	if (check_reply(r, e) < 0 || client_open(&c, name, e) < 0)
		return -1;
	AUTO_FREE char *params = text_format(
		"{\"id\":%lu,\"verdict\":\"%s\",\"remember\":%s}",
		strtoul(r->id, NULL, 10), strcmp(r->verdict, "yes") ? "deny" : "allow",
		strcmp(r->duration, "once") ? "true" : "false");
	int result = client_call(&c, "net.answer", params, &got, e);
	client_done(&c);
	return result;
}

static int answer_main(char **argv)
{
	struct reply r = { .duration = "once" };
	const struct flag flags[] = {
		{ 0, "for", "once|sandbox", "how long it holds: once (default), sandbox",
		  NULL, &r.duration },
	};
	const struct usage usage = {
		.synopsis = "hutch net NAME answer [--for once|sandbox] ID yes|no",
		.about = "Answers a question of a rule that asks.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 3,
		.operands_max = 3,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	r.id = argv[1];
	r.verdict = argv[2];
	return report_end(answer(argv[0], &r, &e), &e);
}

/* --- hutch net ---------------------------------------------------------------------- */

static const struct part list_of[] = {
	{ "ls", "list the rules, questions that wait, and open connections",
	  ls_net_main },
	{ "allow", "allow connections", allow_main },
	{ "deny", "refuse connections, and cut those that are open", deny_main },
	{ "ask", "have a client asked", ask_main },
	{ "rm", "remove rules", rm_net_main },
	{ "log", "what was refused; with -f also what comes, and questions", log_main },
	{ "answer", "answer a question", answer_main },
};

static bool is_verb(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(list_of); i++)
		if (!strcmp(word, list_of[i].name))
			return true;
	return false;
}

/* The sandbox's name stands before the verb.  The order of other verbs of hutch is
 * accepted too, where the second word is no verb. */
int net_main(char **argv)
{
	static const struct subcommands parts = {
		.verb = "net",
		.about = "Rules about connections of a sandbox that has a name.",
		.operand = "NAME",
		.list = list_of,
		.count = ARRAY_LEN(list_of),
	};
	char *name = argv[0];

	if (name && *name != '-' && !argv[1] && !is_verb(name))
		argv[0] = NULL; /* a verb is missing */
	else if (name && *name != '-' && argv[1] &&
		 (is_verb(argv[1]) || !is_verb(name))) {
		argv[0] = argv[1];
		argv[1] = name;
	}
	return subcommands_main(argv, &parts);
}
