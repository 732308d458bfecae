#include "sandbox/monitor/protect_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/inotify.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/plan/plan.h"

/* The events of inotify(7) by which a name may now lead to another file, or to
 * none. */
#define CHANGES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)

/* How many bytes of events one read(2) takes. */
#define EVENTS_BYTES 16384

/* Identifies one file.  Where the file system has no time of birth, that
 * member is 0. */
struct face {
	dev_t dev;
	uint64_t ino;
	int64_t born_s;
	uint32_t born_ns;
};

struct post {
	int watch;	  /* the watch of the folder that the name is in */
	const char *path; /* borrowed from the plan */
	const char *name; /* the last part of the path */
	struct face face;
	bool is_absent;	  /* no file of this name may appear; `face` is unused */
	bool is_lost, is_given_up;
};

void protect_watch_init(struct protect_watch *s)
{
	*s = (struct protect_watch){ .fd = -1 };
}

void protect_watch_done(struct protect_watch *s)
{
	own_close(&s->fd);
	free(s->posts);
	protect_watch_init(s);
}

/* Reads the identity of a file.  Fails with EMLINK if the file has a second hard
 * link, by which it could be written to (protect_scan.h). */
static int look_at(const char *path, struct face *ret)
{
	struct statx st;

	if (syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
		    STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return -1;
	if ((st.stx_mode & S_IFMT) == S_IFREG && st.stx_nlink != 1) {
		errno = EMLINK;
		return -1;
	}
	*ret = (struct face){ makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino, 0,
			      0 };
	if (st.stx_mask & STATX_BTIME) {
		ret->born_s = st.stx_btime.tv_sec;
		ret->born_ns = st.stx_btime.tv_nsec;
	}
	return 0;
}

static bool is_as_it_was(const struct post *p)
{
	struct face now;
	const bool is_there = look_at(p->path, &now) == 0;

	if (p->is_absent)
		return !is_there && errno == ENOENT;
	return is_there && now.dev == p->face.dev &&
	       now.ino == p->face.ino && now.born_s == p->face.born_s &&
	       now.born_ns == p->face.born_ns;
}

/* --- posted ----------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct post *x = a, *y = b;

	if (x->watch != y->watch)
		return x->watch < y->watch ? -1 : 1;
	return strcasecmp(x->name, y->name);
}

static int refuse_watch(const char *what, struct err *e)
{
	int sys = errno;
	bool is_bound = sys == EMFILE || sys == ENOSPC;

	(void)err_sys(e, "watch %.300s on the host for changes of protected files", what);
	if (!is_bound)
		return err_remedy(
			e, "show the folder with :cow, or add --best-effort, with which "
			   "they go unnoticed");
	e->kind = ERR_LIMIT;
	return err_remedy(
		e,
		"as root: sysctl -w fs.inotify.%s; or show the folder with :cow, or "
		"add --best-effort, with which they go unnoticed",
		sys == EMFILE ? "max_user_instances=1024" : "max_user_watches=524288");
}

static int watch_folder(struct protect_watch *s, const char *path, size_t len,
			struct err *e)
{
	AUTO_FREE char *folder = len ? text_format("%.*s", (int)len, path)
				     : text_copy("/");
	int watch =
		inotify_add_watch(s->fd, folder, CHANGES | IN_ONLYDIR | IN_DONT_FOLLOW);

	return watch < 0 ? refuse_watch(folder, e) : watch;
}

/* The folder is watched before the file is looked at, so that a change after
 * that is reported. */
static struct post *begin_post(struct protect_watch *s, const char *path, struct err *e)
{
	const char *name = strrchr(path, '/') + 1;
	const struct post *last = s->count ? &s->posts[s->count - 1] : NULL;
	size_t len = (size_t)(name - path) - 1;
	struct post *p = &s->posts[s->count];
	bool is_same = last && last->name - last->path == name - path &&
		       !memcmp(last->path, path, len);

	*p = (struct post){ .path = path, .name = name };
	p->watch = is_same ? last->watch : watch_folder(s, path, len, e);
	if (p->watch < 0)
		return NULL;
	s->count++;
	return p;
}

static int add_post(struct protect_watch *s, const struct step *step, struct err *e)
{
	struct post *p = begin_post(s, step->source, e);

	if (!p)
		return -1;
	if (look_at(p->path, &p->face) < 0)
		return err_sys(e, "look at %.300s, which is protected", p->path);
	if (p->face.dev != step->dev || p->face.ino != step->ino)
		return err_set(e, ERR_REFUSED,
			       "%.300s, which is protected, was replaced while "
			       "hutch started",
			       p->path);
	return 0;
}

static int add_absent(struct protect_watch *s, const char *path, struct err *e)
{
	struct post *p = begin_post(s, path, e);

	if (!p)
		return -1;
	p->is_absent = true;
	if (!is_as_it_was(p))
		return err_set(e, ERR_REFUSED,
			       "%.300s, which is protected, was made while hutch "
			       "started",
			       path);
	return 0;
}

int protect_watch_post(struct protect_watch *s, const struct plan *p, struct err *e)
{
	size_t count = p->absent.count;

	for (size_t i = 0; i < p->count; i++)
		count += p->steps[i].is_watched;
	if (!count)
		return 0;
	s->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->fd < 0)
		return refuse_watch("folders", e);
	s->posts = mem_zeroed(count, sizeof(*s->posts));
	for (size_t i = 0; i < p->count; i++)
		if (p->steps[i].is_watched && add_post(s, &p->steps[i], e) < 0)
			return -1;
	for (size_t i = 0; i < p->absent.count; i++)
		if (add_absent(s, p->absent.items[i], e) < 0) /* layer: missing-watch */
			return -1;
	qsort(s->posts, s->count, sizeof(*s->posts), by_place);
	return 0;
}

/* --- events ----------------------------------------------------------------------- */

/* Returns the first watched name that does not sort before `at`, by binary search. */
static struct post *find(const struct protect_watch *s, const struct post *at)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (by_place(&s->posts[middle], at) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return &s->posts[low];
}

static void lose(struct protect_watch *s, struct post *p)
{
	if (p->is_given_up)
		return;
	p->is_lost = s->is_lost = true;
}

static void look_from(struct protect_watch *s, struct post *first, int watch)
{
	for (struct post *p = first; p < s->posts + s->count; p++)
		if (watch >= 0 && p->watch != watch)
			return;
		else if (!p->is_given_up && !is_as_it_was(p))
			lose(s, p);
}

/* Returns whether some file system may treat this name as a protected one, by other
 * rules than case folding in ASCII.  The caller then looks at the files themselves. */
static bool is_odd(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] >= 0x80 || name[i] == '~')
			return true;
	return len && (name[len - 1] == '.' || name[len - 1] == ' ');
}

/* Marks a protected name that an event reports as lost.  Processes inside cannot
 * change a mount point (EBUSY), so the event comes from the host.  The name counts as
 * lost even if the same file comes back (link(2), rm, mv), since the mount that
 * protected it does not. */
static void take_name(struct protect_watch *s, int watch, const char *name)
{
	struct post *p = find(s, &(struct post){ .watch = watch, .name = name });

	for (; p < s->posts + s->count && p->watch == watch && !strcasecmp(p->name, name);
	     p++)
		if (!strcmp(p->name, name) || !is_as_it_was(p))
			lose(s, p);
}

/* Handles one event.  *looked is the watch of the folder in which all names were
 * checked last during this read(2), so that they are not checked again. */
static void take_event(struct protect_watch *s, const struct inotify_event *event,
		       int *looked)
{
	if (event->mask & IN_Q_OVERFLOW) {
		look_from(s, s->posts, -1); /* layer: protect-overflow */
		return;
	}
	if (event->len)
		take_name(s, event->wd, event->name); /* layer: protect-watch */
	if ((event->len && !is_odd(event->name)) || event->wd == *looked)
		return;
	/* An event without a name means that the folder itself is gone: all its names
	 * are checked. */
	look_from(s, find(s, &(struct post){ .watch = event->wd, .name = "" }),
		  event->wd);
	*looked = event->wd;
}

static bool say_lost(const struct protect_watch *s, struct err *e)
{
	const struct post *first = NULL;
	size_t more = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (!s->posts[i].is_lost)
			continue;
		more += first != NULL;
		/* The shortest lost path is reported, since it may be the folder of
		 * the others. */
		if (!first || strlen(s->posts[i].path) < strlen(first->path))
			first = &s->posts[i];
	}
	if (!first)
		return false;
	AUTO_FREE char *others = more ? text_format(" (and %zu more)", more)
				      : text_copy("");
	(void)err_set(e, ERR_REFUSED,
		      "%.300s%s was %s, and --protect%s keeps it from the inside "
		      "no longer",
		      first->path, others,
		      first->is_absent ? "made"
				       : "replaced, moved or removed on the host",
		      first->is_absent ? "-missing" : "");
	(void)err_remedy(
		e,
		"see whether what is there now is yours, and start anew; a folder that "
		"is shown with :cow stays as it is");
	return true;
}

/* Reads events, with one read(2) for each call of this function, so that a
 * process that makes many events holds up nothing else. */
bool protect_watch_look(struct protect_watch *s, struct err *e)
{
	_Alignas(struct inotify_event) char events[EVENTS_BYTES];
	int looked = -1;

	ssize_t n = read(s->fd, events, sizeof(events));
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *event = (const void *)(events + at);
		take_event(s, event, &looked);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	return s->is_lost && say_lost(s, e);
}

void protect_watch_give_up(struct protect_watch *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct post *p = &s->posts[i];
		p->is_given_up = p->is_given_up || p->is_lost || !is_as_it_was(p);
		p->is_lost = false;
	}
	s->is_lost = false;
}
