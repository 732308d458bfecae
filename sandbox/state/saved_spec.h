/* saved_spec -- a sandbox that is kept after its end (--keep): how it was made,
 * and what it has written to its root.
 *
 * Its folder is below folder_path(FOLDER_DATA), which survives a reboot.  All of it
 * is 0700, hutch's own, and masked in every sandbox:
 *
 *	kept/NAME/	flock(2)ed by its supervisor, as long as that lives
 *	    about	one line of JSON, with a version: the sandbox's id and image
 *	    policy.json	all that its flags and policies said, as one policy file
 *			(policy/policy_file.h); only the names of secrets
 *	    places	the places on the host that it leads to (supervisor/restart_spec.h)
 *	    seccomp.json	the text of the --seccomp profile, if there was one
 *	    args	the words of its main process, if there is one
 *	    files/	an upper layer (overlay_upper.h), unless --upper names another place
 *	    first	which process was pid 1 of its last run
 *	kept/.new-X, .gone-X	being made or removed; left over if no process locks it
 *
 * A folder gets its name when it is complete, and loses it before anything is
 * removed from it: so a sandbox is kept, or it is not.  The registry knows
 * whether it lives.
 *
 *	create	registry_create, saved_spec_make, launch_start, ..., saved_spec_done
 *	start	saved_spec_find, saved_spec_read; registry_create_again,
 *		saved_spec_take, launch_start, ..., saved_spec_done
 *	rm	saved_spec_find, saved_spec_remove */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/state/registry.h"

struct err;
struct policy_file;

struct saved_spec {
	char name[REGISTRY_NAME_MAX + 1];
	char id[REGISTRY_ID_LEN + 1];
	char *created; /* owned: when the sandbox was made, as in RFC 3339 */
	char *image;   /* owned: the image's shortest name; NULL: the image is a folder
			* of the host */
	char *digest;  /* owned: the digest of the image's manifest; NULL: the image is
			* a folder of the host */
	char *places;  /* owned: the places on the host that the sandbox leads to; set
			* before saved_spec_make() or by saved_spec_read() */
	char *profile; /* owned: text of the --seccomp profile; set before
			* saved_spec_make(); NULL: none */
	char *args; /* owned: the words of the main process (supervisor/restart_spec.h);
			* set before saved_spec_make() or by saved_spec_read(); NULL: none */
	char *path;    /* owned: path of kept/NAME; NULL: none */
	int folder;    /* owned: descriptor of `path`; holds the lock after
			* saved_spec_make() or saved_spec_take() */
};

void saved_spec_init(struct saved_spec *d);
void saved_spec_done(struct saved_spec *d);

/* Keeps a sandbox: makes its folder from the members `name` to `args`,
 * except `created`, and takes the lock.  ERR_EXISTS: a sandbox of this name is
 * kept. */
int saved_spec_make(struct saved_spec *d, const struct policy_file *said, struct err *e);

/* Returns the path of the upper layer, allocated. */
char *saved_spec_files(const struct saved_spec *d);
/* Returns the path of the seccomp profile, allocated. */
char *saved_spec_profile(const struct saved_spec *d);

/* Finds a kept sandbox by name or id, and does not lock it.  ERR_NOT_FOUND:
 * there is none. */
int saved_spec_find(const char *name, struct saved_spec *ret, struct err *e);

/* Reads the settings that the sandbox was made with.  Although hutch wrote these
 * files, they are checked as strictly as files of other programs. */
int saved_spec_read(struct saved_spec *d, struct policy_file *ret, struct err *e);

/* Returns the labels that the sandbox was made with (policy/label.h) as an object of
 * JSON, allocated; NULL if the settings cannot be read. */
char *saved_spec_labels(struct saved_spec *d);

/* Takes the lock, and waits until all processes of the sandbox's last run are gone.
 * ERR_BUSY: another process starts or removes the sandbox, or those processes stay. */
int saved_spec_take(struct saved_spec *d, struct err *e);

/* Notes down which process is the sandbox's pid 1 now, for the next
 * saved_spec_take(). */
int saved_spec_note(const struct saved_spec *d, int pid, struct err *e);

/* Gives the kept sandbox another name, which no kept sandbox has yet.  The
 * caller must have the lock. */
int saved_spec_rename(struct saved_spec *d, const char *name, struct err *e);

/* Takes the lock and removes the kept sandbox with all its files. */
int saved_spec_remove(struct saved_spec *d, struct err *e);

/* Returns an error, ERR_EXISTS, if a sandbox of this name is kept.  Works in a
 * confined supervisor too. */
int saved_spec_check_free(const char *name, struct err *e);

/* Opens the folder of all kept sandboxes, and makes it if there is none.
 * Returns a descriptor, or -1. */
int saved_spec_place(struct err *e);

/* The list of all kept sandboxes, in no order. */
struct saved_spec_list {
	struct saved_spec *items; /* owned */
	size_t count;
};
void saved_spec_list(struct saved_spec_list *ret);
void saved_spec_list_done(struct saved_spec_list *l);
