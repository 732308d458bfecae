/* folders -- the folders that hutch keeps on the host.
 *
 * All are the user's own, mode 0700, and masked in every mount of a sandbox: a process
 * inside
 * that could write a cached seccomp program, or reach a control socket, would pass as
 * its owner. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

enum folder {
	FOLDER_STATE,  /* $XDG_RUNTIME_DIR/hutch, /run/user/UID/hutch, /tmp/hutch-UID */
	FOLDER_DATA,   /* $XDG_DATA_HOME/hutch, ~/.local/share/hutch */
	FOLDER_CACHE,  /* $XDG_CACHE_HOME/hutch, ~/.cache/hutch */
	FOLDER_CONFIG, /* $XDG_CONFIG_HOME/hutch, ~/.config/hutch */
	FOLDER_COUNT
};

/* Returns the folder's path, allocated; NULL if there is none, such as for a user
 * without a home.  A variable counts if it names a folder that is ours or does not
 * exist.  Creates nothing. */
char *folder_path(enum folder which);
/* Writes the path of folder_path() into `to`, without an allocation.  False: there is
 * no path, or no room for it. */
bool folder_path_in(enum folder which, char *to, size_t size);

/* Returns the folder of an audit log, allocated.  `where` is the value of --audit
 * ("on", "off", a path; NULL as "off").  NULL: there is no log, or no data folder for
 * a log. */
char *folder_audit(const char *where);

/* Creates the folder with its missing parents, all with mode 0700, and checks an
 * existing folder, which must be a real directory, ours, and closed to other users.
 * No link of another user is followed, and no folder is made in a folder of another
 * user, root excepted.  If a variable named the path, the error says which. */
int folder_create(const char *path, struct err *e);

/* Opens a folder that folder_create() has made, without following a link in the path's
 * last component, and checks the folder's owner and mode.  Returns a descriptor, or
 * -1. */
int folder_open(const char *path, struct err *e);
