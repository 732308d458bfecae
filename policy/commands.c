#include "policy/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "policy/commands_parts.h"

/* The state of a walk through one tree. */
struct walk {
	struct commands *into;
	struct place place;
};

static void walk_list(const struct walk *w, const struct bash_node *list,
		      struct input input);
static void walk_node(const struct walk *w, const struct bash_node *n,
		      struct input input);

void commands_hide(struct commands *into, const char *why)
{
	if (!into->why)
		into->why = why;
}

bool commands_is_in(const char *word, const char *const *set)
{
	for (; *set; set++)
		if (!strcmp(word, *set))
			return true;
	return false;
}

const char *commands_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *command_program(const struct command *c)
{
	return commands_base_name(c->words.items[0]);
}

/* --- one command ------------------------------------------------------------------ */

static bool may_parse(struct commands *into, size_t len, unsigned depth)
{
	into->work += len;
	if (depth <= COMMANDS_DEPTH && into->work <= into->work_max)
		return true;
	commands_hide(into, "more text in texts than hutch reads");
	return false;
}

/* Returns whether the name of the program behind the last "/" is known, and the word
 * stays one word. */
static bool has_name(const struct bash_word *word)
{
	return !(word->qualities & BASH_SPLITS) &&
	       (!word->computed || strchr(word->text + word->computed, '/'));
}

static bool keep(struct commands *into, const struct words *w)
{
	struct command c = { 0 };

	if (into->count == COMMANDS_MAX) {
		commands_hide(into, "more commands than hutch judges");
		return false;
	}
	for (size_t i = 0; i < w->count; i++)
		list_add(&c.words, w->items[i]->text);
	if (into->count == into->room) {
		into->room = into->room ? 2 * into->room : 4;
		into->items = mem_resize(into->items, into->room, sizeof(*into->items));
	}
	into->items[into->count++] = c;
	return true;
}

void commands_add(struct commands *into, const struct words *w)
{
	if (w->count == 0 || !may_parse(into, w->count, w->place.depth) || !keep(into, w))
		return;
	for (size_t i = 0; i < w->count; i++)
		if (w->items[i]->qualities & BASH_QUOTED)
			commands_note_names(into, w->items[i]->text, w->items[i]->len);
	if (!has_name(w->items[0]))
		commands_hide(into, "a program whose name only bash can compute");
	else if (!commands_add_builtin(into, w))
		commands_add_run(into, w);
}

void commands_add_words(struct commands *into, const struct words *w, size_t from,
			size_t stop)
{
	struct list texts = { 0 };

	for (size_t i = from; i < stop; i++) {
		if (word_is_computed(w->items[i]))
			commands_hide(into, "text to be run that only bash can compute");
		list_add(&texts, w->items[i]->text);
	}
	AUTO_FREE char *text = list_join(&texts, 0, " ");
	list_done(&texts);
	commands_add_text(into, w, text, strlen(text));
}

/* --- words ------------------------------------------------------------------------ */

/* Walks through the substitutions in the words; they inherit the input of the command. */
static void walk_words(const struct walk *w, const struct bash_word *word,
		       struct input input)
{
	for (; word; word = word->next)
		for (const struct bash_nest *n = word->nests; n; n = n->next)
			walk_list(w, n->list, input);
}

/* Notes literal text that has an expansion in it. */
static void note_hiding(const struct walk *w, const struct bash_word *word)
{
	for (; word; word = word->next)
		w->into->hides |= word->qualities & BASH_HIDES;
}

static void walk_assigns(const struct walk *w, const struct bash_assign *a,
			 struct input input)
{
	for (; a; a = a->next) {
		commands_note_names(w->into, a->name, strlen(a->name));
		note_hiding(w, a->values);
		walk_words(w, a->subscript, input);
		walk_words(w, a->values, input);
	}
}

/* Returns whether the text is a number. */
static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

bool commands_is_descriptor(const struct bash_word *path)
{
	const char *name = commands_base_name(path->text);
	const char *at =
		path->text + (path->text[0] == '/' ? strspn(path->text, "/") : 0);
	bool is_absolute = at > path->text;

	return path->nests || path->qualities & BASH_SPLITS ||
	       (path->computed && !strchr(path->text + path->computed, '/')) ||
	       !strcmp(name, "stdin") || is_number(name) ||
	       (is_absolute && (!strncmp(at, "dev/", 4) || !strncmp(at, "proc/", 5)));
}

static bool is_plain_file(const struct bash_redirect *r)
{
	return (r->kind == BASH_IN || r->kind == BASH_INOUT) &&
	       (!commands_is_descriptor(r->word) || word_is(r->word, "/dev/null"));
}

/* Returns the input of a command with the redirections. */
static struct input redirected(const struct bash_redirect *r, struct input input)
{
	for (; r; r = r->next) {
		/* A command in the word may take a part of the text. */
		if (r->word->nests && input.kind == INPUT_TEXT)
			input = (struct input){ INPUT_UNKNOWN, NULL };
		if (r->fd != 0)
			continue;
		bool is_text = r->kind == BASH_HEREDOC || r->kind == BASH_HERESTRING;
		input.kind = is_text		? INPUT_TEXT
			     : is_plain_file(r) ? INPUT_FILE
						: INPUT_UNKNOWN;
		input.text = is_text ? r->word : NULL;
	}
	return input;
}

/* Returns whether the input is redirected, and not from a plain file. */
static bool changes_input(const struct bash_redirect *r)
{
	for (; r; r = r->next)
		if (r->fd == 0 && !is_plain_file(r))
			return true;
	return false;
}

/* Walks through the words of the redirections; one of them has the input that the one
 * in front of it has made. */
static void walk_redirects(const struct walk *w, const struct bash_redirect *r,
			   struct input input)
{
	for (; r; r = r->next) {
		walk_words(w, r->word, input);
		if (r->fd == 0)
			input = (struct input){ INPUT_UNKNOWN, NULL };
	}
}

/* Notes the texts of redirections.  A program that is no part of the shell cannot make
 * them the value of a variable. */
static void note_texts(const struct walk *w, const struct bash_redirect *r,
		       bool is_program)
{
	for (; r; r = r->next)
		if (!is_program || r->fd != 0)
			note_hiding(w, r->word);
		else if (r->word->qualities & BASH_HIDES)
			w->into->hides_in_input = true;
}

/* --- commands --------------------------------------------------------------------- */

static void walk_simple(const struct walk *w, const struct bash_node *n,
			struct input input)
{
	size_t count = 0;

	for (const struct bash_word *word = n->words; word; word = word->next)
		count++;
	if (!count)
		note_texts(w, n->redirects, false);
	if (!count || !may_parse(w->into, 0, w->place.depth))
		return;
	AUTO_FREE const struct bash_word **items = mem_new(count * sizeof(*items));
	count = 0;
	for (const struct bash_word *word = n->words; word; word = word->next)
		items[count++] = word;
	const struct words words = { .items = items,
				     .count = count,
				     .input = redirected(n->redirects, input),
				     .place = w->place,
				     .changes_input = changes_input(n->redirects) };
	if (!commands_is_text(&words))
		note_hiding(w, n->words);
	note_texts(w, n->redirects, commands_is_program(&words));
	commands_add(w->into, &words);
}

static void walk_pipeline(const struct walk *w, const struct bash_node *n,
			  struct input input)
{
	for (const struct bash_node *part = n->parts; part; part = part->next) {
		walk_node(w, part, input);
		input = (struct input){ INPUT_UNKNOWN, NULL };
	}
}

static void walk_coproc(const struct walk *w, const struct bash_node *n)
{
	/* Within $( ), bash 5.2 runs `coproc X` as "COPROC X". */
	if (n->parts && n->parts->kind == BASH_SIMPLE)
		commands_hide(w->into, "a `coproc` without a compound command");
	walk_list(w, n, (struct input){ INPUT_UNKNOWN, NULL });
}

static bool has_nests(const struct bash_word *word)
{
	for (; word; word = word->next)
		if (word->nests)
			return true;
	return false;
}

/* Returns whether the list is one simple command without another one in it, so that it
 * gets all of the input. */
static bool is_one(const struct bash_node *list)
{
	const struct bash_node *line = list ? list->parts : NULL;
	const struct bash_node *n = line && !line->next ? line->parts : NULL;

	if (!n || n->next || n->kind != BASH_SIMPLE || n->assigns || has_nests(n->words))
		return false;
	for (const struct bash_redirect *r = n->redirects; r; r = r->next)
		if (has_nests(r->word))
			return false;
	return true;
}

static void walk_compound(const struct walk *w, const struct bash_node *n,
			  struct input input)
{
	struct input inner = redirected(n->redirects, input);

	/* An earlier command of the list may read a part of the text. */
	bool is_group = n->kind == BASH_GROUP || n->kind == BASH_SUBSHELL;
	if (n->redirects && inner.kind == INPUT_TEXT && !(is_group && is_one(n->parts)))
		inner = (struct input){ INPUT_UNKNOWN, NULL };
	note_hiding(w, n->words);
	note_texts(w, n->redirects, false);
	walk_words(w, n->words, inner);
	if (n->kind == BASH_COPROC)
		walk_coproc(w, n);
	else if (n->kind == BASH_FUNCTION)
		walk_list(w, n, (struct input){ INPUT_UNKNOWN, NULL });
	else
		walk_list(w, n, inner);
}

static void walk_node(const struct walk *w, const struct bash_node *n, struct input input)
{
	walk_assigns(w, n->assigns, input);
	walk_redirects(w, n->redirects, input);
	if (n->kind == BASH_PIPELINE) {
		walk_pipeline(w, n, input);
	} else if (n->kind == BASH_SIMPLE) {
		walk_words(w, n->words, input);
		walk_simple(w, n, input);
	} else {
		walk_compound(w, n, input);
	}
}

static void walk_list(const struct walk *w, const struct bash_node *list,
		      struct input input)
{
	for (const struct bash_node *n = list->parts; n; n = n->next)
		walk_node(w, n, input);
}

/* --- texts ------------------------------------------------------------------------ */

static void add_text(struct commands *into, const char *text, size_t len,
		     struct input input, struct place place)
{
	struct bash_tree tree;

	if (!may_parse(into, len, place.depth))
		return;
	bash_parse(&tree, text, len);
	const struct walk w = { into, place };
	if (tree.why)
		commands_hide(into, tree.why);
	if (place.is_in_sh && (tree.constructs & BASH_HAS_BASHISM))
		commands_hide(into, "a form of bash in a text for `sh`");
	into->evaluates |= (tree.constructs & BASH_HAS_EVALUATION) != 0;
	commands_note_names(into, text, len);
	if (input.kind == INPUT_TEXT && !is_one(tree.list))
		input = (struct input){ INPUT_UNKNOWN, NULL };
	into->has_functions |= (tree.constructs & BASH_HAS_FUNCTION) != 0;
	walk_list(&w, tree.list, input);
	bash_tree_done(&tree);
}

void commands_add_text(struct commands *into, const struct words *w, const char *text,
		       size_t len)
{
	struct place inside = w->place;

	inside.depth++;
	add_text(into, text, len, w->input, inside);
}

void commands_read(struct commands *ret, const char *text, size_t len)
{
	*ret = (struct commands){ .work_max = COMMANDS_WORK * (len + 4096) };
	add_text(ret, text, len, (struct input){ INPUT_SESSION, NULL },
		 (struct place){ 0, false });
	/* A command that hutch takes for a program may be a function. */
	ret->hides |= ret->has_functions && ret->hides_in_input;
	if (ret->hides && ret->evaluates)
		commands_hide(ret, "quoted text that bash may evaluate");
}

void commands_done(struct commands *c)
{
	for (size_t i = 0; i < c->count; i++)
		list_done(&c->items[i].words);
	free(c->items);
	*c = (struct commands){ 0 };
}
