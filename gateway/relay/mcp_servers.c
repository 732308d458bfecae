#include "gateway/relay/mcp_servers.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"

#define BLANKS	" \t\r\n\v\f"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS	"0123456789"

static void server_done(struct mcp_server *s)
{
	free(s->name);
	list_done(&s->argv);
	list_done(&s->env);
	*s = (struct mcp_server){ 0 };
}

void mcp_servers_done(struct mcp_servers *s)
{
	for (size_t i = 0; i < s->count; i++)
		server_done(&s->list[i]);
	s->count = 0;
}

/* Returns the text without blanks at its ends, allocated. */
static char *trimmed(const char *text, size_t len)
{
	while (len > 0 && strchr(BLANKS, *text))
		text++, len--;
	while (len > 0 && strchr(BLANKS, text[len - 1]))
		len--;
	return text_format("%.*s", (int)len, text);
}

/* --- words ------------------------------------------------------------------- */

/* Takes a quoted part, whose opening quote is in front of *at.  In double quotes, a
 * backslash stands in front of a double quote or a backslash alone.  Returns false
 * without a closing quote. */
static bool take_quoted(const char **at, char quote, char **to)
{
	const char *c = *at;

	for (; *c && *c != quote; c++) {
		if (quote == '"' && *c == '\\' && (c[1] == '"' || c[1] == '\\'))
			c++;
		*(*to)++ = *c;
	}
	*at = c + (*c == quote);
	return *c == quote;
}

/* Takes one word, as shlex.split() of Python does in its POSIX mode. */
static bool take_word(const char **at, char **to)
{
	while (**at && !strchr(BLANKS, **at)) {
		char c = *(*at)++;
		if ((c == '"' || c == '\'') && !take_quoted(at, c, to))
			return false;
		if (c == '\\' && !**at)
			return false;
		if (c != '"' && c != '\'')
			*(*to)++ = c == '\\' ? *(*at)++ : c;
	}
	**to = '\0';
	return true;
}

static int split(const char *text, struct list *to, struct err *e)
{
	AUTO_FREE char *word = mem_new(strlen(text) + 1);

	for (const char *at = text + strspn(text, BLANKS); *at;
	     at += strspn(at, BLANKS)) {
		char *end = word;
		if (!take_word(&at, &end))
			return err_set(e, ERR_PROTOCOL,
				       "args: a quote or an escape is open");
		list_add(to, word);
	}
	return 0;
}

/* --- an entry ---------------------------------------------------------------- */

static int read_args(const struct json_at *entry, struct mcp_server *to, struct err *e)
{
	struct json_at args, item = { 0 };
	const char *word;

	if (!json_member(entry, "args", &args))
		return 0;
	if (json_type(&args) == JSON_STRING)
		return split(json_member_string(entry, "args", ""), &to->argv, e);
	if (json_expect(&args, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&args, &item)) {
		if (json_string(&item, &word, e) < 0)
			return -1;
		list_add(&to->argv, word);
	}
	return 0;
}

static bool is_variable(const char *name)
{
	return *name && !isdigit((unsigned char)*name) &&
	       name[strspn(name, LETTERS DIGITS "_")] == '\0';
}

/* Reads "K=V,K=V". */
static int read_pairs(const char *text, struct list *to, struct err *e)
{
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ",");
		AUTO_FREE char *pair = trimmed(at, len);
		char *equals = strchr(pair, '=');
		at += len + (at[len] == ',');
		if (!*pair)
			continue;
		AUTO_FREE char *key = trimmed(pair, equals ? (size_t)(equals - pair) : 0);
		if (!is_variable(key))
			return err_set(e, ERR_PROTOCOL, "env: a pair is not KEY=VALUE");
		AUTO_FREE char *both = text_format("%s=%s", key, equals + 1);
		list_set_env(to, both);
	}
	return 0;
}

static int read_env(const struct json_at *entry, struct mcp_server *to, struct err *e)
{
	struct json_at env, item = { 0 };
	const char *key, *value;

	if (!json_member(entry, "env", &env))
		return 0;
	if (json_type(&env) == JSON_STRING)
		return read_pairs(json_member_string(entry, "env", ""), &to->env, e);
	if (json_expect(&env, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&env, &item, &key)) {
		if (json_string(&item, &value, e) < 0)
			return -1;
		if (!*key || strchr(key, '='))
			return err_set(e, ERR_PROTOCOL,
				       "env: a key is no name of a variable");
		AUTO_FREE char *both = text_format("%s=%s", key, value);
		list_set_env(&to->env, both);
	}
	return 0;
}

/* Reads a member that has to be a text, and trims it; NULL, with an error. */
static char *read_text(const struct json_at *entry, const char *key, struct err *e)
{
	const char *text = json_member_string(entry, key, NULL);
	char *copy = trimmed(text ? text : "", text ? strlen(text) : 0);

	if (*copy)
		return copy;
	(void)err_set(e, ERR_PROTOCOL, "a server has no %s", key);
	free(copy);
	return NULL;
}

static int read_entry(const struct json_at *entry, struct mcp_server *to, struct err *e)
{
	to->name = read_text(entry, "name", e);
	AUTO_FREE char *command = to->name ? read_text(entry, "command", e) : NULL;

	if (!command)
		return -1;
	if (to->name[strspn(to->name, LETTERS DIGITS "_-")])
		return err_set(e, ERR_PROTOCOL,
			       "a server's name may have letters, digits, - and _ alone");
	if (strchr(command, ' '))
		return err_set(e, ERR_PROTOCOL, "a command may have no space");
	list_add(&to->argv, command);
	return read_args(entry, to, e) < 0 ? -1 : read_env(entry, to, e);
}

/* Puts the last server in the place of an earlier one with its name. */
static void drop_equal(struct mcp_servers *s)
{
	struct mcp_server *last = &s->list[s->count - 1];

	for (size_t i = 0; i + 1 < s->count; i++) {
		if (strcmp(s->list[i].name, last->name) != 0)
			continue;
		server_done(&s->list[i]);
		s->list[i] = *last;
		*last = (struct mcp_server){ 0 };
		s->count--;
		return;
	}
}

int mcp_servers_read(struct mcp_servers *ret, const char *text, size_t len, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct json_at root, item = { 0 };
	struct err why;

	*ret = (struct mcp_servers){ 0 };
	if (!doc)
		return err_set(e, ERR_PROTOCOL, "the body is no JSON");
	json_root(doc, "servers", &root);
	if (json_type(&root) != JSON_ARRAY)
		return err_set(e, ERR_USAGE,
			       "Request must be a list of MCP tools to sync");
	while (json_step(&root, &item)) {
		if (ret->count == MCP_SERVERS_MAX)
			return err_set(e, ERR_LIMIT, "there are more than %d MCP servers",
				       MCP_SERVERS_MAX);
		if (read_entry(&item, &ret->list[ret->count++], &why) < 0)
			return err_set(e, ERR_PROTOCOL, "%s", why.text);
		drop_equal(ret);
	}
	return 0;
}
