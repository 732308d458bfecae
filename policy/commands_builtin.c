/* The builtins that run or evaluate text, and the shells.  Each function add_NAME() has
 * the words of one command, `w`, whose first one is the name of such a builtin. */
#include <ctype.h>
#include <string.h>

#include "base/own.h"
#include "policy/commands_parts.h"

static const char not_known[] = "text to be run that only bash can compute";

static bool is_option(const struct bash_word *word)
{
	return word->text[0] == '-' && word->len > 1;
}

/* Returns whether a word is an option with the letter, or one that only bash knows. */
static bool may_have_option(const struct words *w, char letter)
{
	for (size_t i = 1; i < w->count; i++)
		if (word_is_computed(w->items[i]) ||
		    (is_option(w->items[i]) && strchr(w->items[i]->text, letter)))
			return true;
	return false;
}

/* Returns the index of the first operand of a builtin without options. */
static size_t first_operand(const struct words *w)
{
	return w->count > 1 && word_is(w->items[1], "--") ? 2 : 1;
}

/* --- builtins that run text ------------------------------------------------------- */

static void add_eval(struct commands *into, const struct words *w)
{
	commands_add_words(into, w, first_operand(w), w->count);
	if (w->has_more)
		commands_hide(into, not_known);
}

/* Adds the command of trap TEXT SIGNAL...; the text runs later, with another input. */
static void add_trap(struct commands *into, const struct words *w)
{
	size_t i = first_operand(w);
	struct words later = *w;

	later.input = (struct input){ INPUT_UNKNOWN, NULL };
	if (i + 1 < w->count && (i == 2 || !is_option(w->items[i])))
		commands_add_words(into, &later, i, i + 1);
	else if (i < w->count && word_is_computed(w->items[i]))
		commands_hide(into, not_known);
}

/* `alias NAME=TEXT` changes how bash reads the texts that follow. */
static void add_alias(struct commands *into, const struct words *w)
{
	for (size_t i = 1; i < w->count; i++)
		if (word_is_computed(w->items[i]) || strchr(w->items[i]->text, '='))
			commands_hide(into, "an alias");
}

/* mapfile -C TEXT */
static void add_mapfile(struct commands *into, const struct words *w)
{
	into->hides |= w->input.text && (w->input.text->qualities & BASH_HIDES);
	if (may_have_option(w, 'C'))
		commands_hide(into, "a command that `mapfile` runs");
}

static void add_jobs(struct commands *into, const struct words *w)
{
	if (may_have_option(w, 'x'))
		commands_hide(into, "a command that `jobs` runs");
}

static void add_hash(struct commands *into, const struct words *w)
{
	if (may_have_option(w, 'p'))
		commands_hide(into, "a program that `hash` gives another name");
}

static void add_enable(struct commands *into, const struct words *w)
{
	if (may_have_option(w, 'f'))
		commands_hide(into, "a builtin from a file");
}

static void add_later(struct commands *into, const struct words *w)
{
	(void)w;
	commands_hide(into, "a builtin that runs text at another time");
}

/* `set -k` and its like change how bash reads the texts that follow. */
static void add_set(struct commands *into, const struct words *w)
{
	static const char *const names[] = { "history", "histexpand", "keyword", "posix",
					     NULL };

	for (size_t i = 1; i < w->count; i++) {
		const struct bash_word *word = w->items[i];
		if (word_is(word, "--"))
			return;
		bool is_letters = strchr("-+", word->text[0]) &&
				  strpbrk(word->text, "kH");
		if (word_is_computed(word) || is_letters ||
		    commands_is_in(word->text, names))
			commands_hide(into,
				      "an option of the shell that changes how it reads "
				      "text");
	}
}

/* --- builtins that evaluate ------------------------------------------------------- */

/* Returns whether a word has one of the bytes. */
static bool has_any(const struct words *w, const char *bytes)
{
	for (size_t i = 1; i < w->count; i++)
		if (strpbrk(w->items[i]->text, bytes))
			return true;
	return false;
}

static bool hides(const struct words *w)
{
	for (size_t i = 1; i < w->count; i++)
		if (w->items[i]->qualities & BASH_HIDES)
			return true;
	return w->input.text && (w->input.text->qualities & BASH_HIDES);
}

/* The words are expressions, or names with subscripts, which bash evaluates. */
static void add_evaluating(struct commands *into, const struct words *w)
{
	into->evaluates = true;
	into->hides |= hides(w);
}

static void add_let(struct commands *into, const struct words *w)
{
	add_evaluating(into, w);
	for (size_t i = 1; i < w->count; i++)
		if (word_is_computed(w->items[i]))
			commands_hide(into, "an expression that only bash can compute");
}

/* Returns whether the name in front of a "=" is one that only bash can know. */
static bool has_computed_name(const struct bash_word *word)
{
	const char *equals = strchr(word->text, '=');

	return word->qualities & BASH_SPLITS ||
	       (word_is_computed(word) &&
		(!equals || strcspn(word->text, "$`") < (size_t)(equals - word->text)));
}

/* Notes the name in an option such as -vNAME. */
static void note_attached(struct commands *into, const struct bash_word *word)
{
	if (is_option(word) && word->len > 2)
		commands_note_names(into, word->text + 2, word->len - 2);
}

/* Handles names of variables, which may have subscripts. */
static void add_names(struct commands *into, const struct words *w)
{
	for (size_t i = 1; i < w->count; i++)
		if (has_computed_name(w->items[i]))
			commands_hide(into,
				      "a variable whose name only bash can compute");
	if (hides(w) || has_any(w, "["))
		add_evaluating(into, w);
}

static void add_declare(struct commands *into, const struct words *w)
{
	bool has_i = false, has_n = false;

	add_names(into, w);
	for (size_t i = 1; i < w->count && is_option(w->items[i]); i++) {
		has_i |= strchr(w->items[i]->text, 'i') != NULL;
		has_n |= strchr(w->items[i]->text, 'n') != NULL;
	}
	if (has_i)
		add_evaluating(into, w);
	if (has_n)
		commands_hide(into, "a reference to a variable");
	for (size_t i = 1; i < w->count; i++)
		if ((w->items[i]->qualities & BASH_QUOTED) &&
		    strstr(w->items[i]->text, "=(") &&
		    strpbrk(w->items[i]->text, "<>$`["))
			commands_hide(into, "an array in quotes");
}

static void add_export(struct commands *into, const struct words *w)
{
	if (w->count > 1 && is_option(w->items[1]) && strchr(w->items[1]->text, 'n'))
		add_names(into, w); /* export -n: no reference */
	else
		add_declare(into, w);
}

static void add_test(struct commands *into, const struct words *w)
{
	for (size_t i = 1; i < w->count; i++)
		if (word_is_computed(w->items[i]) || word_is(w->items[i], "-v") ||
		    word_is(w->items[i], "-R"))
			into->evaluates = true;
}

static void add_printf(struct commands *into, const struct words *w)
{
	if (w->count < 2)
		return;
	if (word_is_computed(w->items[1]))
		add_evaluating(into, w);
	if (!strncmp(w->items[1]->text, "-v", 2)) {
		note_attached(into, w->items[1]);
		add_evaluating(into, w);
		if (word_is_computed(w->items[1]) ||
		    (w->items[1]->len == 2 && w->count > 2 &&
		     word_is_computed(w->items[2])))
			commands_hide(into,
				      "a variable whose name only bash can compute");
	}
}

/* --- shells ----------------------------------------------------------------------- */

/* Handles the input of a shell that reads its commands from there. */
void commands_add_input(struct commands *into, const struct words *w)
{
	const struct bash_word *text = w->input.text;

	if (w->input.kind == INPUT_UNKNOWN)
		commands_hide(into, "a shell that reads its commands from a pipe");
	if (w->input.kind != INPUT_TEXT)
		return;
	if (word_is_computed(text))
		commands_hide(into, not_known);
	struct words reader = *w;
	reader.input = (struct input){ INPUT_UNKNOWN, NULL }; /* what is left of it */
	commands_add_text(into, &reader, text->text, text->len);
}

/* Handles the file that a shell reads commands from.  Commands in a file are not seen;
 * but the file may be an input of the shell. */
static void add_file(struct commands *into, const struct words *w,
		     const struct bash_word *file)
{
	if (word_is(file, "/dev/stdin"))
		commands_add_input(into, w);
	else if (commands_is_descriptor(file))
		commands_hide(into, "a shell that reads its commands from a descriptor");
}

static void add_source(struct commands *into, const struct words *w)
{
	size_t i = first_operand(w);

	if (i < w->count)
		add_file(into, w, w->items[i]);
}

/* Returns whether the word can be an option: its first byte is "-" or "+", or only bash
 * can know it.  A cluster of letters has no "/". */
static bool may_be_option(const struct bash_word *word)
{
	bool is_option_like = word->len > 1 && strchr("-+", word->text[0]);

	if (!word_is_computed(word))
		return is_option_like;
	if (word->qualities & BASH_SPLITS)
		return true;
	return (is_option_like || strchr("$`", word->text[0])) &&
	       !strchr(word->text + word->computed, '/');
}

/* The options that a shell was given. */
struct shell_options {
	size_t next; /* index of the first operand */
	bool has_c, has_s;
	const char *why; /* an option is not known */
};

static size_t take_long(const struct bash_word *word, struct shell_options *o)
{
	static const char *const valued[] = { "--rcfile", "--init-file", NULL };
	static const char *const flags[] = {
		"--login",	  "--noprofile", "--norc",	   "--posix",
		"--restricted",	  "--verbose",	 "--version",	   "--help",
		"--noediting",	  "--debugger",	 "--dump-strings", "--dump-po-strings",
		"--pretty-print", NULL
	};

	if (commands_is_in(word->text, valued))
		return 2;
	if (!commands_is_in(word->text, flags))
		o->why = "an option of a shell that hutch does not know";
	return 1;
}

/* Reads the options, as in bash -eo pipefail -c -x TEXT: with -c, the first operand
 * behind all options is the text. */
static struct shell_options take_options(const struct words *w)
{
	struct shell_options o = { .next = 1 };

	while (o.next < w->count && may_be_option(w->items[o.next])) {
		const struct bash_word *word = w->items[o.next];
		if (word_is_computed(word)) {
			o.why = not_known;
			return o;
		}
		if (word_is(word, "--") || word_is(word, "-")) {
			o.next++;
			return o;
		}
		if (word->text[1] == '-') {
			o.next += take_long(word, &o);
			continue;
		}
		o.has_c |= word->text[0] == '-' && strchr(word->text, 'c');
		o.has_s |= strchr(word->text, 's') != NULL;
		o.next += strpbrk(word->text, "oO") ? 2 : 1;
	}
	o.next += o.next < w->count && word_is(w->items[o.next], "-");
	return o;
}

/* Handles a shell that reads its options and its text as bash does. */
static void add_shell(struct commands *into, const struct words *w)
{
	const struct shell_options o = take_options(w);

	if (o.why)
		commands_hide(into, o.why);
	else if (o.has_c && o.next < w->count)
		commands_add_words(into, w, o.next, o.next + 1);
	else if (w->has_more && (o.has_c || o.next == w->count))
		commands_hide(into, not_known);
	else if (o.has_c)
		return;
	else if (o.next < w->count && !o.has_s)
		add_file(into, w, w->items[o.next]);
	else
		commands_add_input(into, w);
}

static void add_bash(struct commands *into, const struct words *w)
{
	struct words own = *w;

	own.place.is_in_sh = false;
	add_shell(into, &own);
}

/* `sh` is bash on some systems, and another shell on others. */
static void add_sh(struct commands *into, const struct words *w)
{
	struct words own = *w;

	own.place.is_in_sh = true;
	add_shell(into, &own);
}

/* Handles a shell whose grammar is another one than that of `sh`. */
static void add_foreign(struct commands *into, const struct words *w)
{
	bool is_file = w->count > 1 && !is_option(w->items[1]) &&
		       !word_is_computed(w->items[1]);
	bool has_input = w->input.kind == INPUT_TEXT || w->input.kind == INPUT_UNKNOWN;

	if (is_file)
		add_file(into, w, w->items[1]);
	else if (w->count > 1 || w->has_more || has_input)
		commands_hide(into, "a text for a shell that hutch does not read");
}

/* --- all -------------------------------------------------------------------------- */

static const struct builtin {
	const char *name;
	void (*add)(struct commands *into, const struct words *w);
} builtins[] = {
	{ ".", add_source },
	{ "[", add_test },
	{ "alias", add_alias },
	{ "ash", add_sh },
	{ "bash", add_bash },
	{ "bind", add_later },
	{ "compgen", add_later },
	{ "complete", add_later },
	{ "csh", add_foreign },
	{ "dash", add_sh },
	{ "declare", add_declare },
	{ "enable", add_enable },
	{ "eval", add_eval },
	{ "export", add_export },
	{ "fc", add_later },
	{ "fish", add_foreign },
	{ "getopts", add_names },
	{ "hash", add_hash },
	{ "jobs", add_jobs },
	{ "ksh", add_foreign },
	{ "let", add_let },
	{ "local", add_declare },
	{ "mapfile", add_mapfile },
	{ "mksh", add_foreign },
	{ "printf", add_printf },
	{ "rbash", add_bash },
	{ "read", add_names },
	{ "readarray", add_mapfile },
	{ "readonly", add_declare },
	{ "set", add_set },
	{ "sh", add_sh },
	{ "shopt", add_set },
	{ "source", add_source },
	{ "tcsh", add_foreign },
	{ "test", add_test },
	{ "trap", add_trap },
	{ "typeset", add_declare },
	{ "unset", add_evaluating },
	{ "wait", add_names },
	{ "yash", add_foreign },
	{ "zsh", add_foreign },
};

static const struct builtin *find_builtin(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(builtins); i++)
		if (!strcmp(builtins[i].name, name))
			return &builtins[i];
	return NULL;
}

static bool is_shell(const struct builtin *b)
{
	return b->add == add_bash || b->add == add_sh || b->add == add_foreign;
}

bool commands_add_builtin(struct commands *into, const struct words *w)
{
	const struct builtin *b = find_builtin(commands_base_name(w->items[0]->text));

	if (b)
		b->add(into, w);
	return b != NULL;
}

bool commands_is_text(const struct words *w)
{
	const struct builtin *b = NULL;

	for (size_t i = 0; i < w->count; i++) {
		const char *name = commands_base_name(w->items[i]->text);
		b = find_builtin(name);
		if (i == 0 && !b && !commands_is_runner(name))
			return false;
		if (b)
			return is_shell(b) || b->add == add_eval || b->add == add_trap;
	}
	return false;
}

bool commands_is_program(const struct words *w)
{
	static const char *const others[] = { ":",   "[",    "echo", "false",
					      "pwd", "true", NULL };
	const char *name = commands_base_name(w->items[0]->text);

	return !word_is_computed(w->items[0]) && !commands_is_in(name, others) &&
	       !commands_is_runner(name) &&
	       (!find_builtin(name) || is_shell(find_builtin(name)));
}

/* Returns the length of the name that begins at `at`. */
static size_t name_len(const char *at, const char *end)
{
	size_t len = 0;

	while (at + len < end && (isalnum((unsigned char)at[len]) || at[len] == '_'))
		len++;
	return len;
}

static bool is_among(const char *name, size_t len, const char *const *set)
{
	for (; *set; set++)
		if (strlen(*set) == len && !memcmp(*set, name, len))
			return true;
	return false;
}

/* Any place counts: a name can be a word of `read`, the target of a reference, or a part
 * of ${NAME:=VALUE}. */
void commands_note_names(struct commands *into, const char *text, size_t len)
{
	static const char *const run[] = { "BASH_ALIASES",
					   "BASH_CMDS",
					   "BASH_ENV",
					   "ENV",
					   "MAILPATH",
					   "POSIXLY_CORRECT",
					   "PROMPT_COMMAND",
					   "PS0",
					   "PS1",
					   "PS2",
					   "PS4",
					   NULL };
	static const char *const evaluated[] = { "HISTCMD", "LINENO",  "OPTIND", "RANDOM",
						 "SECONDS", "SRANDOM", NULL };
	const char *end = text + len;

	for (const char *at = text; at < end;) {
		size_t part = name_len(at, end);
		if (part && is_among(at, part, run))
			commands_hide(into, "a variable whose value bash runs");
		into->evaluates |= part && is_among(at, part, evaluated);
		at += part ? part : 1;
	}
}
