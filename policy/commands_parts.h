/* commands_parts -- the interface between the files of commands.h. */
#pragma once
#include <string.h>

#include "policy/commands.h"

#define BLANKS	 " \t"
#define META	 " \t\n;&|()<>"
#define HERE_MAX 16 /* the most here-documents that may begin on one line */

/* A text that grows; a 0 follows it once something was added. */
struct text {
	char *at; /* owned; the bytes of the text */
	size_t len, room;
};

void text_put(struct text *t, const char *bytes, size_t len);

struct here {
	char *end; /* owned: the line that ends the document */
	bool strips, is_quoted;
	size_t first; /* index of the first command whose input the document is */
};

/* A text that is being read. */
struct reader {
	const char *at, *end;
	struct commands *into;
	unsigned depth;
	struct here heres[HERE_MAX]; /* here-documents that have begun; their lines
				      * follow behind the current line */
	size_t here_count;
};

static inline bool reader_is_at(const struct reader *r, char c)
{
	return r->at < r->end && *r->at == c;
}

static inline bool reader_is_next(const struct reader *r, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(r->end - r->at) >= len && !memcmp(r->at, text, len);
}

static inline bool reader_is_one_of(const struct reader *r, const char *set)
{
	return r->at < r->end && *r->at && strchr(set, *r->at);
}

static inline void reader_pass_blanks(struct reader *r)
{
	while (reader_is_one_of(r, BLANKS))
		r->at++;
}

/* --- commands.c ------------------------------------------------------------------- */

/* Returns whether `len` more bytes may be read, at this depth of nesting. */
bool commands_may_read(struct commands *into, size_t len, unsigned depth);
/* Adds the commands of a text that is nested `depth` deep. */
void commands_read_more(struct commands *into, const char *text, size_t len,
			unsigned depth);
/* Reads the text between "(", which has been taken, and its ")". */
enum group {
	GROUP_LIST,
	GROUP_INNER, /* the group is $( ): documents that begin inside have their lines
		      * inside */
	GROUP_PLAIN  /* the group is [[ ]]: "<", ">" and "#" are parts of words */
};
void commands_read_group(struct reader *r, enum group kind);

bool commands_is_in(const char *word, const char *const *set);

/* --- commands_word.c -------------------------------------------------------------- */

/* Reads one word, owned by the caller; NULL: there is no word here.  With `is_plain`,
 * "<", ">" and "<(" are parts of the word. */
char *commands_word(struct reader *r, bool is_plain);
/* Reads one word where an assignment may stand, whose subscript may have blanks in it. */
char *commands_first_word(struct reader *r);
/* Returns the length of a subscript from its "[", at which `at` is, up to and
 * including its "]"; 0: there is no "]". */
size_t commands_subscript(const char *at, const char *end);
/* Reads an expansion from its "$" or "`" on, in a text where only expansions can
 * contain commands. */
void commands_expansion(struct reader *r);

/* --- commands_here.c -------------------------------------------------------------- */

/* Begins a here-document; the reader is behind its "<<". */
void commands_here_begin(struct reader *r);
/* Makes the here-documents from index `from` on the input of command number `first`. */
void commands_here_belong(struct reader *r, size_t from, size_t first);
/* Reads the lines of the here-documents, which begin here, behind the line with their
 * "<<". */
void commands_here_read(struct reader *r);
/* Moves the here-documents to `to`: their lines follow behind the group that `from`
 * read. */
void commands_here_move(struct reader *from, struct reader *to);
/* Drops the here-documents, whose lines are missing. */
void commands_here_drop(struct reader *r);

/* Handles the input of the commands from `first` to before `stop`: if one of them is a
 * shell, the text contains commands. */
void commands_input(struct reader *r, const char *text, size_t len, size_t first,
		    size_t stop);

/* --- commands_run.c --------------------------------------------------------------- */

/* Adds a command, whose words are taken over, and the commands that it runs. */
void commands_add(struct commands *into, struct list *words, unsigned depth);
/* Returns whether the command is a shell that may read commands from its input. */
bool commands_is_shell(const struct command *c);
