/* sentry -- notices on the host that what is protected is not what the sandbox shows.
 *
 * A mount belongs to the file that it is on, and not to its name: whoever, on the host,
 * renames another file over a protected one, or removes it, takes the read-only mount inside
 * away with it (detach_mounts(), since 3.18), and what has the name then is as writable as
 * the folder around.  No mount can be made inside from outside, so all that can be done is to
 * notice and to stop (guest.h).  Whoever inside is quick enough has written by then.
 *
 *	sentry_init
 *	sentry_post	before the sandbox is made
 *	sentry_look	whenever its descriptor is readable
 *	sentry_done
 *
 * inotify(7) watches the folders in which protected names are, and those that lead there.
 * The inside can do nothing to such a name, but makes as many events of others as it likes:
 * they are passed over by their names, a bounded number at a time.  Where events were lost,
 * or a name may be another spelling, the file itself is looked at: its device, inode number
 * and time of birth, since the number alone may be given out again at once.
 *
 * With --protect-missing the inside makes none of the names that are protected and were not
 * there (deputy.h); one that the host makes is noticed in the same way.
 *
 * What inotify does not tell of is not noticed: other machines' changes of a network file
 * system, and what is mounted over a name. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct plan;
struct post;

struct sentry {
	int fd; /* owned: inotify's; -1: nothing is watched */
	struct post *posts; /* owned */
	size_t count;
	bool is_lost; /* nothing is read until sentry_give_up() */
};

void sentry_init(struct sentry *s);
void sentry_done(struct sentry *s);

/* Watches what the plan has marked, whose texts it borrows.  ERR_LIMIT: the user may watch
 * no more. */
int sentry_post(struct sentry *s, const struct plan *p, struct err *e);

/* True: a name is no longer what it was, and *e says which. */
bool sentry_look(struct sentry *s, struct err *e);

/* What is not as it was may stay so; the rest is watched on. */
void sentry_give_up(struct sentry *s);
