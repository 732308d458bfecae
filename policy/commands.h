/* commands -- the commands in a text for bash, wherever they stand in it.
 *
 * In lists and pipes, in loops and functions, in $( ), ` ` and <( ), in double quotes; as
 * the text of `bash -c` and `eval`, and behind programs that run others: `sudo`, `env X=1`,
 * `timeout 5`, `xargs`, `find -exec`.  Words are as bash has them when quotes have been
 * removed (bash(1), QUOTING); a part that only bash can know, such as $X or a pattern, is
 * as it is written.
 *
 *	commands.c	lists of commands; what is around a command
 *	commands_word.c	words: quotes and expansions
 *	commands_here.c	input that stands in the text
 *	commands_run.c	what a command runs
 *
 * This is to judge by, and not a wall: what a program does is not in its words, and what
 * bash makes of $X is not here.  A text that ends in the middle of something, or is too
 * much, says so.
 *
 * No I/O.  The time goes by the length of the text: no more is read than COMMANDS_WORK times
 * that, what stands in other texts included. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

#define COMMANDS_MAX   1024
#define COMMANDS_DEPTH 16 /* of one in another */
#define COMMANDS_WORK  4

struct command {
	struct list words; /* one at least */
};

struct commands {
	struct command *items; /* owned */
	size_t count, room;
	bool is_cut;  /* there are more, or deeper ones */
	bool is_open; /* it ends in quotes, in a "(", in a `case` or the like */
	size_t work, work_max; /* private: bytes that were read, and are to be */
};

/* `text` of `len` bytes is anybody's. */
void commands_read(struct commands *ret, const char *text, size_t len);
void commands_done(struct commands *c);

/* What a program is called, without folders. */
const char *command_program(const struct command *c);
