#include "policy/environment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/redact.h"
#include "base/variables.h"
#include "policy/policy.h"

#define ENV_FILE_MAX (1u << 20)

int environment_add(struct policy *p, const char *word, struct err *e)
{
	size_t len = strcspn(word, "=");

	if (len == 0 || strcspn(word, " \t\n") < len)
		return err_set(e, ERR_USAGE, "'%.60s' is not KEY=VALUE or KEY", word);
	if (word[len] == '=') {
		if (variable_check_size(word, len, strlen(word + len + 1), e) < 0)
			return -1;
		list_set_env(&p->env_set, word);
		return 0;
	}
	const char *value = getenv(word);
	if (value) {
		AUTO_FREE char *pair = text_format("%s=%s", word, value);
		list_set_env(&p->env_set, pair);
	}
	return 0;
}

bool environment_is_secret(const struct policy *p, const char *name, size_t len)
{
	for (size_t i = 0; i < p->secrets.count; i++)
		if (strlen(p->secrets.items[i]) == len &&
		    !strncmp(p->secrets.items[i], name, len))
			return true;
	return false;
}

int environment_add_secret(struct policy *p, const char *word, struct err *e)
{
	size_t len = strcspn(word, "=");
	AUTO_FREE char *name = text_format("%.*s", (int)len, word);

	if (len == 0 || strcspn(word, " \t\n") < len)
		return err_set(e, ERR_USAGE, "'%.60s' is no name of a variable", name);
	if (!word[len] && !getenv(name))
		return err_set(e, ERR_USAGE, "%.60s: the caller's environment has none",
			       name);
	if (!environment_is_secret(p, name, len))
		list_add(&p->secrets, name);
	return environment_add(p, word, e);
}

int environment_mask(const struct policy *p, struct redact *ret, struct err *e)
{
	for (size_t i = 0; i < p->secrets.count; i++)
		if (redact_add(ret, list_get_env(&p->env_set, p->secrets.items[i]), NULL,
			       e) < 0)
			return -1;
	return 0;
}

static int add_lines(struct policy *p, char *text,
		     int (*add)(struct policy *, const char *, struct err *),
		     struct err *e)
{
	unsigned number = 0;

	for (char *line = text; line; number++) {
		char *next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		size_t len = strlen(line);
		if (len && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (*line && *line != '#' && add(p, line, e) < 0)
			return err_in(e, "line %u", number + 1);
		line = next;
	}
	return 0;
}

/* Adds the entries of `text`, each of which ends with a 0 byte, the last also with the
 * text.  A value may have line ends in it. */
static int add_entries(struct policy *p, const char *text, size_t len,
		       int (*add)(struct policy *, const char *, struct err *),
		       struct err *e)
{
	unsigned number = 1;

	for (size_t at = 0; at < len; at += strlen(text + at) + 1, number++)
		if (text[at] && add(p, text + at, e) < 0)
			return err_in(e, "entry %u", number);
	return 0;
}

static int read_file(struct policy *p, const char *path,
		     int (*add)(struct policy *, const char *, struct err *),
		     struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open %.200s", path);
	if (io_read_file(fd, path, ENV_FILE_MAX, &text, &len, e) < 0)
		return -1;
	int added = strlen(text) < len ? add_entries(p, text, len, add, e)
				       : add_lines(p, text, add, e);
	return added < 0 ? err_in(e, "%.100s", path) : 0;
}

int environment_add_file(struct policy *p, const char *path, struct err *e)
{
	if (read_file(p, path, environment_add, e) == 0)
		return 0;
	AUTO_FREE char *from = text_format("--env-file %.200s", path);
	return err_from(e, from);
}

int environment_add_secret_file(struct policy *p, const char *path, struct err *e)
{
	if (read_file(p, path, environment_add_secret, e) == 0)
		return 0;
	AUTO_FREE char *from = text_format("--secret-file %.200s", path);
	return err_from(e, from);
}

/* bash decodes \$ to $ or, for root, to #; dash knows no other escape.  Both expand the
 * variables at each prompt, and so do the shells of busybox and ksh. */
char *environment_prompt(const char *sandbox)
{
	return text_format("PS1=(hutch%s%s) $USER:$PWD\\$ ", sandbox ? " " : "",
			   sandbox ? sandbox : "");
}

void environment_build(const struct policy *p, uint32_t uid, const char *shell,
		       const char *timezone, struct list *ret)
{
	const char *user = uid == 0 ? "root" : uid == 1000 ? "agent" : NULL;

	list_add(ret, "PATH=" ENVIRONMENT_PATH);
	list_add(ret, uid == 0 ? "HOME=/root" : user ? "HOME=/home/agent" : "HOME=/tmp");
	if (user) {
		list_addf(ret, "USER=%s", user);
		list_addf(ret, "LOGNAME=%s", user);
	} else {
		list_addf(ret, "USER=%u", uid);
		list_addf(ret, "LOGNAME=%u", uid);
	}
	list_addf(ret, "SHELL=%s", shell);
	list_add(ret, "LANG=C.UTF-8");
	list_addf(ret, "TZ=%s", timezone);
	if (p->has_terminal) {
		const char *term = getenv("TERM");
		list_addf(ret, "TERM=%s", term && *term ? term : "xterm");
		AUTO_FREE char *prompt = environment_prompt(NULL);
		list_add(ret, prompt);
	}
	for (size_t i = 0; i < p->env_set.count; i++)
		list_set_env(ret, p->env_set.items[i]);
}
