#include "oci/args.h"

#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/own.h"

/* Finds the flag of "--name" or "--name=value". */
static const struct args_flag *find(const struct args *a, const char *word,
				    const char **ret_value)
{
	const size_t len = strcspn(word + 2, "=");

	for (size_t i = 0; i < a->count; i++)
		if (strlen(a->flags[i].name) == len &&
		    !strncmp(a->flags[i].name, word + 2, len)) {
			*ret_value = word[2 + len] ? word + 3 + len : NULL;
			return &a->flags[i];
		}
	return NULL;
}

static const struct args_flag *find_letter(const struct args *a, char letter)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->flags[i].letter && a->flags[i].letter == letter)
			return &a->flags[i];
	return NULL;
}

static int set_switch(const struct args_flag *f, const char *value, const char *word,
		      struct err *e)
{
	const bool is_true = !value || !strcmp(value, "true") || !strcmp(value, "1");

	if (!is_true && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
		return err_set(e, ERR_USAGE, "%s: true or false was expected", word);
	*(bool *)f->to = is_true;
	return 0;
}

/* Sets one flag; *at is moved over a value that is a word of its own. */
static int set(const struct args_flag *f, const char *value, char **at[], struct err *e)
{
	const char *word = **at;

	if (f->kind == ARGS_SWITCH)
		return set_switch(f, value, word, e);
	if (!value)
		value = *++*at;
	if (!value)
		return err_set(e, ERR_USAGE, "%s wants a value", word);
	if (f->kind == ARGS_TEXT)
		*(const char **)f->to = value;
	else if (f->kind == ARGS_LIST)
		list_add(f->to, value);
	return 0;
}

void args_print(const struct args *a, FILE *to)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct args_flag *f = &a->flags[i];
		const char letter[] = { f->letter ? '-' : ' ',
					f->letter ? f->letter : ' ', '\0' };
		AUTO_FREE char *name = text_format(
			"%s%s%s%s", f->name, f->value ? " " : "",
			f->value ? f->value : "", f->kind == ARGS_LIST ? "..." : "");
		(void)fprintf(to, "  %s --%-28s  %s\n", letter, name,
			      f->about); /* main() looks at the stream */
	}
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static int help(const struct args *a)
{
	(void)printf("hutch oci %s\n\n", a->usage); /* main() looks at the stream */
	args_print(a, stdout);
	(void)printf("  -h --help                          this text\n\n"
		     "More: man hutch-oci\n");
	return -1;
}

static int unknown(const struct args *a, const char *word, struct err *e)
{
	struct nearest n;

	(void)err_set(e, ERR_USAGE, "unknown flag %.64s", word);
	if (word[1] != '-')
		return -1;
	nearest_init(&n, word + 2, strcspn(word + 2, "="));
	for (size_t i = 0; i < a->count; i++)
		nearest_try(&n, a->flags[i].name);
	return nearest_suggest(&n, "--", e);
}

static int read_name(const struct args *a, char **at[], struct err *e)
{
	const char *value = NULL;
	const struct args_flag *f = find(a, **at, &value);

	if (!f)
		return is_help(**at) ? help(a) : unknown(a, **at, e);
	return set(f, value, at, e);
}

/* Reads the letters of one word: "-fr" is "-f -r".  Behind a flag that takes a value, the rest
 * of the word is that value. */
static int read_letters(const struct args *a, char **at[], struct err *e)
{
	const char *word = **at;

	for (const char *p = word + 1; *p; p++) {
		const struct args_flag *f = find_letter(a, *p);
		if (!f)
			return is_help(word) ? help(a) : unknown(a, word, e);
		if (p[1] == '=')
			return set(f, p + 2, at, e);
		if (f->kind != ARGS_SWITCH)
			return set(f, p[1] ? p + 1 : NULL, at, e);
		if (set_switch(f, NULL, word, e))
			return -1;
	}
	return 0;
}

int args_read(const struct args *a, char **argv, struct err *e)
{
	char **to = argv, **at = argv;

	for (; *at; at++) {
		if (!strcmp(*at, "--")) {
			at++;
			break;
		}
		if (**at != '-' || !(*at)[1]) {
			if (a->stops)
				break;
			*to++ = *at;
			continue;
		}
		if ((*at)[1] == '-' ? read_name(a, &at, e) : read_letters(a, &at, e))
			return -1;
	}
	while (*at)
		*to++ = *at++;
	*to = NULL;
	return 0;
}

int args_count(const struct args *a, char *const *words, size_t min, size_t max,
	       struct err *e)
{
	size_t n = 0;

	while (words[n])
		n++;
	return n < min || n > max ? err_set(e, ERR_USAGE, "usage: hutch oci %s", a->usage)
				  : 0;
}
