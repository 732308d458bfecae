/* landing -- where a copy out of a sandbox comes down on this host.
 *
 *	landing_open		decides where, from what is there
 *	...			somebody unpacks into `folder`, as `rename`
 *	landing_settle		it stands under its name
 *	landing_done		what was not settled is removed
 *
 * Nothing is unpacked where other files are, unless these are the ones to be written
 * to.  What gets a new name, or takes a file's place, comes into a fresh folder beside it
 * and is renamed when it is whole: whoever looks sees all of it or nothing.  A folder that
 * is there already gets the files one by one, as they come. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;

struct landing {
	int folder;	    /* owned: what is unpacked into */
	const char *rename; /* the first part of each name there; NULL: it stays */
	bool wants_content; /* the folder is there: its files are to come without its name */
	uid_t uid;	    /* whose files these are, where root asks: the folder's owner's */
	gid_t gid;
	/* Private. */
	int above;	/* owned; -1: nothing to settle */
	char *name;	/* owned: the last one, in `above` */
	char stage[32]; /* the fresh folder, in `above`; "": none */
	int stage_fd;	/* owned */
};

void landing_init(struct landing *l);

/* For something that is called `name` where it comes from, to `path`; NULL: for the files
 * of a folder, or of a tar, without one name.  `is_folder`: `path` must be a folder.
 *
 * From here on root makes files as the user to whom the folder belongs. */
int landing_open(struct landing *l, const char *path, const char *name, bool is_folder,
		 struct err *e);
int landing_settle(struct landing *l, struct err *e);
void landing_done(struct landing *l);
