/* definition -- a sandbox that outlives its end (--keep): what it was made with, and what
 * it has written to its root.
 *
 * Below folder_path(FOLDER_DATA), which outlives a boot, all of it 0700 and ours, and
 * masked in every sandbox:
 *
 *	kept/NAME/	flock(2)ed by its supervisor, as long as that lives
 *	    about	one line of JSON, with a version: which sandbox, of which image
 *	    policy.json	all that its flags and policies said, as a policy file
 *			(policy/settings.h).  Of secrets it has the names
 *	    places	where on the host it leads (control/again.h)
 *	    seccomp.json	what the profile of --seccomp was; where there is one
 *	    files/	an upper layer (upper.h), unless --upper says another place
 *	    first	who pid 1 of its last life was
 *	kept/.new-X, .gone-X	being made or removed; what nobody locks is left over
 *
 * A folder gets its name when all is in it, and loses it before anything is taken out: so
 * a sandbox is kept, or it is not.  Whether it lives is the registry's to say.
 *
 *	create	registry_create, definition_make, launch_start, ..., definition_done
 *	start	definition_find, definition_read; registry_create_again,
 *		definition_take, launch_start, ..., definition_done
 *	rm	definition_find, definition_remove */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/registry.h"

struct err;
struct settings;

struct definition {
	char name[REGISTRY_NAME_MAX + 1];
	char id[REGISTRY_ID_LEN + 1];
	char *created; /* owned: when it was made, as RFC 3339 has it */
	char *image;   /* owned: as short as it can be said; NULL: a folder of the host's */
	char *digest;  /* owned: its manifest's; NULL: the same */
	char *places;  /* owned; set before it is made, and read with what was said */
	char *profile; /* owned; set before it is made: the text; NULL: none */
	char *path;    /* owned; NULL: none */
	int folder;    /* owned; where definition_make() or _take() was, it holds the lock */
};

void definition_init(struct definition *d);
void definition_done(struct definition *d);

/* Makes it of what is set from `name` to `profile`, but `created`, and takes the lock.
 * ERR_EXISTS: one of this name is kept. */
int definition_make(struct definition *d, const struct settings *said, struct err *e);

/* Where the upper layer is, allocated. */
char *definition_files(const struct definition *d);
/* And the profile. */
char *definition_profile(const struct definition *d);

/* By name or id: ERR_NOT_FOUND, or what is kept of it.  It is not locked. */
int definition_find(const char *name, struct definition *ret, struct err *e);

/* What it was made with.  It was written by us, and is read as strictly as what others
 * write. */
int definition_read(struct definition *d, struct settings *ret, struct err *e);

/* Takes the lock, and waits until all processes of its last life are gone.  ERR_BUSY:
 * somebody starts or removes it, or they do not go. */
int definition_take(struct definition *d, struct err *e);

/* Notes down who is pid 1 now, for the next definition_take(). */
int definition_note(const struct definition *d, int pid, struct err *e);

/* Another name, which nobody has yet; its lock is held. */
int definition_rename(struct definition *d, const char *name, struct err *e);

/* Takes it and removes all of it. */
int definition_remove(struct definition *d, struct err *e);

/* Whether one of this name is kept: ERR_EXISTS.  In a supervisor that has confined itself
 * too. */
int definition_check_free(const char *name, struct err *e);

/* The folder of all, made where there is none; a descriptor, or -1. */
int definition_place(struct err *e);

/* All that are kept, in no order. */
struct definition_list {
	struct definition *items; /* owned */
	size_t count;
};
void definition_list(struct definition_list *ret);
void definition_list_done(struct definition_list *l);
