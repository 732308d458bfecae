#include "base/answer.h"

#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"

void answer_set(struct answer *a, bool is_yes, const char *layer, char *text)
{
	answer_done(a);
	*a = (struct answer){ .is_yes = is_yes, .text = text, .layer = layer };
}

void answer_done(struct answer *a)
{
	own_free(&a->text);
	own_free(&a->line);
	own_free(&a->change);
}

static void print_json(const struct answer *a, FILE *to)
{
	AUTO_FREE char *text = json_write_quoted(a->text);
	AUTO_FREE char *line = json_write_quoted(a->line);
	AUTO_FREE char *change = json_write_quoted(a->change);

	(void)fprintf(to,
		      "{\"version\":1,\"answer\":\"%s\",\"text\":%s,\"layer\":\"%s\","
		      "\"line\":%s,\"change\":%s}\n",
		      a->is_yes ? "yes" : "no", text, a->layer, line, change);
}

static void print_part(const char *name, const char *text, FILE *to)
{
	if (!text)
		return;
	AUTO_FREE char *line = term_escape_line(text);
	(void)fprintf(to, "  %-7s %s\n", name, line);
}

void answer_print(const struct answer *a, bool as_json, FILE *to)
{
	if (as_json) {
		print_json(a, to);
		return;
	}
	AUTO_FREE char *text = term_escape_line(a->text);
	(void)fprintf(to, "%s: %s\n", a->is_yes ? "yes" : "no", text);
	print_part("layer", a->layer, to);
	print_part("line", a->line, to);
	print_part("change", a->change, to);
}
