#include "rootfs-tools/changes/kept_changes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "archive/dir_names.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/own.h"
#include "base/path.h"
#include "cli/common/report.h"
#include "policy/volume.h"

#define HERE_NAMED 8 /* how many names an error lists; it has room for that many long
		      * ones */

/* --- which ------------------------------------------------------------ */

/* Returns whether one of the folders is the folder `here`, or is above it. */
static bool is_of(const struct cow *c, const char *here)
{
	for (size_t i = 0; i < c->count; i++)
		if (path_below(here, c->folders[i].source))
			return true;
	return false;
}

static int refuse_several(const struct list *names, struct err *e)
{
	const size_t more = names->count > HERE_NAMED ? names->count - HERE_NAMED : 0;
	struct list first = { 0 };

	for (size_t i = 0; i < names->count && i < HERE_NAMED; i++)
		list_add(&first, names->items[i]);
	if (more)
		list_addf(&first, "%zu more", more);
	AUTO_FREE char *all = list_join(&first, 0, ", ");
	list_done(&first);
	(void)err_set(e, ERR_EXISTS,
		      "a name is missing: changes of %zu sandboxes are kept of this "
		      "folder: %s",
		      names->count, all);
	return err_remedy(e, "give the NAME of one; hutch changes lists the names");
}

static int refuse_none(const char *here, struct err *e)
{
	(void)err_set(e, ERR_NOT_FOUND,
		      "a name is missing: no changes are kept of %.100s, nor of a folder "
		      "above it",
		      here);
	return err_remedy(e, "give a NAME; hutch changes lists the names");
}

int kept_changes_here(char ret_id[COW_ID_LEN + 1], struct err *e)
{
	AUTO_FREE char *here = getcwd(NULL, 0);
	char id[COW_ID_LEN + 1] = "";
	struct list names = { 0 };
	struct cow_list l;

	if (!here)
		return err_sys(e, "find out which folder this is");
	if (kept_changes_list(&l, e) < 0)
		return -1;
	for (size_t i = 0; i < l.count; i++) {
		if (!is_of(&l.items[i], here))
			continue;
		list_add(&names, l.items[i].name);
		(void)snprintf(id, sizeof(id), "%s", l.items[i].id);
	}
	cow_list_done(&l);
	int result = names.count == 1 ? 0 : -1;
	if (names.count > 1)
		result = refuse_several(&names, e);
	else if (result < 0)
		result = refuse_none(here, e);
	else
		memcpy(ret_id, id, sizeof(id));
	list_done(&names);
	return result;
}

/* Returns the part of `path` below the folder `target`, or NULL if `path` is not in
 * that folder. */
static const char *behind(const char *path, const char *target)
{
	const char *rest = path_below(path, target);

	return rest && *rest ? rest + 1 : rest;
}

/* Adds the path to the wanted paths of the folder that contains it.  If folders are
 * mounted in one another, the innermost one is chosen. */
static int want(struct kept_changes *p, const char *path, struct list *others,
		struct err *e)
{
	const struct cow *c = &p->cow;
	const char *rest = NULL;
	size_t best = 0;

	for (size_t i = 0; i < c->count; i++) {
		const char *mine = behind(path, c->folders[i].target);
		if (mine && (!rest || strlen(mine) < strlen(rest))) {
			rest = mine;
			best = i;
		}
	}
	if (!rest && !others)
		return err_set(e, ERR_NOT_FOUND,
			       "%.300s is in no folder that was shown with "
			       ":cow",
			       path);
	list_add(rest ? &p->wanted[best] : others, rest ? rest : path);
	return 0;
}

static int take_word(struct kept_changes *p, const char *word, struct list *others,
		     struct err *e)
{
	const char *first = p->cow.count ? p->cow.folders[0].target : "";
	AUTO_FREE char *whole = *word == '/' ? text_copy(word)
					     : text_format("%s/%s", first, word);
	AUTO_FREE char *path = NULL;

	if (volume_normalize(whole, &path, e) < 0)
		return -1;
	return want(p, path, others, e);
}

int kept_changes_open(struct kept_changes *p, const char *name, char *const *words,
		      struct list *others, struct err *e)
{
	char here[COW_ID_LEN + 1];

	*p = (struct kept_changes){ 0 };
	cow_init(&p->cow);
	if (!name && kept_changes_here(here, e) < 0)
		return -1;
	if (cow_find(name ? name : here, &p->cow, e) < 0 &&
	    (!others || e->kind != ERR_NOT_FOUND))
		return -1;
	p->wanted = mem_zeroed(p->cow.count, sizeof(*p->wanted));
	for (; *words; words++) {
		p->is_partial = true;
		if (take_word(p, *words, others, e) < 0)
			return -1;
	}
	return 0;
}

void kept_changes_done(struct kept_changes *p)
{
	for (size_t i = 0; p->wanted && i < p->cow.count; i++)
		list_done(&p->wanted[i]);
	own_free(&p->wanted);
	cow_done(&p->cow);
}

/* --- walked ------------------------------------------------------------ */

int kept_changes_source(const struct cow_folder *f, struct err *e)
{
	struct stat st;
	AUTO_CLOSE int dir = open(f->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || fstat(dir, &st) < 0)
		return err_sys(e, "open %.300s, where the changes were made", f->source);
	if (st.st_dev == f->dev && st.st_ino == f->ino)
		return fd_take(&dir);
	return err_set(e, ERR_REFUSED,
		       "%.300s, where the changes were made, is another "
		       "folder now",
		       f->source);
}

int kept_changes_walk_upper(int upper, const struct idmaps *ranges,
			    const struct changes_walk *g, struct err *e)
{
	struct changes_stream t;
	int result = changes_stream_begin_ranges(&t, upper, ranges, e);

	if (result == 0)
		result = changes_walk_walk(g, &t, e);
	changes_stream_done(&t);
	return result;
}

static int walk(const struct cow *c, size_t number, const struct changes_walk *g,
		struct err *e)
{
	AUTO_CLOSE int upper = cow_upper(c, number, e);

	return upper < 0 ? -1 : kept_changes_walk_upper(upper, NULL, g, e);
}

int kept_changes_walk(const struct kept_changes *p, size_t number,
		      const struct changes_walk *g, struct err *e)
{
	return walk(&p->cow, number, g, e);
}

/* --- settled ------------------------------------------------------------ */

struct sum {
	uint64_t changes, bytes, left_out;
};

static int on_meeting(void *context, const struct meeting *m, struct err *e)
{
	struct sum *s = context;

	if (m->is_on_way)
		return 0;
	int is_same = m->may_be_same ? changes_walk_is_same(m, e) : 0;
	if (is_same < 0)
		return -1;
	if (is_same)
		return 0;
	s->changes++;
	if (m->item && m->item->kind == CHANGES_STREAM_FILE)
		s->bytes += m->item->size;
	return 0;
}

static void on_left_out(void *context, const char *path, const char *why)
{
	struct sum *s = context;

	(void)path;
	(void)why;
	s->left_out++;
}

static int sum_folder(const struct cow *c, size_t number, const struct list *wanted,
		      struct sum *s, struct err *e)
{
	AUTO_CLOSE int dir = kept_changes_source(&c->folders[number], e);
	const struct changes_walk g = { .dir = dir,
					.wanted = wanted,
					.context = s,
					.on_meeting = on_meeting,
					.on_left_out = on_left_out };

	return dir < 0 ? -1 : walk(c, number, &g, e);
}

int kept_changes_count(const struct kept_changes *p, uint64_t *ret, struct err *e)
{
	struct sum sum = { 0 };

	for (size_t i = 0; i < p->cow.count; i++) {
		const struct list *wanted = &p->wanted[i];
		if ((!p->is_partial || wanted->count) &&
		    sum_folder(&p->cow, i, wanted, &sum, e) < 0)
			return -1;
	}
	*ret = sum.changes;
	return 0;
}

int kept_changes_settle(struct cow *c, struct err *e)
{
	struct sum sum = { 0 };

	for (size_t i = 0; i < c->count; i++)
		if (sum_folder(c, i, NULL, &sum, e) < 0)
			return -1;
	/* An entry that was left out cannot be compared with the host, so it counts as
	 * a change. */
	const uint64_t changes = sum.changes + sum.left_out;
	/* Without changes, the folder must also stay if an apply was killed: another
	 * apply must still remove that apply's temporary files. */
	if (changes || faccessat(c->folder, COW_APPLYING, F_OK, 0) == 0)
		return cow_set_sum(c, changes, sum.bytes, e) < 0 ? -1 : 1;
	cow_remove(c);
	return 0;
}

/* Returns whether this process can start a jail, which needs to write its id maps.  A
 * launch with secrets, or by root, is not dumpable, nor are its children;
 * /proc/PID/uid_map of such a process belongs to root (proc(5)). */
static bool can_jail(void)
{
	return prctl(PR_GET_DUMPABLE) == 1;
}

/* Only finds out whether there are any changes at all.  The next hutch command that
 * lists them also counts them. */
static int settle_roughly(struct cow *c)
{
	bool is_empty = true;

	for (size_t i = 0; i < c->count && is_empty; i++) {
		struct dir_names names = { 0 };
		AUTO_CLOSE int upper = cow_upper(c, i, NULL);
		is_empty = upper >= 0 && dir_names_read(upper, 1 << 20, &names) == 0 &&
			   !names.count;
		dir_names_done(&names);
	}
	if (is_empty)
		cow_remove(c);
	return !is_empty;
}

void kept_changes_end(struct cow *c)
{
	struct err e;

	if (!c->path) {
		cow_done(c);
		return;
	}
	int kept = can_jail() ? kept_changes_settle(c, &e) : settle_roughly(c);
	if (kept < 0)
		report_error(&e);
	if (kept != 0)
		note_print("changes are kept as %s; hutch diff|apply|discard %s", c->name,
			   c->name);
	cow_done(c);
}

static void settle_one(struct cow *c)
{
	if (c->is_live || c->has_sum || cow_lock(c, NULL) < 0)
		return;
	(void)kept_changes_settle(c,
				  NULL); /* if this fails, the changes stay uncounted */
	cow_unlock(c);
}

static void settle_all(struct cow_list *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		settle_one(&l->items[i]);
		if (l->items[i].is_gone)
			cow_done(&l->items[i]);
		else
			l->items[kept++] = l->items[i];
	}
	l->count = kept;
}

int kept_changes_list(struct cow_list *ret, struct err *e)
{
	if (cow_list(ret, e) < 0)
		return -1;
	settle_all(ret);
	return 0;
}

char *kept_changes_started(const struct cow *c)
{
	time_t seconds = (time_t)(c->started_ns / 1000000000);
	char text[40] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return text_copy(text);
}
