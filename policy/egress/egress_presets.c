#include "policy/egress/egress_presets.h"

#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/own.h"
#include "policy/json/json.h"

static const struct preset {
	const char *name, *text;
} presets[] = {
#include "gen/egress_presets.h"
};

const char *const *egress_presets(void)
{
	static const char *names[ARRAY_LEN(presets) + 1];

	for (size_t i = 0; i < ARRAY_LEN(presets); i++)
		names[i] = presets[i].name;
	return names;
}

static const struct preset *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(presets); i++)
		if (!strcmp(presets[i].name, name))
			return &presets[i];
	return NULL;
}

static int unknown(const char *name, struct err *e)
{
	struct nearest n;

	nearest_init(&n, name, strlen(name));
	for (size_t i = 0; i < ARRAY_LEN(presets); i++)
		nearest_try(&n, presets[i].name);
	(void)err_set(e, ERR_NOT_FOUND, "there is no preset '@%.60s'", name);
	(void)nearest_suggest(&n, "@", e);
	return err_remedy(e, "man hutch-net lists the presets");
}

int egress_preset_targets(const char *name, struct list *ret, struct err *e)
{
	const struct preset *p = find(name);
	struct json_at root, rules, item = { 0 };
	const char *target;

	if (!p)
		return unknown(name, e);
	AUTO_JSON struct json *doc = json_parse(p->text, strlen(p->text), e);
	if (!doc)
		return err_in(e, "preset @%s", p->name);
	json_root(doc, "preset", &root);
	if (!json_member(&root, "rules", &rules))
		return err_set(e, ERR_INTERNAL, "preset @%s has no rules", p->name);
	while (json_step(&rules, &item)) {
		if (json_string(&item, &target, e) < 0)
			return err_in(e, "preset @%s", p->name);
		list_add(ret, target);
	}
	return 0;
}

/* Returns a member that is a text, allocated; NULL: there is none. */
static char *preset_text(const char *name, const char *key)
{
	const struct preset *p = find(name);
	struct json_at root, at;
	const char *text;

	AUTO_JSON struct json *doc = p ? json_parse(p->text, strlen(p->text), NULL)
				       : NULL;
	if (!doc)
		return NULL;
	json_root(doc, "preset", &root);
	if (!json_member(&root, key, &at) || json_string(&at, &text, NULL) < 0)
		return NULL;
	return text_copy(text);
}

char *egress_preset_about(const char *name)
{
	return preset_text(name, "about");
}

char *egress_preset_date(const char *name)
{
	return preset_text(name, "date");
}
