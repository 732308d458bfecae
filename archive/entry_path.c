#include "archive/entry_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

void entry_path_init(struct entry_path *p)
{
	*p = (struct entry_path){ .path = mem_new(1), .room = 1 };
	p->path[0] = '\0';
	p->name = p->path;
}

void entry_path_done(struct entry_path *p)
{
	free(p->path);
	*p = (struct entry_path){ 0 };
}

static void add_part(struct entry_path *to, size_t *len, const char *part,
		     size_t part_len)
{
	size_t slash = *len > 0;

	if (*len + slash + part_len + 1 > to->room) {
		to->room = 2 * (*len + slash + part_len + 1);
		to->path = mem_resize(to->path, to->room, 1);
	}
	if (slash)
		to->path[*len] = '/';
	to->name = to->path + *len + slash;
	memcpy(to->name, part, part_len);
	*len += slash + part_len;
	to->path[*len] = '\0';
}

/* Checks one part of a name from a tar.  ".." is refused, since only ".." makes the
 * kernel's lookup go up. */
static int check_part(const char *part, size_t len, const char *path, struct err *e)
{
	if (len == 2 && !memcmp(part, "..", 2))
		return err_set(e, ERR_PROTOCOL,
			       "%.300s: a name with \"..\" in it leads out of the folder",
			       path);
	if (len > NAME_MAX)
		return err_set(e, ERR_PROTOCOL,
			       "%.300s...: a part of the name is too long", path);
	return 0;
}

int entry_path_read(struct entry_path *ret, const char *path, const char *rename,
		    struct err *e)
{
	size_t used = 0;

	ret->path[0] = '\0';
	ret->name = ret->path;
	for (const char *part = path; *part;) {
		size_t len = strcspn(part, "/");
		bool is_nothing = len == 0 || (len == 1 && *part == '.');
		if (check_part(part, len, path, e) < 0)
			return -1;
		if (!is_nothing && rename)
			add_part(ret, &used, rename, strlen(rename));
		else if (!is_nothing)
			add_part(ret, &used, part, len);
		if (!is_nothing)
			rename = NULL;
		part += len + (part[len] == '/');
	}
	return 0;
}

const char *entry_path_folder(struct entry_path *p)
{
	if (p->name == p->path)
		return "";
	p->name[-1] = '\0';
	return p->path;
}

const char *entry_path_whole(struct entry_path *p)
{
	if (p->name > p->path)
		p->name[-1] = '/';
	return p->path;
}

bool entry_path_next(const char **path, char ret[NAME_MAX + 1])
{
	size_t len = strcspn(*path, "/");

	if (len == 0 || len > NAME_MAX)
		return false;
	memcpy(ret, *path, len);
	ret[len] = '\0';
	*path += len + ((*path)[len] == '/');
	return true;
}

/* Returns the depth of the folder that contains the entry: the number of parts before
 * the last one. */
static int depth_of(const struct entry_path *p)
{
	int depth = 0;

	for (const char *c = p->path; *c; c++)
		depth += *c == '/';
	return depth;
}

bool entry_path_leads_out(const struct entry_path *p, const char *to, int least)
{
	int depth = depth_of(p);
	bool is_out = *to == '/' || depth < least;

	while (!is_out && *to) {
		size_t len = strcspn(to, "/");
		if (len == 2 && !memcmp(to, "..", 2))
			is_out = --depth < least;
		else if (len > 0 && !(len == 1 && *to == '.'))
			depth++;
		to += len + (to[len] == '/');
	}
	return is_out;
}

bool entry_path_is_name(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       strlen(name) <= NAME_MAX && !strchr(name, '/');
}
