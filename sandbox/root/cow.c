#include "sandbox/root/cow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/regular.h"
#include "policy/units.h"
#include "sandbox/plan/plan.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/saved_spec.h"
#include "store/folders.h"
#include "store/rm_tree.h"

#define ABOUT	  "about"
#define ABOUT_NEW "about.new" /* not complete yet */
#define SUM	  "sum"
#define MAGIC	  "hutch-changes 1"
#define PROBE	  "user.hutch"
#define ABOUT_MAX (1u << 20)
#define FOLDERS_MAX 4096

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* The places where changes are kept; only the first survives a reboot.  In the state
 * folder the name begins with a dot, since every other name there is a sandbox's. */
static const struct {
	enum folder folder;
	const char *name;
} places[] = { { FOLDER_DATA, "changes" }, { FOLDER_STATE, ".changes" } };

/* Returns the path of the folder that holds all changes in that place, and in
 * *ret_base the folder above it; both allocated. */
static char *place_path(size_t number, char **ret_base)
{
	char *base = folder_path(places[number].folder);
	char *all = base ? text_format("%s/%s", base, places[number].name) : NULL;

	*ret_base = base;
	return all;
}

void cow_init(struct cow *c)
{
	*c = (struct cow){ .folder = -1 };
}

void cow_done(struct cow *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++) {
		free(c->folders[i].source);
		free(c->folders[i].target);
	}
	free(c->folders);
	list_done(&c->protects);
	free(c->audit);
	free(c->path);
	own_close(&c->folder);
	cow_init(c);
}

static struct cow_folder *add_folder(struct cow *c)
{
	c->folders = mem_resize(c->folders, c->count + 1, sizeof(*c->folders));
	c->folders[c->count] = (struct cow_folder){ 0 };
	return &c->folders[c->count++];
}

/* --- what it is, as a file ----------------------------------------------- */

/* Writes the file "about".  It consists of texts KEY=VALUE that each end in a 0; the
 * texts about one folder begin with its source. */
static int write_about(const struct cow *c, struct err *e)
{
	FILE *to;
	char *text = NULL;
	size_t len = 0;

	to = mem_or_abort(open_memstream(&text, &len));
	(void)fprintf(to, MAGIC "%cid=%s%cname=%s%cgenerated=%d%cstarted=%lld%c", 0,
		      c->id, 0, c->name, 0, c->is_generated, 0, (long long)c->started_ns,
		      0);
	if (c->audit)
		(void)fprintf(to, "audit=%s%c", c->audit, 0);
	for (size_t i = 0; i < c->protects.count; i++)
		(void)fprintf(to, "protect=%s%c", c->protects.items[i], 0);
	for (size_t i = 0; i < c->count; i++)
		(void)fprintf(to, "source=%s%ctarget=%s%cdev=%llu%cino=%llu%c",
			      c->folders[i].source, 0, c->folders[i].target, 0,
			      (unsigned long long)c->folders[i].dev, 0,
			      (unsigned long long)c->folders[i].ino, 0);
	mem_or_abort(fclose(to) == 0 ? text : NULL);
	AUTO_FREE char *mine = text;
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(c->folder, ABOUT_NEW, flags, 0600);
	if (fd < 0 || io_write_all(fd, mine, len) < 0 ||
	    renameat(c->folder, ABOUT_NEW, c->folder, ABOUT) < 0)
		return err_sys(e, "write %s/" ABOUT, c->path);
	return 0;
}

static int read_number(const char *text, uint64_t *ret)
{
	return units_parse_number(text, ret, NULL);
}

static int read_of_folder(struct cow *c, const char *key, const char *value)
{
	uint64_t number = 0;

	if (!strcmp(key, "source")) {
		if (c->count == FOLDERS_MAX)
			return -1;
		add_folder(c)->source = text_copy(value);
		return 0;
	}
	struct cow_folder *f = c->count ? &c->folders[c->count - 1] : NULL;
	if (!f)
		return -1;
	if (!strcmp(key, "target")) {
		free(f->target);
		f->target = text_copy(value);
		return 0;
	}
	if (read_number(value, &number) < 0)
		return -1;
	if (!strcmp(key, "dev"))
		f->dev = (dev_t)number;
	else if (!strcmp(key, "ino"))
		f->ino = (ino_t)number;
	else
		return -1;
	return 0;
}

static int read_word(struct cow *c, const char *key, const char *value)
{
	uint64_t number = 0;

	if (!strcmp(key, "id"))
		(void)snprintf(c->id, sizeof(c->id), "%s", value);
	else if (!strcmp(key, "name"))
		(void)snprintf(c->name, sizeof(c->name), "%s", value);
	else if (!strcmp(key, "protect"))
		list_add(&c->protects, value);
	else if (!strcmp(key, "audit") && !c->audit)
		c->audit = text_copy(value);
	else if (!strcmp(key, "generated"))
		c->is_generated = !strcmp(value, "1");
	else if (!strcmp(key, "started") && read_number(value, &number) == 0)
		c->started_ns = (int64_t)number;
	else
		return read_of_folder(c, key, value);
	return 0;
}

/* Reads the content of "about".  hutch has written this file itself, so the
 * error need not say where it is wrong. */
static int parse_about(struct cow *c, char *text, size_t len)
{
	char *at = text + strlen(text) + 1;

	if (strcmp(text, MAGIC))
		return -1;
	while (at < text + len) {
		char *value = strchr(at, '=');
		if (!value)
			return -1;
		*value++ = '\0';
		if (read_word(c, at, value) < 0)
			return -1;
		at = value + strlen(value) + 1;
	}
	for (size_t i = 0; i < c->count; i++)
		if (!c->folders[i].target)
			return -1;
	return c->id[0] && c->name[0] && c->count ? 0 : -1;
}

static int read_about(struct cow *c, struct err *e)
{
	AUTO_FREE char *text = NULL, *name = text_format("%s/" ABOUT, c->path);
	AUTO_CLOSE int fd = regular_open(c->folder, ABOUT, O_NOFOLLOW, name, e);
	size_t len;

	if (fd < 0)
		return -1;
	if (io_read_file(fd, c->path, ABOUT_MAX, &text, &len, e) < 0)
		return -1;
	return parse_about(c, text, len) == 0
		       ? 0
		       : err_set(e, ERR_UNSUPPORTED,
				 "%s/" ABOUT " is of another version of hutch", c->path);
}

static void read_sum(struct cow *c)
{
	AUTO_CLOSE int fd = regular_open(c->folder, SUM, O_NOFOLLOW, SUM, NULL);
	char text[64] = "", more;
	unsigned long long changes, bytes;

	if (fd < 0 || io_read_full(fd, text, sizeof(text) - 1) < 0 ||
	    sscanf(text, "%20llu %20llu%c", &changes, &bytes, &more) != 3)
		return;
	c->has_sum = true;
	c->changes = changes;
	c->bytes = bytes;
}

/* Removes the overlays' work folders: overlayfs has closed them to all users,
 * and they are of no use any more. */
static void remove_works(struct cow *c)
{
	for (size_t i = 0; i < c->count; i++) {
		AUTO_FREE char *name = text_format("%zu", i);
		AUTO_CLOSE int layers = openat(c->folder, name, FOLDER);
		if (layers >= 0)
			rm_tree_remove(layers, "work");
	}
}

int cow_set_sum(struct cow *c, uint64_t changes, uint64_t bytes, struct err *e)
{
	AUTO_FREE char *text = text_format("%llu %llu\n", (unsigned long long)changes,
					   (unsigned long long)bytes);
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(c->folder, SUM ".new", flags, 0600);

	if (fd < 0 || io_write_all(fd, text, strlen(text)) < 0 ||
	    renameat(c->folder, SUM ".new", c->folder, SUM) < 0)
		return err_sys(e, "write %s/" SUM, c->path);
	remove_works(c);
	c->has_sum = true;
	c->changes = changes;
	c->bytes = bytes;
	return 0;
}

/* --- made ------------------------------------------------------------ */

static int make_layers(struct cow *c, size_t number, struct err *e)
{
	AUTO_FREE char *name = text_format("%zu", number);

	if (mkdirat(c->folder, name, 0700) < 0)
		return err_sys(e, "make a folder in %s", c->path);
	AUTO_CLOSE int layers = openat(c->folder, name, FOLDER);
	if (layers < 0 || fsetxattr(layers, PROBE, "1", 1, 0) < 0)
		return err_sys(e, "set an attribute on %s/%s", c->path, name);
	if (mkdirat(layers, "upper", 0755) < 0 || mkdirat(layers, "work", 0755) < 0)
		return err_sys(e, "make folders in %s/%s", c->path, name);
	return 0;
}

/* Gives the upper folder the mode of the folder on the host, since inside, the
 * overlay's root has the mode of the upper folder. */
static int copy_mode(struct cow *c, size_t number, const struct cow_folder *f,
		     struct err *e)
{
	AUTO_CLOSE int upper = cow_upper(c, number, e);
	struct stat st;

	if (upper < 0)
		return -1;
	if (stat(f->source, &st) < 0 || fchmod(upper, st.st_mode & 0777) < 0)
		return err_sys(e, "copy the mode of %.300s", f->source);
	return 0;
}

static int make_all_layers(struct cow *c, struct err *e)
{
	for (size_t i = 0; i < c->count; i++)
		if (make_layers(c, i, e) < 0 || copy_mode(c, i, &c->folders[i], e) < 0)
			return -1;
	return 0;
}

static int fill(struct cow *c, struct err *e)
{
	return make_all_layers(c, e) < 0 ? -1 : write_about(c, e);
}

static int make_below(struct cow *c, const char *base, const char *all, struct err *e)
{
	if (folder_create(base, e) < 0 || folder_create(all, e) < 0)
		return -1;
	c->path = text_format("%s/%s", all, c->id);
	if (mkdir(c->path, 0700) < 0) {
		own_free(&c->path);
		return err_sys(e, "make a folder in %s", all);
	}
	c->folder = open(c->path, FOLDER);
	if (c->folder >= 0 && flock(c->folder, LOCK_EX | LOCK_NB) == 0 && fill(c, e) == 0)
		return 0;
	if (c->folder < 0)
		(void)err_sys(e, "open %s", c->path);
	cow_remove(c);
	own_close(&c->folder);
	own_free(&c->path);
	return -1;
}

static int make_somewhere(struct cow *c, struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED, "no folder of hutch's own exists");
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_FREE char *base = NULL;
		AUTO_FREE char *all = place_path(i, &base);
		if (all && !(c->is_roots && places[i].folder == FOLDER_DATA) &&
		    make_below(c, base, all, e) == 0)
			return 0;
	}
	(void)err_in(e, ":cow needs a place with user.* attributes");
	return err_remedy(e, "set XDG_DATA_HOME to a folder on ext4, xfs or btrfs");
}

static void take_folders(struct cow *c, const struct plan *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct step *s = &p->steps[i];
		if (s->kind != STEP_COW)
			continue;
		struct cow_folder *f = add_folder(c);
		f->source = text_copy(s->source);
		f->target = text_copy(s->target);
		f->dev = s->dev;
		f->ino = s->ino;
	}
}

static void put_uppers(struct cow *c, struct plan *p)
{
	size_t number = 0;

	for (size_t i = 0; i < p->count; i++)
		if (p->steps[i].kind == STEP_COW) {
			free(p->steps[i].data);
			p->steps[i].data = text_format("%s/%zu", c->path, number++);
			p->steps[i].upper = p->steps[i].data;
		}
}

/* Checks that the kept upper folders belong to the same folders of the host as
 * before. */
static int check_same(const struct cow *c, const struct cow *old, struct err *e)
{
	bool is_same = c->count == old->count;

	for (size_t i = 0; is_same && i < c->count; i++) {
		const struct cow_folder *a = &c->folders[i], *b = &old->folders[i];
		is_same = !strcmp(a->source, b->source) &&
			  !strcmp(a->target, b->target) && a->dev == b->dev &&
			  a->ino == b->ino;
	}
	if (is_same)
		return 0;
	(void)err_set(e, ERR_REFUSED,
		      "changes of sandbox '%s' are kept, and the folders that they "
		      "are of are others now",
		      old->name);
	return err_remedy(e,
			  "hutch diff %s shows them, hutch discard %s throws them away",
			  old->name, old->name);
}

/* Prepares kept changes for another run: removes the file "sum", which is there only
 * after a sandbox's end, and makes the overlays' work folders again, which were
 * removed at that end. */
static int open_again(struct cow *c, struct err *e)
{
	if (unlinkat(c->folder, SUM, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove %s/" SUM, c->path);
	for (size_t i = 0; i < c->count; i++) {
		AUTO_FREE char *work = text_format("%zu/work", i);
		if (mkdirat(c->folder, work, 0755) < 0 && errno != EEXIST)
			return err_sys(e, "make %s/%s", c->path, work);
	}
	return 0;
}

/* Takes over the kept changes `old`, whose folder is locked already. */
static int go_on(struct cow *c, struct cow *old, struct err *e)
{
	if (faccessat(old->folder, COW_APPLYING, F_OK, 0) == 0) {
		(void)err_set(e, ERR_BUSY,
			      "an apply of the changes of sandbox '%s' has not come to "
			      "its end",
			      old->name);
		return err_remedy(e, "hutch apply %s", old->name);
	}
	if (check_same(c, old, e) < 0 || open_again(old, e) < 0)
		return -1;
	c->path = text_copy(old->path);
	c->folder = fd_take(&old->folder);
	(void)snprintf(c->id, sizeof(c->id), "%s", old->id);
	(void)snprintf(c->name, sizeof(c->name), "%s", old->name);
	c->started_ns = old->started_ns;
	return 0;
}

/* Looks for earlier changes of the sandbox.  Returns 1: the sandbox goes on
 * with them; 0: there are none. */
static int take_again(struct cow *c, const struct registry_entry *entry, struct err *e)
{
	struct cow old;

	if (!entry || cow_find(entry->id, &old, NULL) < 0)
		return 0;
	int taken = cow_lock(&old, e) < 0 || go_on(c, &old, e) < 0 ? -1 : 1;
	cow_done(&old);
	return taken;
}

/* Checks that no kept changes have the name: new ones of the same name would hide
 * them. */
static int check_unused(const char *name, struct err *e)
{
	struct cow other;

	if (cow_find(name, &other, NULL) < 0)
		return 0;
	cow_done(&other);
	(void)err_set(e, ERR_EXISTS, "changes of an earlier sandbox '%s' are kept", name);
	return err_remedy(
		e,
		"look at them with hutch diff %s; then hutch apply %s, or hutch "
		"discard %s, or another name",
		name, name, name);
}

int cow_check_name(const char *name, struct err *e)
{
	struct registry_item live;

	if (check_unused(name, e) < 0 || saved_spec_check_free(name, e) < 0)
		return -1;
	if (registry_look(name, &live, NULL) < 0)
		return 0;
	registry_item_done(&live);
	(void)err_set(e, ERR_EXISTS, "a sandbox named '%s' is running", name);
	return err_remedy(e, "hutch stop %s ends it; or choose another name", name);
}

static int take_name(struct cow *c, const struct registry_entry *entry, const char *verb,
		     struct err *e)
{
	if (entry) {
		(void)snprintf(c->id, sizeof(c->id), "%s", entry->id);
		(void)snprintf(c->name, sizeof(c->name), "%s", entry->name);
	} else if (!c->id[0] && hex_random(c->id, COW_ID_LEN, e) < 0) {
		return -1;
	} else if (!c->name[0]) {
		c->is_generated = true;
		(void)snprintf(c->name, sizeof(c->name), "%.20s-%.6s", verb, c->id);
	}
	return check_unused(c->name, e);
}

static int check_plan(const struct plan *p, struct err *e)
{
	if (!p->has_ranges)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, ":cow with --idmap ranges: you could not apply "
					  "what other ids of the inside write");
	return err_remedy(e,
			  "leave --idmap ranges out, or show the folder with :ro or :rw");
}

int cow_make(struct cow *c, struct plan *p, const struct registry_entry *entry,
	     const char *verb, struct err *e)
{
	struct timespec now;

	take_folders(c, p);
	if (c->count == 0)
		return 0;
	if (check_plan(p, e) < 0)
		return -1;
	int again = take_again(c, entry, e);
	if (again > 0)
		put_uppers(c, p);
	if (again != 0)
		return again < 0 ? -1 : 0;
	if (take_name(c, entry, verb, e) < 0)
		return -1;
	/* A precise clock is read: a file that was changed just before this moment
	 * has an earlier time, whether its file system uses the precise or the coarse
	 * clock. */
	(void)clock_gettime(CLOCK_REALTIME, &now); /* valid arguments */
	c->started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (make_somewhere(c, e) < 0)
		return -1;
	put_uppers(c, p);
	return 0;
}

int cow_make_dropped(struct plan *p, const char *folder, struct err *e)
{
	struct cow c;

	cow_init(&c);
	take_folders(&c, p);
	c.path = text_copy(folder);
	c.folder = open(folder, FOLDER);
	int result = c.folder < 0 ? err_sys(e, "open %s", folder)
				  : make_all_layers(&c, e);
	if (result == 0)
		put_uppers(&c, p);
	cow_done(&c);
	return result;
}

/* --- found ------------------------------------------------------------ */

static bool is_id(const char *name)
{
	return strlen(name) == COW_ID_LEN &&
	       strspn(name, "0123456789abcdef") == COW_ID_LEN;
}

/* Returns whether the folder is locked: by the launch of a living sandbox, or
 * by a process that works on the changes. */
static bool is_locked(int folder)
{
	if (flock(folder, LOCK_EX | LOCK_NB) < 0)
		return true;
	(void)flock(folder, LOCK_UN);
	return false;
}

/* Opens one folder of changes.  A folder without its "about" was never used: a
 * launch that was killed has left it, and it is removed. */
static int open_one(int all, const char *path, const char *id, struct cow *ret)
{
	cow_init(ret);
	ret->path = text_format("%s/%s", path, id);
	ret->folder = openat(all, id, FOLDER);
	bool is_live = ret->folder >= 0 && is_locked(ret->folder);
	if (ret->folder >= 0 && read_about(ret, NULL) == 0) {
		ret->is_live = is_live;
		read_sum(ret);
		return 0;
	}
	if (ret->folder >= 0 && !is_live && faccessat(ret->folder, ABOUT, F_OK, 0) < 0 &&
	    flock(ret->folder, LOCK_EX | LOCK_NB) == 0)
		rm_tree_remove(all, id);
	cow_done(ret);
	return -1;
}

static void list_place(const char *path, struct cow_list *l)
{
	AUTO_CLOSE int all = folder_open(path, NULL);
	int again = all < 0 ? -1 : openat(all, ".", FOLDER);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct cow c;
		if (!is_id(entry->d_name) || open_one(all, path, entry->d_name, &c) < 0)
			continue;
		l->items = mem_resize(l->items, l->count + 1, sizeof(*l->items));
		l->items[l->count++] = c;
	}
	if (dir)
		(void)closedir(dir); /* an error is harmless: the folder was only read */
}

static int latest_first(const void *a, const void *b)
{
	const struct cow *x = a, *y = b;

	return (x->started_ns < y->started_ns) - (x->started_ns > y->started_ns);
}

int cow_list(struct cow_list *ret, struct err *e)
{
	(void)e;
	*ret = (struct cow_list){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_FREE char *base = NULL;
		AUTO_FREE char *all = place_path(i, &base);
		if (all)
			list_place(all, ret);
	}
	if (ret->count > 1)
		qsort(ret->items, ret->count, sizeof(*ret->items), latest_first);
	return 0;
}

void cow_list_done(struct cow_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		cow_done(&l->items[i]);
	free(l->items);
	*l = (struct cow_list){ 0 };
}

/* Finds the id of the changes by the sandbox's present name: the sandbox may
 * have been renamed, and the registry knows its id by the new name. */
static void find_id(const char *name, char id[COW_ID_LEN + 1])
{
	struct registry_item item;

	id[0] = '\0';
	if (registry_look(name, &item, NULL) < 0 &&
	    registry_find_ended(name, &item, NULL) < 0)
		return;
	(void)snprintf(id, COW_ID_LEN + 1, "%s", item.id);
	registry_item_done(&item);
}

int cow_find(const char *name, struct cow *ret, struct err *e)
{
	struct cow_list l;
	char id[COW_ID_LEN + 1];
	struct cow *found = NULL;

	if (*name == '.' || strchr(name, '/')) {
		(void)err_set(e, ERR_USAGE, "'%.100s' is no name of a sandbox", name);
		return strcmp(name, ".") ? err_remedy(e,
						      "for the changes of a folder, go "
						      "there and give no name: cd %.100s",
						      name)
					 : err_remedy(e, "without a name it is about the "
							 "folder that you are in");
	}
	if (registry_check_name(name, e) < 0 || cow_list(&l, e) < 0)
		return -1;
	find_id(name, id);
	for (size_t i = 0; i < l.count && !found; i++)
		if (!strcmp(l.items[i].id, id) || !strcmp(l.items[i].id, name))
			found = &l.items[i];
	for (size_t i = 0; i < l.count && !found; i++)
		if (!strcmp(l.items[i].name, name))
			found = &l.items[i];
	if (found) {
		*ret = *found;
		cow_init(found);
	}
	cow_list_done(&l);
	if (found)
		return 0;
	(void)err_set(e, ERR_NOT_FOUND, "no changes are kept of a sandbox '%s'", name);
	return err_remedy(
		e, "hutch ps -a lists what is kept; changes are those to folders shown "
		   "with :cow");
}

int cow_lock(struct cow *c, struct err *e)
{
	if (flock(c->folder, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return err_sys(e, "lock %s", c->path);
	return err_set(e, ERR_BUSY, "sandbox '%s' has not ended, or another process "
				    "works on its changes", c->name);
}

void cow_unlock(struct cow *c)
{
	if (c->folder >= 0)
		(void)flock(c->folder, LOCK_UN); /* flock(2) cannot fail: the
						  * descriptor is open */
}

int cow_upper(const struct cow *c, size_t number, struct err *e)
{
	AUTO_FREE char *name = text_format("%zu", number);
	AUTO_CLOSE int layers = openat(c->folder, name, FOLDER);
	int upper = layers < 0 ? -1 : openat(layers, "upper", FOLDER);

	return upper < 0 ? err_sys(e, "open %s/%s/upper", c->path, name) : upper;
}

void cow_remove(struct cow *c)
{
	AUTO_FREE char *above = text_copy(c->path);
	char *slash = strrchr(above, '/');

	*slash = '\0';
	AUTO_CLOSE int all = open(above, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* "about" is removed first: if hutch is killed before the rest is removed,
	 * the folder counts as never used, and open_one() removes it. */
	(void)unlinkat(c->folder, ABOUT, 0);
	if (all >= 0)
		rm_tree_remove(all, slash + 1);
	c->is_gone = true;
}
