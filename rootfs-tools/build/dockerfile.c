#include "rootfs-tools/build/dockerfile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "rootfs-tools/build/dockerfile_lines.h"
#include "rootfs-tools/build/expand.h"

struct parser {
	struct dockerfile *to;
	struct lines lines;
	struct instruction *now;
	size_t room;
};

/* A function that parses the rest of an instruction, after its name and flags. */
typedef int (*reader)(struct parser *p, const char *rest, struct err *e);

static int read_words(struct parser *p, const char *rest, struct err *e);
static int read_list(struct parser *p, const char *rest, struct err *e);
static int read_command(struct parser *p, const char *rest, struct err *e);
static int read_shell(struct parser *p, const char *rest, struct err *e);
static int read_pairs(struct parser *p, const char *rest, struct err *e);
static int read_arguments(struct parser *p, const char *rest, struct err *e);
static int read_one(struct parser *p, const char *rest, struct err *e);
static int read_from(struct parser *p, const char *rest, struct err *e);
static int read_health(struct parser *p, const char *rest, struct err *e);
static int read_author(struct parser *p, const char *rest, struct err *e);
static int read_trigger(struct parser *p, const char *rest, struct err *e);

#define HEALTH_FLAGS "interval timeout start-period start-interval retries "

static const struct kind {
	const char *name;
	reader read;
	const char *flags; /* names of the permitted flags, each followed by a blank */
	bool has_heredocs, may_be_empty;
} kinds[INSTRUCTION_KINDS] = {
	[INSTRUCTION_ADD] = { "ADD", read_list, "chown chmod ", true, false },
	[INSTRUCTION_ARG] = { "ARG", read_arguments, "", false, false },
	[INSTRUCTION_CMD] = { "CMD", read_command, "", false, true },
	[INSTRUCTION_COPY] = { "COPY", read_list, "from chown chmod link ", true, false },
	[INSTRUCTION_ENTRYPOINT] = { "ENTRYPOINT", read_command, "", false, true },
	[INSTRUCTION_ENV] = { "ENV", read_pairs, "", false, false },
	[INSTRUCTION_EXPOSE] = { "EXPOSE", read_words, "", false, false },
	[INSTRUCTION_FROM] = { "FROM", read_from, "platform ", false, false },
	[INSTRUCTION_HEALTHCHECK] = { "HEALTHCHECK", read_health, HEALTH_FLAGS, false,
				      false },
	[INSTRUCTION_LABEL] = { "LABEL", read_pairs, "", false, false },
	[INSTRUCTION_MAINTAINER] = { "MAINTAINER", read_author, "", false, false },
	[INSTRUCTION_ONBUILD] = { "ONBUILD", read_trigger, "", false, false },
	[INSTRUCTION_RUN] = { "RUN", read_command, "", true, false },
	[INSTRUCTION_SHELL] = { "SHELL", read_shell, "", false, false },
	[INSTRUCTION_STOPSIGNAL] = { "STOPSIGNAL", read_one, "", false, false },
	[INSTRUCTION_USER] = { "USER", read_one, "", false, false },
	[INSTRUCTION_VOLUME] = { "VOLUME", read_list, "", false, false },
	[INSTRUCTION_WORKDIR] = { "WORKDIR", read_one, "", false, false },
};
_Static_assert(ARRAY_LEN(kinds) == INSTRUCTION_KINDS, "an instruction has no row");

/* Flags of BuildKit that are not supported, each with the advice that the error gives. */
static const struct {
	const char *name, *why;
} refused_flags[] = {
	{ "mount",
	  "nothing can be mounted while an image is built; COPY what is needed" },
	{ "network",
	  "the network is that of the whole build; hutch image build --network" },
	{ "security", "every RUN is in a sandbox, without privileges" },
	{ "device", "no device is inside" },
	{ "checksum", "nothing is downloaded by ADD" },
	{ "keep-git-dir", "nothing is cloned by ADD" },
	{ "parents", "name a folder for each" },
	{ "exclude", "write it in .dockerignore" },
	{ "unpack", "ADD unpacks local tars and COPY does not" },
};

const char *instruction_name(enum instruction_kind kind)
{
	return kinds[kind].name;
}

const char *instruction_flag(const struct instruction *i, const char *name)
{
	return list_get_env(&i->flags, name);
}

/* --- words ---------------------------------------------------------------------- */

static const char *past_blanks(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

static void add_plain(struct list *to, const char *text)
{
	for (const char *at = past_blanks(text); *at;) {
		const char *end = at;
		while (*end && !isspace((unsigned char)*end))
			end++;
		list_addf(to, "%.*s", (int)(end - at), at);
		at = past_blanks(end);
	}
}

/* Reads a JSON array of strings.  Returns false if the text is no such array; the text
 * is then used as it is. */
static bool read_array(const char *text, struct list *to)
{
	struct json_at root, item = { 0 };
	const char *word;

	if (*text != '[')
		return false;
	AUTO_JSON struct json *doc = json_parse(text, strlen(text), NULL);
	if (!doc)
		return false;
	json_root(doc, "array", &root);
	while (json_step(&root, &item))
		if (json_string(&item, &word, NULL) == 0)
			list_add(to, word);
		else
			return list_done(to), false;
	return true;
}

static int read_words(struct parser *p, const char *rest, struct err *e)
{
	(void)e;
	add_plain(&p->now->words, rest);
	return 0;
}

static int read_list(struct parser *p, const char *rest, struct err *e)
{
	p->now->is_exec = read_array(rest, &p->now->words);
	if (!p->now->is_exec)
		add_plain(&p->now->words, rest);
	bool copies = p->now->kind != INSTRUCTION_VOLUME;
	if (p->now->words.count < (copies ? 2 : 1))
		return err_set(e, ERR_USAGE,
			       copies ? "it needs a source and a destination" :
					"it needs a path");
	return 0;
}

static int read_command(struct parser *p, const char *rest, struct err *e)
{
	(void)e;
	p->now->is_exec = read_array(rest, &p->now->words);
	if (!p->now->is_exec && *rest)
		list_add(&p->now->words, rest);
	return 0;
}

static int read_shell(struct parser *p, const char *rest, struct err *e)
{
	p->now->is_exec = read_array(rest, &p->now->words);
	if (p->now->is_exec && p->now->words.count > 0)
		return 0;
	return err_set(e, ERR_USAGE,
		       "it needs an array of JSON, such as [\"/bin/sh\", \"-c\"]");
}

static int read_one(struct parser *p, const char *rest, struct err *e)
{
	(void)e;
	list_add(&p->now->words, rest);
	return 0;
}

/* Adds one word, a name before '=' or a value, without the blanks around it. */
static int add_pair(struct parser *p, const char *word, struct err *e)
{
	const char *equals = strchr(word, '=');

	if (!equals)
		return err_set(e, ERR_USAGE, "'%.100s' is not NAME=VALUE", word);
	if (equals == word)
		return err_set(e, ERR_USAGE, "'%.100s' has no name before '='", word);
	list_addf(&p->now->words, "%.*s", (int)(equals - word), word);
	list_add(&p->now->words, equals + 1);
	return 0;
}

/* Reads "NAME=VALUE ...", or docker's older form, "NAME VALUE" up to the line's end. */
static int read_pairs(struct parser *p, const char *rest, struct err *e)
{
	struct list words = { 0 };
	int rc = 0;

	expand_split(p->to->escape, rest, &words);
	if (!strchr(words.items[0], '=')) {
		const char *value = past_blanks(rest + strlen(words.items[0]));
		list_add(&p->now->words, words.items[0]);
		list_add(&p->now->words, value);
		if (!*value)
			rc = err_set(e, ERR_USAGE,
				     "'%.100s' has no value; NAME=VALUE is expected",
				     words.items[0]);
	} else {
		for (size_t i = 0; i < words.count && rc == 0; i++)
			rc = add_pair(p, words.items[i], e);
	}
	list_done(&words);
	return rc;
}

static int read_arguments(struct parser *p, const char *rest, struct err *e)
{
	expand_split(p->to->escape, rest, &p->now->words);
	for (size_t i = 0; i < p->now->words.count; i++)
		if (*p->now->words.items[i] == '=')
			return err_set(e, ERR_USAGE, "'%.100s' has no name before '='",
				       p->now->words.items[i]);
	return 0;
}

static bool is_stage_name(const char *name)
{
	if (!isalpha((unsigned char)*name))
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("-_.", *name))
			return false;
	return true;
}

static int read_from(struct parser *p, const char *rest, struct err *e)
{
	struct list *words = &p->now->words;

	add_plain(words, rest);
	if (words->count != 1 &&
	    (words->count != 3 || strcasecmp(words->items[1], "as") != 0))
		return err_set(e, ERR_USAGE,
			       "FROM IMAGE or FROM IMAGE AS NAME is expected");
	if (words->count == 3 && !is_stage_name(words->items[2]))
		return err_set(e, ERR_USAGE,
			       "'%.100s' is no name of a stage: a letter, then letters, "
			       "digits and -_.",
			       words->items[2]);
	return 0;
}

static int read_health(struct parser *p, const char *rest, struct err *e)
{
	add_plain(&p->now->words, rest);
	const char *how = p->now->words.items[0];
	if (strcasecmp(how, "NONE") != 0 && strcasecmp(how, "CMD") != 0)
		return err_set(e, ERR_USAGE,
			       "HEALTHCHECK NONE or HEALTHCHECK CMD is expected");
	list_addf(&p->to->notes,
		  "line %u: HEALTHCHECK has no effect, hutch asks no command "
		  "whether a sandbox is well",
		  p->now->line);
	return 0;
}

static int read_author(struct parser *p, const char *rest, struct err *e)
{
	list_addf(&p->to->notes,
		  "line %u: MAINTAINER is out of use and ignored; LABEL "
		  "org.opencontainers.image.authors=... says it",
		  p->now->line);
	return read_one(p, rest, e);
}

static int read_trigger(struct parser *p, const char *rest, struct err *e)
{
	(void)p;
	(void)rest;
	return err_set(
		e, ERR_UNSUPPORTED,
		"ONBUILD is not supported; write the instruction where the image is "
		"built upon");
}

/* --- flags ---------------------------------------------------------------------- */

static bool is_allowed(const char *allowed, const char *name, size_t len)
{
	for (const char *at = allowed; *at; at = strchr(at, ' ') + 1)
		if (!strncmp(at, name, len) && at[len] == ' ')
			return true;
	return false;
}

static int refuse_flag(const struct parser *p, const char *flag, size_t len,
		       struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(refused_flags); i++)
		if (!strncmp(refused_flags[i].name, flag, len) &&
		    !refused_flags[i].name[len])
			return err_set(e, ERR_UNSUPPORTED, "--%s is not supported: %s",
				       refused_flags[i].name, refused_flags[i].why);
	return err_set(e, ERR_USAGE, "%s has no flag --%.*s",
		       instruction_name(p->now->kind), (int)(len < 60 ? len : 60), flag);
}

static int add_flag(struct parser *p, const char *flag, struct err *e)
{
	size_t len = strcspn(flag, "=");

	if (!len || !is_allowed(kinds[p->now->kind].flags, flag, len))
		return refuse_flag(p, flag, len, e);
	AUTO_FREE char *name = text_format("%.*s", (int)len, flag);
	if (instruction_flag(p->now, name))
		return err_set(e, ERR_USAGE, "--%s stands there twice", name);
	if (!strcmp(name, "link") &&
	    !flag[len]) /* --link has no effect: each COPY is a layer of its own anyhow */
		list_add(&p->now->flags, "link=true");
	else if (!flag[len] || !flag[len + 1])
		return err_set(e, ERR_USAGE, "--%s needs a value, as in --%s=...", name,
			       name);
	else
		list_add(&p->now->flags, flag);
	return 0;
}

/* Reads the flags of an instruction, and moves *rest after them. */
static int read_flags(struct parser *p, const char **rest, struct err *e)
{
	while (!strncmp(*rest, "--", 2)) {
		size_t len = strcspn(*rest, " \t\r\f\v");
		AUTO_FREE char *flag = text_format("%.*s", (int)len, *rest);
		*rest = past_blanks(*rest + len);
		if (!flag[2]) /* "--" ends the flags */
			return 0;
		if (add_flag(p, flag + 2, e) < 0)
			return -1;
	}
	return 0;
}

/* --- heredocs ------------------------------------------------------------------- */

/* Returns the name of a heredoc word such as <<EOF, without "<<" and '-'; NULL: the
 * word is no heredoc. */
static const char *heredoc_name(const char *word, bool *ret_chomps)
{
	while (isdigit((unsigned char)*word))
		word++;
	if (strncmp(word, "<<", 2) != 0)
		return NULL;
	word += 2;
	*ret_chomps = *word == '-';
	word += *ret_chomps;
	return *word && !strchr(word, '<') ? word : NULL;
}

bool instruction_is_heredoc(const char *word)
{
	bool chomps;

	return heredoc_name(word, &chomps) != NULL;
}

static const char *no_variable(const void *context, const char *name, size_t len)
{
	(void)context;
	(void)name;
	(void)len;
	return NULL;
}

static int add_heredoc(struct parser *p, const char *raw, bool chomps, struct err *e)
{
	const struct expand plain = { .escape = '\\', .get = no_variable };
	struct instruction *i = p->now;
	struct heredoc h = { 0 };

	if (i->heredoc_count == DOCKERFILE_HEREDOCS)
		return err_set(e, ERR_LIMIT, "more than %u heredocs",
			       DOCKERFILE_HEREDOCS);
	if (expand_word(&plain, raw, &h.name, e) < 0)
		return -1;
	h.expands = !strcmp(raw, h.name);
	if (!*h.name || lines_heredoc(&p->lines, h.name, chomps, &h.text) < 0) {
		(void)err_set(e, ERR_USAGE,
			      "the heredoc <<%.60s has no end, a line %.60s", raw,
			      h.name);
		free(h.name);
		return -1;
	}
	i->heredocs = mem_resize(i->heredocs, i->heredoc_count + 1, sizeof(h));
	i->heredocs[i->heredoc_count++] = h;
	return 0;
}

static int read_heredocs(struct parser *p, const char *rest, struct err *e)
{
	struct list words = { 0 };
	bool chomps;
	int rc = 0;

	if (p->now->is_exec || !kinds[p->now->kind].has_heredocs || !strstr(rest, "<<"))
		return 0;
	expand_split('\\', rest, &words);
	for (size_t i = 0; i < words.count && rc == 0; i++) {
		const char *name = heredoc_name(words.items[i], &chomps);
		if (name)
			rc = add_heredoc(p, name, chomps, e);
	}
	list_done(&words);
	return rc;
}

/* --- instructions --------------------------------------------------------------- */

static int find_kind(const char *text, size_t len, enum instruction_kind *ret,
		     struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strlen(kinds[i].name) == len &&
		    !strncasecmp(kinds[i].name, text, len)) {
			*ret = (enum instruction_kind)i;
			return 0;
		}
	return err_set(e, ERR_USAGE, "'%.*s' is no instruction",
		       (int)(len < 60 ? len : 60), text);
}

static int add_instruction(struct parser *p, unsigned line, struct err *e)
{
	struct dockerfile *d = p->to;

	if (d->count == DOCKERFILE_INSTRUCTIONS)
		return err_set(e, ERR_LIMIT, "more than %u instructions",
			       DOCKERFILE_INSTRUCTIONS);
	if (d->count == p->room) {
		p->room = p->room ? p->room * 2 : 16;
		d->all = mem_resize(d->all, p->room, sizeof(*d->all));
	}
	p->now = &d->all[d->count++];
	*p->now = (struct instruction){ .line = line };
	return 0;
}

static int read_instruction(struct parser *p, const char *text, struct err *e)
{
	size_t len = strcspn(text, " \t\r\f\v");
	const char *rest = past_blanks(text + len);

	p->now->text = text_copy(text);
	if (find_kind(text, len, &p->now->kind, e) < 0 || read_flags(p, &rest, e) < 0)
		return -1;
	const struct kind *kind = &kinds[p->now->kind];
	if (!*rest && !kind->may_be_empty)
		return err_set(e, ERR_USAGE, "%s needs something behind it", kind->name);
	if (kind->read(p, rest, e) < 0)
		return -1;
	return read_heredocs(p, rest, e);
}

static int check_order(const struct dockerfile *d, struct err *e)
{
	for (size_t i = 0; i < d->count; i++) {
		if (d->all[i].kind == INSTRUCTION_FROM)
			return 0;
		if (d->all[i].kind != INSTRUCTION_ARG)
			return err_set(e, ERR_USAGE,
				       "%.200s:%u: only ARG may stand before the "
				       "first FROM",
				       d->name, d->all[i].line);
	}
	return err_set(e, ERR_USAGE, "%.200s: there is no FROM in it", d->name);
}

static int parse_all(struct parser *p, struct err *e)
{
	char *text;
	unsigned line;

	while (lines_next(&p->lines, &text, &line) > 0) {
		AUTO_FREE char *mine = text;
		if (add_instruction(p, line, e) < 0 || read_instruction(p, mine, e) < 0)
			return err_in(e, "%.200s:%u", p->to->name, line);
	}
	return check_order(p->to, e);
}

int dockerfile_parse(const char *text, size_t len, const char *name,
		     struct dockerfile *ret, struct err *e)
{
	struct parser p = { .to = ret };

	*ret = (struct dockerfile){ .name = text_copy(name), .escape = '\\' };
	if (len > DOCKERFILE_MAX)
		return err_set(e, ERR_LIMIT, "%.200s: larger than %u bytes", name,
			       DOCKERFILE_MAX);
	if (memchr(text, '\0', len))
		return err_set(e, ERR_USAGE,
			       "%.200s: a 0 byte is in it, so it is no text", name);
	if (lines_start(&p.lines, text, len, &ret->notes, e) < 0)
		return err_in(e, "%.200s", name);
	ret->escape = p.lines.escape;
	return parse_all(&p, e);
}

static void instruction_done(struct instruction *i)
{
	list_done(&i->flags);
	list_done(&i->words);
	for (size_t n = 0; n < i->heredoc_count; n++) {
		free(i->heredocs[n].name);
		free(i->heredocs[n].text);
	}
	free(i->heredocs);
	free(i->text);
}

void dockerfile_done(struct dockerfile *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->count; i++)
		instruction_done(&d->all[i]);
	free(d->all);
	free(d->name);
	list_done(&d->notes);
	*d = (struct dockerfile){ 0 };
}
