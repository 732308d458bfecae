#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/kernel/mount_target.h"
#include "sandbox/raw/raw_parts.h"
#include "sandbox/raw/raw_plan.h"

#define OPTIONS_MAX 4095 /* mount(2) takes one page of options, with a NUL */
#define MERGED	    "merged"

static void append(struct buffer *to, const char *text)
{
	if (!buffer_append(to, text, strlen(text)))
		to->is_cut = true;
}

/* Appends a path in which "\", "," and ":" are escaped, as overlayfs reads it. */
static void append_path(struct buffer *to, const char *key, const char *path)
{
	append(to, key);
	for (; *path; path++) {
		const char text[] = { *path, '\0' };
		if (strchr("\\,:", *path))
			append(to, "\\");
		append(to, text);
	}
}

/* Makes the two folders of an overlay that writes to the scratch tmpfs.  Their paths lead
 * through the descriptor, since no other path leads there. */
static int append_scratch(struct raw_tree *t, struct buffer *to, struct err *e)
{
	const struct raw_fd_path base = raw_fd_path(t->scratch);
	const size_t number = t->overlays++;
	AUTO_FREE char *upper = text_format("upper-%zu", number);
	AUTO_FREE char *work = text_format("work-%zu", number);

	if (mkdirat(t->scratch, upper, 0755) < 0 || mkdirat(t->scratch, work, 0755) < 0)
		return err_sys(e, "make the folders of an overlay");
	AUTO_FREE char *option = text_format(",upperdir=%s/%s,workdir=%s/%s", base.text,
					     upper, base.text, work);
	append(to, option);
	return 0;
}

/* Writes the options of the file system; overlayfs names the uppermost layer first. */
static int word_options(struct raw_tree *t, const struct raw_step *s, struct buffer *to,
			struct err *e)
{
	for (size_t i = s->lowers.count; i > 0; i--)
		append_path(to, i == s->lowers.count ? "lowerdir=" : ":",
			    s->lowers.items[i - 1]);
	if (s->upper)
		append_path(to, ",upperdir=", s->upper);
	if (s->work)
		append_path(to, ",workdir=", s->work);
	if (s->is_scratch && append_scratch(t, to, e) < 0)
		return -1;
	append(to, ",userxattr");
	if (!to->is_cut && buffer_append(to, "", 1))
		return 0;
	return err_set(
		e, ERR_LIMIT,
		"mount an overlay at %.300s: the paths of its layers are longer than %d "
		"bytes",
		s->target, OPTIONS_MAX);
}

static int cannot_mount(const struct raw_step *s, struct err *e)
{
	if (errno == ELOOP)
		return err_set(e, ERR_USAGE,
			       "mount an overlay at %.300s: overlay directories may "
			       "not overlap",
			       s->target);
	return err_sys(e, "mount an overlay at %.300s", s->target);
}

/* Mounts the overlay in the scratch tmpfs, from where it is moved to its target: mount(2)
 * takes paths, and returns no descriptor of the mount. */
static int make_overlay(struct raw_tree *t, const struct raw_step *s, const char *options,
			struct err *e)
{
	const struct raw_fd_path base = raw_fd_path(t->scratch);
	AUTO_FREE char *path = text_format("%s/" MERGED, base.text);

	if (mkdirat(t->scratch, MERGED, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make the folder of an overlay");
	if (sys_mount("overlay", path, "overlay", 0, options) < 0)
		return cannot_mount(s, e);
	int mount = openat(t->scratch, MERGED, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return mount < 0 ? err_sys(e, "open the overlay for %.300s", s->target) : mount;
}

static int mount_it(struct raw_tree *t, const struct raw_step *s, const char *options,
		    struct err *e)
{
	AUTO_TARGET struct mount_target at = { .fd = -1 };
	AUTO_CLOSE int mount = make_overlay(t, s, options, e);

	if (mount < 0 || raw_dress(mount, s, e) < 0 || raw_target(t, s, true, &at, e) < 0)
		return -1;
	return raw_attach(t, mount, &at, s, e);
}

int raw_do_overlay(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	struct buffer options;

	buffer_init(&options, OPTIONS_MAX + 1);
	int result = word_options(t, s, &options, e);
	if (result == 0)
		result = mount_it(t, s, (const char *)buffer_data(&options), e);
	buffer_done(&options);
	return result;
}
