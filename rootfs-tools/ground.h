/* ground -- what an upper layer says, held against the folder of the host that it was
 * made over.
 *
 * The host's folder is walked beside what is told (rootfs-tools/tell.h): each folder is
 * opened beneath the one before and through no link (archive/trail.h), so that whatever is
 * told, and whatever somebody puts there meanwhile, leads nowhere else. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/list.h"
#include "rootfs-tools/tell.h"

struct err;

/* One thing that is not as it is on the host. */
struct meeting {
	char kind;	  /* 'A': new; 'M': other; 'D': gone */
	const char *path; /* below the folder; good until the next, as all of it */
	const char *name;
	int at; /* borrowed: the host's folder that it is in; -1: there is none */
	/* As it is inside; NULL: gone with the folder that it was in. */
	const struct tell_item *item;
	bool exists;	  /* on the host: */
	struct stat host; /* and as what */
	/* A file of the same size and mode: whether it is another one is for the reader to
	 * find out (ground_is_same()). */
	bool may_be_same;
	bool is_on_way; /* not asked for itself: a folder above what was */
};

struct ground {
	int dir;		   /* borrowed: the host's folder */
	const struct list *wanted; /* borrowed: paths below it; NULL or none: all */
	void *who;
	/* For each; -1 ends the walk with its error. */
	int (*on_meeting)(void *who, struct tell *t, const struct meeting *m, struct err *e);
	/* For each folder of the host's that is walked, before what is in it.  May be NULL. */
	void (*on_folder)(void *who, int folder);
	/* For what was left out of the telling.  May be NULL. */
	void (*on_left_out)(void *who, const char *path, const char *why);
};

int ground_walk(const struct ground *g, struct tell *t, struct err *e);

/* Reads what is told of the file, to its end: 1: the host's has the same content; 0: it
 * has not, or cannot be read; -1: the telling is broken. */
int ground_is_same(struct tell *t, const struct meeting *m, struct err *e);

/* Whether `path` is one of them or below one. */
bool ground_is_wanted(const struct list *wanted, const char *path);
