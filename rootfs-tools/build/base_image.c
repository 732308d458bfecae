#include "rootfs-tools/build/base_image.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/worker.h"
#include "store/reference.h"
#include "store/refs.h"

/* Starts `hutch image pull`.  The pull's stdout goes to stderr, since the caller's
 * stdout is for the caller's own result. */
static int start_pull(char *name, pid_t *ret, struct err *e)
{
	char verb[] = "pull", program[] = "hutch-image";
	char *const argv[] = { program, verb, name, NULL };
	posix_spawn_file_actions_t actions;

	if (posix_spawn_file_actions_init(&actions) != 0 ||
	    posix_spawn_file_actions_adddup2(&actions, 2, 1) != 0)
		abort(); /* memory is out */
	errno = posix_spawn(ret, "/proc/self/exe", &actions, NULL, argv, environ);
	/* posix_spawn_file_actions_destroy(3) cannot fail in glibc. */
	(void)posix_spawn_file_actions_destroy(&actions);
	return errno ? err_sys(e, "start hutch image pull") : 0;
}

/* Pulls an image in a process of its own, which reports its errors itself. */
static int pull(char *name, struct err *e)
{
	pid_t pid;

	if (start_pull(name, &pid, e) < 0)
		return -1;
	if (worker_reap(pid) == 0)
		return 0;
	return err_set(e, ERR_NOT_FOUND,
		       "image %.200s is not in the store and could not be pulled", name);
}

int base_image_find(const struct store *s, const struct reference *r, bool always,
		    struct digest *ret, struct err *e)
{
	char name[REFERENCE_MAX];

	if (!always && refs_get(s, r, ret, e) == 0)
		return 0;
	if (!always && e->kind != ERR_NOT_FOUND)
		return -1;
	reference_print(r, name);
	return pull(name, e) < 0 ? -1 : refs_get(s, r, ret, e);
}
