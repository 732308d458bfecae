/* All sandboxes of the registry. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/registry_end.h"
#include "sandbox/state/registry_look.h"
#include "sandbox/state/state_dir.h"

struct gather {
	int state;
	struct registry_list *list;
	size_t room;
	struct err trouble; /* a failure of this process, such as too many open files */
};

static struct registry_item *add(struct gather *g)
{
	if (g->list->count == g->room) {
		g->room = g->room ? 2 * g->room : 64;
		g->list->items =
			mem_resize(g->list->items, g->room, sizeof(*g->list->items));
	}
	return &g->list->items[g->list->count++];
}

/* Adds a live sandbox to the list.  Passes over entries that are not sandboxes
 * of this user. */
static void gather_live(void *arg, const char *name)
{
	struct gather *g = arg;
	struct registry_entry r = { .state = g->state };

	if (registry_check_name(name, NULL) < 0)
		return;
	struct err why;
	AUTO_CLOSE int folder = state_dir_folder(g->state, name, &why);
	if (folder < 0 && why.kind != ERR_NOT_FOUND && why.kind != ERR_REFUSED)
		g->trouble = why;
	if (folder < 0)
		return;
	bool is_alive = state_dir_is_alive(folder);
	if (!is_alive && registry_settle(g->state, name, false, NULL) == 0)
		return; /* the dead sandbox was moved to .ended and is listed from
			 * there */
	if (!is_alive && !state_dir_is_at(g->state, name, folder))
		return;
	r.folder = folder;
	(void)snprintf(r.name, sizeof(r.name), "%s", name);
	state_dir_read_id(folder, r.id);
	struct registry_item *item = add(g);
	registry_read_live(&r, item);
	if (!is_alive)
		item->status = REGISTRY_STOPPING; /* the supervisor is dead, and the
						   * janitor is still tidying up */
}

static int by_name(const void *a, const void *b)
{
	const struct registry_item *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Returns whether the list has a later end of this sandbox: a sandbox that was
 * started again has ended more than once, and only its latest end counts. */
static bool has_lived_since(const struct registry_list *list, const char *name)
{
	struct state_dir_ended x;
	bool has = false;

	for (size_t i = 0; i < list->count && !has; i++)
		has = state_dir_ended_parse(&x, name) && !strcmp(list->items[i].id, x.id);
	return has;
}

static void gather_ended(struct gather *g)
{
	struct list found;
	AUTO_CLOSE int ended = registry_all_ended(g->state, NULL, &found);

	for (size_t i = 0; i < found.count; i++)
		if (!has_lived_since(g->list, found.items[i]) &&
		    registry_read_ended(ended, found.items[i], add(g)) < 0)
			g->list->count--;
	list_done(&found);
}

int registry_list(bool has_ended, struct registry_list *ret, struct err *e)
{
	struct err why = { 0 };
	AUTO_CLOSE int state = state_dir_state(false, &why);
	struct gather g = { .state = state, .list = ret };

	if (state < 0 && why.sys != ENOENT) {
		if (e)
			*e = why;
		return -1;
	}
	*ret = (struct registry_list){ 0 };
	if (state < 0)
		return 0;
	if (state_dir_each(state, gather_live, &g, &g.trouble) < 0 || g.trouble.kind) {
		if (e)
			*e = g.trouble;
		registry_list_done(ret);
		return -1;
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_name);
	if (has_ended)
		gather_ended(&g);
	return 0;
}

int registry_name_of(const char *id, char ret[REGISTRY_NAME_MAX + 1])
{
	struct registry_list all;
	int found = -1;

	if (registry_list(false, &all, NULL) < 0)
		return -1;
	for (size_t i = 0; i < all.count && found < 0; i++) {
		if (strcmp(all.items[i].id, id) != 0)
			continue;
		memcpy(ret, all.items[i].name, sizeof(all.items[i].name));
		found = 0;
	}
	registry_list_done(&all);
	return found;
}

void registry_list_done(struct registry_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++)
		registry_item_done(&list->items[i]);
	own_free(&list->items);
	list->count = 0;
}
