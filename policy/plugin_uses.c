#include "policy/plugin_uses.h"

#include "base/list.h"
#include "base/mem.h"

void plugin_uses_done(struct plugin_uses *u)
{
	for (size_t i = 0; i < u->count; i++) {
		struct plugin_use *one = &u->items[i];
		free(one->name);
		free(one->folder);
		free(one->venv);
		free(one->token);
		free(one->url);
	}
	free(u->items);
	free(u->path);
	free(u->python_path);
	*u = (struct plugin_uses){ 0 };
}

struct plugin_use *plugin_uses_add(struct plugin_uses *u, const char *name)
{
	u->items = mem_resize(u->items, u->count + 1, sizeof(*u->items));
	struct plugin_use *one = &u->items[u->count++];

	*one = (struct plugin_use){ .name = text_copy(name) };
	return one;
}
