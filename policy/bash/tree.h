/* tree -- reads a text for bash into a syntax tree.
 *
 * The parser is strict and knows a subset of bash's grammar, which docs/bash-subset.md
 * lists.  Outside of the subset it stops, and says why: what it does not know, it does
 * not guess.  The tree then has what stands in front of that place.
 *
 * Substitutions, `...` included, are trees of their own in the word that they are part
 * of.  Text that bash reads only when it runs (`eval`, `bash -c`) is a word here.
 *
 *	tree.c		memory, and the first step
 *	scan.c		bytes, blanks, comments, keywords
 *	list.c		lists, and-or lists, pipelines
 *	simple.c	simple commands, assignments, redirections
 *	compound.c	compound commands and functions
 *	test.c		[[ ]]
 *	word.c		words and their quotes
 *	expansion.c	$x, ${ }, $( ), $(( )), ` `, <( )
 *	heredoc.c	here-documents
 *
 * The parser does no I/O.  Its time and its memory are proportional to the length of
 * the text, at most BASH_DEPTH times as much; a tree has at most BASH_MEMORY bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define BASH_DEPTH  96		/* the deepest nesting of commands and expansions */
#define BASH_MEMORY (64u << 20) /* the most bytes of a tree */

/* A chain of structs of one kind is linked by `next` and ends with NULL.  All memory of a
 * tree belongs to the tree.  Texts end with a 0 byte that `len` does not count. */

enum bash_quality {
	BASH_QUOTED = 1,  /* a part is quoted */
	BASH_EXPANDS = 2, /* a part has a value that only bash can know */
	BASH_SPLITS = 4,  /* the word may become no word, or several: $x, *.c, {a,b} */
	BASH_HIDES = 8,	  /* the literal text has an expansion in it, or a "[" and a
			   * part of an expansion */
};

struct bash_nest {
	struct bash_node *list; /* the commands of a $( ), ` `, <( ) or >( ) */
	struct bash_nest *next;
};

struct bash_word {
	const char *text; /* as bash has the word without its quotes; an expansion
			   * stands in it as it is written */
	size_t len;
	size_t computed; /* where the last part ends that only bash can know; 0: there is
			  * none */
	unsigned qualities;	 /* of enum bash_quality */
	struct bash_nest *nests; /* the substitutions in the word, in order */
	struct bash_word *next;
};

struct bash_assign {
	const char *name;
	bool is_array;		     /* NAME=( ) */
	struct bash_word *subscript; /* NULL: there is none */
	struct bash_word *values;    /* one word, or the words of an array */
	struct bash_assign *next;
};

enum bash_redirect_kind {
	BASH_IN,	/* < FILE */
	BASH_OUT,	/* > FILE and its like */
	BASH_INOUT,	/* <> FILE */
	BASH_DUPLICATE, /* <& N or >& N */
	BASH_HEREDOC,	/* the word is the text */
	BASH_HERESTRING,
};

struct bash_redirect {
	enum bash_redirect_kind kind;
	int fd; /* the descriptor that is redirected; -1: a new one, for a variable */
	struct bash_word *word; /* never NULL */
	struct bash_redirect *next;
};

enum bash_kind {
	BASH_LIST,	 /* parts: pipelines */
	BASH_PIPELINE,	 /* parts: commands */
	BASH_SIMPLE,	 /* words, assigns */
	BASH_GROUP,	 /* { } */
	BASH_SUBSHELL,	 /* ( ) */
	BASH_IF,	 /* parts: lists, condition and body in turns; then the else's */
	BASH_LOOP,	 /* while, until.  parts: condition, body */
	BASH_FOR,	 /* for, select.  assigns: the variable's name; words: the values;
			* parts: the body */
	BASH_CASE,	 /* words: the subject; parts: BASH_CLAUSE */
	BASH_CLAUSE,	 /* words: the patterns; parts: a list, or nothing */
	BASH_FUNCTION,	 /* words: the name; parts: the body */
	BASH_COPROC,	 /* parts: a command */
	BASH_ARITHMETIC, /* (( )), for (( )).  words: the expression; parts: the body */
	BASH_TEST,	 /* [[ ]].  words: all operands and operators */
};

/* How a pipeline of a list is joined to the one behind it. */
enum bash_join {
	BASH_JOIN_END,
	BASH_JOIN_AND_OR,
	BASH_JOIN_SEMICOLON,
	BASH_JOIN_AMPERSAND
};

struct bash_node {
	enum bash_kind kind;
	enum bash_join join; /* of a pipeline */
	bool begins_line;    /* of a pipeline in the tree's list: a command begins here,
			       * behind a newline or at the text's begin */
	size_t start, end;   /* of a pipeline: its place in the text that was parsed */
	struct bash_word *words;
	struct bash_assign *assigns;
	struct bash_redirect *redirects;
	struct bash_node *parts;
	struct bash_node *next;
};

/* Constructs that some users of a tree want to know of. */
enum bash_construct {
	BASH_HAS_CASE = 1,
	BASH_HAS_SELECT = 2,
	BASH_HAS_COPROC = 4,
	BASH_HAS_TIME = 8,
	BASH_HAS_TEST = 16,
	BASH_HAS_ARITHMETIC_FOR = 32,
	BASH_HAS_ARRAY = 64,
	BASH_HAS_ARITHMETIC_EXPANSION = 128,
	BASH_HAS_QUOTED_HEREDOC = 256,
	BASH_HAS_FUNCTION = 512,
	BASH_HAS_EVALUATION = 1024, /* bash evaluates the value of a variable as
				     * arithmetic, or as a name */
	BASH_HAS_BASHISM = 2048,    /* a form that POSIX does not define, so that another
				     * shell may read it otherwise */
};

struct bash_block;

struct bash_tree {
	struct bash_node *list; /* the whole text; never NULL */
	const char *why; /* NULL: the text was read to its end; else the construct that
				 * stopped the parser, as the subject of a sentence */
	size_t why_at;	 /* its place in the text */
	bool is_open;	 /* the text ends in the middle of a construct */
	unsigned constructs;	   /* of enum bash_construct */
	struct bash_block *blocks; /* private: the tree's memory, and its size */
	size_t memory;
};

/* Parses a text of `len` bytes, which may be hostile. */
void bash_parse(struct bash_tree *ret, const char *text, size_t len);
void bash_tree_done(struct bash_tree *t);
