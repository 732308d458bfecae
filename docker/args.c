#include "docker/args.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/nearest.h"
#include "base/own.h"

void args_done(struct args *a)
{
	list_done(&a->words);
	list_done(&a->volumes);
	list_done(&a->hosts);
	list_done(&a->is_on);
}

/* A flag as it stands in the words. */
struct given {
	const struct arg *row;
	const char *value; /* NULL: none in the same word */
	char shown[64];	   /* "--name" or "-n" */
};

static int unknown(struct args *a, const struct arg_table *t, const char *shown,
		   struct err *e)
{
	struct nearest n;

	a->is_misread = true;
	(void)err_set(e, ERR_USAGE, "unknown flag: %.60s", shown);
	if (!strncmp(shown, "--", 2)) {
		nearest_init(&n, shown + 2, strcspn(shown + 2, "="));
		for (size_t i = 0; i < t->count; i++)
			if (!t->rows[i].refused)
				nearest_try(&n, t->rows[i].name);
		(void)nearest_suggest(&n, "--", e);
	}
	return err_remedy(e, "man hutch-%s lists the flags of %s %s that hutch has",
			  t->program, t->program, t->verb);
}

bool args_read_switch(const char *value, bool *ret)
{
	static const char *const words[] = { "1", "t", "T", "true",  "TRUE",  "True",
					     "0", "f", "F", "false", "FALSE", "False" };
	size_t i = 0;

	while (value && i < ARRAY_LEN(words) && strcmp(words[i], value) != 0)
		i++;
	*ret = i < ARRAY_LEN(words) / 2;
	return i < ARRAY_LEN(words);
}

/* Does with a flag what its row says; `value` is NULL for a switch. */
static int obey(struct args *a, const struct given *g, const char *value, struct err *e)
{
	if (g->row->refused)
		return err_set(e, ERR_UNSUPPORTED, "%s: %s", g->shown, g->row->refused);
	if (g->row->take)
		return g->row->take(a, value, e);
	if (g->row->to) {
		list_add(&a->words, g->row->to);
		if (value)
			list_add(&a->words, value);
	}
	return 0;
}

/* Takes a switch.  A switch that is off, as in -d=false, asks for nothing; it is an error
 * if the switch was on before, or is on always. */
static int take_switch(struct args *a, const struct given *g, struct err *e)
{
	const struct arg *row = g->row;
	bool is_on;

	if (!args_read_switch(g->value, &is_on)) {
		a->is_misread = true;
		return err_set(e, ERR_USAGE, "invalid argument \"%.60s\" for \"%s\" flag",
			       g->value, g->shown);
	}
	if (is_on) {
		list_add_once(&a->is_on, row->name);
		return obey(a, g, NULL, e);
	}
	if (list_has(&a->is_on, row->name))
		return err_set(e, ERR_USAGE, "%s is given, and %s=%s behind it", g->shown,
			       g->shown, g->value);
	if (!row->to && !row->take && !row->refused)
		return err_set(e, ERR_UNSUPPORTED, "%s=%s: with hutch it is always so",
			       g->shown, g->value);
	return 0;
}

/* Takes a flag, and the word behind it if that is its value.  Returns the number of
 * words that were taken behind it. */
static int take(struct args *a, const struct given *g, const char *next, struct err *e)
{
	if (!g->row->has_value)
		return take_switch(a, g, e);
	const char *value = g->value ? g->value : next;
	if (!value) {
		a->is_misread = true;
		return err_set(e, ERR_USAGE, "flag needs an argument: %s", g->shown);
	}
	return obey(a, g, value, e) < 0 ? -1 : g->value ? 0 : 1;
}

static int take_long(const char *word, const char *next, const struct arg_table *t,
		     struct args *a, struct err *e)
{
	const size_t len = strcspn(word + 2, "=");
	struct given g = { .value = word[2 + len] ? word + 2 + len + 1 : NULL };

	for (size_t i = 0; i < t->count; i++)
		if (strlen(t->rows[i].name) == len &&
		    !strncmp(t->rows[i].name, word + 2, len))
			g.row = &t->rows[i];
	if (!g.row)
		return unknown(a, t, word, e);
	(void)strcat(strcpy(g.shown, "--"), g.row->name);
	return take(a, &g, next, e);
}

/* Takes a word of letters such as -dit or -p80:80; the first letter with a value has the
 * rest of the word as that. */
static int take_letters(const char *word, const char *next, const struct arg_table *t,
			struct args *a, struct err *e)
{
	int taken = 0;

	for (const char *at = word + 1; *at && taken == 0; at++) {
		struct given g = { .shown = { '-', *at } };
		for (size_t i = 0; i < t->count; i++)
			if (t->rows[i].letter == *at)
				g.row = &t->rows[i];
		if (!g.row)
			return unknown(a, t, g.shown, e);
		if (at[1] == '=')
			g.value = at + 2;
		else if (at[1] && g.row->has_value)
			g.value = at + 1;
		taken = take(a, &g, next, e);
		if (g.value)
			break;
	}
	return taken;
}

bool args_help(char **argv, const struct arg_table *t, const char *operands)
{
	if (!argv[0] || strcmp(argv[0], "--help") != 0)
		return false;
	(void)printf("hutch %s %s [OPTIONS] %s\n\n", t->program, t->verb, operands);
	for (size_t i = 0; i < t->count; i++) {
		const struct arg *row = &t->rows[i];
		const char letter[] = { '-', row->letter, '\0' };
		if (!row->refused)
			(void)printf("  %2s --%s%s\n", row->letter ? letter : "",
				     row->name, row->has_value ? " VALUE" : "");
	}
	(void)printf("\nMore: man hutch-%s\n", t->program);
	return true;
}

int args_read(char ***argv, const struct arg_table *t, struct args *a, struct err *e)
{
	char **at = *argv;
	int taken;

	for (; *at && (*at)[0] == '-' && (*at)[1]; at += 1 + taken) {
		if (!strcmp(*at, "--")) {
			at++;
			break;
		}
		taken = (*at)[1] == '-' ? take_long(*at, at[1], t, a, e)
					: take_letters(*at, at[1], t, a, e);
		if (taken < 0)
			return -1;
	}
	*argv = at;
	return 0;
}

int args_read_all(char **argv, const struct arg_table *t, struct args *a,
		  struct list *operands, struct err *e)
{
	while (*argv) {
		if (args_read(&argv, t, a, e) < 0)
			return -1;
		if (*argv)
			list_add(operands, *argv++);
	}
	return 0;
}
