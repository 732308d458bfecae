#include "rootfs-tools/build/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/outcome.h"
#include "archive/pack.h"
#include "archive/pack_output.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/build/ignore.h"
#include "rootfs-tools/layers/merged.h"

#define FOUND_MAX 65536 /* limit of the paths that one pattern matches */

/* The files and folders that the sources of a COPY or ADD name. */
struct found {
	struct merged_at *all; /* owned */
	size_t count, room;
	struct list paths; /* the path of each file, written as in the instruction */
};

struct writing {
	const struct sources *s;
	struct pack pack;
	struct outcome *outcome;
};

/* A folder on the path from the top to the current folder.  An ignored folder is
 * written only when an entry in it is not ignored. */
struct level {
	struct level *above;
	const struct merged_at *folder;
	const char *as; /* the folder's name in the tar; "" for a folder that the
			 * instruction itself names */
	bool is_written;
};

/* --- finding -------------------------------------------------------------------- */

static void found_done(struct found *f)
{
	while (f->count > 0)
		merged_at_done(&f->all[--f->count]);
	free(f->all);
	list_done(&f->paths);
}

static bool is_ignored(const struct sources *s, const char *path)
{
	return s->ignore && *path && ignore_has(s->ignore, path);
}

/* An ignored folder is still read if an exception ('!') may match below it. */
static bool is_hidden(const struct sources *s, const struct merged_at *at)
{
	if (!is_ignored(s, at->path))
		return false;
	return !S_ISDIR(at->st.st_mode) || ignore_has_all_below(s->ignore, at->path);
}

/* Adds the file or folder at `path` to `found`, if the file or folder exists. */
static int find_path(const struct sources *s, const char *path, struct found *f,
		     struct err *e)
{
	AUTO_FREE char *missing = NULL;
	struct merged_at at;

	if (merged_resolve(s->tree, path, true, &at, &missing, e) < 0)
		return -1;
	if (*missing || is_hidden(s, &at)) {
		merged_at_done(&at);
		return 0;
	}
	if (f->count == FOUND_MAX) {
		merged_at_done(&at);
		return err_set(e, ERR_LIMIT, "more than %u files fit", FOUND_MAX);
	}
	if (f->count == f->room) {
		f->room = f->room ? 2 * f->room : 8;
		f->all = mem_resize(f->all, f->room, sizeof(*f->all));
	}
	f->all[f->count++] = at;
	list_add(&f->paths, path);
	return 0;
}

static int find_pattern(const struct sources *s, const char *before, const char *pattern,
			struct found *f, struct err *e);

static int find_in(const struct sources *s, const struct merged_at *folder,
		   const char *before, const char *part, const char *rest,
		   struct found *f, struct err *e)
{
	struct list names = { 0 };
	int rc = merged_names(s->tree, folder, &names, e);

	for (size_t i = 0; i < names.count && rc == 0; i++) {
		if (!pattern_matches(part, names.items[i]))
			continue;
		AUTO_FREE char *path = text_format("%s/%s", before, names.items[i]);
		rc = *rest ? find_pattern(s, path, rest, f, e) : find_path(s, path, f, e);
	}
	list_done(&names);
	return rc;
}

/* Adds the matches of `pattern` below the path `before`, one path part at a
 * time, as Go's filepath.Match does. */
static int find_pattern(const struct sources *s, const char *before, const char *pattern,
			struct found *f, struct err *e)
{
	size_t len = strcspn(pattern, "/");
	AUTO_FREE char *part = text_format("%.*s", (int)len, pattern), *missing = NULL;
	const char *rest = pattern + len + strspn(pattern + len, "/");
	struct merged_at folder;
	int rc = 0;

	if (!pattern_is_one(part)) {
		AUTO_FREE char *path = text_format("%s/%s", before, part);
		return *rest ? find_pattern(s, path, rest, f, e) :
			       find_path(s, path, f, e);
	}
	if (merged_resolve(s->tree, before, true, &folder, &missing, e) < 0)
		return -1;
	if (!*missing && S_ISDIR(folder.st.st_mode))
		rc = find_in(s, &folder, before, part, rest, f, e);
	merged_at_done(&folder);
	return rc;
}

static int not_found(const struct sources *s, const char *word, struct err *e)
{
	bool is_out = s->ignore && ignore_has(s->ignore, word + strspn(word, "/"));

	(void)err_set(e, ERR_NOT_FOUND, "'%.300s' is not %s", word,
		      s->ignore ? "in the context" : "there");
	return is_out ? err_remedy(e, ".dockerignore leaves it out") : -1;
}

static int find_word(const struct sources *s, const char *word, struct found *f,
		     struct err *e)
{
	size_t before = f->count;
	int rc = s->has_patterns && pattern_is_one(word) ?
			 find_pattern(s, "", word + strspn(word, "/"), f, e) :
			 find_path(s, word, f, e);

	if (rc == 0 && f->count == before)
		return not_found(s, word, e);
	return rc;
}

static int find_all(const struct sources *s, struct found *f, struct err *e)
{
	for (size_t i = 0; i < s->words->count; i++)
		if (find_word(s, s->words->items[i], f, e) < 0)
			return -1;
	if (f->count > 1 && !s->may_be_many)
		return err_set(e, ERR_USAGE,
			       "there are %zu sources, so the destination must "
			       "end with a slash",
			       f->count);
	return 0;
}

/* --- writing -------------------------------------------------------------------- */

bool sources_is_whiteout(const char *name)
{
	return !strncmp(name, ".wh.", 4);
}

static int check_name(const char *name, const char *path, struct err *e)
{
	if (!sources_is_whiteout(name))
		return 0;
	return err_set(e, ERR_USAGE,
		       "/%.300s: in a layer a name with .wh. in front deletes "
		       "another file; give it another name",
		       path);
}

static struct stat looks_of(const struct writing *w, const struct merged_at *at)
{
	struct stat st = at->st;

	st.st_uid = st.st_gid = 0;
	if (w->s->has_no_times)
		st.st_mtim = (struct timespec){ 0 };
	return st;
}

static void write_header(struct writing *w, enum tar_type type,
			 const struct merged_at *at, const char *as, const char *link)
{
	const struct pack_item item = { .as = as };
	struct stat st = looks_of(w, at);

	pack_header(&w->pack, type, &item, &st, link);
}

static int write_file(struct writing *w, const struct merged_at *at, const char *as,
		      struct err *e)
{
	AUTO_CLOSE int fd = merged_open(w->s->tree, at, e);
	const struct pack_item item = { .as = as, .is_given = true };
	struct stat st, is;

	if (fd < 0)
		return -1;
	if (fstat(fd, &is) < 0 || !S_ISREG(is.st_mode))
		return err_set(e, ERR_GONE, "/%.300s is no file any more", at->path);
	st = looks_of(w, at);
	st.st_size = is.st_size;
	return pack_content(&w->pack, fd, &item, &st, e);
}

static int write_link(struct writing *w, const struct merged_at *at, const char *as,
		      struct err *e)
{
	AUTO_FREE char *to = NULL;

	if (merged_read_link(w->s->tree, at, &to, e) < 0)
		return -1;
	write_header(w, TAR_LINK, at, as, to);
	return 0;
}

static int write_thing(struct writing *w, const struct merged_at *at, const char *as,
		       struct err *e)
{
	int rc = 0;

	if (S_ISREG(at->st.st_mode))
		rc = write_file(w, at, as, e);
	else if (S_ISLNK(at->st.st_mode))
		rc = write_link(w, at, as, e);
	else
		pack_tell(&w->pack, at->path, "a device, a FIFO or a socket");
	return rc < 0 ? -1 : pack_flush_much(&w->pack, e);
}

static void write_levels(struct writing *w, struct level *l)
{
	if (l->is_written)
		return;
	if (l->above)
		write_levels(w, l->above);
	write_header(w, TAR_FOLDER, l->folder, *l->as ? l->as : "./", NULL);
	l->is_written = true;
}

static int write_below(struct writing *w, struct level *l, struct err *e);

static int write_child(struct writing *w, struct level *l, const char *name,
		       struct err *e)
{
	struct merged_at at;
	int is_there = merged_look(w->s->tree, l->folder, name, &at, e), rc = 0;

	if (is_there <= 0)
		return is_there;
	AUTO_FREE char *as = text_format("%s%s%s", l->as, *l->as ? "/" : "", name);
	bool is_out = is_ignored(w->s, at.path);
	struct level below = { .above = l, .folder = &at, .as = as };
	if (!is_hidden(w->s, &at)) {
		rc = check_name(name, at.path, e);
		if (rc == 0 && !is_out)
			write_levels(w, S_ISDIR(at.st.st_mode) ? &below : l);
		if (rc == 0 && S_ISDIR(at.st.st_mode))
			rc = write_below(w, &below, e);
		else if (rc == 0)
			rc = write_thing(w, &at, as, e);
	}
	merged_at_done(&at);
	return rc;
}

static int write_below(struct writing *w, struct level *l, struct err *e)
{
	struct list names = { 0 };
	int rc = merged_names(w->s->tree, l->folder, &names, e);

	for (size_t i = 0; i < names.count && rc == 0; i++)
		rc = write_child(w, l, names.items[i], e);
	list_done(&names);
	return rc;
}

/* Returns the last part of a path, without slashes after it. */
static char *name_of(const char *path)
{
	size_t len = strlen(path), start;

	while (len && path[len - 1] == '/')
		len--;
	for (start = len; start && path[start - 1] != '/';)
		start--;
	return text_format("%.*s", (int)(len - start), path + start);
}

static int write_found(struct writing *w, const struct merged_at *at, const char *path,
		       struct err *e)
{
	AUTO_FREE char *name = name_of(path);

	if (S_ISDIR(at->st.st_mode)) {
		struct level root = { .folder = at, .as = "" };
		write_levels(w, &root);
		return write_below(w, &root, e);
	}
	if (check_name(name, at->path, e) < 0)
		return -1;
	if (!S_ISREG(at->st.st_mode))
		return err_set(e, ERR_USAGE, "/%.300s is neither a file nor a folder",
			       at->path);
	return write_thing(w, at, name, e);
}

static void on_left_out(void *context, const char *path, const char *why)
{
	struct outcome *o = ((struct writing *)context)->outcome;

	if (!o->first[0]) /* a long path may be cut, which is enough for a message */
		(void)snprintf(o->first, sizeof(o->first), "/%.90s: %.60s", path, why);
}

int sources_write(const struct sources *s, int out, struct outcome *ret, struct err *e)
{
	struct writing w = { .s = s, .outcome = ret };
	struct found found = { 0 };
	int rc = find_all(s, &found, e);

	w.pack = (struct pack){ .out = out, .context = &w, .on_left_out = on_left_out };
	for (size_t i = 0; i < found.count && rc == 0; i++)
		rc = write_found(&w, &found.all[i], found.paths.items[i], e);
	if (rc == 0)
		rc = pack_end(&w.pack, e);
	ret->entries = w.pack.entries;
	ret->bytes = w.pack.bytes;
	ret->left_out = w.pack.left_out;
	pack_done(&w.pack);
	found_done(&found);
	return rc;
}

int sources_paths(const struct sources *s, struct list *ret, struct err *e)
{
	struct found found = { 0 };
	int rc = find_all(s, &found, e);

	for (size_t i = 0; i < found.count && rc == 0; i++)
		list_add(ret, found.paths.items[i]);
	found_done(&found);
	return rc;
}
