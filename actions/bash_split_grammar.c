#include <assert.h>

#include "actions/bash_split_parts.h"
#include "base/own.h"

/* The grammar of a command as a state machine.  The state says which token is
 * expected; a stack holds the constructs around it, such as a loop's body.
 * Each state is a function that takes one token; a token that the state does
 * not know makes the text unreadable (is_lost). */
enum state {
	AT_START,     /* at the start of a pipeline */
	BEHIND_BANG,
	BEHIND_PIPE,
	AFTER_WORD,   /* behind a command that is a single word so far */
	IN_SIMPLE,    /* in a simple command of several words */
	AFTER_COMPOUND,
	AFTER_PIPELINE,
	AT_OPERATOR,  /* at the operator of a redirection, behind its number */
	AT_TARGET,
	AT_DUP,
	AT_DELIM,
	AFTER_OPEN,   /* behind "NAME(", the start of a function */
	AT_BODY,      /* at the body of a function */
	AT_FUNCTION,  /* behind `function`, at the function's name */
	AFTER_NAME,
	AT_FOR,	      /* behind `for`, at the loop's variable */
	AFTER_FOR,
	AT_FOR_LINES, /* at newlines behind the variable of `for` */
	AT_FOR_WORDS,
	AT_FOR_BODY,
	STATE_COUNT
};

/* The construct that a list of commands is in.  With an empty stack of constructs it
 * is the text itself. */
enum place {
	IN_TEXT,
	IN_PARENS,
	IN_BRACES,
	IN_CONDITION,
	IN_THEN,
	IN_ELSE,
	IN_LOOP, /* in the condition of `while` or `until` */
	IN_BODY
};

struct grammar {
	struct splitter *s;
	struct lexer l;
	enum ending ending;
	size_t base; /* height of the stack of constructs where this text began */

	enum state state;
	enum state back;      /* the state after a redirection's target */
	bool may_break;	      /* at AT_START: newlines may come first */
	bool may_end;	      /* at AT_START: the list may end */
	enum token_kind joint; /* token between the last two pipelines of the text */
	bool strips;	      /* the here-document's operator was <<- */
	struct heredoc asked; /* a here-document that is queued at the next token */
	bool has_asked;
	bool has_begun, is_over;
	size_t start, end;
};

static void lose(struct grammar *g)
{
	g->s->is_lost = true;
}

static enum place place_of(const struct grammar *g)
{
	const struct splitter *s = g->s;

	return s->nested > g->base ? (enum place)s->nesting[s->nested - 1] : IN_TEXT;
}

static void begin_list(struct grammar *g)
{
	g->state = AT_START;
	g->may_break = true;
	g->may_end = false;
}

static void enter(struct grammar *g, enum place p)
{
	if (g->s->nested == SPLIT_NESTING)
		return lose(g);
	g->s->nesting[g->s->nested++] = (uint8_t)p;
	begin_list(g);
}

/* --- compound commands ----------------------------------------------------- */

static const struct turn {
	enum place in;
	enum token_kind token;
	enum place next; /* IN_TEXT: the construct ends with this token */
} turns[] = {
	{ IN_PARENS, TOKEN_CLOSE, IN_TEXT }, { IN_BRACES, TOKEN_CLOSE_BRACE, IN_TEXT },
	{ IN_CONDITION, TOKEN_THEN, IN_THEN }, { IN_THEN, TOKEN_ELIF, IN_CONDITION },
	{ IN_THEN, TOKEN_ELSE, IN_ELSE },      { IN_THEN, TOKEN_FI, IN_TEXT },
	{ IN_ELSE, TOKEN_FI, IN_TEXT },	       { IN_LOOP, TOKEN_DO, IN_BODY },
	{ IN_BODY, TOKEN_DONE, IN_TEXT },
};

/* Called where a list of commands must end: takes the token that ends it, or notes
 * that the text cannot be read. */
static void turn(struct grammar *g)
{
	enum place p = place_of(g);

	for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
		if (turns[i].in != p || turns[i].token != g->l.now.kind)
			continue;
		g->s->nested--;
		g->state = AFTER_COMPOUND;
		if (turns[i].next != IN_TEXT)
			enter(g, turns[i].next);
		return;
	}
	lose(g);
}

/* Takes the token that begins a compound command.  False: the token begins none. */
static bool took_compound(struct grammar *g)
{
	switch ((int)g->l.now.kind) {
	case TOKEN_OPEN:
		return enter(g, IN_PARENS), true;
	case TOKEN_OPEN_BRACE:
		return enter(g, IN_BRACES), true;
	case TOKEN_IF:
		return enter(g, IN_CONDITION), true;
	case TOKEN_LOOP:
		return enter(g, IN_LOOP), true;
	case TOKEN_FOR:
		g->state = AT_FOR;
		return true;
	default:
		return false;
	}
}

/* --- simple commands ------------------------------------------------------- */

static void take_word(struct grammar *g)
{
	const struct token *t = &g->l.now;

	expand(g->s, g->s->arena + t->word, t->len);
}

/* Takes the token that begins a redirection.  False: the token begins none. */
static bool took_redirection(struct grammar *g, enum state back)
{
	const struct token *t = &g->l.now;

	switch ((int)t->kind) {
	case TOKEN_NUMBER:
		g->state = AT_OPERATOR;
		break;
	case TOKEN_TO:
	case TOKEN_BOTH:
		g->state = AT_TARGET;
		break;
	case TOKEN_DUP:
		g->state = AT_DUP;
		break;
	case TOKEN_HERE:
		g->state = AT_DELIM;
		g->strips = t->strips;
		break;
	default:
		return false;
	}
	g->back = back;
	return true;
}

/* Takes the token that begins a command.  False: the token begins none. */
static bool took_command(struct grammar *g)
{
	enum token_kind kind = g->l.now.kind;

	if (took_compound(g) || took_redirection(g, IN_SIMPLE))
		return true;
	if (kind == TOKEN_FUNCTION) {
		g->state = AT_FUNCTION;
		return true;
	}
	if (kind != TOKEN_WORD && kind != TOKEN_ASSIGNMENT)
		return false;
	take_word(g);
	g->state = kind == TOKEN_WORD ? AFTER_WORD : IN_SIMPLE;
	return true;
}

/* --- between them ---------------------------------------------------------- */

/* Checks the token that ends the text's command: the end of the line or, in a
 * substitution, the ).  Before a ) bashlex knows fewer ways to end a command. */
static void finish(struct grammar *g)
{
	bool is_line = g->l.now.kind == TOKEN_NEWLINE;
	bool may_close = g->ending == ENDS_CLOSED && g->joint != TOKEN_AND_OR &&
			 g->joint != TOKEN_AMPERSAND;

	if (!is_line && !may_close)
		return lose(g);
	lexer_heredocs(g->s, &g->l);
	g->is_over = true;
}

/* Takes the token behind a whole pipeline. */
static void take_separator(struct grammar *g)
{
	enum token_kind kind = g->l.now.kind;
	bool is_text = place_of(g) == IN_TEXT;

	switch ((int)kind) {
	case TOKEN_NEWLINE:
		if (is_text)
			return finish(g);
		/* fall through */
	case TOKEN_SEMICOLON:
	case TOKEN_AMPERSAND:
		begin_list(g);
		g->may_break = !is_text;
		g->may_end = true;
		break;
	case TOKEN_AND_OR:
		begin_list(g);
		break;
	case TOKEN_CLOSE:
		if (is_text)
			return finish(g);
		/* fall through */
	default:
		return turn(g);
	}
	if (is_text)
		g->joint = kind;
}

/* Takes the token behind a command. */
static void take_end(struct grammar *g)
{
	if (g->l.now.kind == TOKEN_PIPE)
		g->state = BEHIND_PIPE;
	else
		take_separator(g);
}

/* --- states ---------------------------------------------------------------- */

static void at_start(struct grammar *g)
{
	enum token_kind kind = g->l.now.kind;

	if (kind == TOKEN_NEWLINE && g->may_break)
		return;
	if (kind == TOKEN_BANG)
		g->state = BEHIND_BANG;
	else if (took_command(g))
		;
	else if (g->may_end && place_of(g) != IN_TEXT)
		turn(g);
	else if (g->may_end && kind == TOKEN_NEWLINE)
		finish(g);
	else
		lose(g);
}

static void behind_bang(struct grammar *g)
{
	if (g->l.now.kind == TOKEN_SEMICOLON)
		g->state = AFTER_PIPELINE;
	else if (g->l.now.kind != TOKEN_BANG && !took_command(g))
		lose(g);
}

static void behind_pipe(struct grammar *g)
{
	if (g->l.now.kind != TOKEN_NEWLINE && !took_command(g))
		lose(g);
}

static void in_simple(struct grammar *g)
{
	enum token_kind kind = g->l.now.kind;

	if (kind == TOKEN_WORD || kind == TOKEN_ASSIGNMENT) {
		take_word(g);
		g->state = IN_SIMPLE;
	} else if (!took_redirection(g, IN_SIMPLE)) {
		take_end(g);
	}
}

static void after_word(struct grammar *g)
{
	if (g->l.now.kind == TOKEN_OPEN)
		g->state = AFTER_OPEN;
	else
		in_simple(g);
}

static void after_compound(struct grammar *g)
{
	if (!took_redirection(g, AFTER_COMPOUND))
		take_end(g);
}

static void at_operator(struct grammar *g)
{
	enum token_kind kind = g->l.now.kind;

	if (kind == TOKEN_BOTH || kind == TOKEN_NUMBER || !took_redirection(g, g->back))
		lose(g);
}

static void at_target(struct grammar *g)
{
	if (g->l.now.kind != TOKEN_WORD)
		return lose(g);
	take_word(g);
	g->state = g->back;
}

static void at_dup(struct grammar *g)
{
	if (g->l.now.kind != TOKEN_NUMBER && g->l.now.kind != TOKEN_DASH)
		return at_target(g);
	g->state = g->back;
}

static void at_delim(struct grammar *g)
{
	const struct token *t = &g->l.now;

	if (t->kind != TOKEN_WORD)
		return lose(g);
	g->asked = (struct heredoc){ t->word, t->len, g->strips };
	g->has_asked = true;
	g->state = g->back;
}

static void after_open(struct grammar *g)
{
	if (g->l.now.kind != TOKEN_CLOSE)
		lose(g);
	g->state = AT_BODY;
}

static void at_body(struct grammar *g)
{
	if (g->l.now.kind == TOKEN_NEWLINE)
		g->state = AT_BODY;
	else if (!took_compound(g))
		lose(g);
}

static void at_function(struct grammar *g)
{
	if (g->l.now.kind != TOKEN_WORD)
		return lose(g);
	take_word(g);
	g->state = AFTER_NAME;
}

static void after_name(struct grammar *g)
{
	if (g->l.now.kind == TOKEN_OPEN)
		g->state = AFTER_OPEN;
	else
		at_body(g);
}

static void at_for(struct grammar *g)
{
	at_function(g); /* this state takes a plain word, too */
	g->state = AFTER_FOR;
}

static void at_for_body(struct grammar *g)
{
	if (g->l.now.kind == TOKEN_DO)
		enter(g, IN_BODY);
	else if (g->l.now.kind == TOKEN_OPEN_BRACE)
		enter(g, IN_BRACES);
	else if (g->l.now.kind != TOKEN_NEWLINE)
		lose(g);
}

static void at_for_lines(struct grammar *g)
{
	if (g->l.now.kind == TOKEN_IN)
		g->state = AT_FOR_WORDS;
	else
		at_for_body(g);
}

static void after_for(struct grammar *g)
{
	g->state = AT_FOR_LINES;
	if (g->l.now.kind == TOKEN_SEMICOLON)
		g->state = AT_FOR_BODY;
	else
		at_for_lines(g);
}

static void at_for_words(struct grammar *g)
{
	enum token_kind kind = g->l.now.kind;

	if (kind == TOKEN_WORD)
		take_word(g);
	else if (kind == TOKEN_NEWLINE || kind == TOKEN_SEMICOLON)
		g->state = AT_FOR_BODY;
	else
		lose(g);
}

static void (*const states[])(struct grammar *) = {
	[AT_START] = at_start,	       [BEHIND_BANG] = behind_bang,
	[BEHIND_PIPE] = behind_pipe,   [AFTER_WORD] = after_word,
	[IN_SIMPLE] = in_simple,       [AFTER_COMPOUND] = after_compound,
	[AFTER_PIPELINE] = take_separator, [AT_OPERATOR] = at_operator,
	[AT_TARGET] = at_target,       [AT_DUP] = at_dup,
	[AT_DELIM] = at_delim,	       [AFTER_OPEN] = after_open,
	[AT_BODY] = at_body,	       [AT_FUNCTION] = at_function,
	[AFTER_NAME] = after_name,     [AT_FOR] = at_for,
	[AFTER_FOR] = after_for,       [AT_FOR_LINES] = at_for_lines,
	[AT_FOR_WORDS] = at_for_words, [AT_FOR_BODY] = at_for_body,
};
static_assert(ARRAY_LEN(states) == STATE_COUNT, "a state has no function");

/* --- a command ------------------------------------------------------------- */

/* Queues a here-document one token after its word.  A newline directly behind
 * the word begins the document only if it ends the text's command: in a
 * compound command the first line is read as a command, as in bashlex. */
static void ask(struct grammar *g)
{
	struct lexer *l = &g->l;

	if (!g->has_asked)
		return;
	if (l->heredoc_count == SPLIT_HEREDOCS)
		return lose(g);
	l->heredocs[l->heredoc_count++] = g->asked;
	g->has_asked = false;
}

static void step(struct grammar *g)
{
	size_t mark = g->s->used;

	lexer_next(g->s, &g->l);
	const struct token *t = &g->l.now;
	bool is_delim = g->state == AT_DELIM;
	ask(g);
	if (g->s->is_lost)
		return;
	if (t->kind == TOKEN_END && !g->has_begun) {
		g->is_over = true; /* the rest of the text is blanks and comments only */
		return;
	}
	if (!g->has_begun && t->kind != TOKEN_NEWLINE) {
		g->has_begun = true;
		g->start = t->start;
	}
	states[g->state](g);
	if (!is_delim)
		g->s->used = mark;
	if (!g->is_over)
		g->end = t->end;
}

bool grammar_read(struct splitter *s, const char *text, size_t len, enum ending ending,
		  struct extent *ret)
{
	struct grammar g = { .s = s, .ending = ending, .base = s->nested };
	size_t mark = s->used;

	lexer_init(&g.l, text, len);
	begin_list(&g);
	while (!g.is_over && !s->is_lost)
		step(&g);
	s->used = mark;
	s->nested = g.base;
	*ret = (struct extent){ g.start, g.end,
				g.end > g.l.heredoc_end ? g.end : g.l.heredoc_end };
	return g.has_begun && !s->is_lost;
}
