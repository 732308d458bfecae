#include "store/links.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/own.h"

/* The kernel follows as many links (path_resolution(7)). */
#define LINKS_MAX 40

static char *join(const char *folder, const char *rest)
{
	return text_format("%s%s", strcmp(folder, "/") ? folder : "", rest);
}

/* `folder`/`rest` without empty parts, "." and ".."; ".." removes the part before it. */
static char *clean(const char *folder, const char *rest)
{
	char *ret = join(folder, rest);
	char *end = ret + (strcmp(folder, "/") ? strlen(folder) : 0);

	for (const char *at = end; *at; at += strcspn(at, "/")) {
		at += strspn(at, "/");
		size_t len = strcspn(at, "/");
		if (len == 2 && !memcmp(at, "..", 2)) {
			while (end > ret && *--end != '/')
				;
		} else if (len && !(len == 1 && *at == '.')) {
			*end++ = '/';
			memmove(end, at, len);
			end += len;
		}
	}
	if (end == ret)
		*end++ = '/';
	*end = '\0';
	return ret;
}

char *links_resolve(const char *path)
{
	AUTO_FREE char *head = text_copy(path);

	for (;;) {
		AUTO_FREE char *real = realpath(*head ? head : "/", NULL);
		char *slash = strrchr(head, '/');
		if (real || !slash)
			return clean(real ? real : "/", path + strlen(head));
		*slash = '\0';
	}
}

/* `path` up to its first part that is a link, or NULL. */
static char *first_link(const char *path)
{
	AUTO_FREE char *at = text_copy(path);
	struct stat st;

	for (char *end = at + 1; *end; end++) {
		end += strcspn(end, "/");
		char was = *end;
		*end = '\0';
		if (lstat(at, &st) < 0)
			return NULL;
		if (S_ISLNK(st.st_mode))
			return text_copy(at);
		*end = was;
		if (!was)
			break;
	}
	return NULL;
}

/* `path` with its first link, at `link`, replaced by the link's target. */
static char *follow(const char *path, const char *link)
{
	char to[PATH_MAX];
	const char *rest = path + strlen(link);
	ssize_t len = readlink(link, to, sizeof(to) - 1);

	if (len <= 0)
		return NULL;
	to[len] = '\0';
	if (to[0] == '/')
		return text_format("%s%s", to, rest);
	return text_format("%.*s/%s%s", (int)(strrchr(link, '/') - link), link, to, rest);
}

/* Adds the path of the link itself. */
static void add_place(struct list *ret, const char *link)
{
	const char *name = strrchr(link, '/');
	AUTO_FREE char *above = text_format("%.*s", (int)(name - link), link);
	AUTO_FREE char *folder = links_resolve(*above ? above : "/");
	AUTO_FREE char *place = join(folder, name);

	list_add(ret, place);
}

char *links_follow(const char *path, struct list *ret)
{
	AUTO_FREE char *at = text_copy(path);

	for (int i = 0; i < LINKS_MAX; i++) {
		AUTO_FREE char *link = first_link(at);
		char *next = link ? follow(at, link) : NULL;
		if (!next)
			break;
		add_place(ret, link);
		free(at);
		at = next;
	}
	return links_resolve(at);
}
