/* Finds the stages of a Dockerfile, their bases, and the variables in FROM. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/build/builder.h"
#include "rootfs-tools/index/images.h"

/* --- variables ------------------------------------------------------------------ */

static const char *get_from(const struct list *l, const char *name, size_t len)
{
	for (size_t i = 0; l && i < l->count; i++)
		if (!strncmp(l->items[i], name, len) && l->items[i][len] == '=')
			return l->items[i] + len + 1;
	return NULL;
}

static const char *get_global(const void *context, const char *name, size_t len)
{
	return get_from(&((const struct builder *)context)->global, name, len);
}

static const char *get_in_stage(const void *context, const char *name, size_t len)
{
	const struct making *m = context;
	const char *value = get_from(&m->config.env, name, len);

	return value ? value : get_from(&m->args, name, len);
}

struct expand making_scope(const struct making *m)
{
	return (struct expand){ .escape = m->b->file.escape,
				.get = get_in_stage,
				.context = m };
}

/* Returns the value of the --build-arg NAME, and records that the build has used it. */
static const char *given(struct builder *b, const char *name)
{
	const char *value = list_get_env(&b->options->args, name);

	if (value)
		list_add_once(&b->used, name);
	return value;
}

static int declare(struct builder *b, const struct expand *x, const char *word,
		   struct list *to, const struct list *outer, struct list *bare,
		   struct err *e)
{
	AUTO_FREE char *name = text_format("%.*s", (int)strcspn(word, "="), word),
		       *own = NULL;
	const char *value = given(b, name), *equals = strchr(word, '=');

	if (!value && equals) {
		if (expand_word(x, equals + 1, &own, e) < 0)
			return -1;
		value = own;
	}
	if (!value && outer)
		value = list_get_env(outer, name);
	AUTO_FREE char *pair = text_format("%s=%s", name, value ? value : "");
	if (value)
		list_set_env(to, pair);
	else if (bare)
		list_add_once(bare, pair);
	return 0;
}

int making_declare(struct making *m, const char *word, struct err *e)
{
	const struct expand x = making_scope(m);

	return declare(m->b, &x, word, &m->args, &m->b->global, &m->bare, e);
}

/* Declares BuildKit's "platform args", such as TARGETPLATFORM and BUILDARCH. */
static void declare_platform(struct list *to)
{
	struct platform here;

	platform_here(&here);
	for (int i = 0; i < 2; i++) {
		const char *which = i ? "BUILD" : "TARGET";
		list_addf(to, "%sPLATFORM=%s/%s%s%s", which, here.os, here.architecture,
			  *here.variant ? "/" : "", here.variant);
		list_addf(to, "%sOS=%s", which, here.os);
		list_addf(to, "%sARCH=%s", which, here.architecture);
		list_addf(to, "%sVARIANT=%s", which, here.variant);
	}
}

static int at_line(const struct builder *b, const struct instruction *i, struct err *e)
{
	return err_in(e, "%.90s:%u", b->file.name, i->line);
}

static int declare_globals(struct builder *b, size_t *ret_first, struct err *e)
{
	const struct expand x = { .escape = b->file.escape,
				  .get = get_global,
				  .context = b };
	size_t i = 0;

	declare_platform(&b->global);
	for (; b->file.all[i].kind == INSTRUCTION_ARG; i++)
		for (size_t n = 0; n < b->file.all[i].words.count; n++)
			if (declare(b, &x, b->file.all[i].words.items[n], &b->global,
				    NULL, NULL, e) < 0)
				return at_line(b, &b->file.all[i], e);
	*ret_first = i;
	return 0;
}

/* --- stages --------------------------------------------------------------------- */

int stages_find(const struct builder *b, const char *name, size_t before)
{
	for (size_t i = 0; i < before; i++)
		if (b->stages[i].name && !strcasecmp(b->stages[i].name, name))
			return (int)i;
	if (*name && strlen(name) < 6 && strspn(name, "0123456789") == strlen(name) &&
	    strtoul(name, NULL, 10) < before)
		return (int)strtoul(name, NULL, 10);
	return -1;
}

/* Refuses a --platform that is not this machine's, whose programs could not run here. */
static int check_platform(const struct expand *x, const struct instruction *from,
			  struct err *e)
{
	const char *flag = instruction_flag(from, "platform");
	AUTO_FREE char *text = NULL;
	struct platform wanted, here;

	if (!flag)
		return 0;
	if (expand_word(x, flag, &text, e) < 0 || platform_parse(text, &wanted, e) < 0)
		return -1;
	platform_here(&here);
	if (!strcmp(wanted.os, here.os) &&
	    !strcmp(wanted.architecture, here.architecture))
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
		       "--platform=%.60s: images are built for this "
		       "machine's, %s/%s",
		       text, here.os, here.architecture);
}

static bool is_shown(const struct instruction *i)
{
	return i->kind == INSTRUCTION_RUN || i->kind == INSTRUCTION_COPY ||
	       i->kind == INSTRUCTION_ADD || i->kind == INSTRUCTION_WORKDIR;
}

static int add_stage(struct builder *b, size_t at, struct err *e)
{
	const struct instruction *from = &b->file.all[at];
	const struct expand x = { .escape = b->file.escape,
				  .get = get_global,
				  .context = b };
	AUTO_FREE char *image = NULL;

	if (expand_word(&x, from->words.items[0], &image, e) < 0 ||
	    check_platform(&x, from, e) < 0)
		return at_line(b, from, e);
	if (!*image) {
		(void)err_set(e, ERR_USAGE, "FROM %.100s names no image",
			      from->words.items[0]);
		return at_line(b, from, e);
	}
	struct stage s = { .from = from, .first = at + 1, .end = at + 1, .steps = 1 };
	for (; s.end < b->file.count && b->file.all[s.end].kind != INSTRUCTION_FROM;
	     s.end++)
		s.steps += is_shown(&b->file.all[s.end]);
	const char *name = from->words.count == 3 ? from->words.items[2] : NULL;
	s.parent = stages_find(b, image, b->stage_count);
	s.image = image;
	image = NULL;
	s.name = name ? text_copy(name) : NULL;
	b->stages = mem_resize(b->stages, b->stage_count + 1, sizeof(s));
	b->stages[b->stage_count++] = s;
	return 0;
}

/* Marks a stage as needed, and also the earlier stages that it begins with or copies
 * from. */
static void need(struct builder *b, size_t number)
{
	struct stage *s = &b->stages[number];

	s->is_needed = true;
	if (s->parent >= 0)
		b->stages[s->parent].is_needed = true;
	for (size_t i = s->first; i < s->end; i++) {
		const char *from = instruction_flag(&b->file.all[i], "from");
		int other = from ? stages_find(b, from, number) : -1;
		if (other >= 0)
			b->stages[other].is_needed = true;
	}
}

static int find_target(struct builder *b, struct err *e)
{
	const char *target = b->options->target;
	int found = target ? stages_find(b, target, b->stage_count) :
			     (int)b->stage_count - 1;

	if (found < 0)
		return err_set(e, ERR_NOT_FOUND,
			       "%.200s: there is no stage '%.100s' (from "
			       "--target)",
			       b->file.name, target);
	b->target = (size_t)found;
	return 0;
}

int stages_plan(struct builder *b, struct err *e)
{
	size_t first = 0;

	if (declare_globals(b, &first, e) < 0)
		return -1;
	for (size_t i = first; i < b->file.count; i++)
		if (b->file.all[i].kind == INSTRUCTION_FROM && add_stage(b, i, e) < 0)
			return -1;
	if (find_target(b, e) < 0)
		return -1;
	b->stages[b->target].is_needed = true;
	for (size_t i = b->target + 1; i-- > 0;)
		if (b->stages[i].is_needed)
			need(b, i);
	return 0;
}

void stages_done(struct builder *b)
{
	for (size_t i = 0; i < b->stage_count; i++) {
		free(b->stages[i].image);
		free(b->stages[i].name);
		image_config_done(&b->stages[i].result);
	}
	free(b->stages);
}
