#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/cgroups_v1.h"
#include "oci/device_rules.h"
#include "oci/resources.h"
#include "oci/spaces.h"

/* Enables the controller of one file in `folder`; a failure shows where the file is
 * missing later. */
static void enable(const struct resources_write *w, const char *folder)
{
	AUTO_FREE char *path = text_format("%s/cgroup.subtree_control", folder);
	AUTO_FREE char *word = text_format("+%.*s", (int)strcspn(w->file, "."), w->file);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, word, strlen(word)); /* resources_apply() names it */
}

void resources_enable(const struct resources *r, const char *root, const char *path)
{
	for (size_t at = strlen(root); path[at]; at++) {
		if (path[at] != '/')
			continue;
		AUTO_FREE char *folder = text_format("%.*s", (int)at, path);
		for (size_t i = 0; i < r->count; i++)
			if (r->writes[i].file)
				enable(&r->writes[i], folder);
	}
}

static int no_controller(const struct resources_write *w, struct err *e)
{
	if (!w->file && !w->is_part)
		return err_set(
			e, ERR_UNSUPPORTED,
			"%s: cgroup version 2 has no such limit, and no hierarchy of "
			"version 1 has its controller",
			w->member);
	(void)err_set(
		e, ERR_UNSUPPORTED,
		"%s: no cgroup of the container has the controller or the file for it",
		w->member);
	return err_remedy(e, "the engine's user needs a cgroup with that controller "
			     "(cgroups(7)); or ask for no such limit");
}

/* A file of `unified` is missing: with its controller, or though that is there. */
static int no_file(const struct resources_write *w, int folder, struct err *e)
{
	const int len = (int)strcspn(w->file, ".");
	AUTO_CLOSE int fd = openat(folder, "cgroup.controllers", O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t size;

	if (fd < 0 || io_read_file(fd, "cgroup.controllers", 4096, &text, &size, e) < 0)
		return err_sys(e, "read cgroup.controllers");
	for (char *rest = text, *word; (word = strsep(&rest, " \n"));)
		if ((int)strlen(word) == len && !strncmp(word, w->file, (size_t)len)) {
			errno = ENOENT;
			return err_sys(e, "%s: open %s", w->member, w->file);
		}
	return err_set(e, ERR_UNSUPPORTED,
		       "%s: the requested cgroup controller `%.*s` is not available",
		       w->member, len, w->file);
}

static int apply_write(const struct resources_write *w, int folder, const char *v1,
		       struct err *e)
{
	AUTO_CLOSE int fd =
		folder >= 0 && w->file
			? openat(folder, w->file, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
			: -1;

	if (fd >= 0)
		return write(fd, w->text, strlen(w->text)) < 0
			       ? err_sys(e, "%s: write '%s' to %s", w->member, w->text,
					 w->file)
			       : 0;
	if (w->is_bare) {
		if (v1 && cgroups_v1_has(w))
			cgroups_v1_make(w, v1);
		return 0;
	}
	if (folder >= 0 && w->file && !w->v1 && !w->is_no_limit && errno == ENOENT)
		return no_file(w, folder, e);
	if (v1 && cgroups_v1_has(w))
		return w->is_no_limit && !cgroups_v1_is_made(w, v1)
			       ? 0
			       : cgroups_v1_apply(w, v1, e);
	return w->is_no_limit || (w->is_part && folder >= 0) ? 0 : no_controller(w, e);
}

static bool denies(const struct resources *r)
{
	for (size_t i = 0; i < r->device_count; i++)
		if (!r->devices[i].is_allowed)
			return true;
	return false;
}

static int apply_devices(const struct resources *r, int folder, const char *v1,
			 struct err *e)
{
	if (folder >= 0)
		return device_rules_attach(folder, r->devices, r->device_count, e);
	/* Without root of the host no process can make a device file. */
	if (!denies(r) || spaces_in_userns() || geteuid() != 0)
		return 0;
	return v1 && cgroups_v1_has_devices()
		       ? cgroups_v1_set_devices(r, v1, e)
		       : err_set(e, ERR_UNSUPPORTED,
				 "linux.resources.devices: the container has no cgroup");
}

static int check_above(const char *member, uint64_t limit, uint64_t used, struct err *e)
{
	return !limit || limit > used
		       ? 0
		       : err_set(e, ERR_REFUSED,
				 "linux.resources.memory.%s: the limit %" PRIu64
				 " is not above the %" PRIu64
				 " bytes in use, as checkBeforeUpdate asks",
				 member, limit, used);
}

int resources_check(const struct resources *r, const char *folder, struct err *e)
{
	char text[32];

	if (!folder || (!r->checked_memory && !r->checked_swap))
		return 0;
	AUTO_FREE char *path = text_format("%s/memory.current", folder);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0; /* the cgroup lacks the controller, and so does the limit */
	const ssize_t n = fd < 0 ? -1 : io_read_full(fd, text, sizeof(text) - 1);
	if (n < 0)
		return err_sys(e, "read %s", path);
	text[n] = '\0';
	const uint64_t used = strtoull(text, NULL, 10);
	return check_above("swap", r->checked_swap, used, e) ||
			       check_above("limit", r->checked_memory, used, e)
		       ? -1
		       : 0;
}

int resources_apply(const struct resources *r, const char *folder, const char *v1,
		    struct err *e)
{
	AUTO_CLOSE int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				   : -1;

	if (folder && fd < 0)
		return err_sys(e, "open %s", folder);
	for (size_t i = 0; i < r->count; i++)
		if (apply_write(&r->writes[i], fd, v1, e))
			return -1;
	return apply_devices(r, fd, v1, e);
}
