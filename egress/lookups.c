#include "egress/lookups.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "egress/hosts_file.h"
#include "egress/resolver.h"

static int64_t good_until(const struct resolved *r, int64_t now)
{
	int64_t ttl = (int64_t)r->ttl * 1000;

	switch (r->status) {
	case RESOLVED_FOUND:
		return now + (ttl < LOOKUPS_KEEP_MS ? ttl : LOOKUPS_KEEP_MS);
	case RESOLVED_EMPTY:
	case RESOLVED_NXDOMAIN:
		return now + LOOKUPS_NONE_MS;
	case RESOLVED_FAILED:
	default:
		return now;
	}
}

static void settle(struct lookup *item, const struct resolved *r, int64_t now)
{
	item->found = *r;
	item->is_pending = false;
	item->due = good_until(r, now);
	item->all->has_news = true;
}

static void told(void *context, const struct resolved *r)
{
	struct lookup *item = context;

	item->is_asked = false;
	if (item->is_pending) /* else the answer is too late */
		settle(item, r, item->all->now);
}

static bool is_free(const struct lookup *item)
{
	return !item->is_pending && !item->is_asked && !item->users;
}

/* Returns the place of a new lookup: a free one, or that of the oldest answer. */
static struct lookup **find_place(struct lookups *l)
{
	struct lookup **oldest = NULL;

	for (size_t i = 0; i < LOOKUPS_MAX; i++) {
		struct lookup *item = l->items[i];
		if (!item)
			return &l->items[i];
		if (is_free(item) && (!oldest || item->asked_at < (*oldest)->asked_at))
			oldest = &l->items[i];
	}
	return oldest;
}

static struct lookup *find(const struct lookups *l, const char *name, int64_t now)
{
	for (size_t i = 0; i < LOOKUPS_MAX; i++) {
		struct lookup *item = l->items[i];
		if (item && (item->is_pending || now < item->due) &&
		    !strcmp(item->name, name))
			return item;
	}
	return NULL;
}

static struct lookup *start(struct lookups *l, const char *name, int64_t now)
{
	struct lookup **place = find_place(l);
	struct resolved r;

	if (!place || strlen(name) > HOST_NAME_BYTES_MAX)
		return NULL;
	free(*place);
	struct lookup *item = *place = calloc(1, sizeof(*item));
	if (!item)
		abort();
	*item = (struct lookup){
		.all = l, .is_pending = true, .asked_at = now, .due = now + LOOKUPS_MS
	};
	memcpy(item->name, name, strlen(name));
	if (hosts_file_find(l->hosts, name, &r)) {
		settle(item, &r, now);
	} else {
		item->is_asked = true;
		resolver_ask(l->resolver, name, told, item);
	}
	return item;
}

struct lookup *lookups_get(struct lookups *l, const char *name, int64_t now)
{
	l->now = now;
	struct lookup *item = find(l, name, now);
	if (!item)
		item = start(l, name, now);
	if (item)
		item->users++;
	return item;
}

void lookups_release(struct lookup *item)
{
	if (item)
		item->users--;
}

bool lookups_has_news(struct lookups *l)
{
	bool had = l->has_news;

	l->has_news = false;
	return had;
}

void lookups_tick(struct lookups *l, int64_t now)
{
	const struct resolved failed = { .status = RESOLVED_FAILED };

	l->now = now;
	for (size_t i = 0; i < LOOKUPS_MAX; i++) {
		struct lookup *item = l->items[i];
		if (item && item->is_pending && clock_is_due(item->due, now))
			settle(item, &failed, now);
	}
}

int64_t lookups_due(const struct lookups *l)
{
	int64_t due = 0;

	for (size_t i = 0; i < LOOKUPS_MAX; i++)
		if (l->items[i] && l->items[i]->is_pending)
			due = clock_sooner(due, l->items[i]->due);
	return due;
}

void lookups_done(struct lookups *l)
{
	for (size_t i = 0; i < LOOKUPS_MAX; i++)
		free(l->items[i]);
	*l = (struct lookups){ 0 };
}
