#include "oci/args.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"

static const struct args_flag *find(const struct args_flag *flags, size_t count,
				    const char *word, const char **ret_value)
{
	const bool is_long = word[1] == '-';
	const size_t len = strcspn(word + 2, "=");

	for (size_t i = 0; i < count; i++) {
		if (is_long && strlen(flags[i].name) == len &&
		    !strncmp(flags[i].name, word + 2, len)) {
			*ret_value = word[2 + len] ? word + 3 + len : NULL;
			return &flags[i];
		}
		if (!is_long && flags[i].letter && flags[i].letter == word[1]) {
			*ret_value = word[2] == '=' ? word + 3
				     : word[2]	    ? word + 2
						    : NULL;
			return &flags[i];
		}
	}
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

int args_read(const struct args_flag *flags, size_t count, char **argv, bool stops,
	      struct err *e)
{
	char **to = argv, **at = argv;

	for (; *at; at++) {
		const char *value;
		if (!strcmp(*at, "--")) {
			at++;
			break;
		}
		if (**at != '-' || !(*at)[1]) {
			if (stops)
				break;
			*to++ = *at;
			continue;
		}
		const struct args_flag *f = find(flags, count, *at, &value);
		if (!f)
			return err_set(e, ERR_USAGE, "unknown flag %.64s", *at);
		if (set(f, value, &at, e))
			return -1;
	}
	while (*at)
		*to++ = *at++;
	*to = NULL;
	return 0;
}

int args_count(char *const *words, size_t min, size_t max, const char *usage,
	       struct err *e)
{
	size_t n = 0;

	while (words[n])
		n++;
	return n < min || n > max ? err_set(e, ERR_USAGE, "usage: hutch-oci %s", usage)
				  : 0;
}
