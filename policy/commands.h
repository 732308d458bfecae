/* commands -- finds the commands that bash runs for a text.
 *
 * The text is parsed (policy/bash/tree.h), and its commands are collected, wherever they
 * stand: in lists and pipes, in loops and functions, in substitutions, in the text of
 * `eval`, `trap` and `bash -c`, as the input of a shell, and behind programs that run
 * others: `sudo`, `env X=1`, `timeout 5`, `xargs`, `find -exec`.
 *
 * Either each program that bash runs for the text is the first word of a command here,
 * or `why` says which part of the text hides one: a name that only bash can compute, a
 * text that comes through a pipe, an alias, a construct outside of the subset
 * (docs/bash-subset.md).  The words behind a program are as bash has them without their
 * quotes; an expansion, such as $X, stays as it is written.
 *
 *	commands.c		walks the tree
 *	commands_builtin.c	builtins that evaluate text, and shells
 *	commands_run.c		programs that run others
 *
 * The result is a basis for advice, and no security boundary: the words of a command do
 * not tell what its program does, nor what a file that is sourced holds.
 *
 * No file here does I/O.  The time is linear in the length of the text: at most
 * COMMANDS_WORK times as many bytes are parsed, nested texts included. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

#define COMMANDS_MAX   1024
#define COMMANDS_DEPTH 16 /* the deepest nesting of texts */
#define COMMANDS_WORK  4

struct command {
	struct list words; /* the command's words, at least one */
};

struct commands {
	struct command *items; /* owned; the commands that were found */
	size_t count, room;
	const char *why; /* static; NULL: all commands were found; else the part that
			  * hides one, as the object of a sentence */
	size_t work, work_max; /* private: bytes that were parsed, and that may be */
	bool has_functions, hides_in_input; /* private: a text defines a function; the
					     * input of a program hides */
	bool hides, evaluates; /* private: literal text has an expansion in it; bash
				* evaluates the value of a variable */
};

/* Finds the commands in `text` of `len` bytes, which may be hostile. */
void commands_read(struct commands *ret, const char *text, size_t len);
void commands_done(struct commands *c);

/* Returns the name of the command's program, without folders. */
const char *command_program(const struct command *c);
