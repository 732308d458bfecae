/* A plugin.json is arbitrary bytes, and so are the arguments of an action: what is
 * accepted is within its bounds, and what is refused has a reason.  A zero byte separates
 * the two. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "policy/plugin/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_action(const struct plugin_action *a)
{
	if (!*a->name || strlen(a->name) > MANIFEST_MEMBER_MAX || !*a->observation ||
	    strlen(a->observation) > MANIFEST_MEMBER_MAX ||
	    a->args.count > MANIFEST_MEMBERS_MAX || a->answer.count > MANIFEST_MEMBERS_MAX)
		abort();
}

static void try_args(const struct manifest *m, const char *text, size_t len)
{
	struct json_at root;
	struct err e = { 0 };
	AUTO_JSON struct json *doc = json_parse(text, len, &e);

	if (!doc)
		return;
	json_root(doc, "args", &root);
	for (size_t i = 0; i < m->action_count; i++)
		if (manifest_check_args(&m->actions[i], &root, &e) < 0 && !e.text[0])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t len = strnlen(text, size);
	struct manifest m;
	struct err e = { 0 };

	if (manifest_read(text, len, NULL, &m, &e) < 0) {
		if (!e.text[0])
			abort();
		return 0;
	}
	if (!manifest_is_name(m.name) || m.action_count > MANIFEST_ACTIONS_MAX ||
	    (m.action_count > 0 && m.command.count == 0) || m.ready_ms == 0)
		abort();
	for (size_t i = 0; i < m.action_count; i++)
		check_action(&m.actions[i]);
	for (size_t i = 0; i < m.command.count; i++) {
		AUTO_FREE char *word = manifest_expand(m.command.items[i], "/f");
		if (strstr(word, "${plugin}") && !strstr(m.command.items[i], "${plugin}"))
			abort();
	}
	if (len < size)
		try_args(&m, text + len + 1, size - len - 1);
	manifest_done(&m);
	return 0;
}
