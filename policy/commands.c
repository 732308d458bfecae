#include "policy/commands.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/own.h"
#include "policy/commands_parts.h"

/* A list of commands that is being read, and the state of its latest command. */
struct state {
	struct list words;
	char *input; /* owned: the text behind <<<, the command's input; NULL: none */
	size_t first_here; /* index of the command's first here-document */
	bool is_late;	   /* an assignment or redirection came before the command's
			    * words, so keywords are not recognised */
	bool is_loop, is_function, is_coproc, is_time; /* the list is behind `for`,
						        * `function`, `coproc` or
						        * `time` */
	unsigned cases; /* number of nested `case`s that are open */
	bool awaits_in, is_pattern; /* behind `case`, before its `in`; behind `in` or
				     * ";;", before a pattern */
	bool is_plain; /* the list has plain words only, without operators */
};

/* A word as it is written, quotes included. */
struct raw {
	const char *at;
	size_t len;
};

static bool read_list(struct reader *r, char until, bool is_plain);

/* --- words in front --------------------------------------------------------------- */

static bool is_raw(struct raw raw, const char *word)
{
	return raw.len == strlen(word) && !memcmp(raw.at, word, raw.len);
}

static bool is_raw_of(struct raw raw, const char *const *set)
{
	for (; *set; set++)
		if (is_raw(raw, *set))
			return true;
	return false;
}

bool commands_is_in(const char *word, const char *const *set)
{
	return is_raw_of((struct raw){ word, strlen(word) }, set);
}

/* Returns whether the word has the form NAME=, NAME+= or NAME[...]=. */
static bool is_assignment(struct raw raw)
{
	size_t len = 0;

	while (len < raw.len &&
	       (isalnum((unsigned char)raw.at[len]) || raw.at[len] == '_'))
		len++;
	if (!len || isdigit((unsigned char)*raw.at))
		return false;
	if (len < raw.len && raw.at[len] == '[')
		len += commands_subscript(raw.at + len, raw.at + raw.len);
	len += len + 1 < raw.len && raw.at[len] == '+';
	return len < raw.len && raw.at[len] == '=';
}

/* Recognises a keyword in front of a command.  True: the word is a keyword, and no
 * part of the command. */
static bool take_keyword(struct state *s, struct raw raw)
{
	static const char *const openers[] = { "if",	"then",	 "elif", "else", "fi",
					       "while", "until", "do",	 "done", "{",
					       "}",	"!",	 NULL };

	if (is_raw_of(raw, openers))
		return true;
	if (is_raw(raw, "for") || is_raw(raw, "select"))
		return s->is_loop = true;
	if (is_raw(raw, "function"))
		return s->is_function = true;
	if (is_raw(raw, "coproc"))
		return s->is_coproc = true;
	if (is_raw(raw, "time"))
		return s->is_time = true;
	if (is_raw(raw, "esac")) {
		s->cases -= s->cases > 0;
		s->is_pattern = false;
		return true;
	}
	if (!is_raw(raw, "case"))
		return false;
	s->cases++;
	return s->awaits_in = true;
}

/* Recognises a word that stands inside a compound command and is part of no simple
 * command. */
static bool take_other(struct state *s, struct raw raw)
{
	if (s->is_pattern && !is_raw(raw, "esac"))
		return true;
	if (s->awaits_in) {
		s->is_pattern = is_raw(raw, "in");
		s->awaits_in = !s->is_pattern;
		return true;
	}
	if (s->is_loop) { /* pass the words of the loop, up to `do` */
		s->is_loop = !is_raw(raw, "do");
		return true;
	}
	if (s->is_function) { /* pass the function's name */
		s->is_function = false;
		return true;
	}
	return s->is_time && s->words.count == 0 &&
	       (is_raw(raw, "-p") || is_raw(raw, "--"));
}

/* Takes the next word of the list; `word` is owned, and `raw` is its spelling. */
static void take_word(struct state *s, char *word, struct raw raw)
{
	bool is_first = s->words.count == 0;

	if (take_other(s, raw)) {
		free(word);
		return;
	}
	/* In `coproc NAME { ... }`, NAME is no command. */
	if (s->is_coproc && s->words.count == 1 && is_raw(raw, "{"))
		list_done(&s->words);
	bool is_front = s->words.count == 0 && !s->is_late;
	if (is_first && is_assignment(raw))
		s->is_late = true;
	else if (!(is_front && take_keyword(s, raw)))
		list_add(&s->words, word);
	free(word);
}

/* --- ends of commands ------------------------------------------------------------- */

static void end_command(struct reader *r, struct state *s)
{
	const size_t first = r->into->count;

	if (s->words.count)
		commands_add(r->into, &s->words, r->depth);
	const size_t stop = r->into->count;
	if (s->input)
		commands_input(r, s->input, strlen(s->input), first, stop);
	commands_here_belong(r, s->first_here, first);
	s->first_here = r->here_count;
	s->is_late = s->is_loop = s->is_function = s->is_coproc = s->is_time = false;
	own_free(&s->input);
	list_done(&s->words);
}

/* Skips operators and returns how many there are; a backslash and newline between them
 * are skipped. */
static size_t pass_operators(struct reader *r)
{
	size_t count = 0;

	while (reader_is_one_of(r, ";&|") || reader_is_next(r, "\\\n")) {
		count += *r->at != '\\';
		r->at += *r->at == '\\' ? 2 : 1;
	}
	return count;
}

static void read_operator(struct reader *r, struct state *s)
{
	bool is_semicolon = reader_is_at(r, ';');

	if (s->is_pattern && reader_is_at(r, '|')) { /* another pattern of the same
						      * case follows */
		r->at++;
		return;
	}
	end_command(r, s);
	if (pass_operators(r) > 1 && is_semicolon && s->cases)
		s->is_pattern = true; /* behind ";;" and ";&" the next pattern follows */
}

static void read_newline(struct reader *r, struct state *s)
{
	bool is_loop = s->is_loop; /* for x <newline> do */

	end_command(r, s);
	s->is_loop = is_loop && !s->awaits_in;
	r->at++;
	commands_here_read(r);
	s->first_here = 0;
}

/* Reads a redirection from "<", ">" or "&>" on. */
static void read_redirection(struct reader *r, struct state *s)
{
	bool is_text = reader_is_next(r, "<<<");

	s->is_late = true;
	if (reader_is_next(r, "<<") && !is_text) {
		r->at += 2;
		return commands_here_begin(r);
	}
	while (reader_is_one_of(r, "<>&|"))
		r->at++;
	reader_pass_blanks(r);
	char *word = commands_word(r, false);
	if (is_text && word) {
		free(s->input);
		s->input = word;
	} else {
		free(word);
	}
}

/* --- groups ----------------------------------------------------------------------- */

/* Reads a group of commands from "(" on. */
static void read_group(struct reader *r, struct state *s)
{
	bool is_test = s->words.count && !strcmp(s->words.items[0], "[[");

	r->at++;
	if (s->is_pattern)
		return;
	if (s->words.count == 1 && reader_is_at(r, ')')) { /* the word was a function's
							    * name */
		r->at++;
		list_done(&s->words);
		return;
	}
	if (s->is_coproc) /* the word was a coprocess' name */
		list_done(&s->words);
	if (!is_test)
		end_command(r, s);
	commands_read_group(r, s->is_plain || is_test ? GROUP_PLAIN : GROUP_LIST);
}

/* Reads a ")".  True: it ends the list. */
static bool read_close(struct reader *r, struct state *s, char until)
{
	r->at++;
	if (s->is_pattern) {
		s->is_pattern = false;
		return false;
	}
	end_command(r, s);
	return until == ')';
}

static bool read_inner(struct reader *r, enum group kind, bool is_plain)
{
	struct reader inner = { .at = r->at, .end = r->end, .into = r->into,
				.depth = r->depth + 1 };
	bool is_closed = read_list(&inner, ')', is_plain);

	r->at = inner.at;
	if (kind == GROUP_LIST) /* the documents' lines follow behind the group */
		commands_here_move(&inner, r);
	commands_here_drop(&inner);
	return is_closed;
}

void commands_read_group(struct reader *r, enum group kind)
{
	const char *from = r->at;
	bool may_be_sum = kind != GROUP_PLAIN && reader_is_at(r, '(');

	if (!commands_may_read(r->into, 0, r->depth + 1)) {
		r->at = r->end;
		return;
	}
	const bool was_open = r->into->is_open;
	if (may_be_sum && read_inner(r, GROUP_INNER, true) && r->at[-2] == ')')
		return;
	/* A "((" that does not end in "))" may be a list in a list. */
	if (may_be_sum &&
	    commands_may_read(r->into, (size_t)(r->at - from), r->depth + 1)) {
		r->into->is_open = was_open;
		r->at = from;
	}
	if (!r->into->is_cut)
		(void)read_inner(r, kind, kind == GROUP_PLAIN);
}

/* --- lists ------------------------------------------------------------------------ */

static bool is_number(struct raw raw)
{
	for (size_t i = 0; i < raw.len; i++)
		if (!isdigit((unsigned char)raw.at[i]))
			return false;
	return true;
}

/* Returns whether the word is N or {NAME} in front of a redirection. */
static bool is_descriptor(const struct reader *r, struct raw raw)
{
	bool is_name = raw.len > 2 && raw.at[0] == '{' && raw.at[raw.len - 1] == '}';

	return reader_is_one_of(r, "<>") && (is_name || is_number(raw));
}

static void read_a_word(struct reader *r, struct state *s)
{
	const char *from = r->at;
	char *word = s->is_plain || s->words.count ? commands_word(r, s->is_plain)
						   : commands_first_word(r);
	const struct raw raw = { from, (size_t)(r->at - from) };

	if (!word)
		r->at++; /* skip a 0 byte */
	else if (!s->is_plain && is_descriptor(r, raw))
		free(word);
	else
		take_word(s, word, raw);
}

static void pass_comment(struct reader *r)
{
	while (r->at < r->end && *r->at != '\n')
		r->at++;
}

static bool is_redirection(const struct reader *r)
{
	return reader_is_next(r, "&>") ||
	       (reader_is_one_of(r, "<>") && !reader_is_next(r, "<(") &&
		!reader_is_next(r, ">("));
}

/* Reads the next word, operator or group.  True: the list has ended. */
static bool read_next(struct reader *r, struct state *s, char until)
{
	if (reader_is_one_of(r, BLANKS))
		r->at++;
	else if (reader_is_next(r, "\\\n"))
		r->at += 2;
	else if (reader_is_at(r, '\n'))
		read_newline(r, s);
	else if (reader_is_at(r, '#') && !s->is_plain)
		pass_comment(r);
	else if (reader_is_at(r, '('))
		read_group(r, s);
	else if (reader_is_at(r, ')'))
		return read_close(r, s, until);
	else if (!s->is_plain && is_redirection(r))
		read_redirection(r, s);
	else if (reader_is_one_of(r, ";&|"))
		read_operator(r, s);
	else
		read_a_word(r, s);
	return false;
}

/* Reads a list of commands.  False: the text ended before the list did. */
static bool read_list(struct reader *r, char until, bool is_plain)
{
	struct state s = { .is_plain = is_plain };
	bool is_over = false;

	while (!is_over && r->at < r->end && !r->into->is_cut)
		is_over = read_next(r, &s, until);
	if (!is_over)
		end_command(r, &s);
	r->into->is_open |= (until && !is_over) || s.cases || (!is_over && r->here_count);
	free(s.input);
	list_done(&s.words);
	return is_over;
}

bool commands_may_read(struct commands *into, size_t len, unsigned depth)
{
	into->work += len;
	into->is_cut |= depth > COMMANDS_DEPTH || into->work > into->work_max;
	return !into->is_cut;
}

void commands_read_more(struct commands *into, const char *text, size_t len,
			unsigned depth)
{
	struct reader r = { .at = text, .end = text + len, .into = into, .depth = depth };

	while (r.at < r.end && !into->is_cut)
		(void)read_list(&r, '\0', false);
	commands_here_drop(&r);
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
