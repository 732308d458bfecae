/* changes_walk -- compares an upper layer with the folder of the host that it was
 * mounted over.
 *
 * The host's folder is walked in step with the items of the upper
 * (rootfs-tools/changes/changes_stream.h).  Each folder is opened beneath the one before and
 * through no link (archive/dir_stack.h), so that neither false items nor a
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
	char kind;	  /* 'A': the path is new; 'M': it differs; 'D': it is gone */
	const char *path; /* below the folder; valid until the next meeting, like the
			   * rest */
	const char *name;
	int at; /* borrowed: the host's folder that it is in; -1: the host has no such
		 * folder */
	/* The item that the inside has at the path; NULL: the path was removed together
	 * with its folder. */
	const struct changes_stream_item *item;
	struct changes_stream *content; /* borrowed: the stream from which a file's
					 * content is read */
	bool exists;	  /* the path exists on the host */
	struct stat host; /* the stat of the host's file; valid if `exists` */
	/* The file has the same size and mode; the callback must compare the
	 * content (changes_walk_is_same()). */
	bool may_be_same;
	bool is_on_way; /* the folder itself was not asked for, but a path in it was */
};

struct changes_walk {
	int dir;		   /* borrowed: the host's folder */
	const struct list *wanted; /* borrowed: the wanted paths below `dir`; NULL or
				    * none: all paths */
	void *who;
	/* Called for each difference; -1 ends the walk with its error. */
	int (*on_meeting)(void *who, const struct meeting *m, struct err *e);
	/* Called for each host folder that is walked, before its entries.  May
	 * be NULL. */
	void (*on_folder)(void *who, int folder);
	/* Called for each entry that the inside's walk left out.  May be NULL. */
	void (*on_left_out)(void *who, const char *path, const char *why);
};

int changes_walk_walk(const struct changes_walk *g, struct changes_stream *t,
		      struct err *e);

/* Reads the content that the file has inside to its end.  1: the host's file has the
 * same content.  0: it differs, or cannot be read.  -1: the stream of items is
 * broken. */
int changes_walk_is_same(const struct meeting *m, struct err *e);

/* Returns whether `path` is one of the wanted paths or below one. */
bool changes_walk_is_wanted(const struct list *wanted, const char *path);
