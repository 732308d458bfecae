#include "apptainer/env_args.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"

#define FILE_MAX (1u << 20)

size_t env_args_name(const char *text)
{
	size_t len = 0;

	while (isalnum((unsigned char)text[len]) || text[len] == '_')
		len++;
	return isdigit((unsigned char)text[0]) ? 0 : len;
}

static bool is_assignment(const char *text)
{
	const size_t len = env_args_name(text);

	return len > 0 && text[len] == '=';
}

/* Returns the comma behind which the next variable begins, or the end of the text. */
static const char *find_end(const char *text)
{
	const char *comma = strchr(text, ',');

	while (comma && !is_assignment(comma + 1))
		comma = strchr(comma + 1, ',');
	return comma ? comma : text + strlen(text);
}

int env_args_flag(struct list *env, const char *value, struct err *e)
{
	if (!is_assignment(value))
		return err_set(e, ERR_USAGE,
			       "--env %.100s: a variable is NAME=VALUE, with a name of "
			       "letters, digits and _",
			       value);
	for (const char *at = value, *end; *at; at = *end ? end + 1 : end) {
		end = find_end(at);
		AUTO_FREE char *one = text_format("%.*s", (int)(end - at), at);
		list_set_env(env, one);
	}
	return 0;
}

/* --- a file ------------------------------------------------------------------------ */

struct reader {
	const char *at; /* what comes next */
	char *to;	/* where the next byte of the value is written */
};

static int refuse_expansion(struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED,
		       "hutch expands no $ and no ` there; they need single quotes");
}

static int read_single(struct reader *r, struct err *e)
{
	const char *end = strchr(++r->at, '\'');

	if (!end)
		return err_set(e, ERR_USAGE, "a ' is not closed");
	while (r->at < end)
		*r->to++ = *r->at++;
	r->at++;
	return 0;
}

static int read_double(struct reader *r, struct err *e)
{
	for (r->at++; *r->at != '"'; r->at++) {
		if (!*r->at)
			return err_set(e, ERR_USAGE, "a \" is not closed");
		if (*r->at == '$' || *r->at == '`')
			return refuse_expansion(e);
		if (*r->at == '\\' && r->at[1] && strchr("$`\"\\", r->at[1]))
			r->at++;
		*r->to++ = *r->at;
	}
	r->at++;
	return 0;
}

/* Reads a piece of a value: something in quotes, or one byte. */
static int read_piece(struct reader *r, struct err *e)
{
	if (*r->at == '\'')
		return read_single(r, e);
	if (*r->at == '"')
		return read_double(r, e);
	if (*r->at == '$' || *r->at == '`')
		return refuse_expansion(e);
	if (strchr("&|<>()", *r->at))
		return err_set(e, ERR_UNSUPPORTED,
			       "hutch reads assignments alone there, and no commands");
	if (*r->at == '\\' && r->at[1])
		r->at++;
	*r->to++ = *r->at++;
	return 0;
}

static int read_assignment(struct list *env, struct reader *r, struct err *e)
{
	AUTO_FREE char *one = malloc(strlen(r->at) + 1);
	const size_t name = env_args_name(r->at);

	if (!one)
		abort();
	memcpy(one, r->at, name + 1);
	r->at += name + 1;
	r->to = one + name + 1;
	while (*r->at && !strchr(" \t\r\n;", *r->at))
		if (read_piece(r, e) < 0)
			return err_in(e, "%.*s", (int)name, one);
	*r->to = '\0';
	list_set_env(env, one);
	return 0;
}

int env_args_text(struct list *env, const char *text, struct err *e)
{
	struct reader r = { .at = text };

	for (;;) {
		r.at += strspn(r.at, " \t\r\n;");
		if (!strncmp(r.at, "export ", 7))
			r.at += 7;
		else if (*r.at == '#')
			r.at += strcspn(r.at, "\n");
		else if (!*r.at)
			return 0;
		else if (!is_assignment(r.at))
			return err_set(e, ERR_USAGE, "'%.*s' is no assignment NAME=VALUE",
				       (int)strcspn(r.at, " \t\r\n;="), r.at);
		else if (read_assignment(env, &r, e) < 0)
			return -1;
	}
}

int env_args_file(struct list *env, const char *path, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "--env-file: open %.200s", path);
	if (io_read_file(fd, path, FILE_MAX, &text, &len, e) < 0)
		return err_in(e, "--env-file");
	if (strlen(text) < len)
		return err_set(e, ERR_USAGE, "--env-file %.200s has a NUL in it", path);
	return env_args_text(env, text, e) < 0 ? err_in(e, "--env-file %.200s", path) : 0;
}

/* --- the caller's ------------------------------------------------------------------ */

void env_args_caller(struct list *env)
{
	static const char *const fronts[] = { "SINGULARITYENV_", "APPTAINERENV_" };

	for (size_t f = 0; f < ARRAY_LEN(fronts); f++)
		for (char **at = environ; *at; at++) {
			const size_t len = strlen(fronts[f]);
			if (!strncmp(*at, fronts[f], len) && is_assignment(*at + len))
				list_set_env(env, *at + len);
		}
}
