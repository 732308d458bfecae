#include "sandbox/learn/learn.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/protect.h"
#include "sandbox/launch/result.h"
#include "sandbox/learn/learn_later.h"
#include "sandbox/learn/learn_paths.h"
#include "sandbox/plan/volumes.h"

#define FROM "--learn"

/* The most host paths that are shown.  On a host where more mounts would be needed,
 * the other paths are not shown. */
#define LEARN_SHOWN 2000

static int prepare(void *self, const struct host_user *user, struct err *e);

void learn_init(struct learn *l, const struct policy *asked, const char *out)
{
	*l = (struct learn){ .asked = asked, .out = out, .folder = -1, .file = -1 };
	l->observer = (struct launch_observer){ prepare, l, &l->trace };
	l->wide = *asked;
	l->wide.volumes = NULL;
	l->wide.volume_count = l->wide.volume_room = 0;
	plan_init(&l->plain);
}

/* Frees only the volumes: all other members are borrowed from the policy that the
 * flags ask for. */
static void free_volumes(struct policy *p)
{
	struct policy mine;

	policy_init(&mine);
	mine.volumes = p->volumes;
	mine.volume_count = p->volume_count;
	policy_done(&mine);
	p->volumes = NULL;
	p->volume_count = p->volume_room = 0;
}

void learn_done(struct learn *l)
{
	free_volumes(&l->wide);
	plan_done(&l->plain);
	trace_done(&l->trace);
	list_done(&l->mounts);
	list_done(&l->also);
	list_done(&l->autos);
	list_done(&l->own);
	own_close(&l->folder);
	own_close(&l->file);
}

/* --- what can be learned from ----------------------------------------------------- */

static int cannot(const char *flag, const char *why, struct err *e)
{
	(void)err_set(e, ERR_USAGE, FROM " with %s: %s", flag, why);
	return err_remedy(e, "leave one of them out");
}

int learn_check(const struct policy *p, bool is_dry_run, struct err *e)
{
	const struct {
		bool is_asked;
		const char *flag, *why;
	} refused[] = {
		{ is_dry_run, "--dry-run", "it learns from what is run" },
		{ p->isolation == ISOLATION_LANDLOCK, "--isolation landlock",
		  "what is written can be dropped only where there are namespaces" },
		{ p->seccomp != NULL, "--seccomp",
		  "the answers of your own profile to calls cannot be found out" },
		{ p->image != IMAGE_HOST, "--image",
		  "it shows this host's files, and an image has its own" },
		{ p->name != NULL, "--name", "what is written is dropped, and not kept" },
		{ p->idmap == IDMAP_RANGES, "--idmap ranges",
		  "folders are shown copy-on-write, which takes one mapped id" },
		{ p->is_nesting, "--nesting",
		  "a path means another file where a command has mounts of its own" },
	};

	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (refused[i].is_asked)
			return cannot(refused[i].flag, refused[i].why, e);
	return 0;
}

/* --- more to look at -------------------------------------------------------------- */

static struct volume *add_volume(struct policy *p, const char *source, const char *target,
				 const char *from)
{
	struct volume *v = policy_add_volume(p, VOLUME_BIND, from);

	v->source = source ? text_copy(source) : NULL;
	v->target = text_copy(target);
	return v;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Copies the volumes.  With `is_to_drop`, none of them lets the command write to the
 * host: a writable folder becomes copy-on-write, and a file, which cannot be
 * copy-on-write, becomes read-only. */
static void copy_volumes(const struct policy *from, struct policy *to, bool is_to_drop)
{
	for (size_t i = 0; i < from->volume_count; i++) {
		const struct volume *v = &from->volumes[i];
		struct volume *mine = add_volume(to, v->source, v->target, v->from);
		const bool has_copy = is_to_drop && v->is_writable && v->source;

		mine->kind = v->kind;
		mine->size = v->size;
		mine->is_cow = v->is_cow || (has_copy && is_folder(v->source));
		mine->is_writable = v->is_writable && (!has_copy || mine->is_cow);
	}
}

/* Returns whether the path is in one of the kernel's own file systems (/proc,
 * /sys, /dev), over which nothing can be shown. */
static bool is_kernels(const char *real)
{
	static const char *const folders[] = { "/proc", "/sys", "/dev" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (path_below(real, folders[i]))
			return true;
	return false;
}

static bool has_target(const struct policy *p, const char *path)
{
	for (size_t i = 0; i < p->volume_count; i++)
		if (p->volumes[i].target && path_below(path, p->volumes[i].target))
			return true;
	return false;
}

/* Decodes a path of mountinfo, in which spaces, tabs, newlines and backslashes are
 * octal, such as \040 (proc_pid_mountinfo(5)). */
static void unescape(char *text)
{
	char *to = text;
	unsigned byte;

	for (const char *at = text; *at; to++) {
		bool is_escape = *at == '\\' && sscanf(at + 1, "%3o", &byte) == 1;
		*to = is_escape ? (char)byte : *at;
		at += is_escape ? 4 : 1;
	}
	*to = '\0';
}

/* Lists the mount points that this process sees (proc_pid_mountinfo(5)). */
static void list_mounts(struct list *ret, struct list *ret_autos)
{
	FILE *from = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;

	while (from && getline(&line, &room, from) > 0) {
		char place[4096];
		if (sscanf(line, "%*s %*s %*s %*s %4095s", place) != 1)
			continue;
		unescape(place);
		list_add(ret, place);
		const char *type = strstr(line, " - ");
		if (type && !strncmp(type, " - autofs ", 10))
			list_add(ret_autos, place);
	}
	free(line);
	if (from)
		(void)fclose(from); /* an error is harmless: mountinfo was only read */
}

static bool has_mount_below(const struct learn *l, const char *folder)
{
	for (size_t i = 0; i < l->mounts.count; i++) {
		const char *rest = path_below(l->mounts.items[i], folder);
		if (rest && *rest)
			return true;
	}
	return false;
}

static void add_shown(struct learn *l, const char *path, bool is_dir)
{
	if (l->wide.volume_count >= LEARN_SHOWN) {
		l->unshown++;
		return;
	}
	struct volume *v = add_volume(&l->wide, path, path, FROM);
	v->is_cow = v->is_writable = is_dir;
}

static bool may_look(const char *real, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return access(real, R_OK | X_OK) == 0;
	return S_ISREG(st->st_mode) && access(real, R_OK) == 0;
}

static bool is_own(const struct learn *l, const char *real)
{
	for (size_t i = 0; i < l->own.count; i++)
		if (path_below(real, l->own.items[i]))
			return true;
	return false;
}

static void show_entries(struct learn *l, const char *folder, const char *const *but,
			 bool is_inner);

/* Shows a path of the host at its own place: a folder as an overlay, whose
 * sockets and FIFOs are not the host's; a file read-only; any other kind not
 * at all.  A folder with mounts below it cannot be an overlay's lower layer in
 * a user namespace (the mounts are locked to it), so the entries of such a
 * folder are shown one by one, except links. */
static void show(struct learn *l, const char *path, bool is_inner)
{
	static const char *const none[] = { NULL };
	AUTO_FREE char *real = realpath(path, NULL);
	struct stat st;

	if (!real || is_own(l, real) || stat(real, &st) < 0 || is_kernels(real) ||
	    !may_look(real, &st) || has_target(&l->wide, path) ||
	    learn_is_above(&l->plain, path))
		return;
	const bool is_split = S_ISDIR(st.st_mode) && has_mount_below(l, real);
	if ((is_inner || is_split) && strcmp(real, path) != 0)
		return;
	if (is_split)
		show_entries(l, path, none, true);
	else
		add_shown(l, path, S_ISDIR(st.st_mode));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_among(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

static void show_entries(struct learn *l, const char *folder, const char *const *but,
			 bool is_inner)
{
	static const char *const dots[] = { ".", "..", NULL };
	struct dirent **names = NULL;
	int count = scandir(folder, &names, NULL, by_name);

	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		AUTO_FREE char *path =
			text_format("%s/%s", folder[1] ? folder : "", name);
		if (!is_among(name, dots) && !is_among(name, but) &&
		    !learn_is_shown(&l->plain, &l->also, path))
			show(l, path, is_inner);
		free(names[i]);
	}
	free(names);
}

/* Shows the folder `path` and adds it to `also`, even if it lies in a folder that the
 * sandbox has for itself, such as /tmp. */
static void show_also(struct learn *l, const char *path)
{
	AUTO_FREE char *real = path && *path == '/' ? realpath(path, NULL) : NULL;

	if (!real || !is_folder(real) || path_below(real, "/usr"))
		return;
	list_add(&l->also, real);
	show(l, real, false);
}

/* Shows the host's folders, except those that a sandbox has for itself: the folders
 * listed here, and folders above a path of the plan (show()).  $HOME and the working
 * directory are shown even if they lie in such a folder, for example in /tmp. */
static void show_host(struct learn *l)
{
	static const char *const at_root[] = { "proc", "sys", "dev", "run", "tmp", "boot",
					       "lost+found", "home", "var", "etc", NULL };
	static const char *const in_var[] = { "run", "lock", "tmp", NULL };
	static const char *const none[] = { NULL };
	const char *home = getenv("HOME");
	AUTO_FREE char *here = getcwd(NULL, 0);

	list_mounts(&l->mounts, &l->autos);
	volumes_list_own(l->asked->audit, &l->own);
	show_entries(l, "/", at_root, false);
	show_entries(l, "/home", none, false);
	show_entries(l, "/var", in_var, false);
	show_entries(l, "/etc", none, false);
	show_also(l, home);
	show_also(l, here);
}

/* --- before and after ------------------------------------------------------------- */

static int prepare(void *self, const struct host_user *user, struct err *e)
{
	struct learn *l = self;

	if (learn_open_out(l, e) < 0)
		return -1;
	l->plain.is_dry_run = true; /* this plan is only asked which paths it shows; no
				     * sandbox is made from it */
	if (plan_build(&l->plain, l->asked, user, e) < 0)
		return -1;
	copy_volumes(l->asked, &l->wide, true);
	show_host(l);
	return 0;
}

static void add_wishes(const struct wishes *w, struct policy *to)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct wish *one = &w->items[i];
		const char *source = one->mode == WISH_EMPTY ? NULL : one->path;
		struct volume *v = add_volume(to, source, one->path, FROM);

		v->kind = source ? VOLUME_BIND : VOLUME_TMPFS;
		v->size = source ? 0 : 1 << 20;
		v->is_writable = one->mode != WISH_READ;
	}
}

/* Writes the policy that was learned, if policy_check() accepts it; else no
 * policy is written. */
static int check_and_write(struct learn *l, const struct wishes *w, struct err *e)
{
	struct policy found = *l->asked;

	found.volumes = NULL;
	found.volume_count = found.volume_room = 0;
	copy_volumes(l->asked, &found, false);
	add_wishes(w, &found);
	AUTO_FREE char *about = text_format(
		"learned from a run of %.200s; to be reviewed", l->asked->argv.items[0]);
	AUTO_FREE char *text = learn_write(&found, about);
	int result = policy_check(&found, e);
	if (result < 0)
		(void)err_in(e, FROM ": the resulting policy is not valid");
	free_volumes(&found);
	return result < 0 ? -1 : learn_write_out(l, text, e);
}

static void add_real(struct list *l, const char *path)
{
	AUTO_FREE char *real = realpath(path, NULL);

	if (real && strcmp(real, path) != 0)
		list_add(l, real);
}

static void add_home(const char *home, struct list *homes, struct list *secrets)
{
	const size_t first = secrets->count;
	char clean[TRACE_SET_PATH_MAX];

	if (!home || *home != '/' || !trace_set_join("", home, clean) || !clean[1])
		return;
	list_add(homes, clean);
	add_real(homes, clean);
	learn_list_secrets(clean, secrets);
	for (size_t i = first, end = secrets->count; i < end; i++)
		add_real(secrets, secrets->items[i]);
}

int learn_finish(struct learn *l, const struct denials *refused,
		 const struct result *result, struct err *e)
{
	struct list homes = { 0 }, secrets = { 0 };
	AUTO_FREE char *listed = volumes_home(geteuid());
	struct protect *later = learn_later_names();
	const struct learn_facts facts = { &l->plain, &l->also,	 &homes, &l->own,
					   &secrets,  &l->autos, later };
	struct wishes w;

	/* $HOME may belong to another user than the one that the sandbox runs as, so
	 * the home that /etc/passwd lists is added too. */
	add_home(getenv("HOME"), &homes, &secrets);
	add_home(listed, &homes, &secrets);
	learn_paths(&facts, &l->trace.seen, &w);
	int written = check_and_write(l, &w, e);
	if (written == 0)
		learn_tell(l, &w, refused, result);
	wishes_done(&w);
	protect_free(later);
	list_done(&homes);
	list_done(&secrets);
	return written;
}
