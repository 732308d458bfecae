#include "sandbox/state/saved_spec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/regular.h"
#include "policy/json/json.h"
#include "policy/label.h"
#include "policy/policy_file.h"
#include "sandbox/state/state_dir.h"
#include "store/folders.h"
#include "store/rm_tree.h"

#define VERSION	    1
#define PLACE	    "kept"
#define ABOUT	    "about"
#define POLICY	    "policy.json"
#define PLACES	    "places"
#define PROFILE	    "seccomp.json"
#define ARGS	    "args"
#define FILES	    "files"
#define FIRST	    "first"
#define PREFIX_NEW  ".new-"
#define PREFIX_GONE ".gone-"
/* The time in ms that saved_spec_take() waits for the processes of an ended sandbox.
 * Its pid 1 was killed before, and the kernel kills all processes of a pid namespace
 * with its pid 1. */
#define GONE_MS 10000

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

void saved_spec_init(struct saved_spec *d)
{
	*d = (struct saved_spec){ .folder = -1 };
}

void saved_spec_done(struct saved_spec *d)
{
	if (!d)
		return;
	free(d->created);
	free(d->image);
	free(d->digest);
	free(d->places);
	free(d->profile);
	free(d->args);
	free(d->path);
	own_close(&d->folder);
	saved_spec_init(d);
}

char *saved_spec_files(const struct saved_spec *d)
{
	return text_format("%s/" FILES, d->path);
}

char *saved_spec_profile(const struct saved_spec *d)
{
	return text_format("%s/" PROFILE, d->path);
}

/* --- the place ------------------------------------------------------------------ */

static char *place_path(void)
{
	AUTO_FREE char *base = folder_path(FOLDER_DATA);

	return base ? text_format("%s/" PLACE, base) : NULL;
}

static int no_place(struct err *e)
{
	(void)err_in(e, "--keep needs a folder that outlives the sandbox");
	return err_remedy(e,
			  "set XDG_DATA_HOME to a folder of yours on ext4, xfs or btrfs");
}

int saved_spec_place(struct err *e)
{
	AUTO_FREE char *base = folder_path(FOLDER_DATA);
	AUTO_FREE char *path = place_path();

	if (!path) {
		(void)err_set(e, ERR_UNSUPPORTED, "there is no data folder of yours");
		return no_place(e);
	}
	if (folder_create(base, e) < 0 || folder_create(path, e) < 0)
		return no_place(e);
	return folder_open(path, e);
}

static int existing_place(struct err *e)
{
	AUTO_FREE char *path = place_path();

	if (!path)
		return err_set(e, ERR_NOT_FOUND, "there is no data folder of yours");
	return folder_open(path, e);
}

/* Removes a folder that no process locks: a hutch that was killed has left it. */
static void sweep_one(void *arg, const char *name)
{
	const int place = *(const int *)arg;

	if (strncmp(name, PREFIX_NEW, strlen(PREFIX_NEW)) != 0 &&
	    strncmp(name, PREFIX_GONE, strlen(PREFIX_GONE)) != 0)
		return;
	AUTO_CLOSE int old = openat(place, name, FOLDER);
	if (old >= 0 && state_dir_lock(old, LOCK_EX | LOCK_NB) == 0 &&
	    state_dir_is_at(place, name, old))
		rm_tree_remove(place, name);
}

static int kept_already(const char *name, struct err *e)
{
	(void)err_set(e, ERR_EXISTS, "a sandbox named '%s' has ended and is kept", name);
	return err_remedy(
		e,
		"go on with it: hutch start %s; remove it with its files: hutch rm "
		"%s; or choose another name",
		name, name);
}

int saved_spec_check_free(const char *name, struct err *e)
{
	AUTO_FREE char *place = place_path();
	AUTO_FREE char *path = place ? text_format("%s/%s", place, name) : NULL;
	struct stat st;

	return path && lstat(path, &st) == 0 ? kept_already(name, e) : 0;
}

/* --- made ----------------------------------------------------------------------- */

static char *time_now(void)
{
	const time_t now = time(NULL);
	char text[32];
	struct tm tm;

	(void)gmtime_r(&now, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return text_copy(text);
}

static char *print_about(const struct saved_spec *d)
{
	AUTO_FREE char *image = json_write_quoted(d->image);
	AUTO_FREE char *digest = json_write_quoted(d->digest);

	return text_format(
		"{\"version\":%d,\"id\":\"%s\",\"created\":\"%s\",\"image\":%s,"
		"\"digest\":%s}",
		VERSION, d->id, d->created, image, digest);
}

static int put(int folder, const char *name, const char *text, struct err *e)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(folder, name, flags, 0600);

	if (fd < 0 || io_write_all(fd, text, strlen(text)) < 0 || fsync(fd) < 0)
		return err_sys(e, "write %s", name);
	return 0;
}

static int fill(struct saved_spec *d, const struct policy_file *said, struct err *e)
{
	AUTO_FREE char *about = print_about(d);
	AUTO_FREE char *policy = settings_print(said);

	if (mkdirat(d->folder, FILES, 0700) < 0)
		return err_sys(e, "make " FILES);
	if (put(d->folder, ABOUT, about, e) < 0 || put(d->folder, POLICY, policy, e) < 0)
		return -1;
	if (d->profile && put(d->folder, PROFILE, d->profile, e) < 0)
		return -1;
	if (d->args && put(d->folder, ARGS, d->args, e) < 0)
		return -1;
	return put(d->folder, PLACES, d->places ? d->places : "", e);
}

/* Makes and locks a folder.  Returns 1: made and locked; 0: a sweeping process
 * took the folder for a left-over and removed it before it was locked. */
static int try_folder(struct saved_spec *d, int place, const char *hidden, struct err *e)
{
	own_close(&d->folder);
	if (mkdirat(place, hidden, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make a folder");
	d->folder = openat(place, hidden, FOLDER);
	if (d->folder < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open a folder");
	if (state_dir_lock(d->folder, LOCK_EX) <
	    0) /* may wait for a sweeping process, but not for long */
		return err_sys(e, "lock a folder");
	return state_dir_is_at(place, hidden, d->folder);
}

static int make_at(struct saved_spec *d, int place, const char *hidden,
		   const struct policy_file *said, struct err *e)
{
	int made = 0;

	while (!made)
		made = try_folder(d, place, hidden, e);
	if (made < 0 || fill(d, said, e) < 0)
		return -1;
	if (sys_renameat2(place, hidden, place, d->name, KERNEL_RENAME_NOREPLACE) == 0)
		return 0;
	/* EEXIST: a kept sandbox has the name, or had it a moment ago. */
	return errno == EEXIST ? kept_already(d->name, e)
			       : err_sys(e, "give it its name");
}

int saved_spec_make(struct saved_spec *d, const struct policy_file *said, struct err *e)
{
	AUTO_FREE char *hidden = text_format(PREFIX_NEW "%s", d->id);
	AUTO_CLOSE int place = saved_spec_place(e);

	if (place < 0)
		return -1;
	(void)state_dir_each(place, sweep_one, &place,
			     NULL); /* on failure the next saved_spec_make() sweeps */
	d->created = time_now();
	if (make_at(d, place, hidden, said, e) < 0) {
		rm_tree_remove(place, hidden);
		own_close(&d->folder);
		return e->kind == ERR_EXISTS ? -1 : no_place(e);
	}
	AUTO_FREE char *above = place_path();
	d->path = text_format("%s/%s", above, d->name);
	return 0;
}

/* --- found ---------------------------------------------------------------------- */

/* Reads a member that is a text or null. */
static int take_text(const struct json_at *about, const char *key, char **ret,
		     struct err *e)
{
	struct json_at at;
	const char *text;

	if (!json_member(about, key, &at))
		return 0;
	if (json_string(&at, &text, e) < 0)
		return -1;
	*ret = text_copy(text);
	return 0;
}

static int check_version(const struct json_at *about, struct err *e)
{
	struct json_at at;
	uint64_t version = 0;

	if (json_member(about, "version", &at) && json_uint(&at, &version, e) < 0)
		return -1;
	return version == VERSION ? 0
				  : err_set(e, ERR_UNSUPPORTED,
					    "it is of another version "
					    "of hutch");
}

static int take_about(struct saved_spec *d, const struct json_at *about, struct err *e)
{
	static const char *const keys[] = { "version", "id",	 "created",
					    "image",   "digest", NULL };
	AUTO_FREE char *id = NULL;

	if (check_version(about, e) < 0 || json_only(about, keys, e) < 0 ||
	    take_text(about, "id", &id, e) < 0 ||
	    take_text(about, "created", &d->created, e) < 0 ||
	    take_text(about, "image", &d->image, e) < 0 ||
	    take_text(about, "digest", &d->digest, e) < 0)
		return -1;
	if (!d->created || !id || strlen(id) != REGISTRY_ID_LEN ||
	    strspn(id, "0123456789abcdef") != REGISTRY_ID_LEN)
		return err_set(e, ERR_SYSTEM, "it has no id, or no time of its making");
	memcpy(d->id, id, sizeof(d->id));
	return 0;
}

static int read_part(const struct saved_spec *d, const char *name, char **ret,
		     size_t *ret_len, struct err *e)
{
	AUTO_CLOSE int fd = regular_open(d->folder, name, O_NOFOLLOW, "it", e);

	if (fd < 0)
		return -1;
	return io_read_file(fd, name, POLICY_FILE_BYTES_MAX, ret, ret_len, e);
}

static int read_about(struct saved_spec *d, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (read_part(d, ABOUT, &text, &len, e) < 0)
		return -1;
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct json_at root;
	if (!doc)
		return -1;
	json_root(doc, ABOUT, &root);
	return take_about(d, &root, e);
}

/* Opens a folder, and refuses one that another user may have been able to
 * write to. */
static int open_folder(int place, const char *name, struct err *e)
{
	AUTO_CLOSE int fd = openat(place, name, FOLDER);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open it");
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return err_set(e, ERR_REFUSED, "it is open to others, or not yours");
	return fd_take(&fd);
}

static int open_one(int place, const char *name, struct saved_spec *ret, struct err *e)
{
	AUTO_FREE char *above = place_path();

	saved_spec_init(ret);
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->path = text_format("%s/%s", above, name);
	ret->folder = open_folder(place, name, e);
	if (ret->folder >= 0 && read_about(ret, e) == 0)
		return 0;
	(void)err_in(e, "%s/" ABOUT, ret->path);
	saved_spec_done(ret);
	return -1;
}

struct search {
	int place;
	struct saved_spec_list *list;
};

static void take_one(void *arg, const char *name)
{
	const struct search *s = arg;
	struct saved_spec_list *l = s->list;
	struct saved_spec one;

	if (!registry_is_name(name) || open_one(s->place, name, &one, NULL) < 0)
		return;
	l->items = mem_resize(l->items, l->count + 1, sizeof(*l->items));
	l->items[l->count++] = one;
}

void saved_spec_list(struct saved_spec_list *ret)
{
	AUTO_CLOSE int place = existing_place(NULL);
	struct search s = { .place = place, .list = ret };

	*ret = (struct saved_spec_list){ 0 };
	if (place >= 0)
		(void)state_dir_each(place, take_one, &s, NULL); /* if the folder
								  * cannot be read, the
								  * list stays empty */
}

void saved_spec_list_done(struct saved_spec_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		saved_spec_done(&l->items[i]);
	own_free(&l->items);
	l->count = 0;
}

static int find_id(const char *id, struct saved_spec *ret)
{
	struct saved_spec_list all;
	int found = -1;

	saved_spec_list(&all);
	for (size_t i = 0; i < all.count && found < 0; i++) {
		if (strcmp(all.items[i].id, id) != 0)
			continue;
		*ret = all.items[i];
		saved_spec_init(&all.items[i]);
		found = 0;
	}
	saved_spec_list_done(&all);
	return found;
}

int saved_spec_find(const char *name, struct saved_spec *ret, struct err *e)
{
	struct err why = { 0 };
	struct stat st;

	saved_spec_init(ret);
	if (registry_check_name(name, e) < 0)
		return -1;
	AUTO_CLOSE int place = existing_place(NULL);
	if (place >= 0 && fstatat(place, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (open_one(place, name, ret, &why) == 0)
			return 0;
		if (why.sys != ENOENT) {
			if (e)
				*e = why;
			return -1;
		}
	}
	if (find_id(name, ret) == 0)
		return 0;
	(void)err_set(e, ERR_NOT_FOUND, "no sandbox named '%s' is kept", name);
	return err_remedy(
		e, "`hutch ps -a` shows which are; one is if it was made with --keep");
}

/* Reads the words of the main process; there are none without one. */
static int read_args(struct saved_spec *d, struct err *e)
{
	struct err why = { 0 };
	size_t len;

	own_free(&d->args);
	if (read_part(d, ARGS, &d->args, &len, &why) == 0 || why.sys == ENOENT)
		return 0;
	if (e)
		*e = why;
	return err_in(e, "%s/" ARGS, d->path);
}

int saved_spec_read(struct saved_spec *d, struct policy_file *ret, struct err *e)
{
	AUTO_FREE char *path = text_format("%s/" POLICY, d->path);
	size_t len;

	own_free(&d->places);
	if (read_part(d, PLACES, &d->places, &len, e) < 0)
		return err_in(e, "%s/" PLACES, d->path);
	if (read_args(d, e) < 0)
		return -1;
	return policy_file_read(ret, path, e);
}

char *saved_spec_labels(struct saved_spec *d)
{
	struct policy_file said = { 0 };
	struct list labels = { 0 };
	struct err e;

	int result = saved_spec_read(d, &said, &e);
	for (size_t i = 0; result == 0 && i < said.count; i++)
		if (!strcmp(said.items[i].kind->flag, "label"))
			result = label_add(&labels, said.items[i].value, &e);
	char *text = result == 0 ? label_print(&labels) : NULL;
	list_done(&labels);
	policy_file_done(&said);
	return text;
}

/* --- its last life ---------------------------------------------------------------- */

/* Reads when a process started, in ticks since the boot: field 22 of
 * /proc/PID/stat.  Field 2 may hold anything, up to the last parenthesis. */
static bool started_at(int pid, unsigned long long *ret)
{
	AUTO_FREE char *path = text_format("/proc/%d/stat", pid);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[1024];
	ssize_t len = fd < 0 ? -1 : io_read_full(fd, text, sizeof(text) - 1);

	if (len <= 0)
		return false;
	text[len] = '\0';
	char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%llu", ret) == 1;
}

static char *boot_id(void)
{
	AUTO_CLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : state_dir_line(fd);
}

int saved_spec_note(const struct saved_spec *d, int pid, struct err *e)
{
	AUTO_FREE char *boot = boot_id();
	unsigned long long start = 0;

	/* If /proc hides the process (hidepid), its start time is unknown.  A later
	 * process could then have the same pid and be taken for it, so nothing is
	 * noted down. */
	if (!boot || !started_at(pid, &start))
		return 0;
	AUTO_FREE char *line = text_format("%.60s %d %llu", boot, pid, start);
	return state_dir_put(d->folder, FIRST, line, e);
}

/* Returns a descriptor of the process that was noted down as pid 1; -1: that
 * process is gone, or none was noted down. */
static int open_first(const struct saved_spec *d)
{
	AUTO_FREE char *line = state_dir_line_of(d->folder, FIRST);
	AUTO_FREE char *now = boot_id();
	unsigned long long start, started;
	char boot[64];
	int pid;

	if (!line || !now || sscanf(line, "%63s %d %llu", boot, &pid, &start) != 3 ||
	    strcmp(boot, now) != 0 || pid <= 1)
		return -1;
	AUTO_CLOSE int pidfd = sys_pidfd_open(pid, 0);
	if (pidfd < 0 || !started_at(pid, &started) || started != start)
		return -1;
	return fd_take(&pidfd);
}

/* Waits until the sandbox's last pid 1 is gone.  That process dies with its
 * supervisor (PR_SET_PDEATHSIG), but not at once, and until then its mounts
 * are there. */
static int wait_for_first(const struct saved_spec *d, struct err *e)
{
	AUTO_CLOSE int pidfd = open_first(d);
	struct pollfd w = { .fd = pidfd, .events = POLLIN };

	if (pidfd < 0 || poll(&w, 1, GONE_MS) > 0)
		return 0;
	return err_set(e, ERR_BUSY,
		       "processes of sandbox '%s' are still there, %d s after its "
		       "end",
		       d->name, GONE_MS / 1000);
}

int saved_spec_take(struct saved_spec *d, struct err *e)
{
	AUTO_CLOSE int place = existing_place(e);

	if (place < 0)
		return -1;
	if (state_dir_lock(d->folder, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, ERR_BUSY, "sandbox '%s' is being started or removed",
			       d->name);
	if (state_dir_is_at(place, d->name, d->folder))
		return wait_for_first(d, e);
	return err_set(e, ERR_NOT_FOUND, "sandbox '%s' was removed", d->name);
}

/* --- changed ---------------------------------------------------------------------- */

int saved_spec_rename(struct saved_spec *d, const char *name, struct err *e)
{
	AUTO_CLOSE int place = existing_place(e);
	AUTO_FREE char *above = place_path();

	if (place < 0)
		return -1;
	if (sys_renameat2(place, d->name, place, name, KERNEL_RENAME_NOREPLACE) < 0)
		return errno == EEXIST ? kept_already(name, e)
				       : err_sys(e, "rename %s", d->path);
	(void)snprintf(d->name, sizeof(d->name), "%s", name);
	free(d->path);
	d->path = text_format("%s/%s", above, name);
	return 0;
}

int saved_spec_remove(struct saved_spec *d, struct err *e)
{
	AUTO_FREE char *hidden = text_format(PREFIX_GONE "%s", d->id);
	AUTO_CLOSE int place = existing_place(e);

	if (place < 0 || saved_spec_take(d, e) < 0)
		return -1;
	if (sys_renameat2(place, d->name, place, hidden, KERNEL_RENAME_NOREPLACE) < 0)
		return err_sys(e, "remove %s", d->path);
	rm_tree_remove(place, hidden);
	return 0;
}
