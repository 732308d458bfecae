/* bash_split_parts -- declarations that the parts of split share; no other file
 * includes this.
 *
 *	split		the commands of a text, one after the other
 *	split_grammar	one command: which token may follow which
 *	split_token	the tokens, and the here-documents between them
 *	split_word	where a word ends: quotes, ${}, $(), one in the other
 *	split_expand	the commands in a word: $(), `` and <() hold such a text
 *
 * A nested command is read again at each level of nesting, from the word with
 * its continued lines joined.  `work` and the arena bound the cost. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How deep words may be in words, and brackets in brackets.  bashlex gives up
 * sooner. */
#define SPLIT_DEPTH    64
#define SPLIT_NESTING  1000
/* For a text of `len` bytes: how many bytes may be looked at, and how many
 * bytes of words kept. */
#define SPLIT_WORK(len)	 (16 * (len) + (64u << 10))
#define SPLIT_ARENA(len) (4 * (len) + (64u << 10))

enum token_kind {
	TOKEN_NONE, /* before the first */
	TOKEN_END,
	TOKEN_NEWLINE,
	TOKEN_WORD,
	TOKEN_ASSIGNMENT,
	TOKEN_NUMBER, /* in front of a redirection, or behind <& and >& */
	TOKEN_TO,     /* > < >> >| <> <<< */
	TOKEN_DUP,    /* <& >& */
	TOKEN_BOTH,   /* &> &>> */
	TOKEN_HERE,   /* << <<- */
	TOKEN_DASH,   /* behind <& and >& */
	TOKEN_AND_OR,
	TOKEN_PIPE,
	TOKEN_SEMICOLON,
	TOKEN_AMPERSAND,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_OPEN_BRACE,
	TOKEN_CLOSE_BRACE,
	TOKEN_BANG,
	TOKEN_IF,
	TOKEN_THEN,
	TOKEN_ELIF,
	TOKEN_ELSE,
	TOKEN_FI,
	TOKEN_LOOP, /* while, until */
	TOKEN_FOR,
	TOKEN_IN,
	TOKEN_DO,
	TOKEN_DONE,
	TOKEN_FUNCTION,
	TOKEN_HOLE, /* bashlex has no reader for these: case, [[, time, ... */
	TOKEN_KIND_COUNT
};

struct token {
	enum token_kind kind;
	bool leads;	   /* a reserved word may follow */
	bool strips;	   /* <<- */
	size_t start, end; /* in the text */
	size_t word, len;  /* of a word: its bytes, in the arena */
};

/* A here-document that begins at the next line. */
struct heredoc {
	size_t word, len; /* the word that ends it, quotes and all, in the arena */
	bool strips;
};

#define SPLIT_HEREDOCS 64

struct lexer {
	const char *text; /* borrowed */
	size_t len;	  /* with the newline that is assumed at the end */
	size_t real;	  /* without that newline */
	size_t at;
	struct token now, last, before;
	bool may_brace; /* f() and `function f`: a { behind it opens */

	struct heredoc heredocs[SPLIT_HEREDOCS];
	size_t heredoc_count;
	size_t heredoc_end; /* where the last one ended; 0: there was none */
};

struct splitter {
	bool is_lost; /* the text cannot be read */
	size_t work;  /* bytes left */

	char *arena; /* owned */
	size_t used, room;

	uint8_t *nesting; /* owned; SPLIT_NESTING places (bash_split_grammar.c) */
	size_t nested;

	struct pair *pairs; /* owned; SPLIT_NESTING places (bash_split_word.c) */
	size_t pair_count;

	unsigned depth;
};

/* Where a text ends: at its end, or at a ) or the end of a command in a word. */
enum ending { ENDS_ALONE, ENDS_CLOSED };

/* Finds the first command of a text.  False: there is none, or, when the
 * splitter is lost, none that can be read. */
struct extent {
	size_t start, end;
	size_t next; /* where the next command may start: behind the here-documents */
};
bool grammar_read(struct splitter *s, const char *text, size_t len, enum ending ending,
		  struct extent *ret);

/* --- bash_split_token.c --------------------------------------------------------- */

void lexer_init(struct lexer *l, const char *text, size_t len);
/* The next token is l->now. */
void lexer_next(struct splitter *s, struct lexer *l);
/* Reads the here-documents that are queued. */
void lexer_heredocs(struct splitter *s, struct lexer *l);

#define LEXER_END (-1)
/* The next byte.  `joins`: a backslash at the end of a line is skipped, with
 * the newline. */
int lexer_get(struct splitter *s, struct lexer *l, bool joins);
void lexer_back(struct lexer *l);

static inline bool is_in(int c, const char *set)
{
	for (; *set; set++)
		if (c == *set)
			return true;
	return false;
}

static inline bool is_blank(int c)
{
	return c == ' ' || c == '\t';
}

static inline bool is_meta(int c)
{
	return is_in(c, "()<>;&|");
}

static inline bool is_break(int c)
{
	return is_meta(c) || is_blank(c) || c == '\n';
}

static inline bool is_quote(int c)
{
	return c == '"' || c == '\'' || c == '`';
}

/* --- bash_split_word.c ---------------------------------------------------------- */

/* Allocates SPLIT_NESTING pairs; the caller frees them. */
struct pair *pairs_new(void);
/* Reads the word that begins with `first` into the arena; returns the byte that
 * ended the word, which is still to be read. */
int word_read(struct splitter *s, struct lexer *l, int first);

/* --- bash_split_expand.c -------------------------------------------------------- */

/* Reads the commands in a word; the splitter is lost where bashlex fails. */
void expand(struct splitter *s, const char *word, size_t len);
