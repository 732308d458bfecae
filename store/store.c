#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "store/folders.h"
#include "store/lock.h"
#include "store/rm_tree.h"

#define VERSION_FILE "version"
#define VERSION_TEXT "1\n"
#define LOCK_FILE    "lock"

static const char *const folders[] = { STORE_BLOBS, STORE_LAYERS, STORE_IMAGES,
				       STORE_NAMES, STORE_TMP };

void store_init(struct store *s)
{
	*s = (struct store){ .root = -1 };
}

void store_done(struct store *s)
{
	if (!s || !s->path)
		return;
	own_close(&s->root);
	own_free(&s->path);
	store_init(s);
}

/* --- opening ------------------------------------------------------------------- */

static int no_store(const char *path, struct err *e)
{
	(void)err_set(e, ERR_NOT_FOUND, "there is no store of images (%.400s)", path);
	return err_remedy(e,
			  "hutch image pull REF, or hutch image import PATH --name REF, "
			  "makes it");
}

/* Makes the folders and files of a store.  The version is written last, so that a
 * store with a version is complete.  Processes that make the same store at the same
 * time write equal bytes. */
static int make_content(int root, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (mkdirat(root, folders[i], 0700) < 0 && errno != EEXIST)
			return err_sys(e, "make %s in the store", folders[i]);
	AUTO_CLOSE int fd = openat(root, VERSION_FILE,
				   O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || io_write_all(fd, VERSION_TEXT, strlen(VERSION_TEXT)) < 0)
		return err_sys(e, "write the version of the store");
	return 0;
}

/* Checks the store's version.  Returns 1 if the store has our version, 0 if it has
 * none; a kill between creating and writing the file leaves an empty one. */
static int check_version(int root, struct err *e)
{
	char text[16] = "";
	AUTO_CLOSE int fd = openat(root, VERSION_FILE,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return 0;
	ssize_t len = fd < 0 ? -1 : io_read_full(fd, text, sizeof(text) - 1);
	if (len < 0)
		return err_sys(e, "read the version of the store");
	if (len == 0 || !strcmp(text, VERSION_TEXT))
		return len > 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "the store is of version '%.*s', and this hutch knows version 1",
		      (int)strcspn(text, "\n"), text);
	return err_remedy(e, "use the hutch that made it");
}

static int open_checked(struct store *s, bool may_make, struct err *e)
{
	s->root = folder_open(s->path, e);
	if (s->root < 0)
		return e->sys == ENOENT ? no_store(s->path, e) : -1;
	int is_made = check_version(s->root, e);
	if (is_made < 0)
		return -1;
	if (!is_made && !may_make)
		return no_store(s->path, e);
	return is_made ? 0 : make_content(s->root, e);
}

int store_open(struct store *s, bool may_make, struct err *e)
{
	AUTO_FREE char *data = folder_path(FOLDER_DATA);
	struct store fresh;
	struct err own; /* stands in for a NULL `e`: the checks below read the kind of
			 * the error */

	e = e ? e : &own;
	store_init(&fresh);
	if (!data) {
		(void)err_set(
			e, ERR_NOT_FOUND,
			"there is no place for images: neither XDG_DATA_HOME nor HOME is a "
			"folder of user %u",
			geteuid());
		return err_remedy(e,
				  "XDG_DATA_HOME=FOLDER, with a folder that user %u owns",
				  geteuid());
	}
	fresh.path = text_format("%s/store", data);
	if ((may_make && folder_create(fresh.path, e) < 0) ||
	    open_checked(&fresh, may_make, e) < 0) {
		store_done(&fresh);
		return -1;
	}
	*s = fresh;
	return 0;
}

int store_folder(const struct store *s, const char *name, struct err *e)
{
	int fd = openat(s->root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open %s in the store (%.400s)", name, s->path) : fd;
}

/* --- its lock ------------------------------------------------------------------ */

int store_lock(const struct store *s, bool alone, bool waits, struct err *e)
{
	AUTO_CLOSE int fd = openat(s->root, LOCK_FILE,
				   O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "open the lock of the store");
	const int operation = alone ? LOCK_EX : LOCK_SH;
	const char *doing = alone ? "adding to the store" : "removing from the store";
	if ((waits ? lock_await(fd, operation, doing)
		   : lock_take(fd, operation | LOCK_NB)) == 0)
		return fd_take(&fd);
	if (errno != EWOULDBLOCK)
		return err_sys(e, "lock the store");
	(void)err_set(e, ERR_BUSY, "another process is just %s", doing);
	if (e)
		e->sys = EWOULDBLOCK;
	return -1;
}

/* --- stages -------------------------------------------------------------------- */

/* Returns whether a file in tmp is kept on purpose, for the next attempt to fetch a
 * blob (rootfs-tools/layers/blobs.h). */
static bool is_kept(const char *name)
{
	return name[0] == '.' || !strncmp(name, STORE_PARTIAL, sizeof(STORE_PARTIAL) - 1);
}

/* Removes a file or folder in tmp that no process locks: the process that made it was
 * killed. */
static void sweep_one(int tmp, const char *name)
{
	AUTO_CLOSE int old =
		openat(tmp, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	/* Between the open and the lock, the file may have been moved to its final
	 * place. */
	if (old < 0 || lock_take(old, LOCK_EX | LOCK_NB) < 0 ||
	    !lock_is_at(tmp, name, old))
		return;
	if (unlinkat(tmp, name, 0) < 0)
		rm_tree_remove(tmp, name);
}

static void sweep(int tmp)
{
	int again = openat(tmp, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	if (!dir)
		return; /* leftovers that stay do no harm */
	while ((entry = readdir(dir)))
		if (!is_kept(entry->d_name))
			sweep_one(tmp, entry->d_name);
	(void)closedir(dir); /* close cannot lose data: the folder was only read */
}

/* Makes a folder in tmp and returns it locked.  -1 with errno 0: another process took
 * the folder for a leftover and removed it before the lock. */
static int try_stage(int tmp, const char *name)
{
	if (mkdirat(tmp, name, 0700) < 0)
		return -1;
	AUTO_CLOSE int fd =
		openat(tmp, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool is_locked = fd >= 0 && lock_take(fd, LOCK_EX | LOCK_NB) == 0;
	if (!is_locked && errno != ENOENT && errno != EWOULDBLOCK)
		return -1;
	if (is_locked && lock_is_at(tmp, name, fd))
		return fd_take(&fd);
	errno = 0;
	return -1;
}

int store_stage(const struct store *s, char **ret_name, struct err *e)
{
	AUTO_CLOSE int tmp = store_folder(s, STORE_TMP, e);
	unsigned long long random;

	if (tmp < 0)
		return -1;
	sweep(tmp);
	for (;;) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return err_sys(e, "getrandom");
		AUTO_FREE char *name = text_format("stage-%016llx", random);
		int fd = try_stage(tmp, name);
		if (fd < 0 && errno && errno != EEXIST)
			return err_sys(e, "make a folder in tmp of the store");
		if (fd < 0)
			continue;
		*ret_name = text_copy(name);
		return fd;
	}
}
