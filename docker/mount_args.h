/* mount_args -- docker's -v, --mount and --tmpfs become hutch's -v and --tmpfs. */
#pragma once

struct args;
struct err;

/* Where a volume's files are, allocated: a folder beside hutch's data folder, since no
 * sandbox is shown what is in that.  NULL: this user has no data folder. */
char *mount_args_volume(const char *name);
/* Whether the text is a name that docker allows for a volume. */
int mount_args_check_volume(const char *name, struct err *e);

/* Shows a folder or file of this host; `mode` is "ro", "rw" or "cow".  The socket of an
 * engine is refused. */
int mount_args_bind(struct args *a, const char *source, const char *target,
		    const char *mode, struct err *e);

int mount_args_volume_flag(struct args *a, const char *value, struct err *e);
int mount_args_mount_flag(struct args *a, const char *value, struct err *e);
int mount_args_tmpfs_flag(struct args *a, const char *value, struct err *e);
