/* commands -- finds the commands in a text for bash, wherever they stand in it.
 *
 * Commands are found in lists and pipes, in loops and functions, in $( ), ` ` and <(
 * ), in double quotes, in the text of `bash -c` and `eval`, and behind programs that
 * run others: `sudo`, `env X=1`, `timeout 5`, `xargs`, `find -exec`.  Words are as in
 * bash after quote removal (bash(1), QUOTING); a part whose value only bash can know,
 * such as $X or a pattern, stays as it is written.
 *
 *	commands.c	lists of commands, and compound commands
 *	commands_word.c	words: quotes and expansions
 *	commands_here.c	here-documents
 *	commands_run.c	the commands that a command runs
 *
 * The result is a basis for advice, and no security boundary: the words of a command
 * do not tell what its program does, and $X is not expanded.  The result says so if
 * the text ends in the middle of a construct, or is too much to be read.
 *
 * The reader does no I/O.  Its time is linear in the length of the text: it reads at
 * most COMMANDS_WORK times as many bytes, nested texts included. */
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
	bool is_cut;  /* there are more commands, or deeper ones, than were kept */
	bool is_open; /* the text ends in quotes, in a "(", in a `case` or the like */
	size_t work, work_max; /* private: bytes that were read, and bytes that may be
			        * read */
};

/* Finds the commands in `text` of `len` bytes, which may be hostile. */
void commands_read(struct commands *ret, const char *text, size_t len);
void commands_done(struct commands *c);

/* Returns the name of the command's program, without folders. */
const char *command_program(const struct command *c);
