/* shelf -- what the registry's folders are made of: below the state folder's
 * descriptor, ours alone, no link followed.  For registry*.c. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "sandbox/registry.h"

struct err;

#define SHELF_ENDED  ".ended"
#define SHELF_TMP    ".tmp"
#define SHELF_LOCK   "lock"
#define SHELF_END    "end"
#define SHELF_ID     "id"
#define SHELF_INFO   "info"
#define SHELF_STATUS "status"
#define SHELF_LOG    "log"
#define SHELF_WAITING "waiting"
#define SHELF_SOCKET "control.sock"

/* The state folder; `may_make`: with its parents, where there is none.  Without,
 * that there is none is ERR_NOT_FOUND. */
int shelf_state(bool may_make, struct err *e);

/* A folder in one of ours: a real one, ours, 0700.  None: -1 with errno and e->sys
 * ENOENT.  A descriptor of its own, or -1. */
int shelf_folder(int parent, const char *name, struct err *e);

/* The error of something that has no business in the state folder. */
int shelf_in_the_way(const char *name, const char *what, struct err *e);

/* The same, made where there is none. */
int shelf_made(int parent, const char *name, struct err *e);

/* Whether the path still leads to the folder that was opened. */
bool shelf_is_at(int parent, const char *name, int folder);

/* flock(2), which is not interrupted.  -1 with errno EWOULDBLOCK where
 * `operation` has LOCK_NB and somebody else holds it. */
int shelf_lock(int fd, int operation);

/* Whether the supervisor of NAME/ lives; `folder` is not locked afterwards. */
bool shelf_is_alive(int folder);

/* Opens a file of the folder for reading; NULL as `file`: its lock, which has
 * another name when it holds the record.  A descriptor, or -1 with errno set. */
int shelf_file(int folder, const char *file);

/* The first line, allocated; NULL when there is no whole one. */
char *shelf_line(int fd);
char *shelf_line_of(int folder, const char *file);

/* The id is what a link says that leads nowhere: one call reads it, and a tmpfs has
 * no page for it.  None: zeros. */
void shelf_read_id(int folder, char id[REGISTRY_ID_LEN + 1]);

/* Puts one line in place of what is there, at once or not at all. */
int shelf_put(int folder, const char *file, const char *line, struct err *e);

/* Every name in a folder that is no dot and no dot-dot. */
int shelf_each(int folder, void (*take)(void *arg, const char *name), void *arg,
	       struct err *e);

/* By which name the folder is in `state` now: its supervisor may have renamed it.
 * False, and `name` of any content: it is no longer there. */
bool shelf_find_name(int state, int folder, char name[REGISTRY_NAME_MAX + 1]);

/* What a name in .ended says: when (16 hexadecimal digits of microseconds since
 * 1970, so that the order of names is that of time), id, name. */
struct shelf_ended {
	int64_t us;
	char id[REGISTRY_ID_LEN + 1];
	char name[REGISTRY_NAME_MAX + 1];
};
#define SHELF_ENDED_MAX (16 + 1 + REGISTRY_ID_LEN + 1 + REGISTRY_NAME_MAX + 1)

void shelf_ended_print(const struct shelf_ended *x, char text[SHELF_ENDED_MAX]);
bool shelf_ended_parse(struct shelf_ended *x, const char *text);
