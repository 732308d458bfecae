/* added_user -- the lines in passwd(5) and group(5) of a user that the image lacks
 * (policy/named_user.h).
 *
 * They stand first: programs take the first line of an id for its name, and an image may
 * have another name for it. */
#pragma once

struct err;
struct image_user;
struct list;

/* The line in a file, allocated. */
char *added_user_passwd(const struct image_user *u, const char *shell);
char *added_user_group(const struct image_user *u);

/* Gives the whole files, allocated: the line, and all that the image has.  The image's
 * bytes are foreign; they are copied, and not parsed. */
int added_user_files(const struct image_user *u, const char *shell,
		     const struct list *lowers, char **ret_passwd, char **ret_group,
		     struct err *e);
