/* Programs that run what their words say. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/commands.h"

/* What comes before the command that it runs. */
static const struct runner {
	const char *name;
	const char *valued; /* letters of options that have a value behind them */
	size_t operands;    /* words of its own */
} runners[] = {
	{ "busybox", "", 0 },	  { "builtin", "", 0 },	     { "chroot", "", 1 },
	{ "command", "", 0 },	  { "doas", "Cu", 0 },	     { "env", "uCS", 0 },
	{ "exec", "a", 0 },	  { "flock", "Ew", 1 },	     { "gdb", "x", 0 },
	{ "ionice", "cnp", 0 },	  { "ltrace", "eopsu", 0 },  { "nice", "n", 0 },
	{ "nohup", "", 0 },	  { "nsenter", "tGS", 0 },   { "setpriv", "", 0 },
	{ "setsid", "", 0 },	  { "stdbuf", "ioe", 0 },    { "strace", "aeIoOpPsSuUX", 0 },
	{ "sudo", "CDghpRrTtUu", 0 }, { "time", "fo", 0 },   { "timeout", "ks", 1 },
	{ "unshare", "GRSw", 0 }, { "watch", "nq", 0 },	     { "xargs", "adEILnPs", 0 },
};

static const char *const shells[] = { "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", NULL };

/* A text for a shell is the value of -c. */
static const char *const askers[] = { "su", "runuser", "script", "flock", NULL };

static const char *name_of(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash ? slash + 1 : word;
}

static bool is_in(const char *word, const char *const *set)
{
	for (; *set; set++)
		if (!strcmp(*set, word))
			return true;
	return false;
}

bool commands_is_shell(const struct command *c)
{
	return is_in(name_of(c->words.items[0]), shells);
}

/* --- one more ------------------------------------------------------------------------------- */

static void add_rest(struct commands *into, const struct list *words, size_t from, size_t end,
		     unsigned depth)
{
	struct list rest = { 0 };

	for (size_t i = from; i < end; i++)
		if (commands_may_read(into, strlen(words->items[i]) + 1, depth + 1))
			list_add(&rest, words->items[i]);
	if (from < end)
		commands_add(into, &rest, depth + 1);
}

static void add_text(struct commands *into, const char *text, unsigned depth)
{
	const size_t len = strlen(text);

	if (commands_may_read(into, len, depth + 1))
		commands_read_more(into, text, len, depth + 1);
}

/* --- runners -------------------------------------------------------------------------------- */

static bool is_assignment(const char *word)
{
	return *word != '=' && *word != '-' && strchr(word, '=');
}

/* Whether the value of an option of one letter, the last of `word`, is the next word. */
static bool has_value(const struct runner *r, const char *word)
{
	size_t len = strlen(word);

	return word[1] != '-' && len > 1 && strchr(r->valued, word[len - 1]);
}

/* Where its command begins.  An option in words may have its value behind it, or may not:
 * *ret_or is where it begins then. */
static size_t skip_own(const struct runner *r, const struct list *words, size_t *ret_or)
{
	size_t operands = r->operands, i = 1;

	*ret_or = SIZE_MAX;
	for (; i < words->count; i++) {
		const char *word = words->items[i];
		if (!strcmp(word, "--"))
			continue;
		if (*word == '-' && has_value(r, word))
			i++;
		else if (!strncmp(word, "--", 2) && !strchr(word, '='))
			*ret_or = i + 2 + operands;
		else if (*word != '-' && !is_assignment(word) && operands-- == 0)
			break;
	}
	return i;
}

/* env -S "X=1 rm -rf", --split-string=... */
static void add_split(struct commands *into, const struct list *words, unsigned depth)
{
	for (size_t i = 1; i < words->count; i++) {
		const char *word = words->items[i];
		if (!strncmp(word, "--split-string=", 15))
			add_text(into, word + 15, depth);
		else if (!strncmp(word, "-S", 2) && word[2])
			add_text(into, word + 2, depth);
		else if ((!strcmp(word, "-S") || !strcmp(word, "--split-string")) && words->items[i + 1])
			add_text(into, words->items[i + 1], depth);
	}
}

/* command -v NAME */
static bool only_asks(const char *name, const struct list *words)
{
	return !strcmp(name, "command") && words->count > 1 &&
	       (!strncmp(words->items[1], "-v", 2) || !strncmp(words->items[1], "-V", 2));
}

static void add_run(struct commands *into, const struct list *words, unsigned depth)
{
	const char *name = name_of(words->items[0]);

	for (size_t i = 0; i < ARRAY_LEN(runners); i++) {
		if (strcmp(runners[i].name, name) || only_asks(name, words))
			continue;
		size_t other, from = skip_own(&runners[i], words, &other);
		add_rest(into, words, from, words->count, depth);
		if (other != from)
			add_rest(into, words, other, words->count, depth);
		if (!strcmp(name, "env"))
			add_split(into, words, depth);
	}
}

/* --- shells --------------------------------------------------------------------------------- */

/* bash -lc TEXT; su -c TEXT, su --command=TEXT. */
static void add_dash_c(struct commands *into, const struct list *words, unsigned depth)
{
	for (size_t i = 1; i + 1 < words->count; i++) {
		const char *word = words->items[i];
		if (*word == '-' && word[1] != '-' && strchr(word, 'c'))
			return add_text(into, words->items[i + 1], depth);
		if (!strncmp(word, "--command=", 10))
			return add_text(into, word + 10, depth);
		if (!strcmp(word, "--command"))
			return add_text(into, words->items[i + 1], depth);
	}
}

static void add_eval(struct commands *into, const struct list *words, unsigned depth)
{
	size_t room = 1;

	for (size_t i = 1; i < words->count; i++)
		room += strlen(words->items[i]) + 1;
	AUTO_FREE char *text = mem_new(room);
	char *end = text;
	for (size_t i = 1; i < words->count; i++)
		end = stpcpy(stpcpy(end, words->items[i]), " ");
	*end = '\0';
	add_text(into, text, depth);
}

/* find . -exec rm {} + */
static void add_found(struct commands *into, const struct list *words, unsigned depth)
{
	static const char *const flags[] = { "-exec", "-execdir", "-ok", "-okdir", NULL };

	for (size_t i = 1; i < words->count; i++) {
		size_t end = i + 1;
		if (!is_in(words->items[i], flags))
			continue;
		while (end < words->count && strcmp(words->items[end], ";") &&
		       strcmp(words->items[end], "+"))
			end++;
		add_rest(into, words, i + 1, end, depth);
		i = end;
	}
}

/* --- all ------------------------------------------------------------------------------------- */

static void add_inner(struct commands *into, const struct list *words, unsigned depth)
{
	const char *name = name_of(words->items[0]);

	if (is_in(name, shells) || is_in(name, askers))
		add_dash_c(into, words, depth);
	else if (!strcmp(name, "eval"))
		add_eval(into, words, depth);
	else if (!strcmp(name, "trap") && words->count > 1)
		add_text(into, words->items[1], depth);
	else if (!strcmp(name, "find"))
		add_found(into, words, depth);
	add_run(into, words, depth);
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
	/* The words stay where they are though the items may move. */
	const struct list mine = into->items[into->count - 1].words;
	add_inner(into, &mine, depth);
}
