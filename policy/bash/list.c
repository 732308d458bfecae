#include "policy/bash/parse.h"

struct bash_node *parse_node(struct parser *p, enum bash_kind kind)
{
	struct bash_node *n = parse_memory(p, sizeof(*n));

	n->kind = kind;
	return n;
}

/* --- pipelines -------------------------------------------------------------------- */

/* Passes `time` and its options, and "!"; there may be several. */
static bool pass_prefixes(struct parser *p)
{
	bool has_one = false;

	for (;; has_one = true) {
		scan_blanks(p);
		if (scan_take_keyword(p, "time")) {
			p->tree->constructs |= BASH_HAS_TIME | BASH_HAS_BASHISM;
			scan_blanks(p);
			if (scan_take_keyword(p, "-p"))
				scan_blanks(p);
			(void)scan_take_keyword(p, "--"); /* it may be missing */
		} else if (scan_is_next(p, "!(")) {	  /* with `shopt -s extglob` */
			return parse_stop(p, "a \"!\" and a \"(\" behind it");
		} else if (!scan_take_keyword(p, "!")) {
			return has_one;
		}
	}
}

/* Returns whether no command begins here. */
static bool is_end(struct parser *p)
{
	int c = scan_peek(p);

	return c < 0 || (strchr("\n;&|)", c) && !scan_is_next(p, "&>")) ||
	       scan_is_closing(p);
}

static bool take_pipe(struct parser *p)
{
	if (scan_is_next(p, "||"))
		return false;
	if (scan_is_next(p, "|&"))
		parse_note_bashism(p);
	return scan_take(p, "|&") || scan_take(p, "|");
}

static struct bash_node *parse_pipeline(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_PIPELINE), **last = &n->parts;

	scan_blanks(p);
	n->start = (size_t)(p->at - p->text);
	/* `time` and "!" may have no command behind them. */
	if (pass_prefixes(p) && is_end(p))
		return n;
	do {
		scan_newlines(p);
		if (!(*last = parse_command(p)))
			return n;
		last = &(*last)->next;
		n->end = (size_t)(p->at - p->text);
		scan_blanks(p);
	} while (take_pipe(p));
	return n;
}

/* --- lists ------------------------------------------------------------------------ */

/* Passes the operator behind a pipeline. */
static enum bash_join take_join(struct parser *p)
{
	if (scan_take(p, "&&") || scan_take(p, "||"))
		return BASH_JOIN_AND_OR;
	if (scan_is_next(p, ";;") || scan_is_next(p, ";&"))
		return BASH_JOIN_END;
	if (scan_take(p, ";"))
		return BASH_JOIN_SEMICOLON;
	return scan_take(p, "&") ? BASH_JOIN_AMPERSAND : BASH_JOIN_END;
}

/* Parses the pipelines of one line; an operator && or || at its end joins the next line
 * to it.  Returns where the next pipeline goes. */
static struct bash_node **parse_line(struct parser *p, struct bash_node **last)
{
	bool begins_line = true;

	while (!is_end(p)) {
		struct bash_node *n = *last = parse_pipeline(p);
		last = &n->next;
		n->begins_line = begins_line;
		begins_line = false;
		if (parse_has_stopped(p))
			break;
		n->join = take_join(p);
		if (n->join == BASH_JOIN_END)
			break;
		if (n->join == BASH_JOIN_AND_OR) {
			scan_newlines(p);
			if (is_end(p))
				(void)(p->at == p->end
					       ? parse_stop_open(p)
					       : parse_stop(
							 p,
							 "an operator without a command "
							 "behind it"));
		}
		scan_blanks(p);
	}
	return last;
}

struct bash_node *parse_list(struct parser *p, bool may_be_empty)
{
	struct bash_node *n = parse_node(p, BASH_LIST), **last = &n->parts;

	scan_newlines(p);
	while (!is_end(p)) {
		last = parse_line(p, last);
		if (scan_peek(p) != '\n')
			break;
		scan_newlines(p);
	}
	if (!n->parts && !may_be_empty && !parse_has_stopped(p))
		(void)(p->at == p->end ? parse_stop_open(p)
				       : parse_stop(p, "a list without a command"));
	return n;
}

struct bash_node *parse_text(struct parser *p)
{
	struct bash_node *n = parse_list(p, true);

	if (p->heredocs)
		(void)parse_stop_open(p);
	if (scan_peek(p) >= 0)
		(void)parse_stop(p, "a syntax error");
	return n;
}
