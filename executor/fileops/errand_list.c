#include "executor/fileops/errand.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "executor/files/top_k.h"
#include "executor/files/walk.h"
#include "executor/search/glob.h"
#include "executor/session/shell_quote.h"

/* The state of a list or a glob errand while it walks. */
struct search {
	struct errand *x;
	struct top_k top;
	struct glob *glob;  /* owned */
	bool wants_folders; /* the pattern ends with a slash, so only folders are
			     * wanted */
};

/* --- results --------------------------------------------------------------------- */

static void put_top(struct search *s, const char *before)
{
	struct errand *x = s->x;

	top_k_end(&s->top);
	for (size_t i = 0; i < s->top.count; i++) {
		const struct find *one = &s->top.all[i];
		AUTO_FREE char *path = text_format("%s%s", before, one->path);
		AUTO_FREE char *shown = shell_quote_shown(path);
		AUTO_FREE char *line =
			text_format("%s%s", shown, one->is_folder ? "/" : "");
		if (!errand_line(x, line, strlen(line)))
			s->top.dropped++;
	}
}

/* Adds notes to the answer about names that are missing in it. */
static void put_notes(struct search *s, const struct walk *w)
{
	struct errand *x = s->x;
	uint64_t dropped = s->top.dropped;

	if (dropped > 0)
		errand_note(x, "[%llu more %s not shown.]", (unsigned long long)dropped,
			    dropped == 1 ? "is" : "are");
	if (w->closed > 0)
		errand_note(x, "[%llu %s could not be looked into: %s.]",
			    (unsigned long long)w->closed,
			    w->closed == 1 ? "folder" : "folders", err_words(w->sys));
	if (w->is_cut)
		errand_note(x, "[Reading took too long, and was ended after %llu names: "
			       "there may be more.]", (unsigned long long)w->names);
	x->end.cut += s->top.dropped_bytes;
}

static bool is_late(void *context)
{
	(void)context;
	return errand_is_late();
}

static void search(struct search *s, const char *before,
		   enum walk_step (*on_name)(void *context, const struct walk_name *n))
{
	struct walk w = { .on_name = on_name, .is_late = is_late, .context = s };
	int folder = errand_open_folder(s->x);

	if (folder >= 0) {
		(void)walk_run(&w, folder);
		put_top(s, before);
		put_notes(s, &w);
	}
	top_k_done(&s->top);
}

/* --- list -------------------------------------------------------------------------- */

/* Returns whether the name is a folder, or a link to one. */
static bool is_folder(const struct walk_name *n)
{
	struct stat st;

	if (n->type == DT_LNK)
		return fstatat(n->folder, n->name, &st, 0) == 0 && S_ISDIR(st.st_mode);
	return n->type == DT_DIR;
}

static enum walk_step on_listed(void *context, const struct walk_name *n)
{
	struct search *s = context;
	const struct find one = { .path = (char *)(uintptr_t)n->path,
				  .is_folder = is_folder(n) };

	top_k_add(&s->top, &one);
	return n->depth + 1 < s->x->ask->depth ? WALK_ON : WALK_PAST;
}

static int by_name(const void *one, const void *other)
{
	const struct find *a = one, *b = other;

	if (a->is_folder != b->is_folder)
		return a->is_folder ? -1 : 1;
	int order = strcasecmp(a->path, b->path);
	return order ? order : strcmp(a->path, b->path);
}

void errand_list(struct errand *x)
{
	struct search s = { .x = x,
			    .top = { .compare = by_name, .limit = x->ask->limit } };

	search(&s, "", on_listed);
}

/* --- glob -------------------------------------------------------------------------- */

static void add_match(struct search *s, const struct walk_name *n)
{
	struct stat st = { 0 };

	if (fstatat(n->folder, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* the file was removed meanwhile */
	const struct find one = { .path = (char *)(uintptr_t)n->path,
				  .is_folder = s->wants_folders,
				  .changed = st.st_mtim };
	top_k_add(&s->top, &one);
}

static enum walk_step on_globbed(void *context, const struct walk_name *n)
{
	struct search *s = context;
	bool is_dir = n->type == DT_DIR;

	if (is_dir == s->wants_folders && glob_matches(s->glob, n->path))
		add_match(s, n);
	return is_dir && glob_leads_to(s->glob, n->path) ? WALK_ON : WALK_PAST;
}

static int by_time(const void *one, const void *other)
{
	const struct find *a = one, *b = other;

	if (a->changed.tv_sec != b->changed.tv_sec)
		return a->changed.tv_sec > b->changed.tv_sec ? -1 : 1;
	if (a->changed.tv_nsec != b->changed.tv_nsec)
		return a->changed.tv_nsec > b->changed.tv_nsec ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* Splits an absolute pattern: its first components, which have no wildcards, replace the
 * request's path. Returns the rest of the pattern, which is relative to that path. */
static const char *take_root(struct errand *x, const char *pattern)
{
	size_t slashes = strspn(pattern, "/"), len = 0;

	if (slashes == 0)
		return pattern;
	pattern += slashes - 1;
	for (size_t at = 1, end; pattern[at]; at = end + 1) {
		end = at + strcspn(pattern + at, "/");
		if (!pattern[end] || strcspn(pattern + at, "*?[{\\") < end - at)
			break;
		len = end;
	}
	while (len > 0 && pattern[len - 1] == '/')
		len--;
	(void)snprintf(x->path, sizeof(x->path), "%.*s", len ? (int)len : 1, pattern);
	(void)snprintf(x->shown, sizeof(x->shown), "%.*s/", (int)len, pattern);
	return pattern + len + strspn(pattern + len, "/");
}

void errand_glob(struct errand *x)
{
	struct search s = { .x = x,
			    .top = { .compare = by_time, .limit = x->ask->limit } };
	const char *why;
	AUTO_FREE char *pattern = text_copy(take_root(x, x->ask->other));
	size_t len = strlen(pattern);

	while (len > 0 && pattern[len - 1] == '/') {
		s.wants_folders = true;
		pattern[--len] = '\0';
	}
	s.glob = glob_new(pattern, &why);
	if (!s.glob) {
		(void)errand_refuse(x, why);
		return;
	}
	search(&s, x->shown, on_globbed);
	glob_free(s.glob);
}
