/* unpack -- makes files, links and folders of a tar that may be hostile.
 *
 *	struct unpack u = { .in = fd, .root = folder, .rename = "copy" };
 *
 *	unpack_all(&u, e);
 *
 * Reads POSIX ustar and pax, old tars, and of GNU's form long names and large
 * numbers.  A sparse file of GNU's is an error, since what is in it would be wrong.
 *
 * Nothing is ever made, changed or followed outside of `root`: each part of a name
 * is looked up by openat2(2) below the folder before it and through no link, ".." is
 * an error, a slash in front is dropped, and so are parts that are "." or empty.
 * Links are made as they are and never followed.
 *
 * What is there already: a file or link is unlinked and made anew; a folder stays,
 * with its mode, owner and times, and so does `root` itself.  A folder never takes
 * the place of something else, nor the other way round: an error that names it.  A
 * hard link can only be to what this tar made.
 *
 * Modes are set as the tar has them, whatever umask(2) says, without the setuid,
 * setgid and sticky bits; times too, those of a folder when the tar goes on
 * elsewhere.  A folder that the tar does not name, and that is needed, gets mode
 * 0755.  A run of zeros becomes a hole.
 *
 * Devices, FIFOs, sockets and unknown things are left out and told.  On an error the
 * file that was being written is removed, and what was finished stays.  A tar that
 * stops without its end is an error (ERR_PROTOCOL): whoever wrote it died.
 *
 * Memory: 0.5 MiB; 24 to 48 bytes for everything that was made; a header of at most
 * 4 MiB. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

/* A tar that is a layer of an image (archive/layer.h), to be a lower folder of overlays.
 * `root`, which is opened to be read, is empty and becomes all of it:
 *
 * The entry "./" gives it mode, time and attributes.  What comes later takes the place of
 * what this layer has there, of whatever kind: a folder goes with all that is in it, and
 * where a folder is needed on the way, what is something else goes, links too.  What was
 * hidden by that stays so: a folder that takes the place of something is opaque.  As the
 * specification says, a whiteout deletes nothing that the layer itself has; of a folder
 * that it has it deletes what is below.
 *
 * A hard link can only be to what the layer has made: the folders below are not looked
 * at, and who writes layers repeats the file.  FIFOs are made; sticky bits of folders
 * are set; a folder that is closed to its owner is closed at the end.  Attributes that
 * are not kept count as left out.  The end of `in` may stand for the tar's end. */
struct unpack_layer {
	/* Removes a folder that the tar made, which may be closed to its owner. */
	void (*remove)(int parent, const char *name);
	bool hides_all; /* found: it deletes everything below it */
};

struct unpack {
	int in;	  /* borrowed; blocking */
	int root; /* borrowed: a folder; O_PATH is enough */
	/* What takes the place of the first part of every name, one part itself
	 * ("a/b" and "x": "x/b"), so that nothing but that is touched.  NULL: it
	 * stays, and the tar decides on the names in `root`. */
	const char *rename;
	/* Most of what may be made, and most bytes in them, or 0; beyond it
	 * ERR_LIMIT.  What is left out counts as an entry, and long names and other
	 * records count as bytes. */
	uint64_t entries_max, bytes_max;
	bool keeps_ids;	  /* the tar's owners; for root */
	bool keeps_setid; /* the setuid, setgid and sticky bits too */
	struct unpack_layer *layer; /* borrowed; NULL: it is none */
	void *who;
	/* For: what was left out, by its name in the tar, and why.  The name is
	 * foreign and has any bytes but 0.  NULL: nobody wants to know. */
	void (*on_left_out)(void *who, const char *path, const char *why);
	/* For: a link that was made and points out of what is unpacked, which is
	 * `root`, or `rename` in it.  Going by its text alone.  May be NULL. */
	void (*on_link_out)(void *who, const char *path, const char *to);
	/* So far. */
	uint64_t entries; /* files, links and folders; those that were needed too */
	uint64_t bytes;	  /* of files' content */
	uint64_t left_out;
	uint64_t links_out;
};

/* Returns at the tar's end, having read on to the end of `in` so that who writes
 * gets no SIGPIPE, or 64 MiB at most. */
int unpack_all(struct unpack *u, struct err *e);
