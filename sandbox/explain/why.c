#include "sandbox/explain/why.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/answer.h"
#include "base/kernel.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "policy/protect.h"
#include "sandbox/explain/why_parts.h"
#include "sandbox/plan/lookup.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/protect_missing.h"

/* --- what shows a place ----------------------------------------------------------- */

static char *image_line(const struct policy *p)
{
	if (p->image == IMAGE_HOST)
		return text_copy("--image host");
	return text_format("--image %s%s", p->image == IMAGE_DIR ? "dir:" : "",
			   p->image_path);
}

char *why_line(const struct why *w, const struct found *f)
{
	return f->step->from ? text_copy(f->step->from) : image_line(w->policy);
}

static const struct volume *volume_of(const struct why *w, const struct found *f)
{
	for (size_t i = 0; i < w->policy->volume_count; i++)
		if (w->policy->volumes[i].from == f->step->from)
			return &w->policy->volumes[i];
	return NULL;
}

char *why_whole(const struct why *w, const char *path)
{
	return *path == '/' ? text_copy(path) :
			      text_format("%s/%s", w->plan->workdir, path);
}

/* --- what is not to be had -------------------------------------------------------- */

/* Returns a hint for a path of the host that the sandbox shows at another path, since
 * the user may have meant the latter; allocated; NULL: it is not shown. */
static char *other_name(const struct why *w, const char *path)
{
	AUTO_FREE char *real = realpath(path, NULL);

	for (size_t i = 0; real && i < w->plan->count; i++) {
		const struct step *s = &w->plan->steps[i];
		bool is_shown = (s->kind == STEP_BIND || s->kind == STEP_COW) && s->from;
		const char *rest = is_shown ? path_below(real, s->source) : NULL;
		if (rest)
			return text_format("inside it is %s%s", s->target, rest);
	}
	return NULL;
}

static void say_nothing(const struct why *w, const char *path, struct answer *ret)
{
	struct stat st;

	if (!strncmp(path, "/proc/", 6) && path[6] >= '0' && path[6] <= '9') {
		answer_set(ret, false, "processes",
			   text_format("%s: before a sandbox starts it has no process",
				       path));
		return;
	}
	if (lstat(path, &st) < 0) {
		answer_set(ret, false, "files", text_format("there is no %s", path));
		return;
	}
	answer_set(ret, false, "mounts",
		   text_format("%s of this host is not inside", path));
	ret->line = image_line(w->policy);
	ret->change = other_name(w, path);
	if (!ret->change && strncmp(path, "/proc/", 6) && strncmp(path, "/sys/", 5))
		ret->change = text_format("-v %s:%s:ro", path, path);
}

void why_say_not_shown(const struct why *w, const char *path, struct answer *ret)
{
	answer_set(ret, false, "mounts",
		   text_format("nothing of this host is shown at %s", path));
	ret->line = image_line(w->policy);
	ret->change = text_format("-v %s:%s:ro, if this host has it", path, path);
}

void why_say_mask(const struct why *w, const struct found *f, struct answer *ret)
{
	const char *what = f->step->from ?
				   "hutch's own, or the kernel's, and never inside" :
				   "hidden, since it tells of the host";

	answer_set(ret, false, "mounts", text_format("%s is %s", f->path, what));
	ret->line = f->step->from ? why_line(w, f) : NULL;
}

void why_say_closed(const struct why *w, const struct found *f, const char *what,
		    struct answer *ret)
{
	char *text =
		f->is_own ?
			text_format("%s: its mode, %04o, does not let it be %s", f->path,
				    (unsigned)f->st.st_mode & 07777, what) :
			text_format("%s: its mode, %04o, and owner, uid %u of this host, "
				    "do not let it be %s",
				    f->path, (unsigned)f->st.st_mode & 07777,
				    f->st.st_uid, what);

	answer_set(ret, false, "permissions", text);
	ret->line = why_line(w, f);
}

static void say_missing(const struct why *w, const char *path, const struct found *f,
			struct answer *ret)
{
	switch (f->kind) {
	case FOUND_MASK:
		why_say_mask(w, f, ret);
		break;
	case FOUND_CLOSED:
		why_say_closed(w, f, "searched", ret);
		break;
	case FOUND_FILE:
		answer_set(ret, false, "files", text_format("%s is no folder", f->path));
		break;
	case FOUND_LOOP:
		answer_set(ret, false, "files",
			   text_format("%s: links that lead nowhere", f->path));
		break;
	case FOUND_NOTHING:
	case FOUND_NO_FOLDER:
	case FOUND:
		say_nothing(w, path, ret);
	}
}

bool why_find(const struct why *w, const char *path, struct found *f, struct answer *ret)
{
	AUTO_FREE char *whole = why_whole(w, path);

	lookup_path(w->lookup, whole, true, f);
	if (f->kind == FOUND)
		return true;
	say_missing(w, whole, f, ret);
	return false;
}

/* --- to read and to write --------------------------------------------------------- */

/* Returns true if `f` cannot be opened like a file or folder, since it is a socket, a
 * device or a terminal; the answer then says why. */
static bool is_no_file(const struct why *w, const struct found *f, struct answer *ret)
{
	const mode_t type = f->st.st_mode & S_IFMT;

	if (type == S_IFSOCK) {
		answer_set(ret, false, "files", text_format("%s is a socket", f->path));
		ret->change = text_format("ask for: connect unix:%s", f->path);
	} else if (!strcmp(f->path, "/dev/tty") && !w->policy->has_terminal) {
		answer_set(ret, false, "files", text_copy("there is no terminal"));
		ret->change = text_copy("-t");
	} else if ((type == S_IFCHR || type == S_IFBLK) && f->host &&
		   f->step->attr & MOUNT_ATTR_NODEV) {
		answer_set(ret, false, "mounts",
			   text_format("%s is a device, in a folder that is "
				       "shown without",
				       f->path));
		ret->line = why_line(w, f);
	} else {
		return false;
	}
	return true;
}

void why_read(const struct why *w, const char *path, struct answer *ret)
{
	struct found f;

	if (!why_find(w, path, &f, ret) || is_no_file(w, &f, ret)) {
		found_done(&f);
		return;
	}
	const char *what = S_ISDIR(f.st.st_mode) ? "listed" : "read";
	if (lookup_may(w->lookup, &f, R_OK)) {
		answer_set(ret, true, "mounts",
			   text_format("%s can be %s", f.path, what));
		ret->line = why_line(w, &f);
	} else {
		why_say_closed(w, &f, what, ret);
	}
	found_done(&f);
}

static void say_protected(const struct why *w, const struct volume *v,
			  const struct found *f, struct answer *ret)
{
	struct protect *p = protect_new(&w->policy->protects);
	const char *pattern = "", *rest = f->path + strlen(v->target);

	(void)protect_find(p, rest + strspn(rest, "/"),
			   &pattern); /* if no pattern matches this path, the file is
				       * protected by another name, and `pattern` stays
				       * "" */
	answer_set(ret, false, "mounts", text_format("%s is protected", f->path));
	ret->line = text_format("--protect %s", pattern);
	ret->change = text_format("show %s with :cow, or leave that out", v->source);
	protect_free(p);
}

void why_say_read_only(const struct why *w, const struct found *f, struct answer *ret)
{
	const struct volume *v = f->step->from ? volume_of(w, f) : NULL;

	if (v && v->is_writable) {
		say_protected(w, v, f, ret);
		return;
	}
	answer_set(ret, false, "mounts", text_format("%s is read-only", f->path));
	ret->line = w->policy->is_read_only && !v ? text_copy("--read-only") :
						    why_line(w, f);
	if (v)
		ret->change = v->kind == VOLUME_WORKSPACE ?
				      text_format("--workspace %s:rw", v->source) :
				      text_format("-v %s:%s:rw", v->source, v->target);
	else if (f->step->kind == STEP_ROOT && S_ISDIR(f->st.st_mode))
		ret->change =
			text_format("--tmpfs %s, for a folder that is empty at first",
				    strcmp(f->path, "/") ? f->path : "DIR");
	else if (f->step->kind == STEP_ROOT)
		ret->change = text_format("-v FILE:%s:rw", f->path);
	else if (f->step->kind == STEP_BIND)
		ret->change = text_copy(
			"an image of the store, or dir:PATH: what is written goes "
			"over it");
}

/* Judges whether a file can be written, or whether a file can be made in a
 * folder. */
static void judge_write(const struct why *w, const struct found *f, const char *verb,
			struct answer *ret)
{
	const bool is_folder = S_ISDIR(f->st.st_mode);
	const bool is_special = !is_folder && !S_ISREG(f->st.st_mode);

	if (f->is_read_only && !is_special)
		why_say_read_only(w, f, ret);
	else if (!lookup_may(w->lookup, f, W_OK) ||
		 (is_folder && !lookup_may(w->lookup, f, X_OK)))
		why_say_closed(w, f, "written", ret);
	else if (f->host && !is_special && f->step->kind == STEP_BIND &&
		 access(f->host, W_OK) < 0 && errno == EROFS)
		answer_set(ret, false, "mounts",
			   text_format("%s is read-only on this host", f->path));
	else
		answer_set(ret, true, "mounts",
			   text_format("%s can be %s%s", f->path, verb,
				       f->step->kind == STEP_COW ? ", in a copy" : ""));
	if (!ret->line)
		ret->line = why_line(w, f);
}

bool why_say_missing(const struct why *w, const struct step *shows, const char *path,
		     struct answer *ret)
{
	const char *rest = path_below(path, shows->target);

	if (!plan_has_broker(w->plan) || shows->kind != STEP_BIND || !rest)
		return false;
	AUTO_FREE char *host = text_format("%s%s", shows->source, rest);
	struct protect_missing *m = protect_missing_new(w->plan);
	const bool is_refused = protect_missing_refuses(m, host, MAKING_FILE);
	protect_missing_free(m);
	if (!is_refused)
		return false;
	answer_set(ret, false, "seccomp",
		   text_format("%s is protected, and not to be made", path));
	ret->line = text_copy("--protect-missing");
	ret->change = text_format("show %s with :cow, or leave that out", shows->source);
	return true;
}

/* Judges whether a file that does not exist can be made: whether the folder above it
 * can be written to, and the name is not protected. */
static void judge_making(const struct why *w, const char *path, struct answer *ret)
{
	AUTO_FREE char *above = text_copy(path);
	char *slash = strrchr(above, '/');
	struct found f;

	slash[slash == above] = '\0';
	if (why_find(w, above, &f, ret)) {
		judge_write(w, &f, "written to", ret);
		if (ret->is_yes && !why_say_missing(w, f.step, path, ret))
			answer_set(ret, true, "mounts",
				   text_format("%s can be made%s", path,
					       f.step->kind == STEP_COW ? ", in a copy" :
									  ""));
		if (!ret->line)
			ret->line = why_line(w, &f);
	}
	found_done(&f);
}

void why_write(const struct why *w, const char *path, struct answer *ret)
{
	AUTO_FREE char *whole = why_whole(w, path);
	struct found f;

	lookup_path(w->lookup, whole, true, &f);
	if (f.kind == FOUND_NOTHING)
		judge_making(w, f.path, ret);
	else if (f.kind != FOUND)
		say_missing(w, whole, &f, ret);
	else if (!is_no_file(w, &f, ret))
		judge_write(w, &f, S_ISDIR(f.st.st_mode) ? "written to" : "written", ret);
	found_done(&f);
}
