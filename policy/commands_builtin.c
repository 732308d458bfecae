#include <string.h>

#include "base/own.h"
#include "policy/commands_parts.h"

static const char not_known[] = "text to be run that only bash can compute";

static bool is_option(const struct bash_word *word)
{
	return word->text[0] == '-' && word->len > 1;
}

/* Returns whether an option of the command, in front of its operands, has the letter. */
static bool has_option(const struct words *w, char letter)
{
	for (size_t i = 1; i < w->count && is_option(w->items[i]); i++)
		if (strchr(w->items[i]->text, letter))
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
	if (has_option(w, 'C'))
		commands_hide(into, "a command that `mapfile` runs");
}

static void add_jobs(struct commands *into, const struct words *w)
{
	if (has_option(w, 'x'))
		commands_hide(into, "a command that `jobs` runs");
}

static void add_hash(struct commands *into, const struct words *w)
{
	if (has_option(w, 'p'))
		commands_hide(into, "a program that `hash` gives another name");
}

static void add_enable(struct commands *into, const struct words *w)
{
	if (has_option(w, 'f'))
		commands_hide(into, "a builtin from a file");
}

static void add_always(struct commands *into, const struct words *w)
{
	(void)w;
	commands_hide(into, "a builtin that runs text at another time");
}

/* --- builtins that evaluate ------------------------------------------------------- */

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

/* Notes names that bash assigns to, which follow the options. */
static void add_names(struct commands *into, const struct words *w)
{
	char name[32];

	for (size_t i = 1; i < w->count; i++) {
		size_t len = strcspn(w->items[i]->text, "=+[");
		if (len >= sizeof(name))
			continue;
		memcpy(name, w->items[i]->text, len);
		name[len] = '\0';
		if (commands_is_run(name))
			commands_hide(into, "a variable whose value bash runs");
	}
}

/* Handles names that may have subscripts. */
static void add_read(struct commands *into, const struct words *w)
{
	bool evaluates = hides(w);

	add_names(into, w);
	for (size_t i = 1; i < w->count; i++)
		evaluates |= word_is_computed(w->items[i]);
	if (evaluates)
		add_evaluating(into, w);
}

static void add_declare(struct commands *into, const struct words *w)
{
	add_read(into, w);
	if (has_option(w, 'i') || has_option(w, 'n'))
		add_evaluating(into, w);
}

static void add_test(struct commands *into, const struct words *w)
{
	for (size_t i = 1; i < w->count; i++)
		if (word_is(w->items[i], "-v") || word_is(w->items[i], "-R"))
			add_evaluating(into, w);
}

static void add_printf(struct commands *into, const struct words *w)
{
	if (w->count > 1 && !strncmp(w->items[1]->text, "-v", 2)) {
		add_names(into, w);
		add_evaluating(into, w);
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
	commands_add_text(into, text->text, text->len,
			  (struct input){ INPUT_UNKNOWN, NULL }, w->depth + 1);
}

/* Handles the file that a shell reads commands from.  Commands in a file are not seen;
 * but the file may be an input of the shell. */
static void add_file(struct commands *into, const struct words *w,
		     const struct bash_word *file)
{
	if (word_is(file, "/dev/stdin"))
		commands_add_input(into, w);
	else if (file->nests || !strncmp(file->text, "/dev/", 5) ||
		 !strncmp(file->text, "/proc/", 6))
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

static void add_shell(struct commands *into, const struct words *w)
{
	const struct shell_options o = take_options(w);

	if (o.why)
		commands_hide(into, o.why);
	else if (o.has_c && o.next < w->count)
		commands_add_words(into, w, o.next, o.next + 1);
	else if (o.has_c && w->has_more)
		commands_hide(into, not_known);
	else if (o.has_c)
		return;
	else if (o.next < w->count && !o.has_s)
		add_file(into, w, w->items[o.next]);
	else if (!w->has_more)
		commands_add_input(into, w);
}

/* --- all -------------------------------------------------------------------------- */

static const struct builtin {
	const char *name;
	void (*add)(struct commands *into, const struct words *w);
} builtins[] = {
	{ ".", add_source },	     { "[", add_test },
	{ "alias", add_alias },	     { "ash", add_shell },
	{ "bash", add_shell },	     { "bind", add_always },
	{ "compgen", add_always },   { "complete", add_always },
	{ "dash", add_shell },	     { "declare", add_declare },
	{ "enable", add_enable },    { "eval", add_eval },
	{ "export", add_declare },   { "fc", add_always },
	{ "getopts", add_read },     { "hash", add_hash },
	{ "jobs", add_jobs },	     { "ksh", add_shell },
	{ "let", add_evaluating },   { "local", add_declare },
	{ "mapfile", add_mapfile },  { "mksh", add_shell },
	{ "printf", add_printf },    { "rbash", add_shell },
	{ "read", add_read },	     { "readarray", add_mapfile },
	{ "readonly", add_declare }, { "sh", add_shell },
	{ "source", add_source },    { "test", add_test },
	{ "trap", add_trap },	     { "typeset", add_declare },
	{ "unset", add_evaluating }, { "zsh", add_shell },
};

static const struct builtin *find_builtin(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(builtins); i++)
		if (!strcmp(builtins[i].name, name))
			return &builtins[i];
	return NULL;
}

bool commands_add_builtin(struct commands *into, const struct words *w)
{
	const struct builtin *b = find_builtin(commands_base_name(w->items[0]->text));

	if (b)
		b->add(into, w);
	return b != NULL;
}

bool commands_runs_text(const struct words *w)
{
	for (size_t i = 0; i < w->count; i++) {
		const char *name = commands_base_name(w->items[i]->text);
		const struct builtin *b = find_builtin(name);
		if (b &&
		    (b->add == add_shell || b->add == add_eval || b->add == add_trap))
			return true;
	}
	return false;
}

bool commands_is_run(const char *variable)
{
	static const char *const names[] = {
		"BASH_ALIASES", "BASH_CMDS", "BASH_ENV",
		"ENV",		"MAILPATH",  "PROMPT_COMMAND",
		"PS0",		"PS1",	     "PS2",
		"PS4",		NULL
	};

	return commands_is_in(variable, names);
}
