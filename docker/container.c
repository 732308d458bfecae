#include "docker/container.h"

#include <string.h>

#include "base/err.h"
#include "sandbox/kernel/host_user.h"

struct search {
	const char *word;	/* borrowed */
	struct container found; /* the best match so far */
	unsigned matches;	/* how many ids begin with the word */
	bool is_exact;
};

static void take(struct search *s, const struct registry_item *item)
{
	(void)strcpy(s->found.name, item->name);
	(void)strcpy(s->found.id, item->id);
	s->found.is_ended = item->status == REGISTRY_ENDED;
}

/* Live sandboxes come first, then the ended ones, the latest first; so the first name
 * that fits is the one that is meant. */
static void try_item(struct search *s, const struct registry_item *item)
{
	if (item->is_waiting || s->is_exact)
		return;
	if (!strcmp(item->name, s->word) || !strcmp(item->id, s->word)) {
		s->is_exact = true;
		take(s, item);
	} else if (!strncmp(item->id, s->word, strlen(s->word)) && s->matches++ == 0)
		take(s, item);
}

/* Looks as the user whose sandboxes these are. */
static int look(void *arg, struct err *e)
{
	struct search *s = arg;
	struct registry_item item;
	struct registry_list list;

	if (registry_is_name(s->word) && registry_look(s->word, &item, NULL) == 0) {
		try_item(s, &item);
		registry_item_done(&item);
		if (s->is_exact)
			return 0;
	}
	if (registry_list(true, &list, e) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		try_item(s, &list.items[i]);
	registry_list_done(&list);
	return 0;
}

int container_find(const char *word, struct container *ret, struct err *e)
{
	struct search s = { .word = word[0] == '/' ? word + 1 : word };

	if (!*s.word)
		return err_set(e, ERR_NOT_FOUND, "No such container: %.100s", word);
	if (host_user_as_client(look, &s, e) < 0)
		return -1;
	if (!s.is_exact && s.matches > 1)
		return err_set(e, ERR_USAGE,
			       "multiple IDs found with provided prefix: %.60s", word);
	if (!s.is_exact && s.matches == 0)
		return err_set(e, ERR_NOT_FOUND, "No such container: %.100s", word);
	*ret = s.found;
	return 0;
}

const char *container_word(const struct container *c)
{
	return c->is_ended ? c->id : c->name;
}
