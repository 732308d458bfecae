/* A template is run as it is read, without a tree.  A branch that is not taken is read as
 * well, with `is_live` off: its expressions are checked, and nothing of them is evaluated
 * or printed.  A body of `range` is read once for each item. */
#include "docker/template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "docker/template_call.h"

#define TEXT_MAX_BYTES 65536
#define DEPTH_MAX      24
#define STEPS_MAX      200000 /* the most actions that one run executes */
#define OUTPUT_MAX     (8u << 20)
#define MADE_MAX       (8u << 20) /* the most bytes of texts that one run makes */
#define VARIABLES_MAX  16
#define NAME_MAX_BYTES 64

struct variable {
	char name[NAME_MAX_BYTES];
	struct json_view value;
};

struct run {
	const char *start, *at; /* borrowed: the template, and the next byte of it */
	bool is_live;
	unsigned depth, steps;
	struct json_view root, dot;
	struct variable variables[VARIABLES_MAX];
	size_t variable_count;
	struct list made;   /* owned: texts that values borrow */
	size_t made_bytes;
	struct buffer *out; /* borrowed; NULL: nothing is printed */
	struct err *e;
};

/* The word that ended a list of texts and actions. */
enum ended { ENDED_FAILED = -1, ENDED_TEXT, ENDED_END, ENDED_ELSE };

static int fail(struct run *r, const char *why)
{
	return err_set(r->e, ERR_USAGE, "template: 1:%zu: %s", (size_t)(r->at - r->start),
		       why);
}

static void skip_blanks(struct run *r)
{
	r->at += strspn(r->at, " \t\r\n");
}

/* Whether the action ends here: "}}", or "-}}" behind a blank. */
static bool is_close(const struct run *r)
{
	return !strncmp(r->at, "}}", 2) || !strncmp(r->at, "-}}", 3);
}

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t name_length(const char *at)
{
	size_t len = 0;

	while (is_name_byte(at[len]))
		len++;
	return len;
}

static bool take_word(struct run *r, const char *word)
{
	const size_t len = strlen(word);

	if (name_length(r->at) != len || strncmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	skip_blanks(r);
	return true;
}

/* --- values ------------------------------------------------------------------ */

static int read_pipeline(struct run *r, struct json_view *ret);

static int read_name(struct run *r, char name[NAME_MAX_BYTES])
{
	const size_t len = name_length(r->at);

	if (len >= NAME_MAX_BYTES)
		return fail(r, "a name is too long");
	memcpy(name, r->at, len);
	name[len] = '\0';
	r->at += len;
	return 0;
}

/* Reads the fields behind a value: ".A.B". */
static int read_fields(struct run *r, struct json_view *value)
{
	char name[NAME_MAX_BYTES];

	while (*r->at == '.' && is_name_byte(r->at[1])) {
		r->at++;
		if (read_name(r, name) < 0)
			return -1;
		if (!r->is_live)
			continue;
		struct json_view of = *value;
		*value = template_call_member(of, name);
		if (value->text)
			continue;
		if (json_view_type(of) == JSON_OBJECT)
			return err_set(r->e, ERR_USAGE, "map has no entry for key \"%s\"",
				       name);
		return err_set(r->e, ERR_USAGE, "can't evaluate field %s of this value",
			       name);
	}
	return 0;
}

static int read_variable(struct run *r, struct json_view *ret)
{
	char name[NAME_MAX_BYTES];

	r->at++;
	if (read_name(r, name) < 0)
		return -1;
	if (!*name) {
		*ret = r->root;
		return 0;
	}
	for (size_t i = r->variable_count; i-- > 0;)
		if (!strcmp(r->variables[i].name, name)) {
			*ret = r->variables[i].value;
			return 0;
		}
	return fail(r, "a variable is not defined");
}

/* Keeps a text of a value that borrows it, as long as the template runs. */
static const char *keep(struct run *r, const char *text)
{
	list_add(&r->made, text);
	r->made_bytes += strlen(text);
	return r->made.items[r->made.count - 1];
}

/* Reads a string in quotes, whose escapes are JSON's, or in backquotes. */
static int read_string(struct run *r, struct json_view *ret)
{
	const char *begin = r->at, quote = *r->at;
	const char *end = begin + 1;

	while (*end && *end != quote)
		end += quote == '"' && *end == '\\' && end[1] ? 2 : 1;
	if (!*end)
		return fail(r, "a string has no end");
	r->at = end + 1;
	AUTO_FREE char *text =
		strndup(begin + (quote == '`'),
			(size_t)(end - begin) + (quote == '"') - (quote == '`'));
	if (!text)
		abort();
	if (quote == '`') {
		*ret = template_call_text(&r->made, text);
		r->made_bytes += ret->len;
		return 0;
	}
	const char *kept = keep(r, text);
	return json_view_scan(ret, kept, strlen(kept), NULL) < 0
		       ? fail(r, "a string has an escape that hutch does not know")
		       : 0;
}

static int read_number(struct run *r, struct json_view *ret)
{
	const size_t len = strspn(r->at, "-0123456789.");
	AUTO_FREE char *text = strndup(r->at, len);

	if (!text)
		abort();
	const char *kept = keep(r, text);
	r->at += len;
	return json_view_scan(ret, kept, len, NULL) < 0 ? fail(r, "a number is not one")
							: 0;
}

static int read_constant(struct run *r, struct json_view *ret)
{
	static const char *const words[] = { "true", "false" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (take_word(r, words[i])) {
			*ret = (struct json_view){ words[i], strlen(words[i]) };
			return 0;
		}
	return fail(r, "a value is expected here");
}

static int call(struct run *r, const char *name, size_t len, struct template_args *args,
		struct json_view *ret)
{
	args->made = &r->made;
	if (!r->is_live)
		return 0;
	if (template_call(name, len, args, ret, r->e) < 0)
		return -1;
	/* A function may double its value, as `json` does with quotes, so that a few
	 * dozen calls in a row would fill the memory. */
	r->made_bytes += ret->len;
	return r->made_bytes > MADE_MAX ? fail(r, "it makes too much text") : 0;
}

static int read_parentheses(struct run *r, struct json_view *ret)
{
	r->at++;
	if (++r->depth > DEPTH_MAX)
		return fail(r, "it is nested too deep");
	if (read_pipeline(r, ret) < 0)
		return -1;
	r->depth--;
	if (*r->at != ')')
		return fail(r, "unclosed left paren");
	r->at++;
	return 0;
}

static int read_operand(struct run *r, struct json_view *ret)
{
	int rc;

	if (*r->at == '.') {
		*ret = r->dot;
		if (!is_name_byte(r->at[1])) {
			r->at++;
			skip_blanks(r);
			return 0;
		}
		rc = 0;
	} else if (*r->at == '$')
		rc = read_variable(r, ret);
	else if (*r->at == '(')
		rc = read_parentheses(r, ret);
	else if (*r->at == '"' || *r->at == '`')
		rc = read_string(r, ret);
	else if (isdigit((unsigned char)*r->at) || *r->at == '-')
		rc = read_number(r, ret);
	else
		rc = read_constant(r, ret);
	if (rc < 0 || read_fields(r, ret) < 0)
		return -1;
	skip_blanks(r);
	return 0;
}

static bool is_end_of_command(const struct run *r)
{
	return !*r->at || *r->at == '|' || *r->at == ')' || is_close(r);
}

/* Reads the key of `.Label "KEY"`, which in docker is a method; here the member Label has
 * the labels. */
static int read_label(struct run *r, struct json_view *ret)
{
	struct template_args args = { .items = { *ret }, .count = 2 };

	if (read_operand(r, &args.items[1]) < 0)
		return -1;
	return is_end_of_command(r) ? call(r, "index", strlen("index"), &args, ret)
				    : fail(r, "unexpected operand");
}

/* Reads a function with its arguments, or one operand; `piped` is the value from the
 * command before, or no value. */
static int read_command(struct run *r, const struct json_view *piped,
			struct json_view *ret)
{
	struct template_args args = { .count = 0 };
	const char *name = r->at;
	const size_t len = name_length(name);
	const bool is_constant = (len == 4 && !strncmp(name, "true", 4)) ||
				 (len == 5 && !strncmp(name, "false", 5));

	if (len == 0 || is_constant || isdigit((unsigned char)*name)) {
		const bool is_label = !strncmp(name, ".Label ", 7);
		if (read_operand(r, ret) < 0)
			return -1;
		if (is_label && !piped && !is_end_of_command(r))
			return read_label(r, ret);
		return is_end_of_command(r) && !piped ? 0 : fail(r, "unexpected operand");
	}
	if (!template_call_has(name, len))
		return err_set(r->e, ERR_USAGE,
			       "template: 1:%zu: function \"%.*s\" not "
			       "defined",
			       (size_t)(r->at - r->start), (int)(len < 60 ? len : 60),
			       name);
	r->at += len;
	skip_blanks(r);
	while (!is_end_of_command(r)) {
		if (args.count == TEMPLATE_ARGS_MAX - 1)
			return fail(r, "too many arguments");
		if (read_operand(r, &args.items[args.count++]) < 0)
			return -1;
	}
	if (piped)
		args.items[args.count++] = *piped;
	return call(r, name, len, &args, ret);
}

static int read_pipeline(struct run *r, struct json_view *ret)
{
	struct json_view piped;

	*ret = (struct json_view){ 0 };
	skip_blanks(r);
	if (read_command(r, NULL, ret) < 0)
		return -1;
	skip_blanks(r);
	while (*r->at == '|') {
		r->at++;
		skip_blanks(r);
		piped = *ret;
		if (read_command(r, &piped, ret) < 0)
			return -1;
		skip_blanks(r);
	}
	return 0;
}

/* --- actions ----------------------------------------------------------------- */

/* Ends an action; a "-" in front of the end drops the blanks behind it. */
static int read_close(struct run *r)
{
	skip_blanks(r);
	if (!is_close(r))
		return fail(r,
			    *r->at ? "unexpected text in an action" : "unclosed action");
	const bool trims = *r->at == '-';
	r->at += trims ? 3 : 2;
	if (trims)
		skip_blanks(r);
	return 0;
}

static enum ended run_list(struct run *r);

static int set_variable(struct run *r, const char *name, struct json_view value)
{
	if (r->variable_count == VARIABLES_MAX)
		return fail(r, "too many variables");
	struct variable *v = &r->variables[r->variable_count++];
	(void)strcpy(v->name, name);
	v->value = value;
	return 0;
}

/* Reads "$a :=" or "$a, $b :=".  Returns how many names there are; with 0 nothing was
 * read. */
static int read_declaration(struct run *r, char names[2][NAME_MAX_BYTES])
{
	const char *begin = r->at;
	int count = 0;

	while (count < 2 && *r->at == '$') {
		r->at++;
		if (read_name(r, names[count++]) < 0)
			return -1;
		skip_blanks(r);
		if (*r->at != ',')
			break;
		r->at++;
		skip_blanks(r);
	}
	if (count > 0 && !strncmp(r->at, ":=", 2)) {
		r->at += 2;
		return count;
	}
	r->at = begin;
	return 0;
}

/* Runs the list up to {{else}} or {{end}}, with or without effect, and forgets its
 * variables. */
static enum ended run_branch(struct run *r, bool is_live)
{
	const bool was_live = r->is_live;
	const size_t variables = r->variable_count;

	r->is_live = was_live && is_live;
	enum ended how = run_list(r);
	r->is_live = was_live;
	r->variable_count = variables;
	if (how == ENDED_TEXT)
		return (enum ended)fail(
			r, "unexpected end of the template: {{end}} is missing");
	return how;
}

/* Runs what is behind {{else}}, up to the {{end}}. */
static int run_else(struct run *r, bool is_live)
{
	if (read_close(r) < 0)
		return -1;
	enum ended how = run_branch(r, is_live);
	return how == ENDED_END	   ? 0
	       : how == ENDED_ELSE ? fail(r, "a second {{else}}")
				   : -1;
}

/* Runs the branch of an {{if}}, {{else if}} or {{with}} whose word was read.
 * *ret_holds: its condition is true. */
static enum ended run_if(struct run *r, bool sets_dot, bool *ret_holds)
{
	const struct json_view dot = r->dot;
	char names[2][NAME_MAX_BYTES];
	struct json_view value;

	int count = read_declaration(r, names);
	if (count < 0 || read_pipeline(r, &value) < 0 || read_close(r) < 0)
		return ENDED_FAILED;
	if (count > 0 && set_variable(r, names[0], value) < 0)
		return ENDED_FAILED;
	*ret_holds = template_call_holds(value);
	if (sets_dot)
		r->dot = value;
	enum ended how = run_branch(r, *ret_holds);
	r->dot = dot;
	return how;
}

/* Runs {{if}} with all its {{else if}}, or with `sets_dot` {{with}}.  Behind a branch
 * that was taken the others are read without effect. */
static int run_condition(struct run *r, bool sets_dot)
{
	const size_t variables = r->variable_count;
	const bool was_live = r->is_live;
	bool holds = false, is_first = true;
	enum ended how;

	do {
		how = run_if(r, sets_dot && is_first, &holds);
		r->is_live &= !holds;
		is_first = false;
	} while (how == ENDED_ELSE && take_word(r, "if"));
	int rc = how == ENDED_ELSE ? run_else(r, true) : how == ENDED_END ? 0 : -1;
	r->is_live = was_live;
	r->variable_count = variables;
	return rc;
}

struct loop {
	char names[2][NAME_MAX_BYTES];
	int name_count;
	const char *body; /* the first byte behind {{range}} */
	size_t index;
};

/* Runs the body of {{range}} for one item. */
static enum ended run_item(struct run *r, struct loop *l,
			   const struct json_view_place *item)
{
	struct json_view key = item->key;

	if (!key.text) {
		list_addf(&r->made, "%zu", l->index);
		key.text = r->made.items[r->made.count - 1];
		key.len = strlen(key.text);
	}
	l->index++;
	r->at = l->body;
	r->dot = item->value;
	if (l->name_count == 2 && set_variable(r, l->names[0], key) < 0)
		return ENDED_FAILED;
	if (l->name_count > 0 &&
	    set_variable(r, l->names[l->name_count - 1], item->value) < 0)
		return ENDED_FAILED;
	return run_branch(r, true);
}

static int run_range(struct run *r)
{
	const struct json_view dot = r->dot;
	const size_t variables = r->variable_count;
	struct json_view_place item = { 0 };
	struct json_view value;
	struct loop l = { 0 };
	enum ended how = ENDED_TEXT;

	l.name_count = read_declaration(r, l.names);
	if (l.name_count < 0 || read_pipeline(r, &value) < 0 || read_close(r) < 0)
		return -1;
	l.body = r->at;
	while (r->is_live && how != ENDED_FAILED && json_view_step(value, &item)) {
		how = run_item(r, &l, &item);
		r->variable_count = variables;
	}
	if (l.index == 0) {
		for (int i = 0; i < l.name_count; i++)
			if (set_variable(r, l.names[i], (struct json_view){ 0 }) < 0)
				return -1;
		how = run_branch(r, false);
		r->variable_count = variables;
	}
	r->dot = dot;
	return how == ENDED_ELSE ? run_else(r, l.index == 0) : how == ENDED_END ? 0 : -1;
}

static int run_print(struct run *r)
{
	char names[2][NAME_MAX_BYTES];
	struct json_view value;

	int count = read_declaration(r, names);
	if (count < 0 || read_pipeline(r, &value) < 0 || read_close(r) < 0)
		return -1;
	if (count > 1)
		return fail(r, "two variables are for range");
	if (count == 1)
		return set_variable(r, names[0], value);
	if (r->is_live && r->out)
		template_call_print(r->out, value);
	return 0;
}

static int skip_comment(struct run *r)
{
	const char *end = strstr(r->at, "*/");

	if (!end)
		return fail(r, "unclosed comment");
	r->at = end + 2;
	return read_close(r);
}

/* Runs an action, whose "{{" was read; ENDED_TEXT: the list goes on behind it. */
static enum ended run_action(struct run *r)
{
	if (r->at[0] == '-' && isspace((unsigned char)r->at[1]))
		r->at++;
	skip_blanks(r);
	if (!strncmp(r->at, "/*", 2))
		return skip_comment(r) < 0 ? ENDED_FAILED : ENDED_TEXT;
	if (take_word(r, "end"))
		return read_close(r) < 0 ? ENDED_FAILED : ENDED_END;
	if (take_word(r, "else")) {
		/* run_else() reads on: an "if" may follow. */
		return ENDED_ELSE;
	}
	int rc = take_word(r, "if")	 ? run_condition(r, false)
		 : take_word(r, "with")	 ? run_condition(r, true)
		 : take_word(r, "range") ? run_range(r)
					 : run_print(r);
	return rc < 0 ? ENDED_FAILED : ENDED_TEXT;
}

/* Prints the text in front of the next action; "{{-" drops the blanks before it. */
static void run_text(struct run *r)
{
	const char *action = strstr(r->at, "{{");
	size_t len = action ? (size_t)(action - r->at) : strlen(r->at);
	const char *text = r->at;

	r->at += len;
	if (action && action[2] == '-' && isspace((unsigned char)action[3]))
		while (len > 0 && isspace((unsigned char)text[len - 1]))
			len--;
	if (r->is_live && r->out)
		(void)buffer_append(r->out, text,
				    len); /* run_list() looks at the bound */
}

static enum ended run_list(struct run *r)
{
	enum ended how = ENDED_TEXT;

	if (++r->depth > DEPTH_MAX)
		return (enum ended)fail(r, "it is nested too deep");
	while (how == ENDED_TEXT) {
		run_text(r);
		if (!*r->at)
			break;
		if (++r->steps > STEPS_MAX || r->made_bytes > MADE_MAX ||
		    (r->out && buffer_len(r->out) > OUTPUT_MAX))
			return (enum ended)fail(r, "it prints too much");
		r->at += 2;
		how = run_action(r);
	}
	r->depth--;
	return how;
}

static int run(const char *text, struct json_view data, struct buffer *out, struct err *e)
{
	struct run r = { .start = text,
			 .at = text,
			 .root = data,
			 .dot = data,
			 .out = out,
			 .is_live = out != NULL,
			 .e = e };

	if (strlen(text) > TEXT_MAX_BYTES)
		return err_set(e, ERR_LIMIT, "template: it is longer than %d bytes",
			       TEXT_MAX_BYTES);
	enum ended how = run_list(&r);
	list_done(&r.made);
	if (how == ENDED_END || how == ENDED_ELSE)
		return fail(&r, "unexpected {{end}} or {{else}}");
	return how == ENDED_FAILED ? -1 : 0;
}

int template_check(const char *text, struct err *e)
{
	return run(text, (struct json_view){ 0 }, NULL, e);
}

int template_run(const char *text, struct json_view data, struct buffer *out,
		 struct err *e)
{
	return run(text, data, out, e);
}
