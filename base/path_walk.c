#include "base/path_walk.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/own.h"

/* The rest of a path: its names that are not walked yet. */
struct rest {
	char *text; /* owned: the memory for the rest */
	char *next; /* the place in `text` of the first name that is not walked yet */
};

/* Puts `text`, such as the text of a link, in front of the names that are not walked
 * yet. */
static void rest_put(struct rest *r, const char *text)
{
	const char *next = r->next ? r->next : "";
	const bool ends_in_slash = *text && text[strlen(text) - 1] == '/';
	const char *end = *next					     ? "/"
			  : ends_in_slash && text[strspn(text, "/")] ? "."
								     : "";
	char *whole = text_format("%s%s%s", text, end, next);

	free(r->text);
	r->text = r->next = whole;
}

/* Cuts the first name off the rest and returns it; NULL if there is none. */
static char *rest_cut(struct rest *r, bool *ret_is_last)
{
	char *name = r->next + strspn(r->next, "/"), *end = name + strcspn(name, "/");

	*ret_is_last = !*end;
	r->next = *end ? end + 1 : end;
	*end = '\0';
	return *name ? name : NULL;
}

static int follow(struct path_walk *w, struct rest *r, const char *name)
{
	char text[PATH_MAX];

	if (++w->links > PATH_WALK_LINKS_MAX)
		return -ELOOP;
	const int result = w->tree->read_link(w->context, name, text);
	if (result)
		return result < 0 ? result : 0;
	if (w->rest_max && strlen(text) + 1 + strlen(r->next) > w->rest_max)
		return -ENAMETOOLONG;
	rest_put(r, text);
	return *text == '/' ? w->tree->go_root(w->context) : 0;
}

int path_walk(struct path_walk *w, const char *path)
{
	struct rest r = { 0 };
	const char *name;
	bool is_last;
	int result = 0;

	rest_put(&r, path);
	while (result == 0 && (name = rest_cut(&r, &is_last))) {
		result = w->tree->enter(w->context, name, is_last);
		if (result == PATH_WALK_LINK)
			result = follow(w, &r, name);
	}
	free(r.text);
	return result;
}
