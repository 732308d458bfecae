/* state_dir -- reads and writes the folders of the registry and of kept sandboxes.
 * They are opened relative to a descriptor of the folder above, without following
 * links, and belong to this user alone. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "sandbox/state/registry.h"

struct err;

#define STATE_DIR_ENDED  ".ended"
#define STATE_DIR_TMP    ".tmp"
#define STATE_DIR_LOCK   "lock"
#define STATE_DIR_END    "end"
#define STATE_DIR_ID     "id"
#define STATE_DIR_INFO   "info"
#define STATE_DIR_STATUS "status"
#define STATE_DIR_LOG    "log"
#define STATE_DIR_WAITING "waiting"
#define STATE_DIR_RM	  "rm"
#define STATE_DIR_SOCKET "control.sock"

/* Opens the state folder; with `may_make`, makes it and its parents if they are
 * missing.  Without `may_make`, a missing state folder is ERR_NOT_FOUND. */
int state_dir_state(bool may_make, struct err *e);

/* Opens the folder `name` of `parent`.  It must be no link, belong to this user, and
 * be closed to other users.  Returns a descriptor that the caller owns, or -1; if
 * there is no such folder, errno and e->sys are ENOENT. */
int state_dir_folder(int parent, const char *name, struct err *e);

/* Sets the error for a file that does not belong into the state folder, and returns
 * -1. */
int state_dir_in_the_way(const char *name, const char *what, struct err *e);

/* Like state_dir_folder(), but makes the folder if it is missing. */
int state_dir_made(int parent, const char *name, struct err *e);

/* Returns whether `name` in `parent` still leads to the open folder. */
bool state_dir_is_at(int parent, const char *name, int folder);

/* Calls flock(2), again if a signal interrupts it.  Returns -1 with errno EWOULDBLOCK
 * if `operation` has LOCK_NB and another process holds the lock. */
int state_dir_lock(int fd, int operation);

/* Returns whether the supervisor of NAME/ lives.  `folder` is not locked
 * afterwards. */
bool state_dir_is_alive(int folder);

/* Opens a file of a sandbox's folder for reading.  If `file` is NULL, opens the lock
 * file; after the sandbox's end this file holds the record and is called "end".
 * Returns a descriptor, or -1 with errno set. */
int state_dir_file(int folder, const char *file);

/* Return the first line of a file, allocated; NULL: the file has no complete
 * line. */
char *state_dir_line(int fd);
char *state_dir_line_of(int folder, const char *file);

/* Reads the id.  It is stored as the text of a symbolic link, which one call reads,
 * and for which a tmpfs needs no page.  If there is no such link, the id is all
 * zeros. */
void state_dir_read_id(int folder, char id[REGISTRY_ID_LEN + 1]);

/* Replaces the file's content by one line, at once or not at all. */
int state_dir_put(int folder, const char *file, const char *line, struct err *e);

/* Calls `take` with every name in a folder but "." and "..". */
int state_dir_each(int folder, void (*take)(void *arg, const char *name), void *arg,
	       struct err *e);

/* Finds the name that the folder now has in `state`, since its supervisor may have
 * renamed it.  Returns false, with any content in `name`, if the folder is no longer
 * there. */
bool state_dir_find_name(int state, int folder, char name[REGISTRY_NAME_MAX + 1]);

/* The parts of a name in .ended: the time (16 hexadecimal digits of
 * microseconds since 1970, so that names sort by time), the id, the sandbox's
 * name. */
struct state_dir_ended {
	int64_t us;
	char id[REGISTRY_ID_LEN + 1];
	char name[REGISTRY_NAME_MAX + 1];
};
#define STATE_DIR_ENDED_MAX (16 + 1 + REGISTRY_ID_LEN + 1 + REGISTRY_NAME_MAX + 1)

void state_dir_ended_print(const struct state_dir_ended *x,
			   char text[STATE_DIR_ENDED_MAX]);
bool state_dir_ended_parse(struct state_dir_ended *x, const char *text);
