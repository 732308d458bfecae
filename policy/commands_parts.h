/* commands_parts -- the interface between the files of commands.h. */
#pragma once
#include <string.h>

#include "policy/commands.h"

#define BLANKS	 " \t"
#define META	 " \t\n;&|()<>"
#define HERE_MAX 16 /* here-documents that may begin on one line */

/* A text that grows; a 0 follows it once something was added. */
struct text {
	char *at; /* owned */
	size_t len, room;
};

void text_put(struct text *t, const char *bytes, size_t len);

struct here {
	char *end; /* owned: the line that ends the document */
	bool strips, is_quoted;
	size_t first; /* the index of the command whose input it is */
};

/* A text that is being read. */
struct reader {
	const char *at, *end;
	struct commands *into;
	unsigned depth;
	struct here heres[HERE_MAX]; /* begun; their lines follow behind the current
				      * line */
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

/* Whether `len` more bytes may be read, at this depth of nesting. */
bool commands_may_read(struct commands *into, size_t len, unsigned depth);
/* Adds the commands of a text that is nested `depth` deep. */
void commands_read_more(struct commands *into, const char *text, size_t len, unsigned depth);
/* Reads what is between "(", which has been taken, and its ")". */
enum group {
	GROUP_LIST,
	GROUP_INNER, /* of $( ): documents that begin inside have their lines inside */
	GROUP_PLAIN  /* of [[ ]]: "<", ">" and "#" are parts of words */
};
void commands_read_group(struct reader *r, enum group kind);

bool commands_is_in(const char *word, const char *const *set);

/* --- commands_word.c -------------------------------------------------------------- */

/* One word, owned; NULL: there is none here.  Where it is `plain`, "<" and ">" are parts of
 * it, and "<(" too. */
char *commands_word(struct reader *r, bool is_plain);
/* The same where an assignment may be: a subscript may have blanks and the like in it. */
char *commands_first_word(struct reader *r);
/* At "[": how many bytes there are to behind the "]" of it; 0: there is none. */
size_t commands_subscript(const char *at, const char *end);
/* At a "$" or a "`" in a text of which nothing else is of interest. */
void commands_expansion(struct reader *r);

/* --- commands_here.c -------------------------------------------------------------- */

/* Behind "<<". */
void commands_here_begin(struct reader *r);
/* Those from number `from` on are the input of the command of this number. */
void commands_here_belong(struct reader *r, size_t from, size_t first);
/* At the line behind that on which they begin. */
void commands_here_read(struct reader *r);
/* Their lines come behind what `from` read. */
void commands_here_move(struct reader *from, struct reader *to);
/* Their lines do not come. */
void commands_here_drop(struct reader *r);

/* A text that is the input of these commands: for a shell it is commands. */
void commands_input(struct reader *r, const char *text, size_t len, size_t first, size_t stop);

/* --- commands_run.c --------------------------------------------------------------- */

/* Adds the command, whose words are taken over, and those that it runs. */
void commands_add(struct commands *into, struct list *words, unsigned depth);
/* Whether its input may be a text for a shell. */
bool commands_is_shell(const struct command *c);
