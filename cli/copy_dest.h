/* copy_dest -- the place on this host for a copy out of a sandbox.
 *
 *	copy_dest_open		chooses the place, by what exists
 *	...			the caller unpacks into `folder`
 *	copy_dest_settle		gives the copy its name
 *	copy_dest_done		removes a copy that was not settled
 *
 * The copy is never unpacked among other files, unless these are to be overwritten.  A
 * copy that gets a new name, or replaces a file, is unpacked into a fresh folder beside
 * its place and renamed when it is complete, so other processes see all of it or nothing.
 * An existing folder gets the files one by one. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;

struct copy_dest {
	int folder;	    /* owned: the folder that the caller unpacks into */
	const char *rename; /* the name that replaces the first part of each name in
			     * the tar; NULL: names stay */
	bool wants_content; /* the destination folder exists: the source folder's files go
			     * into it, without the source's name */
	uid_t uid;	    /* if root calls: the user and group that own the
			     * destination folder, and get the copied files */
	gid_t gid;
	/* Private. */
	int above;	/* owned: the parent folder; -1: the copy needs no renaming */
	char *name;	/* owned: the final name, in `above` */
	char stage[32]; /* the name, in `above`, of the temporary folder that the copy is
			 * unpacked into; "": none */
	int stage_fd;	/* owned: the fresh folder */
};

void copy_dest_init(struct copy_dest *l);

/* Chooses the place for a copy.  `name` is the copied file's name in the source;
 * NULL: the files of a folder, or of a tar, without a common name.  `path` is the
 * destination.  `is_folder`: `path` must be a folder.
 *
 * After this call root creates files as the user who owns the destination folder. */
int copy_dest_open(struct copy_dest *l, const char *path, const char *name,
		   bool is_folder, struct err *e);
int copy_dest_settle(struct copy_dest *l, struct err *e);
void copy_dest_done(struct copy_dest *l);
