/* changes_walk -- compares an upper layer with the folder of the host that it was
 * mounted over.
 *
 * The host's folder is walked together with the items of the upper layer
 * (rootfs-tools/changes/changes_stream.h).  Each folder is opened beneath the one
 * before and through no link (archive/dir_stack.h), so that neither false items nor a
 * concurrent change on the host can lead the walk elsewhere. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/list.h"
#include "rootfs-tools/changes/changes_stream.h"

struct err;

/* One path that differs from the host. */
struct meeting {
	char kind;	  /* 'A': the sandbox has added the path; 'M': has modified it;
			   * 'D': has deleted it */
	const char *path; /* relative to the walked folder; valid until the next struct
			   * meeting, like the other pointers */
	const char *name;
	int at; /* borrowed: the host's folder that has the path's last part; -1: the host
		 * has no such folder */
	/* The item that the sandbox has at the path; NULL: the path was removed
	 * together with its folder. */
	const struct changes_stream_item *item;
	struct changes_stream *content; /* borrowed: the stream from which a file's
					 * content is read */
	bool exists;	  /* the path exists on the host */
	struct stat host; /* the stat of the host's file; valid if `exists` */
	const char *fixed; /* why not even its owner can replace it (rmdir_check.h); NULL:
			    * nothing */
	/* The host's file has the same size and mode; the callback must compare the
	 * content (changes_walk_is_same()). */
	bool may_be_same;
	bool is_on_way; /* this folder is not a wanted path, but contains one */
};

struct changes_walk {
	int dir;		   /* borrowed: the host's folder */
	const struct list *wanted; /* borrowed: the wanted paths below `dir`; NULL or
				    * none: all paths */
	void *context;
	/* Called for each difference; -1 ends the walk with its error. */
	int (*on_meeting)(void *context, const struct meeting *m, struct err *e);
	/* Called before each item that is no file, thus before the walk enters or leaves a
	 * folder; -1 ends the walk with its error.  May be NULL. */
	int (*on_other)(void *context, struct err *e);
	/* Called for each host folder that is walked, before its entries.  May
	 * be NULL. */
	void (*on_folder)(void *context, int folder);
	/* Called for each entry that the sender of the stream left out.  May be NULL. */
	void (*on_left_out)(void *context, const char *path, const char *why);
};

int changes_walk_walk(const struct changes_walk *g, struct changes_stream *t,
		      struct err *e);

/* Reads to its end the content that the sandbox's file has.  Returns 1 if the host's
 * file has the same content; 0 if the content differs or cannot be read; -1 if the
 * stream of items is broken. */
int changes_walk_is_same(const struct meeting *m, struct err *e);

/* Returns whether `path` is one of the wanted paths or below one. */
bool changes_walk_is_wanted(const struct list *wanted, const char *path);
