#include "sandbox/kernel/mount_options.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel.h"

#define TEXTS 512 /* where the texts begin in what statmount(2) writes */

struct mount_answer {
	uint32_t size, options; /* `options`: where they begin in the texts */
	uint64_t told;
	char rest[TEXTS - 16];
	char texts[4096];
};

/* Reads the number by which statmount(2) knows the mount at `path`. */
static int number_of(const char *path, uint64_t *ret)
{
	struct statx st;

	if (syscall(SYS_statx, AT_FDCWD, path, 0, KERNEL_STATX_MNT_ID_UNIQUE, &st) < 0)
		return -1;
	if (!(st.stx_mask & KERNEL_STATX_MNT_ID_UNIQUE)) {
		errno = ENOSYS;
		return -1;
	}
	*ret = st.stx_mnt_id;
	return 0;
}

int mount_options_read(const char *path, char *ret, size_t size)
{
	struct kernel_mount_request request = { .size = sizeof(request),
						.wanted = KERNEL_STATMOUNT_MNT_OPTS |
							  KERNEL_STATMOUNT_SB_SOURCE };
	struct mount_answer answer;

	if (number_of(path, &request.id) < 0 ||
	    sys_statmount(&request, &answer, sizeof(answer)) < 0)
		return -1;
	/* A kernel leaves a bit out both if it does not know it and if the text is empty.
	 * A source is never empty, and a kernel that tells it knows options, too. */
	const char *text = answer.told & KERNEL_STATMOUNT_MNT_OPTS
				   ? answer.texts + answer.options
				   : "";
	if (!(answer.told & KERNEL_STATMOUNT_SB_SOURCE))
		errno = ENOSYS;
	else if (strlen(text) >= size)
		errno = EOVERFLOW;
	else
		return memcpy(ret, text, strlen(text) + 1), 0;
	return -1;
}
