#include <string.h>

#include "actions/bash_split_parts.h"
#include "base/mem.h"

/* The part of ${...} that the reader is in.  Inside "...", a quote ' counts only
 * behind an operator such as %. */
enum brace { BRACE_NONE, BRACE_NAME, BRACE_OPERAND, BRACE_PATTERN };

/* A construct that is open in a word, until it is closed.  There are two kinds:
 *
 *   - a pair: quotes, ${ }, $[ ] and (( )), whose brackets are counted and nothing
 *     else: it holds no command;
 *   - a substitution: $( ), <( ) and >( ), where a ) may also stand in a comment, in a
 *     here-document or behind a pattern of `case`.
 *
 * bashlex looks for the end of a substitution without parsing it.  So does this
 * code, with the same faults: any # begins a comment there. */
struct pair {
	char open, close;
	bool is_substitution;
	bool escapes;	   /* $'...': a backslash escapes the next byte */
	bool is_quoted;	   /* the construct stands inside "..." */
	bool closes_first; /* brackets of the opening kind are not counted */
	enum brace brace;
	bool has_dollar; /* the byte before this one was a $ */
	bool passes;	 /* the byte before this one was a backslash */
	size_t count;
	size_t start; /* where the construct's bytes begin in the arena */
	size_t room;  /* bytes of the arena in use before the construct */

	/* The rest is used only for a substitution. */
	bool in_comment, in_case, in_word;
	bool may_reserve; /* `case` and the like may stand here */
	size_t letters;	  /* letters read so far of a word such as `case` */
	bool wants_delim, in_document, strips;
	bool has_first;
	size_t first;		 /* start of the word that ends the here-document, or
				  * of a line of it */
	size_t delim, delim_len; /* the word that ends the here-document, in the arena */
};

struct pair *pairs_new(void)
{
	return mem_new(SPLIT_NESTING * sizeof(struct pair));
}

static void arena_put(struct splitter *s, int c)
{
	if (s->used == s->room)
		s->is_lost = true;
	else
		s->arena[s->used++] = (char)c;
}

static void push(struct splitter *s, struct pair p)
{
	if (s->pair_count == SPLIT_NESTING) {
		s->is_lost = true;
		return;
	}
	p.start = s->used;
	p.room = s->room;
	p.count = 1;
	s->pairs[s->pair_count++] = p;
}

static void push_quote(struct splitter *s, int c, bool escapes, bool is_quoted)
{
	push(s, (struct pair){ .open = (char)c, .close = (char)c, .escapes = escapes,
			       .is_quoted = is_quoted });
}

static void push_brackets(struct splitter *s, char open, char close, bool is_quoted)
{
	push(s, (struct pair){ .open = open, .close = close, .is_quoted = is_quoted,
			       .closes_first = open == '{',
			       .brace = open == '{' ? BRACE_NAME : BRACE_NONE });
}

static void push_substitution(struct splitter *s, struct lexer *l)
{
	int next = lexer_get(s, l, false);

	lexer_back(l);
	if (next == '(')
		push_brackets(s, '(', ')', false);
	else
		push(s, (struct pair){ .open = '(', .close = ')', .is_substitution = true,
				       .may_reserve = true });
}

/* Opens the construct that $ and a bracket begin. */
static void push_dollar(struct splitter *s, struct lexer *l, int c, bool is_quoted)
{
	if (c == '(')
		push_substitution(s, l);
	else
		push_brackets(s, (char)c, c == '{' ? '}' : ']', is_quoted);
}

static struct pair *top(struct splitter *s)
{
	return &s->pairs[s->pair_count - 1];
}

/* --- a pair ---------------------------------------------------------------- */

static void follow_brace(const struct splitter *s, struct pair *p, int c)
{
	bool is_first = s->used - p->start == 1;

	if (p->brace != BRACE_NAME)
		return;
	if (is_first && is_in(c, "#%^,~:-=?+/"))
		p->brace = BRACE_OPERAND;
	else if (!is_first && is_in(c, "%#/^,"))
		p->brace = BRACE_PATTERN;
}

/* Opens the construct that byte `c` of a pair begins, if any. */
static void open_in_pair(struct splitter *s, struct lexer *l, int c)
{
	struct pair *p = top(s), inner = { .open = (char)c, .close = (char)c };
	bool has_dollar = p->has_dollar;

	p->has_dollar = c == '$';
	inner.escapes = p->escapes || (has_dollar && p->open != p->close);
	inner.is_quoted = p->is_quoted;
	inner.closes_first = p->closes_first;
	inner.brace = p->brace ? BRACE_NAME : BRACE_NONE;
	if (p->open != p->close && is_quote(c)) {
		if (has_dollar && c == '"' && s->used - p->start >= 2)
			s->used -= 2; /* in $"...", bashlex drops the $" */
		push(s, inner);
	} else if (p->open == '"' && c == '`') {
		push(s, inner);
	} else if (p->open == '"' && has_dollar && is_in(c, "({[")) {
		push_dollar(s, l, c, true);
	}
}

static void step_pair(struct splitter *s, struct lexer *l)
{
	struct pair *p = top(s);
	int c = lexer_get(s, l, p->open != '\'' && !p->passes);

	if (c == LEXER_END) {
		s->is_lost = true;
		return;
	}
	arena_put(s, c);
	if (p->passes) {
		p->passes = false;
		return;
	}
	if (c == p->close)
		p->count--;
	else if (c == p->open && (!p->closes_first || (p->open == '{' && p->has_dollar)))
		p->count++;
	if (p->count == 0) {
		s->pair_count--;
		return;
	}
	p->passes = c == '\\' && (p->open != '\'' || p->escapes);
	if (p->open == '\'')
		return;
	follow_brace(s, p, c);
	bool is_literal = p->brace == BRACE_NAME || p->brace == BRACE_OPERAND;
	if (c == '\'' && p->is_quoted && is_literal)
		return;
	open_in_pair(s, l, c);
}

/* --- a substitution -------------------------------------------------------- */

/* Keeps the word that ends a here-document, without its quotes, at the arena's end;
 * returns its length. */
static size_t keep_unquoted(struct splitter *s, size_t from, size_t to)
{
	bool in_double = false, in_single = false;
	size_t len = 0;

	if (s->room - s->used < to - from) {
		s->is_lost = true;
		return 0;
	}
	s->room -= to - from;
	for (size_t i = from; i < to; i++) {
		char c = s->arena[i];
		bool is_single = c == '\'' && !in_double;
		bool is_double = c == '"' && !in_single;
		if (c == '\\' && in_double)
			s->is_lost = true; /* bashlex fails on a backslash in double
					    * quotes here */
		if (c == '\\' && !in_single && i + 1 < to)
			c = s->arena[++i];
		in_single ^= is_single;
		in_double ^= is_double;
		if (!is_single && !is_double)
			s->arena[s->room + len++] = c;
	}
	return len;
}

/* Returns whether the line of a here-document that ends here is the one that ends the
 * document. */
static bool ends_document(struct splitter *s, struct pair *p)
{
	size_t at = p->first;

	while (p->strips && at < s->used && s->arena[at] == '\t')
		at++;
	if (p->strips && at >= s->used)
		s->is_lost = true; /* bashlex fails on an empty line of a here-document */
	size_t len = at < s->used ? s->used - at : 0;
	return len == p->delim_len &&
	       memcmp(s->arena + at, s->arena + p->delim, len) == 0;
}

static void end_document(struct pair *p)
{
	p->strips = p->in_document = p->has_first = false;
	p->delim_len = 0;
}

static void begin_line(struct splitter *s, struct pair *p)
{
	p->first = s->used + 1;
	p->has_first = true;
}

/* Called before a byte is kept.  True: the byte belongs to a comment or a
 * here-document only, and is no command's. */
static bool is_passed_over(struct splitter *s, struct pair *p, int c)
{
	if (c == '\n' && p->wants_delim && p->delim_len > 0) {
		p->wants_delim = false;
		p->in_document = true;
		begin_line(s, p);
	} else if (c == '\n' && p->in_document) {
		if (ends_document(s, p))
			end_document(p);
		else
			begin_line(s, p);
	}
	if (p->in_document && c == p->close && p->count == 1 && ends_document(s, p))
		end_document(p);
	if (!p->in_comment && !p->in_document)
		return false;
	if (c == '\n')
		p->in_comment = false;
	return true;
}

/* Notes that the word behind << begins or ends at `c`. */
static void follow_delim(struct splitter *s, struct pair *p, int c)
{
	if (!p->wants_delim)
		return;
	if (!p->has_first && !is_break(c)) {
		p->first = s->used;
		p->has_first = true;
	} else if (p->has_first && is_break(c)) {
		if (p->delim_len == 0) {
			p->delim_len = keep_unquoted(s, p->first, s->used);
			p->delim = s->room;
		}
		p->has_first = false;
		if (c == '\n') {
			p->in_document = true;
			p->wants_delim = false;
			begin_line(s, p);
		}
	}
}

static bool is_behind(const struct splitter *s, const struct pair *p, const char *word)
{
	size_t len = strlen(word);

	return s->used - p->start >= len &&
	       memcmp(s->arena + s->used - len, word, len) == 0;
}

/* Takes a separator behind a command, such as ; or &&.  False: `c` is none. */
static bool took_separator(struct splitter *s, struct lexer *l, struct pair *p, int c)
{
	if (p->may_reserve || !(is_meta(c) || c == '\n'))
		return false;
	int next = lexer_get(s, l, true);
	bool is_double = c == next && is_in(c, "&|;");
	if (!is_double)
		lexer_back(l);
	if (!is_double && c != '\n' && !is_in(c, "&|;"))
		return false;
	arena_put(s, c);
	if (is_double)
		arena_put(s, next);
	p->may_reserve = true;
	p->letters = 0;
	return true;
}

/* Takes a letter of a word that may be `case`, `esac` or `do`.  False: `c` is none. */
static bool took_letter(struct splitter *s, struct pair *p, int c, bool starts_word)
{
	if (!p->may_reserve)
		return false;
	if (c >= 'a' && c <= 'z') {
		arena_put(s, c);
		p->letters++;
		return true;
	}
	if (p->letters == 4 && is_break(c)) {
		p->in_case = is_behind(s, p, "case") ||
			     (p->in_case && !is_behind(s, p, "esac"));
		p->may_reserve = false;
	} else if (c == '#' && (p->letters == 0 || starts_word)) {
		; /* skip the bytes of a comment */
	} else if (!p->in_case && (is_blank(c) || c == '\n') && p->letters == 2 &&
		   is_behind(s, p, "do")) {
		p->letters = 0;
	} else if ((p->in_case && c != '\n') || !is_break(c)) {
		p->may_reserve = false;
	}
	return false;
}

/* Called at a <.  True: the bytes were << with the word to follow, and were taken;
 * else *c is the byte behind the <. */
static bool took_heredoc(struct splitter *s, struct lexer *l, struct pair *p, int *c)
{
	arena_put(s, *c);
	*c = lexer_get(s, l, true);
	if (*c != '<')
		return false;
	arena_put(s, *c);
	int next = lexer_get(s, l, true);
	if (next == LEXER_END)
		s->is_lost = true;
	if (next == '-') {
		arena_put(s, next);
		p->strips = true;
	} else {
		lexer_back(l);
	}
	if (next != '<') {
		p->wants_delim = true;
		p->has_first = false;
	}
	return true;
}

/* Keeps a byte that is not part of a comment, a here-document or a reserved word. */
static void keep(struct splitter *s, struct lexer *l, struct pair *p, int c)
{
	bool has_dollar = p->has_dollar;

	if (c == p->close && !p->in_case)
		p->count--;
	else if (c == p->open && !p->in_case && !has_dollar)
		p->count++;
	arena_put(s, c);
	if (p->count == 0) {
		s->room = p->room;
		s->pair_count--;
		return;
	}
	p->passes = c == '\\';
	p->has_dollar = c == '$';
	if (is_quote(c))
		push_quote(s, c, has_dollar && c == '\'', true);
	else if (has_dollar && is_in(c, "({["))
		push_dollar(s, l, c, true);
}

static void step_substitution(struct splitter *s, struct lexer *l)
{
	struct pair *p = top(s);
	int c = lexer_get(s, l, !p->in_comment && !p->passes);

	if (c == LEXER_END) {
		s->is_lost = true;
		return;
	}
	if (is_passed_over(s, p, c)) {
		arena_put(s, c);
		return;
	}
	bool starts_word = !p->passes && !p->in_word && !is_break(c);
	if (!p->passes)
		p->in_word = !is_break(c);
	if (p->passes || (is_blank(c) && !p->wants_delim && p->letters == 0)) {
		p->passes = false;
		arena_put(s, c);
		return;
	}
	follow_delim(s, p, c);
	if (took_separator(s, l, p, c) || took_letter(s, p, c, starts_word))
		return;
	if (c == '#')
		p->in_comment = true;
	if (c == '<' && took_heredoc(s, l, p, &c))
		return;
	if (c == LEXER_END)
		s->is_lost = true;
	keep(s, l, p, c);
}

/* --- a word ---------------------------------------------------------------- */

static void close_all(struct splitter *s, struct lexer *l)
{
	while (s->pair_count > 0 && !s->is_lost) {
		if (top(s)->is_substitution)
			step_substitution(s, l);
		else
			step_pair(s, l);
	}
	s->pair_count = 0;
}

/* Takes the construct that a $, a < or a > begins.  False: the byte begins
 * none. */
static bool took_dollar(struct splitter *s, struct lexer *l, int c)
{
	int next = lexer_get(s, l, true);
	bool is_open = next == '(' || (c == '$' && is_in(next, "{["));
	bool is_string = c == '$' && is_in(next, "'\"");

	if (next == LEXER_END && c == '$')
		s->is_lost = true; /* bashlex fails on a $ at the end of a text */
	if (!is_open && !is_string && !(c == '$' && next == '$')) {
		lexer_back(l);
		return false;
	}
	arena_put(s, c);
	arena_put(s, next);
	if (is_open)
		push_dollar(s, l, next, false);
	else if (is_string)
		push_quote(s, next, next == '\'', false);
	close_all(s, l);
	return true;
}

int word_read(struct splitter *s, struct lexer *l, int first)
{
	bool passes = false;
	int c = first;

	while (c != LEXER_END && !s->is_lost) {
		bool is_plain = passes;
		if (is_plain || c == '\\') {
			passes = !is_plain;
			arena_put(s, c);
		} else if (is_quote(c)) {
			arena_put(s, c);
			push_quote(s, c, false, false);
			close_all(s, l);
		} else if (!is_in(c, "$<>") || !took_dollar(s, l, c)) {
			if (is_break(c)) {
				lexer_back(l);
				break;
			}
			arena_put(s, c);
		}
		c = lexer_get(s, l, !passes);
	}
	return c;
}
