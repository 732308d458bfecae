#include "policy/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/commands.h"
#include "policy/json/json.h"
#include "policy/protect.h"
#include "policy/units.h"
#include "policy/wildcard.h"

#define ANY_WORDS "**"

/* The kinds of action that a rule can name.  In a set of kinds, bit N stands for kind
 * N. */
enum deed_kind {
	DEED_RUN,
	DEED_READ,
	DEED_WRITE,
	DEED_EDIT,
	DEED_LIST,
	DEED_GLOB,
	DEED_STAT,
	DEED_MOVE,
	DEED_REMOVE,
	DEED_MKDIR,
	DEED_GREP,
	DEED_ENV,
	DEED_GIT_CLONE,
	DEED_GIT_BRANCH,
	DEED_GIT_CHANGES,
	DEED_GIT_DIFF,
	DEED_GIT_SETUP,
	DEED_INSTALL_GIT_HOOKS,
	DEED_MICROAGENTS,
	DEED_PLUGIN, /* any action of a plugin */
	DEED_KINDS
};

static const char *const actions[] = {
	[DEED_RUN] = "run",
	[DEED_READ] = "read",
	[DEED_WRITE] = "write",
	[DEED_EDIT] = "edit",
	[DEED_LIST] = "list",
	[DEED_GLOB] = "glob",
	[DEED_STAT] = "stat",
	[DEED_MOVE] = "move",
	[DEED_REMOVE] = "remove",
	[DEED_MKDIR] = "mkdir",
	[DEED_GREP] = "grep",
	[DEED_ENV] = "env",
	[DEED_GIT_CLONE] = "git_clone",
	[DEED_GIT_BRANCH] = "git_branch",
	[DEED_GIT_CHANGES] = "git_changes",
	[DEED_GIT_DIFF] = "git_diff",
	[DEED_GIT_SETUP] = "git_setup",
	[DEED_INSTALL_GIT_HOOKS] = "install_git_hooks",
	[DEED_MICROAGENTS] = "microagents",
	[DEED_PLUGIN] = "plugin",
};
_Static_assert(ARRAY_LEN(actions) == DEED_KINDS, "an action has no name");
_Static_assert(DEED_KINDS <= 32, "a set of actions has 32 bits");

#define RUN_BIT	   (1u << DEED_RUN)
#define READ_BIT   (1u << DEED_READ)
#define WRITE_BITS (1u << DEED_WRITE | 1u << DEED_EDIT)
#define ENV_BIT	   (1u << DEED_ENV)

static const char *const decisions[] = {
	[DECISION_ALLOW] = "allow",
	[DECISION_ASK] = "ask",
	[DECISION_DENY] = "deny",
};

static const char *const risks[] = {
	[RISK_LOW] = "low",
	[RISK_MEDIUM] = "medium",
	[RISK_HIGH] = "high",
};

/* A rule's pattern for a command: a list of patterns for its words, in order. */
struct line {
	struct list words;
	size_t first_len; /* length of the first pattern in bytes */
	bool is_plain;	  /* the first pattern is a program's name, without wildcards
			   * and slashes */
};

/* A command of a `run` that is compared with the rules. */
struct candidate {
	const struct list *words;
	const char *name; /* the program's name */
	size_t len;
};

struct rule {
	char *text; /* owned: the rule as the user wrote it, in JSON */
	uint32_t actions; /* bits by enum deed_kind: the kinds of action to which the
			   * rule applies; 0: all */
	struct line *lines; /* owned; patterns of commands, one of which must match */
	size_t line_count;
	struct protect *paths; /* owned; the rule's path patterns; NULL: the rule has
				* none */
	uint64_t larger; /* with has_larger: the rule applies only to writes of more
			  * bytes than this */
	bool has_larger;
	enum decision decision;
	enum risk risk;
	char *reason; /* owned; the reason that the agent is told */
};

/* The indexes of the rules in one bucket of the hash table, ascending. */
struct bucket {
	uint32_t *numbers; /* owned */
	size_t count;
};

#define BUCKETS 256
#define GENERAL BUCKETS /* the bucket of rules that may match any program */

struct rules {
	struct rule *items; /* owned; the compiled rules */
	size_t count;
	struct bucket buckets[BUCKETS + 1]; /* by a hash of the program's name; the last
					     * one is GENERAL */
};

const char *risk_name(enum risk risk)
{
	return risks[risk];
}

/* --- what a rule says ------------------------------------------------------------- */

static int find_word(const struct json_at *at, const char *const *words, size_t count,
		     size_t *ret, struct err *e)
{
	const char *text;

	if (json_string(at, &text, e) < 0)
		return -1;
	for (*ret = 0; *ret < count; (*ret)++)
		if (!strcmp(words[*ret], text))
			return 0;
	return err_set(e, ERR_USAGE, "%s: '%.40s' is none that is known", at->place,
		       text);
}

/* Calls `take` for a string, or for each string of an array. */
static int each_string(const struct json_at *at,
		       int (*take)(struct rule *, const struct json_at *, struct err *),
		       struct rule *r, struct err *e)
{
	struct json_at item = { 0 };
	bool has_one = false;

	if (json_type(at) != JSON_ARRAY)
		return take(r, at, e);
	for (; json_step(at, &item); has_one = true)
		if (take(r, &item, e) < 0)
			return -1;
	return has_one ? 0 : err_set(e, ERR_USAGE, "%s: it is empty", at->place);
}

static int take_action(struct rule *r, const struct json_at *at, struct err *e)
{
	size_t number;

	if (find_word(at, actions, ARRAY_LEN(actions), &number, e) < 0)
		return -1;
	r->actions |= 1u << number;
	return 0;
}

static int take_command(struct rule *r, const struct json_at *at, struct err *e)
{
	const char *text;

	if (json_string(at, &text, e) < 0)
		return -1;
	r->lines = mem_resize(r->lines, r->line_count + 1, sizeof(*r->lines));
	struct line *line = &r->lines[r->line_count++];
	*line = (struct line){ 0 };
	while (*(text += strspn(text, " "))) {
		size_t len = strcspn(text, " ");
		list_addf(&line->words, "%.*s", (int)len, text);
		text += len;
	}
	if (!line->words.count)
		return err_set(e, ERR_USAGE, "%s: it is empty", at->place);
	line->first_len = strlen(line->words.items[0]);
	line->is_plain = !strpbrk(line->words.items[0], "*?/");
	return 0;
}

static int read_paths(const struct json_at *at, struct list *ret, struct err *e)
{
	struct json_at item = { 0 };
	const char *text;

	if (json_type(at) != JSON_ARRAY) {
		if (json_string(at, &text, e) < 0)
			return -1;
		list_add(ret, text);
	} else {
		while (json_step(at, &item)) {
			if (json_string(&item, &text, e) < 0)
				return -1;
			list_add(ret, text);
		}
	}
	for (size_t i = 0; i < ret->count; i++)
		if (protect_check(ret->items[i], e) < 0)
			return err_in(e, "%s", at->place);
	return ret->count ? 0 : err_set(e, ERR_USAGE, "%s: it is empty", at->place);
}

static int take_paths(struct rule *r, const struct json_at *at, struct err *e)
{
	struct list paths = { 0 };
	int result = read_paths(at, &paths, e);

	if (result == 0)
		r->paths = protect_new(&paths);
	list_done(&paths);
	return result;
}

static int take_larger(struct rule *r, const struct json_at *at, struct err *e)
{
	const char *text;

	r->has_larger = true;
	if (json_type(at) != JSON_STRING)
		return json_uint(at, &r->larger, e);
	if (json_string(at, &text, e) < 0)
		return -1;
	return units_parse_bytes(text, &r->larger, e) < 0 ? err_in(e, "%s", at->place)
							  : 0;
}

static int take_decision(struct rule *r, const struct json_at *root, struct err *e)
{
	struct json_at at;
	const char *reason = "";
	size_t number;

	if (!json_member(root, "decision", &at))
		return err_set(e, ERR_USAGE,
			       "%s: there is no 'decision': allow, ask or deny",
			       root->place);
	if (find_word(&at, decisions, ARRAY_LEN(decisions), &number, e) < 0)
		return -1;
	r->decision = (enum decision)number;
	if (json_member(root, "risk", &at) &&
	    find_word(&at, risks, ARRAY_LEN(risks), &number, e) < 0)
		return -1;
	r->risk = (enum risk)number; /* default if 'risk' is absent: low for allow, high
				      * for deny */
	if (json_member(root, "reason", &at)) {
		if (json_string(&at, &reason, e) < 0)
			return -1;
	} else if (r->decision != DECISION_ALLOW) {
		return err_set(e, ERR_USAGE,
			       "%s: there is no 'reason', which the agent is told",
			       root->place);
	}
	r->reason = text_copy(reason);
	return 0;
}

/* Refuses a rule that no action could match, since it is probably a mistake. */
static int check_sense(const struct rule *r, const struct json_at *root, struct err *e)
{
	if (r->line_count && (r->paths || r->has_larger))
		return err_set(e, ERR_USAGE, "%s: a 'command' has no 'path' and no size",
			       root->place);
	if (r->line_count && r->actions && !(r->actions & RUN_BIT))
		return err_set(e, ERR_USAGE, "%s: only 'run' has a 'command'",
			       root->place);
	if (r->paths && r->actions && !(r->actions & ~(RUN_BIT | ENV_BIT)))
		return err_set(e, ERR_USAGE, "%s: these actions have no 'path'",
			       root->place);
	if (r->has_larger && r->actions && !(r->actions & WRITE_BITS))
		return err_set(e, ERR_USAGE, "%s: these actions write nothing",
			       root->place);
	return 0;
}

static int read_rule(struct rule *r, const struct json_at *root, struct err *e)
{
	static const char *const keys[] = { "action",	"command", "path",   "larger",
					    "decision", "risk",	   "reason", NULL };
	struct json_at at;

	if (json_only(root, keys, e) < 0 || take_decision(r, root, e) < 0)
		return -1;
	if (json_member(root, "action", &at) && each_string(&at, take_action, r, e) < 0)
		return -1;
	if (json_member(root, "command", &at) && each_string(&at, take_command, r, e) < 0)
		return -1;
	if (json_member(root, "path", &at) && take_paths(r, &at, e) < 0)
		return -1;
	if (json_member(root, "larger", &at) && take_larger(r, &at, e) < 0)
		return -1;
	return check_sense(r, root, e);
}

static void rule_done(struct rule *r)
{
	for (size_t i = 0; i < r->line_count; i++)
		list_done(&r->lines[i].words);
	free(r->lines);
	free(r->text);
	free(r->reason);
	protect_free(r->paths);
}

static int parse(struct rule *r, const char *text, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, strlen(text), e);
	struct json_at root;

	*r = (struct rule){ .text = text_copy(text) };
	if (!doc)
		return -1;
	json_root(doc, "rule", &root);
	return read_rule(r, &root, e);
}

int rules_check(const char *rule, struct err *e)
{
	struct rule r;
	int result = parse(&r, rule, e);

	rule_done(&r);
	return result;
}

/* Returns the bucket for a program's name, by its FNV-1a hash. */
static size_t bucket_of(const char *name, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	return (hash ^ hash >> 16) % BUCKETS;
}

static void put_in(struct bucket *s, size_t number)
{
	if (s->count && s->numbers[s->count - 1] == number)
		return;
	s->numbers = mem_resize(s->numbers, s->count + 1, sizeof(*s->numbers));
	s->numbers[s->count++] = (uint32_t)number;
}

static void put_in_buckets(struct rules *r, size_t number)
{
	const struct rule *rule = &r->items[number];
	bool is_general = rule->line_count == 0;

	for (size_t i = 0; i < rule->line_count; i++)
		is_general |= !rule->lines[i].is_plain;
	for (size_t i = 0; i < rule->line_count && !is_general; i++)
		put_in(&r->buckets[bucket_of(rule->lines[i].words.items[0],
					    rule->lines[i].first_len)], number);
	if (is_general)
		put_in(&r->buckets[GENERAL], number);
}

struct rules *rules_new(const struct list *texts)
{
	if (!texts->count)
		return NULL;
	struct rules *r = mem_zeroed(1, sizeof(*r));
	r->items = mem_zeroed(texts->count, sizeof(*r->items));
	for (; r->count < texts->count; r->count++) {
		/* This cannot fail: rules_check() has accepted the text. */
		(void)parse(&r->items[r->count], texts->items[r->count], NULL);
		put_in_buckets(r, r->count);
	}
	return r;
}

void rules_free(struct rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		rule_done(&r->items[i]);
	for (size_t i = 0; i <= GENERAL; i++)
		free(r->buckets[i].numbers);
	free(r->items);
	free(r);
}

/* --- commands --------------------------------------------------------------------- */

static bool is_word(const char *pattern, const char *word)
{
	return wildcard_matches(pattern, strlen(pattern), word, strlen(word));
}

/* Returns whether the pattern of a first word matches the program.  A pattern without a
 * slash matches the program in any folder. */
static bool is_program(const char *pattern, const struct candidate *c)
{
	return is_word(pattern, strchr(pattern, '/') ? c->words->items[0] : c->name);
}

/* Returns whether the line is certainly for another program.  This cheap comparison
 * rules out most lines. */
static bool is_other_program(const struct line *line, const struct candidate *c)
{
	return line->is_plain && (line->first_len != c->len ||
				  memcmp(line->words.items[0], c->name, c->len) != 0);
}

static bool meets_line(const struct line *line, const struct candidate *c)
{
	const struct list *pattern = &line->words, *words = c->words;
	size_t p = 0, w = 0, any = SIZE_MAX, again = 0;

	while (w < words->count) {
		bool is_any = p < pattern->count && !strcmp(pattern->items[p], ANY_WORDS);
		if (is_any) {
			any = p++;
			again = w;
		} else if (p < pattern->count &&
			   (w ? is_word(pattern->items[p], words->items[w])
			      : is_program(pattern->items[p], c))) {
			p++;
			w++;
		} else if (any != SIZE_MAX) {
			p = any + 1;
			w = ++again;
		} else {
			return false;
		}
	}
	while (p < pattern->count && !strcmp(pattern->items[p], ANY_WORDS))
		p++;
	return p == pattern->count;
}

/* --- judging ---------------------------------------------------------------------- */

/* Makes the path absolute and resolves "." and ".." as text. */
static char *whole_path(const char *cwd, const char *path)
{
	AUTO_FREE char *all = text_format("%s/%s", *path == '/' || !cwd ? "" : cwd, path);
	char *to = all;

	for (const char *at = all; *at;) {
		at += strspn(at, "/");
		size_t len = strcspn(at, "/");
		if (len == 2 && !memcmp(at, "..", 2)) {
			while (to > all && *--to != '/')
				;
		} else if (len && !(len == 1 && *at == '.')) {
			*to++ = '/';
			memmove(to, at, len);
			to += len;
		}
		at += len;
	}
	*to = '\0';
	return text_copy(*all ? all : "/");
}

static bool has_path(const struct rule *r, const char *path)
{
	return path && protect_find(r->paths, path, NULL) == PROTECTED_YES;
}

static bool meets_words(const struct rule *r, const struct candidate *c)
{
	for (size_t i = 0; c && i < r->line_count; i++)
		if (!is_other_program(&r->lines[i], c) && meets_line(&r->lines[i], c))
			return true;
	return !r->line_count;
}

static bool meets(const struct rule *r, const struct deed *d, uint32_t action,
		  const struct candidate *c)
{
	if (r->actions && !(r->actions & action))
		return false;
	if (r->has_larger && d->size <= r->larger)
		return false;
	if (r->paths && !has_path(r, d->path) && !has_path(r, d->other))
		return false;
	/* The action is judged first as itself and then as the command `same`; rules
	 * without a command have applied the first time. */
	if (d->same && c && !r->line_count)
		return false;
	return meets_words(r, c);
}

/* Searches a bucket for the last matching rule.  Returns its index + 1 if it is greater
 * than `best`, otherwise `best`. */
static size_t last_met(const struct rules *r, size_t bucket, const struct deed *d,
		       uint32_t action, const struct candidate *c, size_t best)
{
	const struct bucket *s = &r->buckets[bucket];

	for (size_t i = s->count; i-- > 0 && s->numbers[i] + 1 > best;)
		if (meets(&r->items[s->numbers[i]], d, action, c))
			return s->numbers[i] + 1;
	return best;
}

/* Judges one command or action, and merges the result into `v`: the strictest rule
 * decides; of equally strict rules, the one with the highest risk gives the reason. */
static void judge_one(const struct rules *r, const struct deed *d, uint32_t action,
		      const struct candidate *c, struct verdict *v)
{
	size_t number = c ? last_met(r, bucket_of(c->name, c->len), d, action, c, 0) : 0;

	number = last_met(r, GENERAL, d, action, c, number);
	if (number == 0)
		return;
	const struct rule *rule = &r->items[number - 1];
	if (v->rule && rule->decision < v->decision)
		return;
	bool is_equal = v->rule && rule->decision == v->decision;
	if (!is_equal)
		list_done(&v->about);
	if (!is_equal || rule->risk > v->risk)
		*v = (struct verdict){ rule->decision, rule->risk, rule->reason,
				       rule->text, v->about, v->why };
	if (c) {
		AUTO_FREE char *words = list_join(c->words, 0, " ");
		list_add(&v->about, words);
	}
}

static void judge_command(const struct rules *r, const struct deed *d,
			  const struct command *command, struct verdict *v)
{
	const char *name = command_program(command);
	const struct candidate c = { &command->words, name, strlen(name) };

	judge_one(r, d, RUN_BIT, &c, v);
}

/* Returns whether the text has control characters.  When text is typed on a terminal
 * these act as keys, and can change the text before the program gets it. */
static bool has_keys(const char *text)
{
	for (; *text; text++)
		if ((*text > 0 && *text < ' ' && !strchr("\t\n", *text)) || *text == 0x7f)
			return true;
	return false;
}

static bool is_too_much(const struct rules *r, const struct commands *c)
{
	uint64_t words = 0;

	for (size_t i = 0; i < c->count; i++)
		words += c->items[i].words.count;
	return words * r->buckets[GENERAL].count > RULES_WORK_MAX;
}

/* Makes the verdict at least "ask", for a reason that is in no rule. */
static void ask_anyway(struct verdict *v, const char *why)
{
	v->risk = RISK_HIGH;
	if (v->decision != DECISION_ALLOW)
		return;
	verdict_done(v);
	*v = (struct verdict){ .decision = DECISION_ASK, .risk = RISK_HIGH };
	v->reason = v->why = text_copy(why);
}

/* Makes the verdict "ask" if some commands of the text could not be judged. */
static void ask_about_rest(const struct deed *d, const struct commands *c,
			   bool is_too_long, struct verdict *v)
{
	AUTO_FREE char *hidden =
		c->why ? text_format("hutch cannot tell which programs it runs: it has %s",
				     c->why)
		       : NULL;

	if (is_too_long)
		ask_anyway(v, "it is more than can be judged; do it in smaller steps");
	else if (hidden)
		ask_anyway(v, hidden);
	else if (d->is_typed && has_keys(d->command))
		ask_anyway(v, "there are keys in it");
}

static void judge_run(const struct rules *r, const struct deed *d, struct verdict *v)
{
	const size_t len = strlen(d->command);
	bool is_too_long = len > RULES_TEXT_MAX;
	struct commands c = { 0 };

	if (!is_too_long)
		commands_read(&c, d->command, len);
	is_too_long |= is_too_much(r, &c);
	for (size_t i = 0; i < c.count && !is_too_long; i++)
		judge_command(r, d, &c.items[i], v);
	if (c.count == 0)
		judge_one(r, d, RUN_BIT, NULL, v);
	ask_about_rest(d, &c, is_too_long, v);
	commands_done(&c);
}

static uint32_t bit_of(const char *action)
{
	for (size_t i = 0; i < ARRAY_LEN(actions); i++)
		if (!strcmp(actions[i], action))
			return 1u << i;
	return 0;
}

void rules_judge(const struct rules *r, const struct deed *d, struct verdict *ret)
{
	AUTO_FREE char *path = d->path ? whole_path(d->cwd, d->path) : NULL;
	AUTO_FREE char *other = d->other ? whole_path(d->cwd, d->other) : NULL;
	struct deed whole = *d;

	*ret = (struct verdict){ .reason = "" };
	whole.path = path;
	whole.other = other;
	if (d->command)
		judge_run(r, &whole, ret);
	else
		judge_one(r, &whole, bit_of(d->action) | (d->reads ? READ_BIT : 0), NULL,
			  ret);
	if (d->same) {
		whole.command = d->same;
		judge_run(r, &whole, ret);
	}
}

void verdict_done(struct verdict *v)
{
	list_done(&v->about);
	own_free(&v->why);
}
