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

/* How deep words may be nested in words, and brackets in brackets.  bashlex gives up
 * sooner. */
#define SPLIT_DEPTH    64
#define SPLIT_NESTING  1000
/* Limits for a text of `len` bytes: how many bytes may be looked at, and how many
 * bytes of words kept, so that a hostile text costs little. */
#define SPLIT_WORK(len)	 (16 * (len) + (64u << 10))
#define SPLIT_ARENA(len) (4 * (len) + (64u << 10))

enum token_kind {
	TOKEN_NONE, /* no token yet: before the first one */
	TOKEN_END,
	TOKEN_NEWLINE,
	TOKEN_WORD,
	TOKEN_ASSIGNMENT,
	TOKEN_NUMBER, /* a number in front of a redirection, or behind <& and >& */
	TOKEN_TO,     /* an operator with a file or a text: > < >> >| <> <<< */
	TOKEN_DUP,    /* an operator that copies a descriptor: <& >& */
	TOKEN_BOTH,   /* an operator for stdout and stderr: &> &>> */
	TOKEN_HERE,   /* the operator of a here-document: << <<- */
	TOKEN_DASH,   /* a "-" behind <& and >&, which closes a descriptor */
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
	TOKEN_LOOP, /* the words while and until */
	TOKEN_FOR,
	TOKEN_IN,
	TOKEN_DO,
	TOKEN_DONE,
	TOKEN_FUNCTION,
	TOKEN_HOLE, /* reserved words that bashlex cannot read: case, [[, time, ... */
	TOKEN_KIND_COUNT
};

struct token {
	enum token_kind kind;
	bool leads;	   /* a reserved word may follow this token */
	bool strips;	   /* the operator is <<-, which strips tabs */
	size_t start, end; /* the token's place in the text */
	size_t word, len;  /* of a word: the place of its bytes in the arena, and their
			    * number */
};

/* A here-document that begins at the next line. */
struct heredoc {
	size_t word, len; /* the word that ends the document, quotes and all, in the
			   * arena */
	bool strips;
};

#define SPLIT_HEREDOCS 64

struct lexer {
	const char *text; /* borrowed */
	size_t len;	  /* length with the newline that is assumed at the end */
	size_t real;	  /* length without that newline */
	size_t at;
	struct token now, last, before;
	bool may_brace; /* behind f() and `function f`: a { opens the body */

	struct heredoc heredocs[SPLIT_HEREDOCS];
	size_t heredoc_count;
	size_t heredoc_end; /* where the last here-document ended; 0: there was none */
};

struct splitter {
	bool is_lost; /* the text cannot be read */
	size_t work;  /* bytes that may still be looked at */

	char *arena; /* owned; holds the bytes of words */
	size_t used, room;

	uint8_t *nesting; /* owned; SPLIT_NESTING places (bash_split_grammar.c) */
	size_t nested;

	struct pair *pairs; /* owned; SPLIT_NESTING places (bash_split_word.c) */
	size_t pair_count;

	unsigned depth;
};

/* Tells where a text ends: at its own end or, for a command nested in a word, at the )
 * or at the end of that command. */
enum ending { ENDS_ALONE, ENDS_CLOSED };

/* Finds the first command of a text.  False: there is none, or, when the
 * splitter is lost, none that can be read. */
struct extent {
	size_t start, end;
	size_t next; /* where the next command may start: behind the first one's
		      * here-documents */
};
bool grammar_read(struct splitter *s, const char *text, size_t len, enum ending ending,
		  struct extent *ret);

/* --- bash_split_token.c --------------------------------------------------------- */

void lexer_init(struct lexer *l, const char *text, size_t len);
/* Reads the next token, which is then l->now. */
void lexer_next(struct splitter *s, struct lexer *l);
/* Reads the here-documents that are queued; their lines follow the line just read. */
void lexer_heredocs(struct splitter *s, struct lexer *l);

#define LEXER_END (-1)
/* Returns the next byte of the text.  `joins`: a backslash at the end of a line is
 * skipped, with the newline. */
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

/* Allocates SPLIT_NESTING pairs, the stack of open quotes and brackets in a word; the
 * caller frees them. */
struct pair *pairs_new(void);
/* Reads the word that begins with `first` into the arena; returns the byte that
 * ended the word, which is still to be read. */
int word_read(struct splitter *s, struct lexer *l, int first);

/* --- bash_split_expand.c -------------------------------------------------------- */

/* Reads the commands in a word; the splitter is lost where bashlex fails. */
void expand(struct splitter *s, const char *word, size_t len);
