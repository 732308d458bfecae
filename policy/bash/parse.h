/* parse -- the interface between the files of tree.h.
 *
 * A function that parses a construct returns false, or NULL, once the parser has
 * stopped; parse_stop() has said why, and no byte is left then, so that loops end. */
#pragma once
#include <string.h>

#include "policy/bash/tree.h"

/* A text that grows, on the heap; no 0 byte follows it. */
struct bytes_out {
	char *at; /* owned */
	size_t len, room;
};

/* A here-document that has begun; its lines follow behind the current line. */
struct heredoc {
	const char *end; /* the line that ends it */
	size_t end_len;
	bool strips_tabs, is_quoted;
	struct bash_redirect *redirect;
	struct heredoc *next;
};

struct parser {
	const char *at, *end,
		*text; /* the next byte, the end and the begin of the text */
	struct bash_tree *tree;
	struct heredoc *heredocs;
	unsigned depth;
	unsigned substitutions; /* how many $( ) and <( ) are around */
	bool is_inner;		/* the text is the inside of ` ` */
};

/* Where a word stands: there, some bytes have another meaning. */
enum word_place {
	WORD_USUAL,
	WORD_VALUE, /* behind the = of an assignment: no pattern and no braces */
	WORD_TEST,  /* in [[ ]]: "(" may open a part of a pattern, words do not split */
	WORD_REGEX, /* behind =~ in [[ ]] */
};

/* The quotes around an expansion. */
enum quoting { UNQUOTED, IN_DOUBLE, IN_HEREDOC, IN_ARITHMETIC };

/* --- tree.c ----------------------------------------------------------------------- */

/* Returns zeroed memory that belongs to the tree. */
void *parse_memory(struct parser *p, size_t size);
/* Returns a copy of the bytes, with a 0 byte behind it, that belongs to the tree. */
const char *parse_copy(struct parser *p, const char *bytes, size_t len);
/* Stops the parser at this place.  Always returns false. */
bool parse_stop(struct parser *p, const char *why);
/* Stops the parser, because the text has ended in the middle of something. */
bool parse_stop_open(struct parser *p);
static inline bool parse_has_stopped(const struct parser *p)
{
	return p->tree->why != NULL;
}
/* Notes a form that POSIX does not define. */
static inline void parse_note_bashism(struct parser *p)
{
	p->tree->constructs |= BASH_HAS_BASHISM;
}
/* Enters one more level of nesting, or stops. */
bool parse_enter(struct parser *p);
/* Parses `len` bytes at `text`, memory of the tree, as the inside of ` `. */
struct bash_node *parse_inner(struct parser *p, const char *text, size_t len);

void bytes_put(struct bytes_out *b, const char *bytes, size_t len);

/* --- scan.c ----------------------------------------------------------------------- */

/* Returns the next byte, or -1 at the end.  A backslash and a newline in front of it are
 * passed, since they join two lines. */
int scan_peek(struct parser *p);
/* Passes `token` if it is next, perhaps on two joined lines. */
bool scan_take(struct parser *p, const char *token);
bool scan_is_next(struct parser *p, const char *token);
void scan_blanks(struct parser *p); /* passes a comment, too */
/* Passes blanks, comments and newlines; here-documents are read behind a newline. */
void scan_newlines(struct parser *p);
/* Passes the keyword if it is next, as a word without quotes. */
bool scan_take_keyword(struct parser *p, const char *word);
bool scan_is_keyword(struct parser *p, const char *word);
/* Returns whether one of the keywords that end a list is next. */
bool scan_is_closing(struct parser *p);
/* Returns whether one of bash's reserved words is next. */
bool scan_is_reserved(struct parser *p);
/* Returns whether a compound command begins here. */
bool scan_is_compound(struct parser *p);
bool scan_is_blank(int c);
/* Returns whether the byte ends a word; the end of the text does. */
bool scan_is_meta(int c);
bool scan_is_name_start(int c);
bool scan_is_name(int c);

/* --- list.c ----------------------------------------------------------------------- */

/* Parses a list up to a ")", a keyword that ends a list, ";;" or the end; it may be
 * empty only with `may_be_empty`. */
struct bash_node *parse_list(struct parser *p, bool may_be_empty);
/* Parses the whole text. */
struct bash_node *parse_text(struct parser *p);
struct bash_node *parse_node(struct parser *p, enum bash_kind kind);

/* --- simple.c --------------------------------------------------------------------- */

/* Parses a simple command, or the definition of a function that begins with its name. */
struct bash_node *parse_simple(struct parser *p);
/* Parses a redirection if one is next.  True: the parser has passed one. */
bool parse_redirect(struct parser *p, struct bash_redirect ***to);

/* --- compound.c ------------------------------------------------------------------- */

/* Parses the command that begins here. */
struct bash_node *parse_command(struct parser *p);
/* Parses the body of a function behind its name; `f` has the name. */
struct bash_node *parse_function(struct parser *p, struct bash_node *f);

/* --- test.c ----------------------------------------------------------------------- */

/* Parses behind "[[". */
struct bash_node *parse_test(struct parser *p);

/* --- word.c ----------------------------------------------------------------------- */

/* A word that is being read. */
struct word_out {
	struct bash_word *word;
	struct bytes_out text;
	struct bash_nest **last;   /* where the next nest goes */
	char before;		   /* the last byte of literal text */
	bool has_square, has_code; /* the literal text has a "[", and a part of an
				    * expansion */
};

void word_begin(struct parser *p, struct word_out *w);
/* Makes the word complete; returns NULL if the parser has stopped. */
struct bash_word *word_end(struct parser *p, struct word_out *w);
/* Adds bytes of a text to the word as bash has them. */
void word_put(struct word_out *w, const char *bytes, size_t len);
/* Adds an expansion, as it is written from `from` on up to the parser's place. */
void word_put_expansion(struct parser *p, struct word_out *w, const char *from);

struct bash_word *parse_empty_word(struct parser *p);
/* Parses a word; NULL without a reason to stop: no word is here. */
struct bash_word *parse_word(struct parser *p, enum word_place place);
/* Parses the rest of a word that has begun. */
void parse_word_rest(struct parser *p, struct word_out *w, enum word_place place);
/* Parses quotes from their opening byte on. */
bool parse_single(struct parser *p, struct word_out *w);
bool parse_double(struct parser *p, struct word_out *w);

/* --- expansion.c ------------------------------------------------------------------ */

/* Parses an expansion from "$" on. */
bool parse_dollar(struct parser *p, struct word_out *w, enum quoting quoting);
bool parse_backticks(struct parser *p, struct word_out *w, enum quoting quoting);
/* Parses <( ) or >( ). */
bool parse_process(struct parser *p, struct word_out *w);
/* The brackets around an expression. */
struct brackets {
	char open, close;    /* pairs inside are counted; open 0: they are not */
	const char *foreign; /* bytes that bash would take for another bracket */
};
/* Parses an arithmetic expression up to and including its closing byte. */
bool parse_arithmetic(struct parser *p, struct word_out *w, const struct brackets *b);

/* --- heredoc.c -------------------------------------------------------------------- */

/* Begins a here-document, behind its "<<". */
bool parse_heredoc(struct parser *p, struct bash_redirect *r);
/* Reads the lines of the here-documents that have begun. */
void parse_heredoc_lines(struct parser *p);
