#include "policy/commands.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/ansi_c.h"

#define BLANKS	 " \t\r"
#define META	 " \t\r\n;&|()<>"
#define HERE_MAX 16 /* documents that begin on one line */

/* A text that grows, always ended by a 0. */
struct text {
	char *at; /* owned */
	size_t len, room;
};

struct here {
	char *end; /* owned: the line that ends it */
	bool strips;
	size_t command; /* whose it is; SIZE_MAX: not known yet, or none's */
};

struct reader {
	const char *at, *end;
	struct commands *into;
	unsigned depth;
	struct here heres[HERE_MAX];
	size_t here_count;
};

/* What the words of one command are gathered in, and where in a `case` it is. */
struct state {
	struct list words;
	char *input; /* owned: of <<<; NULL: none */
	unsigned cases; /* that are open */
	bool is_pattern, is_arithmetic, awaits_in;
	size_t first_here; /* of this command */
};

static void read_list(struct reader *r, char until, bool is_arithmetic);

/* --- texts ------------------------------------------------------------------------------- */

static void put(struct text *t, const char *bytes, size_t len)
{
	if (t->len + len + 1 > t->room) {
		t->room = 2 * (t->len + len + 1);
		t->at = mem_resize(t->at, t->room, 1);
	}
	if (len)
		memcpy(t->at + t->len, bytes, len);
	t->len += len;
	t->at[t->len] = '\0';
}

static bool is_at(const struct reader *r, char c)
{
	return r->at < r->end && *r->at == c;
}

static bool is_next(const struct reader *r, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(r->end - r->at) >= len && !memcmp(r->at, text, len);
}

static bool is_one_of(const struct reader *r, const char *set)
{
	return r->at < r->end && *r->at && strchr(set, *r->at);
}

static void pass_blanks(struct reader *r)
{
	while (is_one_of(r, BLANKS))
		r->at++;
}

/* --- what bash puts in place of something ------------------------------------------------- */

static void read_quoted(struct reader *r, struct text *to);

/* Behind "$(", "<(" or "(": its commands; the text is as written. */
static void read_inner(struct reader *r, bool is_arithmetic)
{
	if (!commands_may_read(r->into, 0, r->depth + 1)) {
		r->at = r->end;
		return;
	}
	struct reader inner = { .at = r->at, .end = r->end, .into = r->into,
				.depth = r->depth + 1 };
	read_list(&inner, ')', is_arithmetic);
	r->at = inner.at;
}

/* At a "`".  In it a backslash is for "`", "\" and "$". */
static void read_backticks(struct reader *r)
{
	struct text inner = { 0 };

	put(&inner, "", 0);
	for (r->at++; r->at < r->end && *r->at != '`'; r->at++) {
		if (*r->at == '\\' && r->at + 1 < r->end && strchr("`\\$", r->at[1]))
			r->at++;
		put(&inner, r->at, 1);
	}
	r->at += r->at < r->end;
	if (commands_may_read(r->into, inner.len, r->depth + 1))
		commands_read_more(r->into, inner.at, inner.len, r->depth + 1);
	free(inner.at);
}

static void read_dollar(struct reader *r, struct text *to, bool is_quoted);

/* Behind "${", to its "}". */
static void read_braces(struct reader *r)
{
	struct text none = { 0 };
	size_t open = 1;

	while (r->at < r->end && open > 0) {
		if (is_at(r, '$'))
			read_dollar(r, &none, false);
		else if (is_at(r, '`'))
			read_backticks(r);
		else if (is_at(r, '"'))
			read_quoted(r, &none);
		else {
			open += *r->at == '{';
			open -= *r->at == '}';
			r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
		}
	}
	free(none.at);
}

/* At the quote of $'...'. */
static void read_ansi_c(struct reader *r, struct text *to)
{
	char bytes[ANSI_C_MAX];

	for (r->at++; r->at < r->end && *r->at != '\'';)
		put(to, bytes, ansi_c_next(&r->at, r->end, bytes));
	r->at += r->at < r->end;
}

/* At a "$". */
static void read_dollar(struct reader *r, struct text *to, bool is_quoted)
{
	const char *from = r->at++;

	if (is_at(r, '\'') && !is_quoted)
		return read_ansi_c(r, to);
	if (is_at(r, '"') && !is_quoted)
		return; /* of a translation */
	if (is_at(r, '(')) {
		r->at++;
		read_inner(r, is_at(r, '('));
	} else if (is_at(r, '{')) {
		r->at++;
		if (commands_may_read(r->into, 0, ++r->depth))
			read_braces(r);
		else
			r->at = r->end;
		r->depth--;
	} else if (r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '_')) {
		while (r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '_'))
			r->at++;
	}
	put(to, from, (size_t)(r->at - from));
}

/* At a double quote. */
static void read_quoted(struct reader *r, struct text *to)
{
	for (r->at++; r->at < r->end && *r->at != '"';) {
		const char *from = r->at;
		if (is_at(r, '$')) {
			read_dollar(r, to, true);
		} else if (is_at(r, '`')) {
			read_backticks(r);
			put(to, from, (size_t)(r->at - from));
		} else if (is_next(r, "\\\n")) {
			r->at += 2;
		} else {
			if (is_at(r, '\\') && r->at + 1 < r->end && strchr("$`\"\\", r->at[1]))
				r->at++;
			put(to, r->at++, 1);
		}
	}
	r->at += r->at < r->end;
}

static void read_single(struct reader *r, struct text *to)
{
	const char *from = ++r->at;
	const char *stop = memchr(from, '\'', (size_t)(r->end - from));

	r->at = stop ? stop : r->end;
	put(to, from, (size_t)(r->at - from));
	r->at += stop != NULL;
}

/* --- words -------------------------------------------------------------------------------- */

static void read_part(struct reader *r, struct text *to)
{
	const char *from = r->at;

	switch (*r->at) {
	case '\'':
		return read_single(r, to);
	case '"':
		return read_quoted(r, to);
	case '$':
		return read_dollar(r, to, false);
	case '`':
		read_backticks(r);
		break;
	case '<': /* with a "(" behind it */
	case '>':
		r->at += 2;
		read_inner(r, false);
		break;
	case '\\':
		r->at++;
		if (r->at < r->end && *r->at++ != '\n')
			put(to, r->at - 1, 1);
		return;
	default:
		r->at++;
	}
	put(to, from, (size_t)(r->at - from));
}

/* NULL: there is none here.  Owned. */
static char *read_word(struct reader *r, bool is_arithmetic)
{
	struct text word = { 0 };
	const char *from = r->at;

	put(&word, "", 0);
	while (r->at < r->end) {
		bool is_process = !is_arithmetic && (is_next(r, "<(") || is_next(r, ">("));
		bool is_shift = is_arithmetic && is_one_of(r, "<>");
		if (is_one_of(r, META) && !is_process && !is_shift)
			break;
		if (is_shift)
			put(&word, r->at++, 1);
		else
			read_part(r, &word);
	}
	if (r->at > from)
		return word.at;
	free(word.at);
	return NULL;
}

/* --- input that stands in the text --------------------------------------------------------- */

/* Behind "<<" or "<<-". */
static void begin_here(struct reader *r, bool strips)
{
	pass_blanks(r);
	char *end = read_word(r, false);

	if (!end || r->here_count == HERE_MAX) {
		free(end);
		return;
	}
	r->heres[r->here_count++] = (struct here){ end, strips, SIZE_MAX };
}

static bool is_its_end(const struct here *h, const char *line, size_t len)
{
	while (h->strips && len && *line == '\t') {
		line++;
		len--;
	}
	return len == strlen(h->end) && !memcmp(line, h->end, len);
}

/* Of a shell. */
static void read_input(struct reader *r, const char *text, size_t len)
{
	if (commands_may_read(r->into, len, r->depth + 1))
		commands_read_more(r->into, text, len, r->depth + 1);
}

/* From the line behind its command's on.  What is in it is a command for a shell, and has
 * some in $( ) for all. */
static void read_here(struct reader *r, const struct here *h)
{
	const char *from = r->at, *line = from;

	while (line < r->end) {
		const char *stop = memchr(line, '\n', (size_t)(r->end - line));
		size_t len = (size_t)((stop ? stop : r->end) - line);
		r->at = stop ? stop + 1 : r->end;
		if (is_its_end(h, line, len))
			break;
		line = r->at;
	}
	struct reader inner = { .at = from, .end = line, .into = r->into, .depth = r->depth };
	struct text none = { 0 };
	if (h->command < r->into->count && commands_is_shell(&r->into->items[h->command]))
		return read_input(r, from, (size_t)(line - from));
	while (inner.at < inner.end)
		if (is_at(&inner, '$'))
			read_dollar(&inner, &none, true);
		else if (is_at(&inner, '`'))
			read_backticks(&inner);
		else
			inner.at++;
	free(none.at);
}

static void read_heres(struct reader *r)
{
	for (size_t i = 0; i < r->here_count; i++) {
		read_here(r, &r->heres[i]);
		free(r->heres[i].end);
	}
	r->here_count = 0;
}

/* --- redirections --------------------------------------------------------------------------- */

/* At a "<" or ">", or "&>". */
static void read_redirection(struct reader *r, struct state *s)
{
	bool is_here = is_next(r, "<<") && !is_next(r, "<<<"), is_text = is_next(r, "<<<");

	if (is_here) {
		r->at += 2;
		bool strips = is_at(r, '-');
		r->at += strips;
		return begin_here(r, strips);
	}
	while (is_one_of(r, "<>&|"))
		r->at++;
	pass_blanks(r);
	char *word = read_word(r, false);
	if (is_text && word) {
		free(s->input);
		s->input = word;
	} else {
		free(word);
	}
}

/* --- commands --------------------------------------------------------------------------------- */

static bool is_in(const char *word, const char *const *set)
{
	for (; *set; set++)
		if (!strcmp(*set, word))
			return true;
	return false;
}

static bool is_assignment(const char *word)
{
	size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (!len || isdigit((unsigned char)*word))
		return false;
	if (word[len] == '[')
		len += strcspn(word + len, "]") + 1;
	return len < strlen(word) && (word[len] == '=' || !strncmp(word + len, "+=", 2));
}

static void drop_first(struct list *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(words->items[i]);
	words->count -= count;
	memmove(words->items, words->items + count, (words->count + 1) * sizeof(*words->items));
}

/* What is in front of a command and no part of it. */
static void drop_front(struct list *words)
{
	static const char *const openers[] = { "if", "then", "elif", "else", "fi", "while", "until",
					       "do", "done", "esac", "{", "}", "!", "coproc", NULL };

	while (words->count && (is_in(words->items[0], openers) || is_assignment(words->items[0])))
		drop_first(words, 1);
}

static void end_command(struct reader *r, struct state *s)
{
	static const char *const loops[] = { "for", "select", "case", NULL };
	size_t number = SIZE_MAX;

	drop_front(&s->words);
	if (s->words.count && !is_in(s->words.items[0], loops) && !s->is_pattern) {
		number = r->into->count;
		commands_add(r->into, &s->words, r->depth);
	}
	if (s->input && number < r->into->count && commands_is_shell(&r->into->items[number]))
		read_input(r, s->input, strlen(s->input));
	for (size_t i = s->first_here; i < r->here_count; i++)
		r->heres[i].command = number;
	s->first_here = r->here_count;
	s->awaits_in = false;
	own_free(&s->input);
	list_done(&s->words);
}

/* A word has come: where in a `case` we are now. */
static void look_at_case(struct state *s)
{
	const char *first = s->words.items[0], *last = s->words.items[s->words.count - 1];

	if (s->words.count == 1 && !strcmp(last, "case") && !s->is_pattern) {
		s->awaits_in = true;
		s->cases++;
	} else if (s->awaits_in && !strcmp(last, "in")) {
		s->awaits_in = false;
		s->is_pattern = true;
		list_done(&s->words);
	} else if (s->cases && s->words.count == 1 && !strcmp(first, "esac")) {
		s->is_pattern = false;
		s->cases--;
	}
}

/* Of openers the next word is the first. */
static void take_word(struct state *s, char *word)
{
	if (s->words.count)
		drop_front(&s->words);
	list_add(&s->words, word);
	free(word);
	if (s->words.count == 2 && !strcmp(s->words.items[0], "function"))
		return list_done(&s->words); /* its name is no command */
	look_at_case(s);
}

static void read_operator(struct reader *r, struct state *s)
{
	bool ends_case = s->cases && (is_next(r, ";;") || is_next(r, ";&"));

	if (s->is_pattern && is_at(r, '|')) { /* or that one */
		r->at++;
		return;
	}
	end_command(r, s);
	while (is_one_of(r, ";&|"))
		r->at++;
	s->is_pattern |= ends_case;
}

static void read_newline(struct reader *r, struct state *s)
{
	bool was_pattern = s->is_pattern && !s->words.count;

	if (!was_pattern)
		end_command(r, s);
	r->at++;
	read_heres(r);
	s->first_here = 0;
}

/* At "(". */
static void read_group(struct reader *r, struct state *s)
{
	r->at++;
	if (s->is_pattern)
		return;
	if (s->words.count == 1 && is_at(r, ')')) { /* a function's name */
		r->at++;
		list_done(&s->words);
		return;
	}
	end_command(r, s);
	read_inner(r, s->is_arithmetic || is_at(r, '('));
}

/* At ")".  True: it is what the list ends with. */
static bool read_close(struct reader *r, struct state *s, char until)
{
	r->at++;
	if (s->is_pattern) {
		list_done(&s->words);
		s->is_pattern = false;
		return false;
	}
	end_command(r, s);
	return until == ')';
}

static bool is_number(const char *from, const char *to)
{
	while (from < to && isdigit((unsigned char)*from))
		from++;
	return from == to;
}

static void read_a_word(struct reader *r, struct state *s)
{
	const char *from = r->at;
	char *word = read_word(r, s->is_arithmetic);

	/* That of a descriptor. */
	if (word && is_one_of(r, "<>") && is_number(from, r->at))
		free(word);
	else if (word)
		take_word(s, word);
	else
		r->at++; /* a 0 byte */
}

/* One thing.  True: the list has ended. */
static bool read_next(struct reader *r, struct state *s, char until)
{
	if (is_one_of(r, BLANKS))
		r->at++;
	else if (is_next(r, "\\\n"))
		r->at += 2;
	else if (is_at(r, '\n'))
		read_newline(r, s);
	else if (is_at(r, '#') && !s->is_arithmetic)
		while (r->at < r->end && *r->at != '\n')
			r->at++;
	else if (is_at(r, '('))
		read_group(r, s);
	else if (is_at(r, ')'))
		return read_close(r, s, until);
	else if (is_next(r, "&>") || (is_one_of(r, "<>") && !s->is_arithmetic &&
				      !is_next(r, "<(") && !is_next(r, ">(")))
		read_redirection(r, s);
	else if (is_one_of(r, ";&|"))
		read_operator(r, s);
	else
		read_a_word(r, s);
	return false;
}

static void read_list(struct reader *r, char until, bool is_arithmetic)
{
	struct state s = { .is_arithmetic = is_arithmetic };
	bool is_over = false;

	while (!is_over && r->at < r->end && !r->into->is_cut)
		is_over = read_next(r, &s, until);
	if (!is_over)
		end_command(r, &s);
	/* What is behind a ")" is none of it. */
	for (size_t i = 0; i < r->here_count; i++)
		free(r->heres[i].end);
	r->here_count = 0;
	free(s.input);
	list_done(&s.words);
}

bool commands_may_read(struct commands *into, size_t len, unsigned depth)
{
	into->work += len;
	into->is_cut |= depth > COMMANDS_DEPTH || into->work > into->work_max;
	return !into->is_cut;
}

void commands_read_more(struct commands *into, const char *text, size_t len, unsigned depth)
{
	struct reader r = { .at = text, .end = text + len, .into = into, .depth = depth };

	while (r.at < r.end && !into->is_cut)
		read_list(&r, '\0', false);
}

void commands_read(struct commands *ret, const char *text, size_t len)
{
	*ret = (struct commands){ .work_max = COMMANDS_WORK * (len + 4096) };
	if (commands_may_read(ret, len, 0))
		commands_read_more(ret, text, len, 0);
}

void commands_done(struct commands *c)
{
	for (size_t i = 0; i < c->count; i++)
		list_done(&c->items[i].words);
	free(c->items);
	*c = (struct commands){ 0 };
}
