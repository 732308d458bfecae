#include "oci/sealed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/kernel/program.h"

/* A variable with the path of this program's file, set where the program runs from a
 * sealed copy, which has no folder of other programs. */
#define PROGRAM "HUTCH_OCI_PROGRAM"

/* Tells whether no process can write to the file.  An ordinary file of a tmpfs has seals,
 * too: F_SEAL_SEAL, which forbids others (fcntl(2)). */
static bool is_sealed(int fd, const struct statvfs *fs)
{
	const int seals = fcntl(fd, F_GET_SEALS);

	return (fs->f_flag & ST_RDONLY) || (seals >= 0 && (seals & F_SEAL_WRITE));
}

int sealed_run(char **argv, struct err *e)
{
	struct program self = { .fd = -1 };
	struct statvfs fs;
	struct stat st;

	self.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (self.fd < 0 || fstatvfs(self.fd, &fs) || fstat(self.fd, &st))
		return err_sys(e, "open /proc/self/exe");
	if (is_sealed(self.fd, &fs)) {
		program_done(&self);
		return 0;
	}
	self.path = realpath("/proc/self/exe", NULL);
	self.dev = st.st_dev;
	self.ino = st.st_ino;
	if (self.path && setenv(PROGRAM, self.path, 1))
		abort(); /* setenv(3) fails only for want of memory */
	AUTO_CLOSE int sealed = self.path ? program_seal(&self, e)
					  : err_sys(e, "find hutch-oci");
	program_done(&self);
	if (sealed < 0)
		return -1;
	(void)syscall(SYS_execveat, sealed, "", argv, environ, AT_EMPTY_PATH);
	return err_sys(e, "execute the sealed copy of hutch-oci");
}

int sealed_find(const char *name, char **ret, struct err *e)
{
	const char *own = getenv(PROGRAM), *end = own ? strrchr(own, '/') : NULL;

	if (!end)
		return program_find(name, ret, e);
	*ret = text_format("%.*s/%s", (int)(end - own), own, name);
	return 0;
}
