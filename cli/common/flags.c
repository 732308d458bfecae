#include "cli/common/flags.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/note.h"
#include "base/own.h"
#include "cli/common/foreign_flags.h"
#include "cli/common/options.h"
#include "cli/common/report.h"

/* the width of the column before a flag's help, as in `hutch run --help` */
#define FLAG_WIDTH 36

static void print_flag(const struct flag *f)
{
	AUTO_FREE char *text = text_format(
		"  %c%c --%s%s%s", f->letter ? '-' : ' ', f->letter ? f->letter : ' ',
		f->name, f->argument ? " " : "", f->argument ? f->argument : "");

	(void)printf("%-*s %s\n", FLAG_WIDTH, text, f->help);
}

static void print_help(const struct usage *u)
{
	static const struct flag help = { .letter = 'h',
					  .name = "help",
					  .help = "this text" };

	(void)printf("%s\n\n%s\n\n", u->synopsis, u->about);
	for (size_t i = 0; i < u->count; i++)
		if (u->flags[i].help)
			print_flag(&u->flags[i]);
	print_flag(&help);

	/* The verbs of hutch image, hutch net and others have one page. */
	const char *verb = u->synopsis + strlen("hutch ");
	(void)printf("\nMore: man hutch-%.*s\n", (int)strcspn(verb, " "), verb);
}

/* Returns the length of the verb in a synopsis: in "hutch port ls [--json] NAME", that of
 * "port ls", which begins behind "hutch ". */
static size_t verb_len(const char *verb)
{
	size_t len = strspn(verb, "abcdefghijklmnopqrstuvwxyz- ");

	while (len && verb[len - 1] == ' ')
		len--;
	return len;
}

#define VERB_AT (sizeof("hutch ") - 1)

/* Returns the verb, allocated. */
static char *verb_of(const struct usage *u)
{
	const char *verb = u->synopsis + VERB_AT;

	return text_format("%.*s", (int)verb_len(verb), verb);
}

static int unknown_name(const struct usage *u, const char *name, struct err *e)
{
	AUTO_FREE char *verb = verb_of(u);
	const size_t len = strcspn(name, "=");
	struct nearest n;

	if (foreign_flags_explain(verb, name, len, e))
		return -1;
	nearest_init(&n, name, len);
	for (size_t i = 0; i < u->count; i++)
		nearest_try(&n, u->flags[i].name);
	(void)err_set(e, ERR_USAGE, "unknown flag --%.60s", name);
	(void)nearest_suggest(&n, "--", e);
	return err_remedy(e, "%s", u->synopsis);
}

int flags_unknown_letter(const char *word, const char *letter, struct err *e)
{
	/* A byte of a letter that has several would be no text. */
	if (word[2] && (unsigned char)*letter < 0x80)
		return err_set(e, ERR_USAGE, "unknown flag -%c in %.60s", *letter, word);
	return err_set(e, ERR_USAGE, "unknown flag %.60s", word);
}

static int unknown_letter(const struct usage *u, const char *word, const char *letter,
			  struct err *e)
{
	AUTO_FREE char *verb = verb_of(u);

	if (foreign_flags_explain(verb, letter, 1, e))
		return -1;
	(void)flags_unknown_letter(word, letter, e);
	return err_remedy(e, "%s", u->synopsis);
}

static bool is_repeated(const struct flag *f)
{
	size_t len = strlen(f->argument);

	return len > 3 && !strcmp(f->argument + len - 3, "...");
}

int flags_check_value(const char *shown, const char *argument, const char *word,
		      struct err *e)
{
	if (!word)
		return err_set(e, ERR_USAGE, "%s needs a value: %s", shown, argument);
	if (strcmp(word, "--") != 0)
		return 0;
	(void)err_set(e, ERR_USAGE, "%s needs a value: %s, and -- stands in its place",
		      shown, argument);
	return err_remedy(e, "if the value is a variable, it is empty and not quoted");
}

static int set(const struct flag *f, struct err *e)
{
	if (!f->is_set)
		return note_silence() < 0 ? err_sys(e, "--%s", f->name) : 0;
	*f->is_set = true;
	return 0;
}

/* Takes one flag and its value.  `value`: the text after the flag in the same word,
 * or NULL. */
static int take(const struct flag *f, const char *value, char ***at, struct err *e)
{
	if (!f->argument && value)
		return err_set(e, ERR_USAGE, "--%s takes no value", f->name);
	if (!f->argument)
		return set(f, e);
	if (!value) {
		AUTO_FREE char *shown = text_format("--%s", f->name);
		value = *++*at;
		if (flags_check_value(shown, f->argument, value, e) < 0)
			return -1;
	}
	if (is_repeated(f))
		list_add(f->value, value);
	else
		*(const char **)f->value = value;
	return 0;
}

static const struct flag *find_name(const struct usage *u, const char *name, size_t len)
{
	for (size_t i = 0; i < u->count; i++)
		if (strlen(u->flags[i].name) == len &&
		    !strncmp(u->flags[i].name, name, len))
			return &u->flags[i];
	return NULL;
}

static int read_long(const struct usage *u, char ***at, struct err *e)
{
	const char *word = **at + 2;
	const size_t len = strcspn(word, "=");
	const struct flag *f = find_name(u, word, len);

	return f ? take(f, word[len] ? word + len + 1 : NULL, at, e)
		 : unknown_name(u, word, e);
}

static const struct flag *find_letter(const struct usage *u, char letter)
{
	for (size_t i = 0; i < u->count; i++)
		if (u->flags[i].letter == letter)
			return &u->flags[i];
	return NULL;
}

/* Reads words such as "-aq", "-t 5", "-t5". */
static int read_letters(const struct usage *u, char ***at, struct err *e)
{
	const char *word = **at;
	const size_t len = strcspn(word + 1, "=");

	/* "-json" would be read as -j, or as -t with the value "ime". */
	if (len > 1 && find_name(u, word + 1, len)) {
		(void)err_set(e, ERR_USAGE, "unknown flag -%.*s; is it --%.*s?", (int)len,
			      word + 1, (int)len, word + 1);
		return err_remedy(e, "%s", u->synopsis);
	}
	for (const char *letter = word + 1; *letter; letter++) {
		const struct flag *f = find_letter(u, *letter);
		if (!f)
			return unknown_letter(u, word, letter, e);
		if (f->argument)
			return take(f, letter[1] ? letter + 1 : NULL, at, e);
		if (set(f, e) < 0)
			return -1;
	}
	return 0;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static bool is_verb(const char *word)
{
	const size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz");

	return len && (!word[len] || word[len] == ' ');
}

/* Returns the name of the operand number `n`, from 0, in a synopsis, allocated: "DST" of
 * "hutch cp [OPTIONS] SRC... DST".  Words in brackets are flags, and may have a blank in
 * them; "[IP:]HOST" is an operand.  A word of small letters is a verb, as in "hutch net
 * NAME allow RULE". */
static char *operand_name(const struct usage *u, size_t n)
{
	const char *at = u->synopsis + VERB_AT;

	at += verb_len(at);
	for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
		size_t len = *at == '[' ? strcspn(at, "]") + 1 : 0;
		const bool is_flag = len && (!at[len] || strchr(" .", at[len]));
		if (!is_flag && !is_verb(at) && n-- == 0)
			break;
		at += len + strcspn(at + len, " ");
	}
	return text_format("%.*s", (int)strcspn(at, " ."), at);
}

static int check_count(const struct usage *u, char **operands, size_t count,
		       struct err *e)
{
	if (count >= u->operands_min && count <= u->operands_max)
		return 0;
	AUTO_FREE char *verb = verb_of(u);
	AUTO_FREE char *operand = operand_name(u, count);
	if (count > u->operands_max)
		(void)err_set(e, ERR_USAGE, "too many words: '%.60s'",
			      operands[u->operands_max]);
	else
		(void)options_missing(verb, operand, e);
	return err_remedy(e, "%s%s%s", u->synopsis, u->hint ? "; " : "",
			  u->hint ? u->hint : "");
}

enum flags_result flags_read(char **argv, const struct usage *u, struct err *e)
{
	char **operand = argv;
	bool has_ended = false;

	for (char **at = argv; *at; at++) {
		if (!has_ended && foreign_flags_check_dash(*at, e) < 0)
			return FLAGS_FAILED;
		if (has_ended || (*at)[0] != '-' || !(*at)[1]) {
			*operand++ = *at;
		} else if (!strcmp(*at, "--")) {
			has_ended = true;
		} else if (is_help(*at)) {
			print_help(u);
			return FLAGS_HELP;
		} else {
			int rc = (*at)[1] == '-' ? read_long(u, &at, e)
						 : read_letters(u, &at, e);
			if (rc < 0)
				return FLAGS_FAILED;
		}
	}
	*operand = NULL;
	return check_count(u, argv, (size_t)(operand - argv), e) < 0 ? FLAGS_FAILED
								     : FLAGS_READ;
}

enum flags_result flags_begin(char **argv, const struct usage *u)
{
	struct err e;
	enum flags_result result = flags_read(argv, u, &e);

	if (result == FLAGS_FAILED)
		report_error(&e);
	return result;
}
