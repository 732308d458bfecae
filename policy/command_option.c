#include "policy/command_option.h"

#include <string.h>

#include "policy/commands_parts.h"

enum value { VALUE_NONE, VALUE_ATTACHED, VALUE_NEXT };

/* One option: its letter, and whether it takes a value. */
struct row {
	char letter;
	enum value value;
};

/* Reads the marks that follow an option's name in `names` (see struct option_table). */
static struct row row_of_name(const char *mark)
{
	struct row r = { '\0', VALUE_NONE };

	if (*mark == '=' || *mark == '?' || *mark == '/') {
		r.value = *mark == '='	 ? VALUE_NEXT
			  : *mark == '?' ? VALUE_ATTACHED
					 : VALUE_NONE;
		r.letter = mark[1] == ' ' ? '\0' : mark[1];
	}
	return r;
}

/* Finds a long option by its name or by a prefix of its name.  A prefix of several
 * names is accepted only if all of them have the same letter and kind of value. */
static bool find_name(const char *names, const char *name, size_t len, struct row *ret)
{
	bool has_one = false;

	while (*names) {
		size_t whole = strcspn(names, " =?/");
		struct row r = row_of_name(names + whole);
		bool is_it = len && whole >= len && !memcmp(names, name, len);
		if (is_it && has_one && whole > len &&
		    (r.value != ret->value || r.letter != ret->letter))
			return false;
		if (is_it) {
			*ret = r;
			has_one = true;
		}
		if (is_it && whole == len)
			return true;
		names += strcspn(names, " ");
		names += *names == ' ';
	}
	return has_one;
}

static bool find_letter(const char *letters, char letter, struct row *ret)
{
	const char *at = letter == ':' ? NULL : strchr(letters, letter);

	if (!at)
		return false;
	*ret = (struct row){ letter, at[1] != ':'   ? VALUE_NONE
				     : at[2] == ':' ? VALUE_ATTACHED
						    : VALUE_NEXT };
	return true;
}

/* Finds the option that a word names, and its value if the same word contains it. */
static bool find(const struct option_table *t, const char *word, struct row *ret,
		 const char **ret_value)
{
	*ret_value = NULL;
	if (word[1] == '-') {
		size_t len = strcspn(word + 2, "=");
		if (word[2 + len])
			*ret_value = word + 3 + len;
		return find_name(t->names, word + 2, len, ret) ||
		       find_name("help version", word + 2, len, ret);
	}
	for (const char *at = word + 1; *at; at++) {
		if (!find_letter(t->letters, *at, ret))
			return false;
		if (ret->value != VALUE_NONE) {
			*ret_value = at[1] ? at + 1 : NULL;
			return true;
		}
	}
	return true;
}

bool command_option_next(const struct option_table *t, const struct words *w, size_t *i,
			 struct command_option *ret)
{
	const struct bash_word *word = w->items[*i];
	struct row row = { 0 };

	if (word->text[0] != '-' || word->len < 2)
		return false;
	*ret = (struct command_option){ .at = (*i)++ };
	if (word_is(word, "--"))
		return false;
	ret->is_unknown = !find(t, word->text, &row, &ret->value);
	if (ret->is_unknown)
		return true;
	ret->letter = row.letter;
	if (row.value == VALUE_NEXT && !ret->value && *i < w->count) {
		ret->at = (*i)++;
		ret->value = w->items[ret->at]->text;
	}
	return true;
}
