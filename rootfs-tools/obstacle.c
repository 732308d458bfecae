#include "rootfs-tools/obstacle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "archive/roll.h"
#include "archive/trail.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

#define NAMES_MAX (64u << 20) /* bytes, of one folder */

struct scan {
	obstacle_why *why;
	void *who;
	struct trail trail;
	struct roll *rolls; /* owned; one for each step of the trail */
	size_t room;
	char *found; /* owned: what it is, and why */
};

static bool is_obstacle(struct scan *s, const char *path, const struct stat *st)
{
	const char *why = s->why(s->who, path, st);

	if (why)
		s->found = text_format("%s in it %s", path, why);
	return why;
}

static int scan_begin(struct scan *s)
{
	size_t depth = s->trail.depth;

	if (depth >= s->room) {
		s->room = 2 * (depth + 8);
		s->rolls = mem_resize(s->rolls, s->room, sizeof(*s->rolls));
	}
	return roll_read(trail_here(&s->trail), NAMES_MAX, &s->rolls[depth]);
}

/* 0: go on.  1: found something, or cannot look. */
static int scan_one(struct scan *s, const char *name)
{
	const char *path = trail_name(&s->trail, name);
	struct stat st;
	struct err e;

	if (fstatat(trail_here(&s->trail), name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		s->found = text_format("%s in it: %s", path, err_words(errno));
		return 1;
	}
	if (is_obstacle(s, path, &st))
		return 1;
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (trail_down(&s->trail, name, &e) == 0 && scan_begin(s) == 0)
		return 0;
	s->found = text_format("%s in it cannot be read", path);
	return 1;
}

static int scan_all(struct scan *s)
{
	struct err e;

	if (scan_begin(s) < 0) {
		s->found = text_format("it cannot be read: %s", err_words(errno));
		return 1;
	}
	for (;;) {
		const char *name = roll_next(&s->rolls[s->trail.depth]);
		if (name && scan_one(s, name))
			return 1;
		if (name)
			continue;
		roll_done(&s->rolls[s->trail.depth]);
		if (s->trail.depth == 0)
			return 0;
		if (trail_up(&s->trail, &e) < 0) {
			s->found = text_copy("is being changed on this host right now");
			return 1;
		}
	}
}

char *obstacle_find(int at, const char *name, obstacle_why *why, void *who)
{
	struct scan s = { .why = why, .who = who };
	struct err e;

	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int folder = openat(at, name, flags);
	if (folder < 0)
		return text_format("it cannot be read: %s", err_words(errno));
	if (trail_start(&s.trail, fd_take(&folder), "", &e) == 0)
		(void)scan_all(&s);
	else
		s.found = text_copy(e.text);
	for (size_t i = 0; s.rolls && s.trail.steps && i <= s.trail.depth; i++)
		roll_done(&s.rolls[i]);
	free(s.rolls);
	trail_done(&s.trail);
	return s.found;
}
