/* commands -- the commands in a text for bash, wherever they stand in it.
 *
 * In lists and pipes, in loops and functions, in $( ), ` ` and <( ), in double quotes; as
 * the text of `bash -c` and `eval`, and behind programs that run others: `sudo`, `env X=1`,
 * `timeout 5`, `xargs`, `find -exec`.  Words are as bash would have them without quotes
 * (bash(1), QUOTING); a part that only bash can know, such as $X or a pattern, is as it is
 * written.
 *
 * This is to judge by, and not a wall: what a program does is not in its words, and what
 * bash makes of $X is not here.  Where the text is none that bash would take, more is
 * seen as commands and not less.
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
	bool is_cut; /* there are more, or deeper ones */
	size_t work, work_max; /* private: bytes that were read, and are to be */
};

/* `text` of `len` bytes is anybody's. */
void commands_read(struct commands *ret, const char *text, size_t len);
void commands_done(struct commands *c);

/* --- between the parts ------------------------------------------------------------------ */

/* Adds what is in a text, which is in so many others. */
void commands_read_more(struct commands *into, const char *text, size_t len, unsigned depth);

/* Adds the command, whose words are taken over, and those that it runs (commands_run.c). */
void commands_add(struct commands *into, struct list *words, unsigned depth);

/* Whether so many bytes more may be read. */
bool commands_may_read(struct commands *into, size_t len, unsigned depth);

/* Whether its standard input is a text for a shell. */
bool commands_is_shell(const struct command *c);
