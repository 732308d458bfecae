/* definition -- a sandbox that is kept after its end (--keep): how it was made,
 * and what it has written to its root.
 *
 * It is below folder_path(FOLDER_DATA), which survives a reboot.  All of it is
 * 0700, hutch's own, and masked in every sandbox:
 *
 *	kept/NAME/	flock(2)ed by its supervisor, as long as that lives
 *	    about	one line of JSON, with a version: the sandbox's id and image
 *	    policy.json	all that its flags and policies said, as one policy file
 *			(policy/settings.h); only the names of secrets
 *	    places	the places on the host that it leads to (control/again.h)
 *	    seccomp.json	the text of the --seccomp profile, if there was one
 *	    files/	an upper layer (upper.h), unless --upper names another place
 *	    first	pid 1 of its last life
 *	kept/.new-X, .gone-X	being made or removed; left over if no process locks it
 *
 * A folder gets its name when it is complete, and loses it before anything is
 * removed from it: so a sandbox is kept, or it is not.  The registry knows
 * whether it lives.
 *
 *	create	registry_create, definition_make, launch_start, ..., definition_done
 *	start	definition_find, definition_read; registry_create_again,
 *		definition_take, launch_start, ..., definition_done
 *	rm	definition_find, definition_remove */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/state/registry.h"

struct err;
struct settings;

struct definition {
	char name[REGISTRY_NAME_MAX + 1];
	char id[REGISTRY_ID_LEN + 1];
	char *created; /* owned: the time of its making, as in RFC 3339 */
	char *image;   /* owned: the shortest name; NULL: a folder of the host's */
	char *digest;  /* owned: the manifest's; NULL: a folder of the host's */
	char *places;  /* owned; set before definition_make(), or read by
			* definition_read() */
	char *profile; /* owned: its text; set before definition_make(); NULL: none */
	char *path;    /* owned; NULL: none */
	int folder;    /* owned; holds the lock after definition_make() or
			* definition_take() */
};

void definition_init(struct definition *d);
void definition_done(struct definition *d);

/* Makes it from the members `name` to `profile`, except `created`, and takes
 * the lock.  ERR_EXISTS: a sandbox of this name is kept. */
int definition_make(struct definition *d, const struct settings *said, struct err *e);

/* The path of the upper layer, allocated. */
char *definition_files(const struct definition *d);
/* The path of the seccomp profile, allocated. */
char *definition_profile(const struct definition *d);

/* Finds a kept sandbox by name or id, and does not lock it.  ERR_NOT_FOUND:
 * there is none. */
int definition_find(const char *name, struct definition *ret, struct err *e);

/* Reads the settings that the sandbox was made with.  hutch wrote them, and
 * reads them as strictly as a foreign file. */
int definition_read(struct definition *d, struct settings *ret, struct err *e);

/* Takes the lock, and waits until all processes of the last life are gone.
 * ERR_BUSY: another process starts or removes the sandbox, or those processes
 * stay. */
int definition_take(struct definition *d, struct err *e);

/* Notes down the present pid 1, for the next definition_take(). */
int definition_note(const struct definition *d, int pid, struct err *e);

/* Gives it another name, which no kept sandbox has yet; needs the lock. */
int definition_rename(struct definition *d, const char *name, struct err *e);

/* Takes the lock and removes all of it. */
int definition_remove(struct definition *d, struct err *e);

/* ERR_EXISTS if a sandbox of this name is kept.  Works in a confined supervisor
 * too. */
int definition_check_free(const char *name, struct err *e);

/* The folder of all kept sandboxes, made if there is none; a descriptor, or -1. */
int definition_place(struct err *e);

/* All kept sandboxes, in no order. */
struct definition_list {
	struct definition *items; /* owned */
	size_t count;
};
void definition_list(struct definition_list *ret);
void definition_list_done(struct definition_list *l);
