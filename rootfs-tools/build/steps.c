/* Carries out the instructions of a stage, one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "base/variables.h"
#include "rootfs-tools/build/base_image.h"
#include "rootfs-tools/build/builder.h"
#include "store/reference.h"
#include "store/refs.h"

typedef int (*step)(struct making *m, const struct instruction *i, struct err *e);

void steps_show(const struct making *m, const char *text, bool is_cached)
{
	const struct stage *s = m->stage;
	size_t number = (size_t)(s - m->b->stages);
	AUTO_FREE char *line = term_escape_line(text);
	AUTO_FREE char *name = s->name ? text_format("%s ", s->name) :
			       number  ? text_format("stage-%zu ", number) :
					 text_copy("");

	if (!m->b->options->is_quiet)
		(void)fprintf(stderr, "[%s%u/%u]%s %s\n",
			      m->b->stage_count > 1 ? name : "", m->step, s->steps,
			      is_cached ? " CACHED" : "", line);
}

void steps_shell(const struct making *m, struct list *to)
{
	const struct list *shell = &m->config.shell;

	for (size_t i = 0; i < shell->count; i++)
		list_add(to, shell->items[i]);
	if (!shell->count) {
		list_add(to, "/bin/sh");
		list_add(to, "-c");
	}
}

/* --- configuration -------------------------------------------------------------- */

static int expand(const struct making *m, const char *word, char **ret, struct err *e)
{
	const struct expand x = making_scope(m);

	return expand_word(&x, word, ret, e);
}

static int replace(const struct making *m, const char *word, char **to, struct err *e)
{
	char *text;

	if (expand(m, word, &text, e) < 0)
		return -1;
	free(*to);
	*to = *text ? text : NULL;
	if (!*text)
		free(text);
	return 0;
}

static int step_arg(struct making *m, const struct instruction *i, struct err *e)
{
	for (size_t n = 0; n < i->words.count; n++)
		if (making_declare(m, i->words.items[n], e) < 0)
			return -1;
	return 0;
}

/* Expands all values of an instruction.  The variables have the values from before the
 * instruction, so that in "ENV A=1 B=$A" the new A has no effect on B. */
static int expand_pairs(const struct making *m, const struct instruction *i,
			struct list *to, struct err *e)
{
	for (size_t n = 0; n < i->words.count; n++) {
		AUTO_FREE char *text = NULL;
		if (expand(m, i->words.items[n], &text, e) < 0)
			return -1;
		list_add(to, text);
	}
	return 0;
}

static int step_env(struct making *m, const struct instruction *i, struct err *e)
{
	struct list pairs = { 0 };
	int rc = expand_pairs(m, i, &pairs, e);

	for (size_t n = 0; rc == 0 && n + 1 < pairs.count; n += 2) {
		const char *name = pairs.items[n], *value = pairs.items[n + 1];
		rc = variable_check_size(name, strlen(name), strlen(value), e);
		if (rc == 0 && (!*name || strchr(name, '=')))
			rc = err_set(e, ERR_USAGE, "'%.100s' is no name of a variable",
				     name);
		AUTO_FREE char *pair = text_format("%s=%s", name, value);
		if (rc == 0)
			list_set_env(&m->config.env, pair);
	}
	list_done(&pairs);
	return rc;
}

static int step_label(struct making *m, const struct instruction *i, struct err *e)
{
	struct list pairs = { 0 };
	int rc = expand_pairs(m, i, &pairs, e);

	for (size_t n = 0; rc == 0 && n + 1 < pairs.count; n += 2)
		image_config_label(&m->config, pairs.items[n], pairs.items[n + 1]);
	list_done(&pairs);
	return rc;
}

static int add_port(struct making *m, const char *text, struct err *e)
{
	char protocol[8] = "tcp", more;
	unsigned from, to;
	int end = 0, count = sscanf(text, "%5u-%5u%n", &from, &to, &end);

	if (count < 2) {
		count = sscanf(text, "%5u%n", &from, &end);
		to = from;
	}
	bool fits = count > 0 && from >= 1 && to <= 65535 && from <= to;
	if (fits && text[end] &&
	    (sscanf(text + end, "/%7[a-z]%c", protocol, &more) != 1 ||
	     (strcmp(protocol, "tcp") != 0 && strcmp(protocol, "udp") != 0 &&
	      strcmp(protocol, "sctp") != 0)))
		fits = false;
	if (!fits)
		return err_set(e, ERR_USAGE,
			       "'%.60s' is no port, such as 80, 80-82 or 53/udp", text);
	for (unsigned port = from; port <= to; port++) {
		AUTO_FREE char *one = text_format("%u/%s", port, protocol);
		list_add_once(&m->config.ports, one);
	}
	return 0;
}

static int step_expose(struct making *m, const struct instruction *i, struct err *e)
{
	for (size_t n = 0; n < i->words.count; n++) {
		AUTO_FREE char *text = NULL;
		struct list ports = { 0 };
		if (expand(m, i->words.items[n], &text, e) < 0)
			return -1;
		expand_split('\\', text, &ports);
		int rc = 0;
		for (size_t k = 0; k < ports.count && rc == 0; k++)
			rc = add_port(m, ports.items[k], e);
		list_done(&ports);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int step_volume(struct making *m, const struct instruction *i, struct err *e)
{
	for (size_t n = 0; n < i->words.count; n++) {
		AUTO_FREE char *text = NULL;
		if (expand(m, i->words.items[n], &text, e) < 0)
			return -1;
		if (*text != '/')
			return err_set(e, ERR_USAGE, "'%.200s' is no absolute path",
				       text);
		list_add_once(&m->config.volumes, text);
	}
	return 0;
}

static int step_user(struct making *m, const struct instruction *i, struct err *e)
{
	if (replace(m, i->words.items[0], &m->config.user, e) < 0)
		return -1;
	const char *user = m->config.user;
	if (user && strpbrk(user, " \t\n"))
		return err_set(e, ERR_USAGE, "'%.100s' is no user", user);
	return user ? 0 : err_set(e, ERR_USAGE, "it names no user");
}

static int step_signal(struct making *m, const struct instruction *i, struct err *e)
{
	return replace(m, i->words.items[0], &m->config.stop_signal, e);
}

/* Joins `path` to the folder `from`, and removes "." and ".." from the text without
 * regard to links. */
static char *plain_path(const char *from, const char *path)
{
	AUTO_FREE char *whole = text_format("%s/%s", *path == '/' ? "" : from, path);
	char *plain = text_copy(""), *shorter;

	for (const char *at = whole; *at; at += strcspn(at, "/")) {
		at += strspn(at, "/");
		int len = (int)strcspn(at, "/");
		if (!len || (len == 1 && *at == '.'))
			continue;
		if (len == 2 && !strncmp(at, "..", 2)) {
			if (strrchr(plain, '/'))
				*strrchr(plain, '/') = '\0';
			continue;
		}
		shorter = plain;
		plain = text_format("%s/%.*s", shorter, len, at);
		free(shorter);
	}
	if (*plain)
		return plain;
	free(plain);
	return text_copy("/");
}

static int step_workdir(struct making *m, const struct instruction *i, struct err *e)
{
	AUTO_FREE char *text = NULL;
	const char *from = m->config.workdir ? m->config.workdir : "/";

	if (expand(m, i->words.items[0], &text, e) < 0)
		return -1;
	if (!*text)
		return err_set(e, ERR_USAGE, "it names no folder");
	char *path = plain_path(from, text);
	free(m->config.workdir);
	m->config.workdir = path;
	if (strcmp(path, "/") != 0)
		return folder_step(m, i, e);
	steps_show(m, i->text, true);
	return 0;
}

/* --- commands ------------------------------------------------------------------- */

static void set_command(struct making *m, const struct instruction *i, struct list *to)
{
	struct list words = { 0 };

	if (!i->is_exec && i->words.count)
		steps_shell(m, &words);
	for (size_t n = 0; n < i->words.count; n++)
		list_add(&words, i->words.items[n]);
	list_done(to);
	*to = words;
}

static int step_cmd(struct making *m, const struct instruction *i, struct err *e)
{
	(void)e;
	set_command(m, i, &m->config.cmd);
	m->config.has_cmd = true;
	return 0;
}

/* Carries out ENTRYPOINT.  An inherited CMD is dropped: its words were meant for the
 * ENTRYPOINT of the image below. */
static int step_entrypoint(struct making *m, const struct instruction *i, struct err *e)
{
	(void)e;
	set_command(m, i, &m->config.entrypoint);
	if (!m->config.has_cmd)
		list_done(&m->config.cmd);
	return 0;
}

static int step_shell(struct making *m, const struct instruction *i, struct err *e)
{
	(void)e;
	list_done(&m->config.shell);
	for (size_t n = 0; n < i->words.count; n++)
		list_add(&m->config.shell, i->words.items[n]);
	return 0;
}

static int step_nothing(struct making *m, const struct instruction *i, struct err *e)
{
	(void)m;
	(void)i;
	(void)e;
	return 0;
}

/* --- stages --------------------------------------------------------------------- */

static const struct {
	step do_it;
	bool is_shown; /* the step function prints its own progress line; else the caller
		        * does */
} steps[INSTRUCTION_KINDS] = {
	[INSTRUCTION_ADD] = { copy_step, true },
	[INSTRUCTION_ARG] = { step_arg, false },
	[INSTRUCTION_CMD] = { step_cmd, false },
	[INSTRUCTION_COPY] = { copy_step, true },
	[INSTRUCTION_ENTRYPOINT] = { step_entrypoint, false },
	[INSTRUCTION_ENV] = { step_env, false },
	[INSTRUCTION_EXPOSE] = { step_expose, false },
	[INSTRUCTION_FROM] = { step_nothing, true },
	[INSTRUCTION_HEALTHCHECK] = { step_nothing, false },
	[INSTRUCTION_LABEL] = { step_label, false },
	[INSTRUCTION_MAINTAINER] = { step_nothing, false },
	[INSTRUCTION_ONBUILD] = { step_nothing, false },
	[INSTRUCTION_RUN] = { run_step, true },
	[INSTRUCTION_SHELL] = { step_shell, false },
	[INSTRUCTION_STOPSIGNAL] = { step_signal, false },
	[INSTRUCTION_USER] = { step_user, false },
	[INSTRUCTION_VOLUME] = { step_volume, false },
	[INSTRUCTION_WORKDIR] = { step_workdir, true },
};
_Static_assert(ARRAY_LEN(steps) == INSTRUCTION_KINDS, "an instruction has no row");

static int do_instruction(struct making *m, const struct instruction *i, struct err *e)
{
	m->step += steps[i->kind].is_shown;
	if (steps[i->kind].do_it(m, i, e) < 0)
		return err_in(e, "%.60s:%u: %s", m->b->file.name, i->line,
			      instruction_name(i->kind));
	if (!steps[i->kind].is_shown)
		image_config_add_history(&m->config, i->text, false);
	return 0;
}

/* Reads the image that the stage begins with; a missing image is pulled. */
static int read_base(struct making *m, struct err *e)
{
	struct builder *b = m->b;
	struct reference r;
	struct digest image;

	if (m->stage->parent >= 0) {
		image_config_copy(&b->stages[m->stage->parent].result, &m->config);
		return 0;
	}
	if (!strcmp(m->stage->image, "scratch"))
		return 0;
	if (reference_parse(m->stage->image, &r, e) < 0 ||
	    base_image_find(&b->store, &r, b->options->pulls, &image, e) < 0 ||
	    image_config_read(&b->store, &image, &m->config, e) < 0)
		return -1;
	if (m->config.has_triggers)
		return err_set(e, ERR_UNSUPPORTED,
			       "image %.100s has ONBUILD instructions, "
			       "which are not supported",
			       m->stage->image);
	return 0;
}

static int do_all(struct making *m, struct err *e)
{
	const struct dockerfile *file = &m->b->file;

	m->step = 1;
	steps_show(m, m->stage->from->text, false);
	if (read_base(m, e) < 0)
		return err_in(e, "%.60s:%u: FROM", file->name, m->stage->from->line);
	for (size_t i = m->stage->first; i < m->stage->end; i++)
		if (do_instruction(m, &file->all[i], e) < 0)
			return -1;
	return 0;
}

int steps_do(struct builder *b, struct stage *s, struct err *e)
{
	struct making m = { .b = b, .stage = s };
	int rc = do_all(&m, e);

	list_done(&m.args);
	list_done(&m.bare);
	if (rc == 0)
		s->result = m.config;
	else
		image_config_done(&m.config);
	return rc;
}
