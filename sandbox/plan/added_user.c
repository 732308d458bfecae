#include "sandbox/plan/added_user.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/plan/image_user.h"
#include "sandbox/plan/overlay_lowers.h"

#define FILE_MAX (1u << 20)

char *added_user_passwd(const struct image_user *u, const char *shell)
{
	return text_format("%s:x:%u:%u:%s:%s:%s\n", u->name, u->uid, u->gid, u->name,
			   u->home, shell);
}

char *added_user_group(const struct image_user *u)
{
	/* Group 0 is root's in every image. */
	return u->gid == 0 ? text_copy("") : text_format("%s:x:%u:\n", u->name, u->gid);
}

/* Reads a file of the image; "" where the image has none. */
static int read_text(const struct list *lowers, const char *path, char **ret,
		     struct err *e)
{
	AUTO_CLOSE int fd =
		overlay_lowers_open(lowers, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t len;

	if (fd < 0 && errno == ENOENT) {
		*ret = text_copy("");
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open /%s of the image", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_REFUSED, "/%s of the image is no file", path);
	return io_read_file(fd, path, FILE_MAX, ret, &len, e);
}

int added_user_files(const struct image_user *u, const char *shell,
		     const struct list *lowers, char **ret_passwd, char **ret_group,
		     struct err *e)
{
	AUTO_FREE char *passwd = NULL, *group = NULL;
	AUTO_FREE char *user_line = added_user_passwd(u, shell);
	AUTO_FREE char *group_line = added_user_group(u);

	if (read_text(lowers, "etc/passwd", &passwd, e) < 0 ||
	    read_text(lowers, "etc/group", &group, e) < 0)
		return -1;
	*ret_passwd = text_format("%s%s", user_line, passwd);
	*ret_group = text_format("%s%s", group_line, group);
	return 0;
}
