#include "sandbox/plan/volumes.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/own.h"
#include "base/path.h"
#include "base/resolve.h"
#include "base/term_escape.h"
#include "policy/policy.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/protect_scan.h"
#include "store/folders.h"
#include "store/links.h"

/* The folders that the plan masks or pins: hutch's own, the links that lead to them,
 * and protected files in folders that are shown writable. */
struct own {
	const char *audit; /* borrowed: folder of the audit log (policy.h) */
	struct list folders, links, protects;
};

static char *join(const char *dir, const char *rest)
{
	return text_format("%s%s", strcmp(dir, "/") ? dir : "", rest);
}

char *volumes_home(uid_t uid)
{
	FILE *users = fopen("/etc/passwd", "re");
	struct passwd *entry = NULL;

	while (users && (entry = fgetpwent(users)) && entry->pw_uid != uid)
		;
	char *home = entry ? text_copy(entry->pw_dir) : NULL;
	if (users)
		(void)fclose(users); /* errors do not matter: the file was only read */
	return home;
}

/* The folders in which a home lies, and the home itself. */
struct homes {
	struct inode {
		dev_t dev;
		ino_t ino;
	} * inodes; /* owned */
	size_t count;
};

/* Lists the inodes of the folder `home` and of those above it.  Inodes are compared, since
 * a link may lead to each of them.  A home that is / is that of no person. */
static void list_home(const char *home, struct homes *ret)
{
	AUTO_FREE char *at = home && *home == '/' ? realpath(home, NULL) : NULL;
	bool is_there = at && strcmp(at, "/") != 0;
	struct stat st;

	while (is_there) {
		ret->inodes =
			mem_resize(ret->inodes, ret->count + 1, sizeof(*ret->inodes));
		if (stat(*at ? at : "/", &st) == 0)
			ret->inodes[ret->count++] =
				(struct inode){ st.st_dev, st.st_ino };
		is_there = *at != '\0';
		if (is_there)
			*strrchr(at, '/') = '\0';
	}
}

static bool shows_home(const struct homes *homes, dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < homes->count; i++)
		if (homes->inodes[i].dev == dev && homes->inodes[i].ino == ino)
			return true;
	return false;
}

/* Returns the first volume that shows one of the homes by its own source; NULL: none
 * does. */
static const struct volume *find_source_shown(const struct policy *policy,
					      const struct homes *homes)
{
	for (size_t i = 0; i < policy->volume_count; i++) {
		const struct volume *v = &policy->volumes[i];
		struct stat st;
		if (v->source && v->from && stat(v->source, &st) == 0 &&
		    shows_home(homes, st.st_dev, st.st_ino))
			return v;
	}
	return NULL;
}

static const struct volume *find_from(const struct policy *policy, const char *from)
{
	for (size_t i = 0; i < policy->volume_count; i++)
		if (policy->volumes[i].from == from)
			return &policy->volumes[i];
	return NULL;
}

/* The same by the plan's steps, which know the inodes of all sources. */
static const struct volume *find_step_shown(const struct policy *policy,
					    const struct plan *p,
					    const struct homes *homes)
{
	const struct volume *first = NULL;

	for (size_t i = 0; i < p->count; i++) {
		const struct step *s = &p->steps[i];
		if (!s->source || !s->from || !shows_home(homes, s->dev, s->ino))
			continue;
		const struct volume *v = find_from(policy, s->from);
		/* The steps are sorted by target, the volumes as the user named them. */
		if (v && (!first || v < first))
			first = v;
	}
	return first;
}

void volumes_tell_home(const struct policy *policy, const struct plan *p, int to)
{
	struct homes homes = { 0 };

	if (!policy->volume_count)
		return;
	AUTO_FREE char *listed = volumes_home(geteuid());
	list_home(getenv("HOME"), &homes);
	list_home(listed, &homes);
	const struct volume *v = p ? find_step_shown(policy, p, &homes)
				   : find_source_shown(policy, &homes);
	free(homes.inodes);
	if (!v)
		return;
	AUTO_FREE char *from = term_escape_line(v->from);
	note_print_to(to,
		      "note: %s shows your whole home, .ssh and .aws with it; a "
		      "folder of it is safer%s",
		      from, v->is_writable && !v->is_cow ? ", or :ro, :cow" : "");
}

static void list_below_home(struct list *paths, const char *home)
{
	static const char *const below_home[] = { ".local/share/hutch", ".cache/hutch",
						  ".config/hutch" };

	for (size_t i = 0; home && *home == '/' && i < ARRAY_LEN(below_home); i++) {
		AUTO_FREE char *path = text_format("%s/%s", home, below_home[i]);
		list_add_once(paths, path);
	}
}

/* Lists the folders that any hutch process of this user may use, even one that was
 * started with another environment. */
static void list_candidates(struct list *paths)
{
	AUTO_FREE char *listed = volumes_home(geteuid());

	for (int i = 0; i < FOLDER_COUNT; i++) {
		AUTO_FREE char *path = folder_path((enum folder)i);
		if (path)
			list_add_once(paths, path);
	}
	list_below_home(paths, getenv("HOME"));
	list_below_home(paths, listed);
	AUTO_FREE char *run = text_format("/run/user/%u/hutch", geteuid());
	AUTO_FREE char *tmp = text_format("/tmp/hutch-%u", geteuid());
	list_add_once(paths, run);
	list_add_once(paths, tmp);
}

/* Adds one of hutch's own folders.  Does nothing if a folder above it is in the list:
 * the mask over that folder hides everything below. */
static void add_own_folder(struct own *own, const char *path)
{
	AUTO_FREE char *real = links_follow(path, &own->links);

	for (size_t i = 0; i < own->folders.count; i++)
		if (path_below(real, own->folders.items[i]))
			return;
	list_add(&own->folders, real);
}

static void list_own_folders(struct own *own)
{
	AUTO_FREE char *audit = folder_audit(own->audit);
	struct list paths = { 0 };

	list_candidates(&paths);
	for (size_t i = 0; i < paths.count; i++) {
		AUTO_FREE char *real = links_follow(paths.items[i], &own->links);
		list_add_once(&own->folders, real);
	}
	list_done(&paths);
	if (audit)
		add_own_folder(own, audit);
}

void volumes_list_own(const char *audit, struct list *ret)
{
	struct own own = { .audit = audit, .folders = *ret };

	list_own_folders(&own);
	*ret = own.folders;
	list_done(&own.links);
}

static struct step *add_bind(struct plan *p, const struct volume *v, const char *source,
			     const char *target, const struct stat *st)
{
	struct step *s = plan_add(p, v->is_cow ? STEP_COW : STEP_BIND, target);

	s->source = text_copy(source);
	s->attr = MOUNT_ATTR_NOSUID |			    /* layer: volume-nosuid */
		  MOUNT_ATTR_NODEV |			    /* layer: volume-nodev */
		  (v->is_writable ? 0 : MOUNT_ATTR_RDONLY); /* layer: volume-readonly */
	s->dev = st->st_dev;
	s->ino = st->st_ino;
	s->is_dir = S_ISDIR(st->st_mode);
	s->from = v->from;
	return s;
}

/* Adds the folders above `rest`, but not `rest` itself. */
static void add_parents(struct list *pins, const char *rest)
{
	AUTO_FREE char *at = text_copy(rest);

	for (char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		list_add_once(pins, at);
		*slash = '/';
	}
}

/* Paths below a source, relative to it: those to pin (mount over themselves, so that
 * they cannot be renamed), those to show read-only, and those to mask. */
struct guards {
	struct list pins, reads, masks;
	struct list watched; /* entries of `pins` and `reads` that the protection watch
			      * watches (protect_watch.h) */
};

static int refuse(const struct volume *v, const char *what, const char *why, struct err *e)
{
	(void)err_set(e, ERR_REFUSED, "mount %.200s: %.200s %s", v->source, what, why);
	return err_from(e, v->from);
}

/* Refuses a source in which a process inside could replace a link on the way to one of
 * hutch's own folders: that process would decide which folders the next hutch uses, and
 * a mask over the link's present target cannot prevent that. */
static int check_links(const struct volume *v, const char *source, const struct own *own,
		       struct err *e)
{
	for (size_t i = 0; v->is_writable && !v->is_cow && i < own->links.count; i++) {
		if (!path_below(own->links.items[i], source))
			continue;
		(void)refuse(v, own->links.items[i],
			     "is a link on the way to a folder of hutch's own", e);
		return err_remedy(e, "mount it :ro, or make it a folder, or set XDG_CACHE_HOME "
				     "and its kin to places outside");
	}
	return 0;
}

/* Makes one of hutch's own folders if it does not exist, so that it can be masked before
 * a process inside can put a folder of its own there.  Returns 1 if the folder exists
 * now.  Returns 0 if hutch has no permission to make it: processes inside run as the
 * same user, so they have none either. */
static int ensure_folder(const struct plan *p, const char *folder, struct err *e)
{
	if (p->is_dry_run || access(folder, F_OK) == 0 || folder_create(folder, e) == 0)
		return 1;
	return e->sys == EACCES || e->sys == EPERM || e->sys == EROFS ? 0 : -1;
}

/* Masks the host's /proc and /sys if the source contains them.  Refuses a source that
 * lies in /proc, and a writable one that lies in /sys.  Through the host's /proc a
 * process inside could slow the same user's programs on the host or make the OOM killer
 * choose them, and through /sys it could reach a delegated cgroup; no permission
 * prevents that. */
static int find_kernel_folders(const struct volume *v, const char *source,
			       struct guards *found, struct err *e)
{
	static const char *const folders[] = { "/proc", "/sys" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		if (path_below(source, folders[i]) && (i == 0 || v->is_writable))
			return refuse(v, folders[i], i == 0 ? "shows this host's processes"
							    : "can only be mounted :ro", e);
		const char *rest = path_below(folders[i], source);
		if (rest && *rest && access(folders[i], F_OK) == 0)
			list_add_once(&found->masks, rest);
	}
	return 0;
}

static int find_own_folders(const struct plan *p, const struct volume *v,
			    const char *source, const struct own *own,
			    struct guards *found, struct err *e)
{
	for (size_t i = 0; i < own->folders.count; i++) {
		const char *folder = own->folders.items[i], *rest = path_below(folder, source);
		if (path_below(source, folder) && !v->is_found)
			return refuse(v, folder, "is hutch's own and never inside", e);
		int is_there = rest ? ensure_folder(p, folder, e) : 0;
		if (is_there < 0)
			return err_from(e, v->from);
		if (!is_there)
			continue;
		add_parents(&found->pins, rest);
		list_add_once(&found->masks, rest);
	}
	return check_links(v, source, own, e);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Looks at a path that has no links.  Returns -1 with errno ESTALE if a link was put on
 * the way to it meanwhile. */
static int look_at(struct resolve_folder *kept, const char *real, struct stat *ret)
{
	int looked = resolve_look_real(kept, real, ret);

	if (looked < 0 && errno == ELOOP)
		errno = ESTALE;
	return looked;
}

static int replaced(const char *path, const struct volume *v, struct err *e)
{
	(void)err_set(e, ERR_REFUSED, "mount %.300s: it was replaced while the sandbox was being "
				      "made", path);
	return err_from(e, v->from);
}

/* Adds a step that shows the path `rest` below the source.  Returns NULL with errno set
 * if that path cannot be looked at on the host. */
static struct step *add_below(struct plan *p, const struct volume *v, const char *source,
			      const char *rest)
{
	AUTO_FREE char *from = join(source, rest), *to = join(v->target, rest);
	AUTO_FOLDER struct resolve_folder kept = RESOLVE_FOLDER_NONE;
	struct stat st;

	/* errno says why a look at the path failed: the cleanups at the end of this
	 * function keep it */
	return look_at(&kept, from, &st) == 0 ? add_bind(p, v, from, to, &st) : NULL;
}

static int not_below(const struct volume *v, const char *source, const char *rest,
		     struct err *e)
{
	AUTO_FREE char *path = join(source, rest);

	return errno == ESTALE ? replaced(path, v, e) : err_sys(e, "look at %.600s", path);
}

/* Adds each pin once, parents before their children, and all pins before the masks: a
 * mount over a folder hides earlier mounts below it. */
static int add_guards(struct plan *p, const struct volume *v, const char *source,
		      const struct guards *g, struct err *e)
{
	/* A copy-on-write volume needs no pins: renaming a folder in it changes only the
	 * copy.  Pins would even be mounts of the host's own folders, through which
	 * these could be written to. */
	const size_t pins = v->is_cow ? 0 : g->pins.count; /* layer: volume-pins */

	if (pins)
		qsort(g->pins.items, pins, sizeof(*g->pins.items), by_text);
	for (size_t i = 0; i < pins; i++) {
		struct step *s = add_below(p, v, source, g->pins.items[i]);
		if (!s && !p->is_dry_run)
			return not_below(v, source, g->pins.items[i], e);
		if (s)
			s->is_watched = list_has(&g->watched, g->pins.items[i]);
	}
	for (size_t i = 0; i < g->reads.count; i++) {
		struct step *s = add_below(p, v, source, g->reads.items[i]);
		if (!s)
			return not_below(v, source, g->reads.items[i], e);
		s->attr |= MOUNT_ATTR_RDONLY;
		s->is_watched = list_has(&g->watched, g->reads.items[i]);
	}
	for (size_t i = 0; i < g->masks.count; i++) { /* layer: volume-masks */
		AUTO_FREE char *target = join(v->target, g->masks.items[i]);
		struct step *s = plan_add(p, STEP_MASK, target);
		s->is_dir = true;
		s->from = v->from;
	}
	return 0;
}

static char *resolve_source(const struct policy *policy, struct resolve_folder *kept,
			    const char *path, struct stat *ret)
{
	/* Most paths have no links, which one look-up tells. */
	if (path_is_plain(path) && look_at(kept, path, ret) == 0)
		return text_copy(path);
	AUTO_FREE char *real = policy->is_resolved ? text_copy(path)
						   : realpath(path, NULL);
	if (!real || look_at(kept, real, ret) < 0)
		return NULL;
	char *result = real;
	real = NULL;
	return result;
}

char *volumes_resolve(const struct policy *policy, const char *path, struct stat *ret)
{
	AUTO_FOLDER struct resolve_folder kept = RESOLVE_FOLDER_NONE;

	return resolve_source(policy, &kept, path, ret);
}

/* Adds a remedy for a folder that is not there, or is another one than its author
 * means. */
static void mend_source(const struct volume *v, struct err *e)
{
	static const char *const modes[] = { ",ro", ",rw", ",cow" };
	const size_t len = strlen(v->source);
	const char *colon = strstr(v->source, ":/"), *comma = strrchr(v->source, ',');

	(void)err_remedy(e, "make it first: mkdir -p %.200s", v->source);
	if (!strncmp(v->source, "~/", 2))
		(void)err_remedy(e,
				 "a shell replaces ~ at the begin of a word alone: write "
				 "$HOME%.200s",
				 v->source + 1);
	if (v->kind != VOLUME_WORKSPACE)
		return;
	if (colon)
		(void)err_remedy(
			e,
			"--workspace is always at /workspace; for another place: "
			"-v %.200s",
			v->source);
	for (size_t i = 0; comma && i < ARRAY_LEN(modes); i++)
		if (!strcmp(comma, modes[i]))
			(void)err_remedy(e, "the mode stands behind a colon: %.*s:%s",
					 (int)(len - strlen(comma)), v->source,
					 modes[i] + 1);
}

int volumes_source_missing(const struct volume *v, struct err *e)
{
	if (errno == ESTALE)
		return replaced(v->source, v, e);
	if (errno == ENOENT) {
		(void)err_set(e, ERR_NOT_FOUND, "mount %.200s: no such folder on the host",
			      v->source);
		mend_source(v, e);
	} else {
		(void)err_sys(e, "mount %.200s", v->source);
		if (e->sys == EACCES)
			(void)err_remedy(e,
					 "user %u may not enter a folder on the way to it"
					 "; started by root, hutch is the user that the "
					 "sandbox stands for: man hutch-run",
					 (unsigned)getuid());
	}
	return err_from(e, v->from);
}

/* Returns whether processes inside write to the volume's source itself.  If they write
 * to a copy, `hutch apply` respects the protected names. */
static bool is_open_to_all(const struct volume *v)
{
	return v->kind != VOLUME_TMPFS && v->is_writable && !v->is_cow;
}

/* Finds the protected files in a volume's source.  The protected files of all writable
 * volumes are considered: if two volumes show the same folder, both mounts must protect
 * its files. */
static int find_protected(const struct volume *v, const char *source, const struct own *own,
			  struct guards *found, struct err *e)
{
	for (size_t i = 0; is_open_to_all(v) && i < own->protects.count; i++) {
		const char *path = own->protects.items[i], *rest = path_below(path, source);
		if (path_below(source, path))
			return refuse(v, path, "is protected, in a folder that is shown too", e);
		if (!rest)
			continue;
		add_parents(&found->pins, rest);
		list_add_once(&found->reads, rest);
		add_parents(&found->watched, rest);
		list_add_once(&found->watched, rest);
	}
	return 0;
}

/* A volume and its source. */
struct shown {
	const struct volume *v;
	/* owned: path of the source without links; NULL: the volume is a tmpfs, or the
	 * source has not been looked for yet */
	char *source;
	struct stat st;
};

static int list_protected(const struct shown *x, const struct list *patterns, struct own *own,
			  struct err *e)
{
	struct list found = { 0 };

	if (!is_open_to_all(x->v) || !patterns->count)
		return 0;
	int result = protect_scan_list(x->source, patterns, &found, e);
	for (size_t i = 0; i < found.count; i++) {
		AUTO_FREE char *path = join(x->source, found.items[i]);
		list_add(&own->protects, path);
	}
	list_done(&found);
	return result < 0 ? err_from(e, x->v->from) : 0;
}

/* Lists protected names that do not exist yet and that the protection watch can watch
 * for: only a name without wildcards, in a folder that exists, can be watched for. */
static void find_absent(struct plan *p, const char *source, const struct list *patterns)
{
	for (size_t i = 0; i < patterns->count; i++) {
		const char *pattern = patterns->items[i];
		AUTO_FREE char *path = text_format("%s%s%s", strcmp(source, "/") ? source : "",
						   *pattern == '/' ? "" : "/", pattern);
		AUTO_FREE char *above = text_format("%.*s", (int)(strrchr(path, '/') - path), path);
		struct stat st;

		if (!strpbrk(pattern, "*?") && lstat(path, &st) < 0 && errno == ENOENT &&
		    stat(*above ? above : "/", &st) == 0)
			list_add_once(&p->absent, path);
	}
}

/* Adds a writable folder to those in which --protect-missing applies.  To be called
 * after list_protected(). */
static void guard_missing(struct plan *p, const struct shown *x, const struct policy *policy)
{
	if (!policy->protects_missing || !is_open_to_all(x->v) || !S_ISDIR(x->st.st_mode))
		/* a source that is a single file has no names in it to protect */
		return;
	p->protects = &policy->protects;
	list_add_once(&p->guarded, x->source);
	find_absent(p, x->source, &policy->protects);
}

static int guard_folder(struct plan *p, const struct volume *v, const char *source,
			const struct own *own, struct err *e)
{
	struct guards found = { 0 };
	int result = find_own_folders(p, v, source, own, &found, e);

	if (result == 0)
		result = find_kernel_folders(v, source, &found, e);
	if (result == 0)
		result = find_protected(v, source, own, &found, e);
	if (result == 0)
		result = add_guards(p, v, source, &found, e);
	list_done(&found.pins);
	list_done(&found.reads);
	list_done(&found.masks);
	list_done(&found.watched);
	return result;
}

static int plan_bind(struct plan *p, const struct shown *x, struct own *own, struct err *e)
{
	(void)add_bind(p, x->v, x->source, x->v->target, &x->st);
	/* hutch's own folders are looked up once, when they are needed first */
	if (own->folders.count == 0)
		list_own_folders(own);
	return guard_folder(p, x->v, x->source, own, e);
}

static void plan_tmpfs(struct plan *p, const struct volume *v)
{
	struct step *s = plan_add(p, STEP_TMPFS, v->target);

	s->data = v->size ? text_format("size=%llu,mode=1777", (unsigned long long)v->size)
			  : text_copy("size=25%,mode=1777");
	s->from = v->from;
}

static int by_target(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	return strcmp(x->v->target, y->v->target);
}

/* Finds the source of a volume.  This is done only once for each volume, so that all
 * later steps are about the same folder. */
static int find_source(const struct policy *policy, struct resolve_folder *kept,
		       struct shown *x, struct err *e)
{
	const struct volume *v = x->v;

	if (v->kind == VOLUME_TMPFS)
		return 0;
	x->source = resolve_source(policy, kept, v->source, &x->st);
	if (!x->source)
		return volumes_source_missing(v, e);
	if ((v->kind == VOLUME_BIND && !v->is_cow) || S_ISDIR(x->st.st_mode))
		return 0;
	(void)err_set(e, ERR_USAGE, "%.200s is not a folder", v->source);
	return err_from(e, v->from);
}

static int plan_shown(struct plan *p, const struct policy *policy, const struct shown *x,
		      struct own *own, struct err *e)
{
	guard_missing(p, x, policy);
	if (x->v->kind != VOLUME_TMPFS)
		return plan_bind(p, x, own, e);
	plan_tmpfs(p, x->v);
	return 0;
}

static int plan_sorted(struct plan *p, const struct policy *policy, struct shown *sorted,
		       struct err *e)
{
	AUTO_FOLDER struct resolve_folder kept = RESOLVE_FOLDER_NONE;
	struct own own = { .audit = policy->audit };
	int result = 0;

	for (size_t i = 0; i < policy->volume_count && result == 0; i++)
		result = find_source(policy, &kept, &sorted[i], e);
	for (size_t i = 0; i < policy->volume_count && result == 0; i++)
		result = list_protected(&sorted[i], &policy->protects, &own, e);
	for (size_t i = 0; i < policy->volume_count && result == 0; i++)
		result = plan_shown(p, policy, &sorted[i], &own, e);
	list_done(&own.folders);
	list_done(&own.links);
	list_done(&own.protects);
	return result;
}

int volumes_plan(struct plan *p, const struct policy *policy, struct err *e)
{
	if (policy->volume_count == 0)
		return 0;
	AUTO_FREE struct shown *sorted = mem_zeroed(policy->volume_count, sizeof(*sorted));
	for (size_t i = 0; i < policy->volume_count; i++)
		sorted[i].v = &policy->volumes[i];
	plan_make_room(p, policy->volume_count);
	/* A parent's path is a prefix of its child's, so the parent sorts
	 * first. */
	qsort(sorted, policy->volume_count, sizeof(*sorted), by_target);
	int result = plan_sorted(p, policy, sorted, e);
	for (size_t i = 0; i < policy->volume_count; i++)
		free(sorted[i].source);
	return result;
}

/* Shows one entry of the folder, "/NAME"; the protected files of all of it are known. */
static int show_entry(struct plan *p, const struct policy *policy, const char *folder,
		      const char *name, struct own *own, struct err *e)
{
	AUTO_FREE char *source = join(folder, name), *target = text_copy(name);
	const struct volume v = { .kind = VOLUME_BIND,
				  .source = source,
				  .target = target,
				  .is_writable = !list_has(&own->protects, source),
				  .from = policy->image_path };
	AUTO_FOLDER struct resolve_folder kept = RESOLVE_FOLDER_NONE;
	struct shown x = { .v = &v };

	int result = find_source(policy, &kept, &x, e);
	/* The folder's path has no links: another path means that the entry became one. */
	if (result == 0 && strcmp(x.source, source) != 0)
		result = replaced(source, &v, e);
	if (result == 0)
		result = plan_bind(p, &x, own, e);
	free(x.source);
	return result;
}

int volumes_show_entries(struct plan *p, const struct policy *policy, const char *folder,
			 const struct list *names, struct err *e)
{
	const struct volume whole = { .kind = VOLUME_BIND,
				      .is_writable = true,
				      .from = policy->image_path };
	AUTO_FREE char *source = text_copy(folder);
	const struct shown x = { .v = &whole, .source = source };
	struct own own = { .audit = policy->audit };

	if (!names->count)
		return 0;
	int result = list_protected(&x, &policy->protects, &own, e);
	for (size_t i = 0; result == 0 && i < names->count; i++)
		result = show_entry(p, policy, folder, names->items[i], &own, e);
	list_done(&own.folders);
	list_done(&own.links);
	list_done(&own.protects);
	return result;
}

static int mask_image(struct plan *p, const char *path, const struct own *own,
		      struct err *e)
{
	for (size_t i = 0; i < own->folders.count; i++) {
		const char *folder = own->folders.items[i], *rest = path_below(folder, path);
		if (path_below(path, folder))
			return err_set(e, ERR_REFUSED,
				       "the image %.200s: %.200s is hutch's own and never inside",
				       path, folder);
		if (rest && access(folder, F_OK) == 0)
			plan_add(p, STEP_MASK, rest)->is_dir = true;
	}
	return 0;
}

int volumes_mask_image(struct plan *p, const struct policy *policy, const char *path,
		       struct err *e)
{
	struct own own = { .audit = policy->audit };

	list_own_folders(&own);
	int result = mask_image(p, path, &own, e);
	list_done(&own.folders);
	list_done(&own.links);
	return result;
}

/* Refuses a source that is one of hutch's own folders, /proc or /sys, or that contains
 * or lies in one of them.  If `v` has no `from`, it stands for the host's own folders:
 * then /proc and /sys are not checked, and a folder of hutch's inside the source counts
 * only if it exists, since a process inside cannot make it. */
static int check_apart(const struct volume *v, const char *source, const struct own *own,
		       struct err *e)
{
	static const char why[] = "is in it, and can only be hidden where there are namespaces";
	static const char *const kernels[] = { "/proc", "/sys" };

	for (size_t i = 0; i < own->folders.count; i++) {
		const char *folder = own->folders.items[i];
		if (path_below(source, folder))
			return refuse(v, folder, "is hutch's own and never inside", e);
		if (path_below(folder, source) && (v->from || access(folder, F_OK) == 0))
			return refuse(v, folder, why, e);
	}
	for (size_t i = 0; v->from && i < ARRAY_LEN(kernels); i++)
		if (path_below(source, kernels[i]) || path_below(kernels[i], source))
			return refuse(v, kernels[i], "cannot be shown without namespaces", e);
	return check_links(v, source, own, e);
}

int volumes_check_apart(const struct volume *v, const char *source, struct list *kept,
			struct err *e)
{
	struct own own = { .folders = kept[0], .links = kept[1] };

	/* hutch's own folders are looked up once, when they are needed first */
	if (own.folders.count == 0)
		list_own_folders(&own);
	kept[0] = own.folders;
	kept[1] = own.links;
	return check_apart(v, source, &own, e);
}
