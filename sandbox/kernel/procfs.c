#include "sandbox/kernel/procfs.h"

#include <errno.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/kernel/mount_api.h"

/* The kernel allows a fresh procfs only where the existing one is wholly
 * visible, which a container's /proc with masks in it is not
 * (mount_too_revealing() in fs/namespace.c). */
static int explain(struct err *e)
{
	(void)err_set(
		e, ERR_REFUSED,
		"mount a fresh /proc: Operation not permitted: parts of this host's own "
		"/proc are masked, as in a container");
	return err_remedy(e,
			  "start the outer container with an unmasked /proc: docker run "
			  "--security-opt systempaths=unconfined; kubernetes procMount: "
			  "Unmasked; podman --security-opt unmask=ALL");
}

int procfs_make(const char *options, struct err *e)
{
	int mount = mount_api_make(
		"proc", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
		e);

	if (mount >= 0 || errno != EPERM)
		return mount;
	/* If not even a tmpfs can be mounted, masks in /proc are not the cause. */
	AUTO_CLOSE int other = mount_api_make("tmpfs", "", 0, NULL);
	return other < 0 ? -1 : explain(e);
}
