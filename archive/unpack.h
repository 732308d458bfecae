/* unpack -- makes the files, links and folders of a tar that may be hostile.
 *
 *	struct unpack u = { .in = fd, .root = folder, .rename = "copy" };
 *
 *	unpack_all(&u, e);
 *
 * Reads POSIX ustar and pax, old tars, and of GNU's form long names and large
 * numbers.  A sparse file of GNU's is an error, since its content would come out
 * wrong.
 *
 * Nothing is ever made, changed or followed outside of `root`: each part of a name is
 * looked up by openat2(2) below the folder before it and through no link, ".." is an
 * error, a slash in front is dropped, and so are parts that are "." or empty.  Links
 * are made as they are and never followed.
 *
 * A file or link that is there already is unlinked and made anew; a folder that is
 * there stays, with its mode, owner and times, and so does `root` itself.  A folder
 * in the place of a file, or a file in the place of a folder, is an error that names
 * it.  A hard link can only lead to a file that this tar made.
 *
 * Modes are set as the tar has them, whatever umask(2) says, without the setuid,
 * setgid and sticky bits; times are set too, those of a folder when the tar goes on
 * in another one.  A folder that the tar does not name, and that is needed, gets mode
 * 0755.  A run of zeros becomes a hole.
 *
 * Devices, FIFOs, sockets and entries of unknown types are left out and reported.  On
 * an error the file that was being written is removed, and the finished ones stay.  A
 * tar without its end is an error (ERR_PROTOCOL): its writer died.
 *
 * Memory: 0.5 MiB; 24 to 48 bytes for each file or folder that was made; a header of
 * at most 4 MiB. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

/* A tar that is a layer of an image (archive/layer.h), to be a lower folder of
 * overlays.  `root`, which is opened to be read, is empty and becomes all of it:
 *
 * The entry "./" gives the root its mode, time and attributes.  A later entry
 * replaces an earlier one of any kind at the same place: a folder is removed with its
 * content, and a file or link is removed where a folder is needed on the way.  A
 * folder that replaced something is opaque, so that it still hides what the replaced
 * file hid.  As the specification says, a whiteout deletes nothing that the layer
 * itself has; of a folder that the layer has, it deletes the content from lower
 * layers.
 *
 * A hard link can only lead to a file of the same layer: lower layers are not
 * searched, and programs that write layers repeat the file.  FIFOs are made; sticky
 * bits of folders are set; a folder without permissions for its owner gets its mode
 * at the end.  Attributes that are not kept count as left out.  The end of `in` may
 * stand for the tar's end. */
struct unpack_layer {
	/* Removes a folder that the tar made, even if its owner has no permissions. */
	void (*remove)(int parent, const char *name);
	bool hides_all; /* result: the layer's root is opaque and hides everything in
			 * lower layers */
};

struct unpack {
	int in;	  /* borrowed; blocking */
	int root; /* borrowed: the folder to unpack into; an O_PATH descriptor is
		   * enough */
	/* This one part takes the place of the first part of every name in the tar, so
	 * that nothing else in `root` is touched: with "x", "a/b" becomes "x/b".  NULL:
	 * the first part stays, and the tar chooses the names in `root`. */
	const char *rename;
	/* The largest number of files, links and folders, and of bytes in them; 0: no
	 * limit.  Beyond it ERR_LIMIT.  Entries that are left out count as entries;
	 * long names and other records count as bytes. */
	uint64_t entries_max, bytes_max;
	bool keeps_ids;	  /* the tar's owners are set; only for root */
	bool keeps_setid; /* the setuid, setgid and sticky bits are set, too */
	struct unpack_layer *layer; /* borrowed; NULL: the tar is no layer */
	void *context;
	/* Called for each entry that is left out, with its name in the tar and the
	 * reason.  The name is foreign and may have any bytes but 0.  May be NULL. */
	void (*on_left_out)(void *context, const char *path, const char *why);
	/* Called for each link that was made and whose text leads out of the unpacked
	 * tree, which is `root`, or `rename` in it.  May be NULL. */
	void (*on_link_out)(void *context, const char *path, const char *to);
	/* So far. */
	uint64_t entries; /* files, links and folders, also folders that the tar does not
			   * name */
	uint64_t bytes;	  /* bytes of files' content */
	uint64_t left_out;
	uint64_t links_out;
};

/* Unpacks the whole tar.  After the tar's end, `in` is read to its own end, but at
 * most 64 MiB, so that the writer gets no SIGPIPE. */
int unpack_all(struct unpack *u, struct err *e);
