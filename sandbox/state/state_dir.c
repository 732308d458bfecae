#include "sandbox/state/state_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "store/folders.h"

#define HEX "0123456789abcdef"

int state_dir_state(bool may_make, struct err *e)
{
	AUTO_FREE char *path = folder_path(FOLDER_STATE);

	if (may_make && folder_create(path, e) < 0)
		return -1;
	return folder_open(path, e);
}

int state_dir_in_the_way(const char *name, const char *what, struct err *e)
{
	AUTO_FREE char *state = folder_path(FOLDER_STATE);

	(void)err_set(e, ERR_REFUSED, "%s in %.400s %s", name, state, what);
	return err_remedy(e, "look at it, and move it out of the way");
}

int state_dir_folder(int parent, const char *name, struct err *e)
{
	struct stat st;
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(parent, name, flags);

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return state_dir_in_the_way(name, "is no folder", e);
	if (fd < 0)
		return err_sys(e, "open %s in the state folder", name);
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat %s in the state folder", name);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return state_dir_in_the_way(name, "is another user's or open to others",
					    e);
	return fd_take(&fd);
}

int state_dir_made(int parent, const char *name, struct err *e)
{
	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s in the state folder", name);
	return state_dir_folder(parent, name, e);
}

bool state_dir_is_at(int parent, const char *name, int folder)
{
	struct stat there, ours;

	return fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(folder, &ours) == 0 && there.st_dev == ours.st_dev &&
	       there.st_ino == ours.st_ino;
}

int state_dir_lock(int fd, int operation)
{
	while (flock(fd, operation) < 0)
		if (errno != EINTR)
			return -1;
	return 0;
}

/* Tries a shared lock, so that two processes that check at the same time both
 * succeed.  Only the supervisor takes the lock exclusively, before its folder has a
 * name. */
bool state_dir_is_alive(int folder)
{
	if (state_dir_lock(folder, LOCK_SH | LOCK_NB) < 0)
		return true;
	(void)state_dir_lock(folder, LOCK_UN);
	return false;
}

int state_dir_file(int folder, const char *file)
{
	/* O_NONBLOCK keeps open(2) from waiting if the file is a FIFO, which hutch
	 * never makes here. */
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(folder, file ? file : STATE_DIR_LOCK, flags);

	if (fd < 0 && errno == ENOENT && !file)
		fd = openat(folder, STATE_DIR_END, flags);
	return fd;
}

/* Reads a line that does not fit into a page. */
static char *long_line(int fd)
{
	char *text = NULL;
	size_t len;

	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    io_read_file(fd, "a line", REGISTRY_TEXT_MAX + 1, &text, &len, NULL) < 0)
		return NULL;
	char *end = memchr(text, '\n', len);
	if (end)
		*end = '\0';
	else
		own_free(&text);
	return text;
}

char *state_dir_line(int fd)
{
	char page[4096]; /* one read suffices for most lines; a listing of all
			  * sandboxes reads thousands of lines */
	ssize_t len = fd < 0 ? -1 : pread(fd, page, sizeof(page), 0);
	char *end = len < 0 ? NULL : memchr(page, '\n', (size_t)len);

	if (!end && len == sizeof(page))
		return long_line(fd);
	if (!end)
		return NULL;
	*end = '\0';
	return mem_copy(page, (size_t)(end - page) + 1);
}

char *state_dir_line_of(int folder, const char *file)
{
	AUTO_CLOSE int fd = state_dir_file(folder, file);

	return state_dir_line(fd);
}

void state_dir_read_id(int folder, char id[REGISTRY_ID_LEN + 1])
{
	ssize_t len = readlinkat(folder, STATE_DIR_ID, id, REGISTRY_ID_LEN);

	if (len != REGISTRY_ID_LEN)
		memset(id, '0', REGISTRY_ID_LEN);
	id[REGISTRY_ID_LEN] = '\0';
}

static int write_new(int folder, const char *file, const char *line)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(folder, file, flags, 0600);
	AUTO_FREE char *whole = text_format("%s\n", line);

	return fd < 0 ? -1 : io_write_all(fd, whole, strlen(whole));
}

int state_dir_put(int folder, const char *file, const char *line, struct err *e)
{
	AUTO_FREE char *fresh = text_format(".%s", file);

	if (strchr(line, '\n') || strlen(line) >= REGISTRY_TEXT_MAX)
		return err_set(e, ERR_LIMIT,
			       "write %s of a sandbox: %zu bytes, or several lines", file,
			       strlen(line));
	if (write_new(folder, fresh, line) == 0 &&
	    renameat(folder, fresh, folder, file) == 0)
		return 0;
	(void)err_sys(e, "write %s of a sandbox", file);
	(void)unlinkat(folder, fresh, 0); /* fails if the file was not made */
	return -1;
}

int state_dir_each(int folder, void (*take)(void *arg, const char *name), void *arg,
	       struct err *e)
{
	AUTO_CLOSE int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	if (!dir)
		return err_sys(e, "read the state folder");
	again = -1; /* `dir` owns the descriptor now */
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			take(arg, entry->d_name);
	(void)closedir(dir); /* an error is harmless: the folder was only read */
	return 0;
}

/* The link /proc/self/fd/N tells the present name of an open folder, unless the
 * folder was removed. */
bool state_dir_find_name(int state, int folder, char name[REGISTRY_NAME_MAX + 1])
{
	char self[40], path[PATH_MAX];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", folder);
	ssize_t len = readlink(self, path, sizeof(path) - 1);
	path[len < 0 ? 0 : len] = '\0';
	const char *slash = strrchr(path, '/');
	if (!slash || registry_check_name(slash + 1, NULL) < 0)
		return false;
	(void)snprintf(name, REGISTRY_NAME_MAX + 1, "%s", slash + 1);
	return state_dir_is_at(state, name, folder);
}

void state_dir_ended_print(const struct state_dir_ended *x,
			   char text[STATE_DIR_ENDED_MAX])
{
	(void)snprintf(text, STATE_DIR_ENDED_MAX, "%016llx-%s-%s",
		       (unsigned long long)x->us, x->id, x->name);
}

bool state_dir_ended_parse(struct state_dir_ended *x, const char *text)
{
	if (strspn(text, HEX) != 16 || text[16] != '-')
		return false;
	const char *id = text + 17;
	if (strspn(id, HEX) != REGISTRY_ID_LEN || id[REGISTRY_ID_LEN] != '-')
		return false;
	const char *name = id + REGISTRY_ID_LEN + 1;
	if (registry_check_name(name, NULL) < 0)
		return false;
	x->us = (int64_t)strtoull(text, NULL, 16);
	(void)snprintf(x->id, sizeof(x->id), "%.*s", REGISTRY_ID_LEN, id);
	(void)snprintf(x->name, sizeof(x->name), "%s", name);
	return true;
}
