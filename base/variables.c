#include "base/variables.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define OWN	"__hutch"

void variables_done(struct variables *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->count; i++) {
		free(v->all[i].name);
		free(v->all[i].value);
	}
	free(v->all);
	*v = (struct variables){ 0 };
}

bool variable_is_name(const char *name)
{
	size_t len = strspn(name, LETTERS "0123456789");

	return len > 0 && len <= VARIABLE_NAME_MAX && !name[len] &&
	       strspn(name, LETTERS) > 0 && strncmp(name, OWN, strlen(OWN)) != 0;
}

int variable_check_size(const char *name, size_t name_len, size_t value_len,
			struct err *e)
{
	if (name_len + value_len + 2 <= VARIABLE_MAX)
		return 0;
	return err_set(e, ERR_LIMIT,
		       "the value of %.*s has %zu bytes; no program could be "
		       "started with more than %u in NAME=value",
		       (int)(name_len < 60 ? name_len : 60), name, value_len,
		       VARIABLE_MAX - 1);
}

static struct variable *find(const struct variables *v, const char *name)
{
	for (size_t i = 0; i < v->count; i++)
		if (!strcmp(v->all[i].name, name))
			return &v->all[i];
	return NULL;
}

static size_t size_of(const struct variable *one)
{
	return one ? strlen(one->name) + (one->value ? strlen(one->value) : 0) : 0;
}

static int check(const struct variables *v, const char *name, const char *value,
		 struct err *e)
{
	const struct variable *old = find(v, name);
	size_t len = value ? strlen(value) : 0;

	if (!variable_is_name(name))
		return err_set(e, ERR_USAGE, "'%.60s' is no name for a variable: "
					     VARIABLE_NAME_RULE, name);
	if (variable_check_size(name, strlen(name), len, e) < 0)
		return -1;
	if (!old && v->count == VARIABLES_MAX)
		return err_set(e, ERR_LIMIT, "more than %d variables", VARIABLES_MAX);
	if (v->bytes - size_of(old) + strlen(name) + len > VARIABLES_BYTES)
		return err_set(e, ERR_LIMIT, "more than %u bytes of variables",
			       VARIABLES_BYTES);
	return 0;
}

static struct variable *add(struct variables *v, const char *name)
{
	v->all = mem_resize(v->all, v->count + 1, sizeof(*v->all));
	v->all[v->count] = (struct variable){ .name = text_copy(name) };
	return &v->all[v->count++];
}

int variables_set(struct variables *v, const char *name, const char *value, struct err *e)
{
	if (check(v, name, value, e) < 0)
		return -1;
	struct variable *one = find(v, name);
	v->bytes -= size_of(one);
	if (!one)
		one = add(v, name);
	free(one->value);
	one->value = value ? text_copy(value) : NULL;
	one->number = ++v->number;
	v->bytes += size_of(one);
	return 0;
}

static int set_word(struct variables *v, const char *word, struct err *e)
{
	AUTO_FREE char *name = text_copy(word);
	char *value = strchr(name, '=');

	if (!value)
		return err_set(e, ERR_USAGE, "'%.60s' is no NAME=value", word);
	*value++ = '\0';
	return variables_set(v, name, value, e);
}

static int change(struct variables *v, const struct list *set, const struct list *unset,
		  struct err *e)
{
	for (size_t i = 0; i < unset->count; i++)
		if (variables_set(v, unset->items[i], NULL, e) < 0)
			return -1;
	for (size_t i = 0; i < set->count; i++)
		if (set_word(v, set->items[i], e) < 0)
			return -1;
	return 0;
}

static struct variables copy_of(const struct variables *v)
{
	struct variables copy = *v;

	copy.all = mem_resize(NULL, v->count + 1, sizeof(*copy.all));
	for (size_t i = 0; i < v->count; i++) {
		copy.all[i] = v->all[i];
		copy.all[i].name = text_copy(v->all[i].name);
		copy.all[i].value = v->all[i].value ? text_copy(v->all[i].value) : NULL;
	}
	return copy;
}

int variables_change(struct variables *v, const struct list *set,
		     const struct list *unset, struct err *e)
{
	struct variables next = copy_of(v);

	if (change(&next, set, unset, e) < 0) {
		variables_done(&next);
		return -1;
	}
	variables_done(v);
	*v = next;
	return 0;
}

void variables_apply(const struct variables *v, struct list *env)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct variable *one = &v->all[i];
		if (!one->value) {
			list_unset_env(env, one->name);
			continue;
		}
		AUTO_FREE char *word = text_format("%s=%s", one->name, one->value);
		list_set_env(env, word);
	}
}
