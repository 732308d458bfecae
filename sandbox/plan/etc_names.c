#include "sandbox/plan/etc_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fnv1a.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "store/folders.h"

#define KEPT	 ".etc-names"
#define FRESH	 ".etc-names-new"
#define KEPT_MAX 4096 /* bytes of the file; more names are not kept */

/* The beginning of the file; the names follow, each with a 0 byte. */
struct head {
	uint64_t wanted; /* the hash of what was looked for */
	uint64_t dev, ino;
	int64_t changed_ns;
	uint64_t len, names; /* the names' length and their hash: a crash may leave a
			      * file of which parts are empty */
};

static uint64_t add_texts(uint64_t hash, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hash = fnv1a(hash, texts[i], strlen(texts[i]) + 1);
	return hash;
}

/* Describes the folder as it is now, with no names. */
static int describe(const struct etc_wanted *w, struct head *ret)
{
	struct stat st;

	if (stat(w->folder, &st) < 0)
		return -1;
	uint64_t wanted = fnv1a(FNV1A_START, w->folder, strlen(w->folder) + 1);
	wanted = add_texts(wanted, w->paths, w->path_count);
	*ret = (struct head){ .wanted = add_texts(wanted, w->prefixes, w->prefix_count),
			      .dev = st.st_dev,
			      .ino = st.st_ino,
			      .changed_ns = clock_ns(&st.st_ctim) };
	return 0;
}

/* --- the file --------------------------------------------------------------------- */

static int open_state(void)
{
	AUTO_FREE char *path = folder_path(FOLDER_STATE);
	struct err unused;

	return path ? folder_open(path, &unused) : -1;
}

static bool is_of(const struct head *kept, const struct head *now)
{
	return kept->wanted == now->wanted && kept->dev == now->dev &&
	       kept->ino == now->ino && kept->changed_ns == now->changed_ns;
}

/* Adds the kept names, if they are of the folder as it is now. */
static bool take_kept(int state, const struct head *now, struct list *ret)
{
	/* O_NONBLOCK: open(2) waits for no FIFO, which hutch never makes here. */
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(state, KEPT, flags);
	char bytes[KEPT_MAX];
	struct head kept;

	const ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	if (n < (ssize_t)sizeof(kept))
		return false;
	memcpy(&kept, bytes, sizeof(kept));
	const size_t len = (size_t)n - sizeof(kept);
	const char *at = bytes + sizeof(kept);
	if (!is_of(&kept, now) || kept.len != len || (len && at[len - 1]) ||
	    kept.names != fnv1a(FNV1A_START, at, len))
		return false;
	for (const char *end = at + len; at < end; at += strlen(at) + 1)
		list_add(ret, at);
	return true;
}

/* Keeps the names for the next launch.  A failure only costs that launch a look.  All launches
 * write under one name, so that those that are killed leave one file at most.  If two write at
 * once, one may rename the other's file before that is whole: the hash in it is then wrong. */
static void keep(int state, const struct head *now, const struct list *names)
{
	char bytes[KEPT_MAX];
	struct head head = *now;
	size_t len = sizeof(head);

	for (size_t i = 0; i < names->count; i++) {
		const size_t size = strlen(names->items[i]) + 1;
		if (size > sizeof(bytes) - len)
			return;
		memcpy(bytes + len, names->items[i], size);
		len += size;
	}
	head.len = len - sizeof(head);
	head.names = fnv1a(FNV1A_START, bytes + sizeof(head), head.len);
	memcpy(bytes, &head, sizeof(head));
	(void)unlinkat(state, FRESH, 0); /* of a process that was killed */
	AUTO_CLOSE int fd =
		openat(state, FRESH, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 &&
	    (io_write_all(fd, bytes, len) < 0 || renameat(state, FRESH, state, KEPT) < 0))
		(void)unlinkat(state, FRESH, 0);
}

/* --- the look --------------------------------------------------------------------- */

/* Tells whether the first component of `path` below the folder is `name`. */
static bool leads_through(const struct etc_wanted *w, const char *path, const char *name)
{
	const char *first = path + strlen(w->folder) + 1;
	const size_t len = strlen(name);

	return !strncmp(first, name, len) && (!first[len] || first[len] == '/');
}

static void take_name(const struct etc_wanted *w, const char *name, bool *is_there,
		      struct list *ret)
{
	for (size_t i = 0; i < w->prefix_count; i++)
		if (!strncmp(name, w->prefixes[i], strlen(w->prefixes[i])))
			list_addf(ret, "%s/%s", w->folder, name);
	for (size_t i = 0; i < w->path_count; i++)
		is_there[i] = is_there[i] || leads_through(w, w->paths[i], name);
}

static int look(const struct etc_wanted *w, struct list *ret, struct err *e)
{
	DIR *folder = opendir(w->folder);
	struct dirent *entry;

	if (!folder)
		return errno == ENOENT ? 0 : err_sys(e, "list %s", w->folder);
	AUTO_FREE bool *is_there = mem_zeroed(w->path_count + 1, sizeof(*is_there));
	while ((entry = readdir(folder)))
		take_name(w, entry->d_name, is_there, ret);
	(void)closedir(folder); /* errors do not matter: the folder was only read */
	for (size_t i = 0; i < w->path_count; i++)
		if (is_there[i])
			list_add(ret, w->paths[i]);
	return 0;
}

int etc_names_list(const struct etc_wanted *w, int64_t now, struct list *ret,
		   struct err *e)
{
	struct head as_it_is;

	AUTO_CLOSE int state = describe(w, &as_it_is) < 0 ? -1 : open_state();
	if (state >= 0 && take_kept(state, &as_it_is, ret))
		return 0;
	if (look(w, ret, e) < 0)
		return -1;
	if (state >= 0 && as_it_is.changed_ns < now - ETC_NAMES_STILL_NS)
		keep(state, &as_it_is, ret);
	return 0;
}
