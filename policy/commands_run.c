#include <stdint.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/commands_parts.h"

/* Programs whose arguments are a command that they run. */
static const struct runner {
	const char *name;
	const char *valued; /* letters of options that take a value */
	size_t operands;    /* number of the program's own arguments in front of the
			     * command */
} runners[] = {
	{ "builtin", "", 0 },	      { "busybox", "", 0 },
	{ "chroot", "", 1 },	      { "chrt", "TPD", 1 },
	{ "fakeroot", "lfbis", 0 },   { "linux32", "", 0 },
	{ "linux64", "", 0 },	      { "prlimit", "po", 0 },
	{ "setarch", "", 1 },	      { "taskset", "", 1 },
	{ "command", "", 0 },	      { "doas", "Cu", 0 },
	{ "env", "uCS", 0 },	      { "exec", "a", 0 },
	{ "flock", "Ewc", 1 },	      { "ionice", "cnp", 0 },
	{ "ltrace", "eopsu", 0 },     { "nice", "n", 0 },
	{ "nohup", "", 0 },	      { "nsenter", "tGS", 0 },
	{ "setpriv", "", 0 },	      { "setsid", "", 0 },
	{ "stdbuf", "ioe", 0 },	      { "strace", "aeIoOpPsSuUX", 0 },
	{ "sudo", "CDghpRrTtUu", 0 }, { "time", "fo", 0 },
	{ "timeout", "ks", 1 },	      { "unshare", "GRSw", 0 },
	{ "watch", "nq", 0 },	      { "xargs", "adEILnPs", 0 },
};

/* Long options of any of these programs whose value is the next argument. */
static const char *const valued_words[] = { "adjustment",
					    "arg-file",
					    "chdir",
					    "chroot",
					    "class",
					    "classdata",
					    "close-from",
					    "command-timeout",
					    "conflict-exit-code",
					    "delimiter",
					    "error",
					    "format",
					    "group",
					    "host",
					    "input",
					    "interval",
					    "kill-after",
					    "max-args",
					    "max-chars",
					    "max-lines",
					    "max-procs",
					    "other-user",
					    "output",
					    "pid",
					    "process-slot-var",
					    "prompt",
					    "regid",
					    "reuid",
					    "rgid",
					    "role",
					    "root",
					    "ruid",
					    "setgid",
					    "setuid",
					    "signal",
					    "split-string",
					    "target",
					    "timeout",
					    "trace",
					    "type",
					    "unset",
					    "user",
					    "wait",
					    "wd",
					    NULL };

static const char *const shells[] = { "sh",  "bash", "dash", "ash",
				      "zsh", "ksh",  "mksh", NULL };

/* Commands that can be told to read their input as shell text. */
static const char *const sources[] = { ".", "source", NULL };

/* Programs with an option -c TEXT, whose text a shell runs. */
static const char *const askers[] = { "flock", "runuser", "script", "su", NULL };

static const char *program_of(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash ? slash + 1 : word;
}

const char *command_program(const struct command *c)
{
	return program_of(c->words.items[0]);
}

bool commands_is_shell(const struct command *c)
{
	const char *name = command_program(c);

	return commands_is_in(name, shells) || commands_is_in(name, sources);
}

/* --- one more --------------------------------------------------------------------- */

/* Adds the command that consists of the words from `from` up to `stop`. */
static void add_words(struct commands *into, const struct list *words, size_t from,
		      size_t stop, unsigned depth)
{
	struct list mine = { 0 };

	for (size_t i = from; i < stop; i++)
		if (commands_may_read(into, strlen(words->items[i]) + 1, depth + 1))
			list_add(&mine, words->items[i]);
	if (from < stop)
		commands_add(into, &mine, depth + 1);
}

static void add_text(struct commands *into, const char *text, unsigned depth)
{
	const size_t len = strlen(text);

	if (commands_may_read(into, len, depth + 1))
		commands_read_more(into, text, len, depth + 1);
}

/* Adds the words from `from` on, joined to one text. */
static void add_joined(struct commands *into, const struct list *words, size_t from,
		       unsigned depth)
{
	AUTO_FREE char *text = list_join(words, from, " ");

	add_text(into, text, depth);
}

/* --- runners ---------------------------------------------------------------------- */

static bool is_setting(const char *word)
{
	return *word != '=' && *word != '-' && strchr(word, '=');
}

/* Returns whether the word is a long option that takes a value.  getopt_long(3) takes
 * any prefix of a long option's name, too. */
static bool is_valued_word(const char *word)
{
	for (size_t i = 0; *word && valued_words[i]; i++)
		if (!strncmp(valued_words[i], word, strlen(word)))
			return true;
	return false;
}

/* Returns whether the option's value is the next word, as in -u root, -nu root and
 * --user root; in "-uroot" it is not. */
static bool has_value_behind(const struct runner *r, const char *word)
{
	if (word[1] == '-')
		return is_valued_word(word + 2);
	size_t len = strlen(word), at = 1 + strcspn(word + 1, r->valued);
	return at + 1 == len;
}

/* Returns the index of the first word of the command that the program runs. */
static size_t skip_own(const struct runner *r, const struct list *words)
{
	size_t operands = r->operands, i = 1;

	for (; i < words->count; i++) {
		const char *word = words->items[i];
		if (*word == '-')
			i += word[1] && has_value_behind(r, word);
		else if (!is_setting(word) && operands-- == 0)
			break;
	}
	return i;
}

/* Returns the value of the option `letter`, perhaps in a cluster, or `name`, perhaps
 * shortened; "" if the value is the next word; NULL if the word is not that option. */
static const char *value_of(const char *word, char letter, const char *name)
{
	size_t len = strcspn(word, "=");

	if (*word != '-')
		return NULL;
	if (word[1] != '-') {
		const char *at = strchr(word, letter);
		return at ? at + 1 : NULL;
	}
	if (len < 4 || strncmp(word + 2, name, len - 2) != 0)
		return NULL;
	return word + len + (word[len] == '=');
}

/* Replaces \_ by a blank, which it stands for in the text of env -S. */
static void put_blanks(char *text)
{
	while ((text = strstr(text, "\\_")))
		memset(text, ' ', 2);
}

/* Adds the command of env -S TEXT WORD... */
static void add_split(struct commands *into, const struct list *words, unsigned depth)
{
	for (size_t i = 1; i < words->count; i++) {
		const char *value = value_of(words->items[i], 'S', "split-string");
		if (!value)
			continue;
		AUTO_FREE char *rest = list_join(words, i + 1, " ");
		AUTO_FREE char *text = text_format("%s %s", value, rest);
		put_blanks(text);
		add_text(into, text, depth);
	}
}

/* Returns whether the command only asks for a program, as command -v NAME does. */
static bool only_asks(const char *name, const struct list *words)
{
	return !strcmp(name, "command") && words->count > 1 &&
	       (!strncmp(words->items[1], "-v", 2) || !strncmp(words->items[1], "-V", 2));
}

static void add_run(struct commands *into, const char *name, const struct list *words,
		    unsigned depth)
{
	for (size_t i = 0; i < ARRAY_LEN(runners); i++) {
		if (strcmp(runners[i].name, name) || only_asks(name, words))
			continue;
		const size_t from = skip_own(&runners[i], words);
		add_words(into, words, from, words->count, depth);
		if (!strcmp(name, "env"))
			add_split(into, words, depth);
		if (!strcmp(name, "watch"))
			add_joined(into, words, from, depth);
	}
}

/* --- shells ----------------------------------------------------------------------- */

static bool is_option(const char *word)
{
	return (*word == '-' || *word == '+') && word[1];
}

/* Adds the text that a shell runs, as in bash -eo pipefail -c -x TEXT: with -c, the
 * first argument behind all options is the text. */
static void add_shell(struct commands *into, const struct list *words, unsigned depth)
{
	static const char *const valued[] = { "--rcfile", "--init-file", NULL };
	bool has_c = false;
	size_t i = 1;

	for (; i < words->count && is_option(words->items[i]); i++) {
		const char *word = words->items[i];
		bool is_long = word[1] == '-';
		has_c |= !is_long && *word == '-' && strchr(word, 'c');
		i += is_long ? commands_is_in(word, valued) : strpbrk(word, "oO") != NULL;
	}
	if (has_c && i < words->count)
		add_text(into, words->items[i], depth);
}

/* Adds the text that a shell runs for the program, as in su -c TEXT. */
static void add_asked(struct commands *into, const struct list *words, unsigned depth)
{
	for (size_t i = 1; i < words->count; i++) {
		const char *value = value_of(words->items[i], 'c', "command");
		const char *text = value && !*value ? words->items[i + 1] : value;
		if (text)
			add_text(into, text, depth);
	}
}

/* Returns whether the command of find -exec ends here, at ";", or at "+" behind "{}". */
static bool is_found_end(const struct list *words, size_t i)
{
	return !strcmp(words->items[i], ";") ||
	       (!strcmp(words->items[i], "+") && !strcmp(words->items[i - 1], "{}"));
}

/* Adds the commands of find, as in find . -exec rm {} + */
static void add_found(struct commands *into, const struct list *words, unsigned depth)
{
	static const char *const flags[] = { "-exec", "-execdir", "-ok", "-okdir", NULL };

	for (size_t i = 1; i < words->count; i++) {
		size_t stop = i + 1;
		if (!commands_is_in(words->items[i], flags))
			continue;
		while (stop < words->count && !is_found_end(words, stop))
			stop++;
		add_words(into, words, i + 1, stop, depth);
		i = stop;
	}
}

/* Returns the index of the first argument of a builtin, behind "--". */
static size_t behind_dashes(const struct list *words)
{
	return words->count > 1 && !strcmp(words->items[1], "--") ? 2 : 1;
}

/* Adds the command of trap TEXT SIGNAL... */
static void add_trap(struct commands *into, const struct list *words, unsigned depth)
{
	size_t i = behind_dashes(words);

	if (i < words->count)
		add_text(into, words->items[i], depth);
}

/* --- all -------------------------------------------------------------------------- */

static void add_inner(struct commands *into, const struct list *words, unsigned depth)
{
	const char *name = program_of(words->items[0]);

	if (commands_is_in(name, shells))
		add_shell(into, words, depth);
	else if (commands_is_in(name, askers))
		add_asked(into, words, depth);
	else if (!strcmp(name, "eval"))
		add_joined(into, words, behind_dashes(words), depth);
	else if (!strcmp(name, "trap"))
		add_trap(into, words, depth);
	else if (!strcmp(name, "find"))
		add_found(into, words, depth);
	add_run(into, name, words, depth);
}

void commands_add(struct commands *into, struct list *words, unsigned depth)
{
	if (into->count == COMMANDS_MAX || into->is_cut) {
		into->is_cut = true;
		list_done(words);
		return;
	}
	if (into->count == into->room) {
		into->room = into->room ? 2 * into->room : 4;
		into->items = mem_resize(into->items, into->room, sizeof(*into->items));
	}
	into->items[into->count++].words = *words;
	*words = (struct list){ 0 };
	/* The items may move when more are added, but the words stay where they are. */
	const struct list mine = into->items[into->count - 1].words;
	add_inner(into, &mine, depth);
}
