#include "sandbox/kernel/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/kernel/mount_api.h"

static int own_folder(char *ret, size_t size, struct err *e)
{
	ssize_t len = readlink("/proc/self/exe", ret, size - 1);

	if (len < 0)
		return err_sys(e, "find this program (/proc/self/exe)");
	ret[len] = '\0';
	*strrchr(ret, '/') = '\0';
	return 0;
}

int program_find(const char *name, char **ret_path, struct err *e)
{
	char dir[PATH_MAX];

	if (own_folder(dir, sizeof(dir), e) < 0)
		return -1;
	AUTO_FREE char *built = text_format("%s/libexec/%s", dir, name);
	AUTO_FREE char *installed = text_format("%s/../libexec/hutch/%s", dir, name);
	AUTO_FREE char *sibling = text_format("%s/%s", dir, name);
	char **const places[] = { &built, &installed, &sibling };
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (access(*places[i], X_OK) == 0) {
			*ret_path = *places[i];
			*places[i] = NULL;
			return 0;
		}
	(void)err_set(
		e, ERR_NOT_FOUND,
		"%s is neither at %.200s nor at %.200s: this hutch was moved or copied "
		"without its other programs",
		name, built, installed);
	return err_remedy(e, "make install PREFIX=... puts them where hutch looks");
}

int program_find_hutch(char **ret_path, struct err *e)
{
	static const char *const places[] = { "../../bin/hutch", "../hutch", "hutch" };
	char dir[PATH_MAX];

	if (own_folder(dir, sizeof(dir), e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_FREE char *path = text_format("%s/%s", dir, places[i]);
		struct stat st;
		if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
			continue;
		*ret_path = path;
		path = NULL;
		return 0;
	}
	return err_set(e, ERR_NOT_FOUND,
		       "hutch is not beside %.300s: it was moved or copied without its "
		       "other programs",
		       dir);
}

int program_open(const char *name, struct program *ret, struct err *e)
{
	struct program p = { .fd = -1 };
	struct stat st;

	if (program_find(name, &p.path, e) < 0)
		return -1;
	p.fd = open(p.path, O_RDONLY | O_CLOEXEC);
	if (p.fd < 0 || fstat(p.fd, &st) < 0) {
		(void)err_sys(e, "open %s", p.path);
		program_done(&p);
		return -1;
	}
	p.dev = st.st_dev;
	p.ino = st.st_ino;
	*ret = p;
	return 0;
}

void program_done(struct program *p)
{
	if (!p)
		return;
	own_close(&p->fd);
	free(p->path);
	p->path = NULL;
}

/* Makes the memfd for a copy of the program.  Kernels before 6.3 refuse MFD_EXEC
 * with EINVAL, and let every memfd be executed. */
static int make_memfd(void)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("hutch-executor", flags | KERNEL_MFD_EXEC);

	return fd < 0 && errno == EINVAL ? memfd_create("hutch-executor", flags) : fd;
}

static int copy_to_memfd(const struct program *p, struct err *e)
{
	struct stat st;
	off_t at = 0;

	AUTO_CLOSE int copy = make_memfd();
	if (copy < 0 || fstat(p->fd, &st) < 0)
		return err_sys(e, "copy %s", p->path);
	while (at < st.st_size)
		if (sendfile(copy, p->fd, &at, (size_t)(st.st_size - at)) <= 0)
			return err_sys(e, "copy %s", p->path);
	if (fcntl(copy, F_ADD_SEALS,
		  F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return err_sys(e, "seal the copy of %s", p->path);
	return fd_take(&copy);
}

int program_seal(const struct program *p, struct err *e)
{
	struct err unreachable;
	struct stat st;

	AUTO_CLOSE int mount = mount_api_clone_file(p->path, &unreachable);
	if (mount < 0 && (unreachable.sys == EACCES || unreachable.sys == EPERM))
		return copy_to_memfd(p, e);
	if (mount < 0) {
		*e = unreachable;
		return -1;
	}
	if (fstat(mount, &st) < 0 || st.st_dev != p->dev || st.st_ino != p->ino)
		return err_set(e, ERR_REFUSED, "%s was replaced during the launch",
			       p->path);
	return fd_take(&mount);
}
