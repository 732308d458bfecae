/* image_user -- the user that the commands in an image run as, by the image's own
 * /etc/passwd and /etc/group.
 *
 * As with docker: a name needs a line, a number none; without a group it is that of the
 * line, or 0.  The files are untrusted: they are looked at only as overlay_lowers.h and
 * image_passwd.h do. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct list;
struct policy;

struct image_user {
	uint32_t uid, gid;
	char *name, *home; /* owned; NULL: not decided */
	bool is_added;	   /* the image has no such user: -u was NAME=UID (named_user.h),
			    * and the plan adds lines and a home */
};

void image_user_done(struct image_user *u);

struct named_user;

/* Makes it a user that is added, with the home /home/NAME. */
void image_user_add(struct image_user *u, const struct named_user *from);

/* Decides it by -u, or else by `of_image`, the User of the image's configuration, or else
 * as root.  `lowers` are the image's layers, the lowest one first. */
int image_user_decide(struct image_user *u, const struct list *lowers,
		      const char *of_image, const struct policy *p, struct err *e);

/* Decides it by -u for a folder of the host.  `agent`, 1000 and 1000:1000 without a line
 * are hutch's own user: *u then has no name and no home. */
int image_user_decide_dir(struct image_user *u, const struct policy *p, struct err *e);
