/* commands_parts -- the interface between the files of commands.h. */
#pragma once
#include <string.h>

#include "policy/bash/tree.h"
#include "policy/commands.h"

/* From where a command that reads its standard input gets it. */
enum input_kind {
	INPUT_SESSION, /* from where the whole text gets it: a terminal, /dev/null */
	INPUT_FILE,
	INPUT_TEXT,    /* the text of a here-document or a <<< word */
	INPUT_UNKNOWN, /* a pipe, a descriptor, the caller of a function */
};

struct input {
	enum input_kind kind;
	const struct bash_word *text; /* borrowed; of INPUT_TEXT */
};

/* The place of a text or a command. */
struct place {
	unsigned depth; /* how many texts are around it */
	bool is_in_sh;	/* the shell that reads it may be another one than bash */
};

/* A command whose words are borrowed. */
struct words {
	const struct bash_word *const *items;
	size_t count;
	struct input input;
	struct place place;
	bool changes_input; /* the command redirects its input, and not from a plain file */
	bool has_more;	    /* more words follow, which come from an input: xargs */
};

/* --- commands.c ------------------------------------------------------------------- */

/* Notes a part of the text that hides a command; the first note counts. */
void commands_hide(struct commands *into, const char *why);
/* Adds the commands of a text that the command `w` gives to a shell. */
void commands_add_text(struct commands *into, const struct words *w, const char *text,
		       size_t len);
/* The same for the words from `from` up to `stop`, with blanks between them.  A word
 * that only bash can know hides commands. */
void commands_add_words(struct commands *into, const struct words *w, size_t from,
			size_t stop);
/* Adds a command, and the commands that it runs. */
void commands_add(struct commands *into, const struct words *w);

bool commands_is_in(const char *word, const char *const *set);
/* Returns whether the path may lead to a descriptor of the shell's, as /dev/stdin. */
bool commands_is_descriptor(const struct bash_word *path);
/* Returns the last part of a path. */
const char *commands_base_name(const char *path);

static inline bool word_is(const struct bash_word *word, const char *text)
{
	return !strcmp(word->text, text);
}

/* Returns whether only bash can know the word. */
static inline bool word_is_computed(const struct bash_word *word)
{
	return word->qualities & (BASH_EXPANDS | BASH_SPLITS);
}

/* --- commands_builtin.c ----------------------------------------------------------- */

/* Adds the commands that a builtin or a shell runs.  False: the command is neither. */
bool commands_add_builtin(struct commands *into, const struct words *w);
/* Returns whether the words are text for a shell, which is judged itself. */
bool commands_is_text(const struct words *w);
/* Returns whether the command is a program that has none of the shell's variables. */
bool commands_is_program(const struct words *w);
/* Adds the commands that a shell reads from the command's input. */
void commands_add_input(struct commands *into, const struct words *w);
/* Notes variables that are named in the text, and whose value bash runs or evaluates. */
void commands_note_names(struct commands *into, const char *text, size_t len);

/* --- commands_run.c --------------------------------------------------------------- */

/* Adds the commands that the program runs, if it is one that runs others. */
void commands_add_run(struct commands *into, const struct words *w);
bool commands_is_runner(const char *name);
